//! Tests of variants of anything: of what `set` and factors change, and of the reports of wrong ones.

mod factors;

use units::Bytes;

use super::choices;
use super::plan;
use crate::{Diagnostic, PlanOptions, Scale, compose};
use plan::CellPlan;
use plan::Plan;

const HEAD: &str = "name = \"x\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"8G\"\n";
const STACK: &str = "[[stack]]\nlayer = \"vdo\"\non = \"data\"\nlogical_size = \"1G\"\n";
const LOAD: &str = "[[stage]]\ndo = \"load\"\nname = \"write\"\nmeasure = true\nops = { randwrite = 100 }\n\
                    duration = \"1s\"\ncontent.dedupe = \"50%\"\n";

fn planned(rest: &str) -> Plan {
    let text = format!("{HEAD}{STACK}{LOAD}{rest}");
    plan(&text).unwrap_or_else(|error| panic!("{text}\n{}", error.render(false)))
}

/// The first cell of each variant, in the order of the variants.
fn cells(plan: &Plan) -> Vec<&CellPlan> {
    let cell = |name: &String| plan.cells.iter().find(|cell| cell.variant == *name).unwrap();
    plan.facts.variants.iter().map(|variant| cell(&variant.name)).collect()
}

/// The first mistake, which has to stand on `line`.
fn mistake(rest: &str, line: &str) -> Diagnostic {
    let text = format!("{HEAD}{STACK}{LOAD}{rest}");
    let error = plan(&text).expect_err(&text);
    let span = error.mistakes[0].span.clone().unwrap_or_else(|| panic!("{:?}", error.mistakes));
    let found = text[..span.start].matches('\n').count();
    assert_eq!(text.lines().nth(found), Some(line), "{}", error.render(false));
    error.mistakes[0].clone()
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.facts.variants.iter().map(|variant| variant.name.as_str()).collect()
}

/// The settings of a layer or device of a variant, as the plan's facts have them.
fn setting(plan: &Plan, variant: usize, layer: &str, key: &str) -> String {
    let stack = &plan.facts.variants[variant].stack;
    stack.iter().find(|l| l.name == layer).unwrap().settings[key].clone()
}

const DEDUPE: &str =
    "[[factor]]\nname = \"dedupe\"\nkey = \"vdo.dedupe\"\nlevels = [false, true]\n";
const DUPLICATES: &str = "[[factor]]\nname = \"duplicates\"\nkey = \"write.content.dedupe\"\n\
                          levels = [\"0%\", \"25%\", \"50%\"]\n";
const TWO: &str = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n";

#[test]
fn set_changes_stages_deep_keys_and_devices_of_one_variant() {
    let plan = planned(&format!(
        "{TWO}set.\"write.depth\" = 4\nset.\"write.content.dedupe\" = \"25%\"\n\
         set.\"write.content.compress\" = \"2x\"\nset.\"device.data.size\" = \"16G\"\n\
         set.\"write.ops.randread\" = 30\nset.\"write.ops.randwrite\" = 70\n"
    ));
    let load = |cell: usize| plan.cells[cell].stages[0].load().unwrap();
    assert_eq!((load(0).depth, load(1).depth), (32, 4));
    assert_eq!(load(0).content.dedupe.0, 50.0);
    assert_eq!(load(1).content.dedupe.0, 25.0);
    assert_eq!(load(1).operations().count(), 2);
    assert_eq!(plan.devices["data"].size, Bytes(16 << 30), "the largest of all variants");
    assert!(plan.devices["data"].largest);
    // A layer takes as much of it in every variant.
    assert_eq!(setting(&plan, 0, "data", "size"), "16 GiB");
}

#[test]
fn a_names_dots_are_no_keys() {
    let stage = "[[stage]]\ndo = \"load\"\nname = \"write.more\"\nops = { write = 100 }\nios = 1\n";
    let plan = planned(&format!("{stage}{TWO}set.\"write.more.depth\" = 4\n"));
    let depths: Vec<_> = cells(&plan)[1].stages.iter().map(|s| s.load().unwrap().depth).collect();
    assert_eq!(depths, [32, 4]);
}

#[test]
fn a_setting_that_cannot_be_is_told_where_it_is_set() {
    for (set, phrase, help) in [
        ("write.depth\" = 0", "depth", "depth"),
        ("write.dept\" = 4", "no key 'dept'", "did you mean 'depth'"),
        ("write.content.dedupe\" = \"x\"", "content.dedupe", "takes"),
        ("write.content.dedup\" = 5", "no key 'content.dedup'", "did you mean 'dedupe'"),
        ("write.contnt.dedupe\" = 5", "no key 'contnt'", "did you mean 'content'"),
        ("write.duration.x\" = 5", "is not a table", "set 'duration' itself"),
        ("write.depth.x\" = 5", "depth cannot be a table", "as in depth = 32"),
        ("write.name\" = \"x\"", "cannot differ", "only = "),
        ("write.do\" = \"copy\"", "cannot differ", "only = "),
        ("write.offset\" = \"2G\"", "offset", "1 GiB"),
        ("vdo.layer\" = \"linear\"", "cannot differ", "[[variant.stack]]"),
        ("vdo.dedup\" = true", "dedup", "did you mean 'dedupe'"),
        ("vdo.dedupe\" = 5", "dedupe", "takes"),
        ("vdo\" = 5", "names nothing", "its layers are: vdo; stages: write; devices: device.data"),
        ("rite.depth\" = 5", "names nothing", "stages: write"),
        ("data.size\" = \"1G\"", "names nothing", "device.data"),
        ("device.data.size\" = true", "size cannot be true", "takes"),
        ("device.data.size\" = \"1M\"", "1 MiB", "at least 64M"),
        ("device.data.sise\" = \"1G\"", "no key 'sise'", "did you mean 'size'"),
    ] {
        let line = format!("set.\"{set}");
        let mistake = mistake(&format!("{TWO}{line}\n"), &line);
        let shown = format!("{mistake:?}");
        assert!(mistake.message.contains(phrase) || phrase == "offset", "{line}: {shown}");
        assert!(shown.contains(help), "{line}: {shown}");
    }
}

#[test]
fn devices_layers_and_stages_have_names_of_their_own() {
    let stage = |name: &str| format!("[[stage]]\ndo = \"allocate\"\nname = \"{name}\"\n");
    for (name, phrase) in [
        ("vdo", "'vdo' is the name of a layer and of a stage"),
        ("data", "'data' is the name of a device and of a stage"),
        ("device", "A stage cannot be called 'device'"),
        ("corpus", "A stage cannot be called 'corpus'"),
    ] {
        let mistake = mistake(&stage(name), &format!("name = \"{name}\""));
        assert_eq!((mistake.message.starts_with(phrase), mistake.help.is_some()), (true, true));
    }
    // Variants are named apart from them: `vdo` compared with `plain`.
    planned("[[variant]]\nname = \"vdo\"\n");
}

#[test]
fn what_several_variants_share_is_told_once() {
    let text =
        format!("{HEAD}{STACK}{LOAD}{DEDUPE}{DUPLICATES}").replace("duration = ", "duraton = ");
    let error = plan(&text).unwrap_err();
    assert_eq!(error.mistakes.len(), 1, "{}", error.render(false));
}

#[test]
fn more_variants_than_can_be_are_refused() {
    let levels = (1..=60).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let factor =
        format!("[[factor]]\nname = \"depth\"\nkey = \"write.depth\"\nlevels = [{levels}]\n");
    let text = format!("{HEAD}{STACK}{LOAD}{factor}{DEDUPE}");
    let shown = plan(&text).unwrap_err().render(false);
    assert!(shown.contains("120 variants; at most 100"), "{shown}");
    let nine: String = (0..9)
        .map(|n| format!("[[factor]]\nname = \"f{n}\"\nkey = \"write.depth\"\nlevels = [1, 2]\n"))
        .collect();
    let shown = plan(&format!("{HEAD}{STACK}{LOAD}{nine}")).unwrap_err().render(false);
    assert!(shown.contains("9 factors; at most 8"), "{shown}");
}

/// The plan at a scale, of these variants only.
fn chosen(rest: &str, scale: Scale, only: &[&str]) -> Result<Plan, String> {
    let only = only.iter().map(|&text| text.to_owned()).collect();
    let choices = PlanOptions { scale, only, ..choices() };
    compose("x.toml", &format!("{HEAD}{STACK}{LOAD}{rest}"), &choices).map_err(|e| e.render(false))
}

const SCALES: &str = "[scale.lab]\nset.\"vdo.logical_size\" = \"512M\"\nset.\"write.duration\" = \"2s\"\n\
                      [scale.lab.variant.b]\nset.\"vdo.logical_size\" = \"256M\"\n\
                      [scale.tiny]\nset.\"write.depth\" = 1\nset.\"device.data.size\" = \"7G\"\n";

#[test]
fn what_is_set_beside_a_file_comes_after_its_scale_is_kept_in_its_text_and_refused_where_nothing_has_it()
 {
    let with = |set: &[(&str, &str)]| {
        let set: Vec<_> = set.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let text = format!("{HEAD}{STACK}{LOAD}{TWO}{SCALES}");
        let text = crate::written::scale::with_set(text, &set);
        let choices = PlanOptions { scale: Scale::Usual("lab"), ..choices() };
        compose("x.toml", &text, &choices).map_err(|error| error.render(false))
    };
    let plan = with(&[("vdo.logical_size", "2G"), ("write.depth", "7"), ("write.depth", "8")]);
    let plan = plan.unwrap_or_else(|error| panic!("{error}"));
    let sizes: Vec<_> = cells(&plan).into_iter().map(|c| c.target.offer.bytes() >> 20).collect();
    assert_eq!(sizes, [2048, 2048]);
    assert_eq!(cells(&plan)[0].stages[0].load().unwrap().depth, 8);
    assert_eq!(plan.facts.scaled.last().unwrap(), "write.depth = 8");
    assert!(with(&[]).unwrap().facts.scaled.iter().all(|set| !set.contains("depth")));
    let message = with(&[("vdo.logical_sise", "2G")]).unwrap_err();
    assert!(message.contains("logical_sise"), "{message}");
    let message = with(&[("wdo.logical_size", "2G")]).unwrap_err();
    assert!(message.contains("wdo"), "{message}");
}

#[test]
fn a_scale_is_set_last_and_what_it_sets_is_kept() {
    let rest = format!("{TWO}set.\"vdo.logical_size\" = \"3G\"\n{SCALES}");
    let lab = chosen(&rest, Scale::Usual("lab"), &[]).unwrap();
    let sizes: Vec<_> = cells(&lab).into_iter().map(|c| c.target.offer.bytes() >> 20).collect();
    assert_eq!(sizes, [512, 256]);
    assert_eq!(lab.facts.scale.as_deref(), Some("lab"));
    let set = [
        "vdo.logical_size = \"512M\"",
        "write.duration = \"2s\"",
        "b: vdo.logical_size = \"256M\"",
    ];
    assert_eq!(lab.facts.scaled, set);
    let full = chosen(&rest, Scale::Usual("full"), &[]).unwrap();
    let sizes: Vec<_> = cells(&full).into_iter().map(|c| c.target.offer.bytes() >> 20).collect();
    assert_eq!((sizes, full.facts.scale), (vec![1024, 3072], None));
    let tiny = chosen(&rest, Scale::Asked("tiny".into()), &[]).unwrap();
    assert_eq!(tiny.cells[0].stages[0].load().unwrap().depth, 1);
    assert_eq!((tiny.devices["data"].size, tiny.devices["data"].largest), (Bytes(7 << 30), false));
    // Both usual names can be asked for where the file has no such scale.
    assert!(chosen("", Scale::Asked("full".into()), &[]).unwrap().facts.scale.is_none());
    let message = chosen(&rest, Scale::Asked("tyni".into()), &[]).unwrap_err();
    assert!(
        message.contains("no scale 'tyni'") && message.contains("did you mean 'tiny'"),
        "{message}"
    );
}

#[test]
fn a_scale_says_nothing_of_layers_that_a_variant_does_not_have() {
    let plain =
        "[[variant]]\nname = \"plain\"\n[[variant.stack]]\nlayer = \"linear\"\non = \"data\"\n";
    let rest = format!(
        "{plain}[[variant]]\nname = \"vdo\"\n[scale.lab]\nset.\"vdo.logical_size\" = \"512M\"\n"
    );
    assert_eq!(cells(&planned(&rest))[1].target.offer.bytes(), 512 << 20);
}

#[test]
fn a_wrong_scale_is_told_at_its_line_at_whichever_scale_is_planned() {
    for (rest, line, phrase) in [
        (
            "[scale.full]\nset.\"vod.dedupe\" = true",
            "set.\"vod.dedupe\" = true",
            "its layers are: vdo",
        ),
        ("[scale.lab]\nset.\"write.depth\" = 0", "set.\"write.depth\" = 0", "depth"),
        ("[scale.full]\nset = 5", "set = 5", "as in set"),
        ("[scale.full]\nst = 5", "st = 5", "did you mean 'set'"),
        ("[scale.full]\nvariant = 5", "variant = 5", "as in variant"),
        (
            "[scale.full.variant.c]\nset.\"vdo.dedupe\" = true",
            "[scale.full.variant.c]",
            "There are: default",
        ),
        ("[scale]\nlab = 5", "lab = 5", "as in scale"),
    ] {
        let shown = format!("{:?}", mistake(rest, line));
        assert!(shown.contains(phrase), "{rest}: {shown}");
    }
    let rest = format!("{DEDUPE}[scale.full]\nset.\"vdo.dedupe\" = true");
    let shown = mistake(&rest, "set.\"vdo.dedupe\" = true");
    assert!(shown.message.contains("the factor 'dedupe' varies"), "{shown:?}");
}

#[test]
fn only_the_variants_that_are_named_are_planned() {
    let rest = format!("{TWO}{DEDUPE}");
    let only = |only: &[&str]| chosen(&rest, Scale::Usual("lab"), only);
    let seen = |texts: &[&str]| {
        only(texts).unwrap().facts.variants.iter().map(|v| v.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(seen(&["b"]), ["b, dedupe off", "b, dedupe on"]);
    // Names may have commas.
    assert_eq!(seen(&["b, dedupe on, a, dedupe off"]), ["a, dedupe off", "b, dedupe on"]);
    assert_eq!(seen(&["b, dedupe on", "a"]), ["a, dedupe off", "a, dedupe on", "b, dedupe on"]);
    let all = only(&[]).unwrap();
    assert_eq!(only(&["b"]).unwrap().cells[0].seed, all.cells[0].seed);
    for wrong in ["c", "a,c", "b, dedupe onn", ","] {
        let message = only(&[wrong]).unwrap_err();
        assert!(
            message.contains("no variant")
                && message.contains("There are: a, dedupe off; a, dedupe on"),
            "{message}"
        );
    }
}

#[test]
fn devices_that_no_chosen_variant_uses_are_not_asked_for() {
    let fast = "[devices.fast]\nsize = \"1G\"\n[[variant]]\nname = \"vdo\"\n[[variant]]\nname = \"fast\"\n\
                [[variant.stack]]\nlayer = \"linear\"\non = \"fast\"\n";
    let roles = |only: &[&str]| {
        let plan = chosen(fast, Scale::Usual("lab"), only).unwrap();
        plan.devices.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(roles(&[]), ["data", "fast"]);
    assert_eq!(
        (roles(&["fast"]), roles(&["vdo"])),
        (vec!["fast".to_owned()], vec!["data".to_owned()])
    );
}

#[test]
fn allocating_is_estimated_from_what_it_writes() {
    let allocate = "[[stage]]\ndo = \"allocate\"\n[[variant]]\nname = \"small\"\n[[variant]]\nname = \"large\"\n\
                    set.\"vdo.logical_size\" = \"400G\"\n";
    let plan = planned(allocate);
    let about = |cell: usize| plan.cells[cell].stages[1].about.0 / 1_000_000_000;
    assert_eq!((about(0), about(1)), (1, 161), "324 and 129,135 leaves");
    let explained = crate::explain(&plan);
    assert!(explained.variants[1].about_ns > 160_000_000_000, "{explained:?}");
}

#[test]
fn a_stage_that_only_a_later_variant_has_keeps_its_place_in_the_file() {
    let head = "name = \"x\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"1G\"\n[[stack]]\nlayer = \"linear\"\n\
                on = \"data\"\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n";
    let read = |name: &str, more: &str| {
        format!("[[stage]]\ndo = \"read\"\nname = \"{name}\"\nmeasure = true\n{more}\n")
    };
    let stages = [read("first", ""), read("of b", "only = [\"b\"]"), read("last", "")].concat();
    let plan = plan(&format!("{head}{stages}")).unwrap();
    assert_eq!(plan.facts.measured_stages(), ["first", "of b", "last"]);
    let apart = [read("of a", "only = [\"a\"]"), read("of b", "only = [\"b\"]")].concat();
    let plan = super::plan(&format!("{head}{apart}")).unwrap();
    assert_eq!(plan.facts.measured_stages(), ["of a", "of b"]);
}

#[test]
fn a_mistake_at_another_scale_is_told_as_it_would_be_there_and_once() {
    let text = "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"2G\"\n\
        [[stack]]\nlayer = \"linear\"\non = \"data\"\nsize = \"1G\"\n\
        [[stage]]\ndo = \"load\"\nname = \"m\"\nmeasure = true\nops = { randread = 100 }\nduration = \"5s\"\n";
    let refused = |scales: &str| {
        let text = format!("{text}{scales}");
        let error = plan(&text).expect_err(scales);
        assert_eq!(error.mistakes.len(), 1, "{}", error.render(false));
        error.render(false)
    };
    let shown = refused("[scale.full]\nset.\"m.depth\" = \"bad\"\n");
    assert!(shown.contains("At scale 'full'") && shown.contains("\"bad\""), "{shown}");
    let shown = refused("[scale.full]\nset.\"linear.size\" = \"3G\"\n");
    assert!(shown.contains("At scale 'full'") && shown.contains("does not fit"), "{shown}");
    let shown = refused("[scale.huge]\nset.\"device.data.size\" = \"500M\"\n");
    assert!(shown.contains("At scale 'huge'"), "{shown}");
    // At the scale that is asked for, the report does not name the scale.
    let shown = refused("[scale.lab]\nset.\"m.depth\" = \"bad\"\n");
    assert!(!shown.contains("At scale"), "{shown}");
    let both = "[scale.full]\nset.\"m.depth\" = 4\n[scale.lab]\nset.\"linear.size\" = \"512M\"\n";
    plan(&format!("{text}{both}")).unwrap();
}

#[test]
fn a_variant_a_factor_and_a_scale_may_have_another_machine_of_the_lab() {
    let gib = |n: u64| Some(Bytes(n << 30));
    let plan = planned(
        "[machine]\nmemory = \"2G\"\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nset.\"machine.memory\" = \"4G\"\n\
         set.\"machine.cpus\" = 1\n",
    );
    let machines: Vec<_> = cells(&plan).iter().map(|cell| cell.machine.clone()).collect();
    assert_eq!(machines.iter().map(|m| m.memory).collect::<Vec<_>>(), [gib(2), gib(4)]);
    assert_eq!(machines.iter().map(|m| m.cpus).collect::<Vec<_>>(), [None, Some(1)]);
    assert_eq!(plan.facts.variants[1].machine["memory"], "4 GiB");
    let factor = planned("[[factor]]\nname = \"cpus\"\nkey = \"machine.cpus\"\nlevels = [1, 2]\n");
    let cpus: Vec<_> = cells(&factor).iter().map(|cell| cell.machine.cpus).collect();
    assert_eq!(cpus, [Some(1), Some(2)]);
    let usual = planned("");
    assert!(usual.cells[0].machine.is_usual() && usual.facts.variants[0].machine.is_empty());
    let json = serde_json::to_value(&usual).unwrap();
    assert!(json["cells"][0].get("machine").is_none(), "plans of before are as they were");
}

#[test]
fn a_machine_that_cannot_be_is_told_at_its_line() {
    for (line, phrase) in [
        ("memory = \"100M\"", "A machine cannot have 100 MiB of memory"),
        ("memory = 536870913", "A machine cannot have"),
        ("cpus = 0", "A machine cannot have 0 CPUs"),
        ("cpus = 257", "A machine cannot have 257 CPUs"),
        ("cpu = 2", "'cpu'"),
        ("memory = \"much\"", "memory"),
        ("kernel = \"newest\"", "'newest' is not the name of a kernel"),
        ("kernel = \"6.1 or so\"", "is not the name of a kernel"),
        ("kernel = 6.1", "kernel"),
    ] {
        let found = mistake(&format!("[machine]\n{line}\n"), line);
        assert!(found.message.contains(phrase), "{line}: {}", found.message);
    }
    let found = mistake(
        "[[variant]]\nname = \"b\"\nset.\"machine.cpus\" = 0\n",
        "set.\"machine.cpus\" = 0",
    );
    assert!(found.message.contains("0 CPUs"), "{}", found.message);
}
