//! Tests of stacks as graphs, of what stages work on, and of questions about one of several stages.

use layers::Offer;
use layers::probe::{Probe, Source};
use layers::step::Action;

use super::plan;
use crate::shipped;
use plan::Plan;
use plan::Task;

const CACHE: &str = "cache-first-look";

fn cache(from: &str, to: &str) -> Result<Plan, String> {
    let text = shipped(CACHE).unwrap().text;
    assert!(text.contains(from), "{from}");
    plan(&text.replacen(from, to, 1)).map_err(|error| error.render(false))
}

/// Checks that the shipped cache experiment with one text replaced is refused, and that the refusal holds all of `phrase`.
fn refused(from: &str, to: &str, phrase: &[&str]) {
    let shown = cache(from, to).expect_err(to);
    for phrase in phrase {
        assert!(shown.contains(phrase), "{to}: no '{phrase}' in\n{shown}");
    }
}

#[test]
fn a_layer_stands_on_each_of_its_inputs_by_name_and_every_device_of_the_stack_is_emptied() {
    let plan = cache("repeat = 5", "repeat = 1").unwrap();
    let cell = |variant: &str| plan.cells.iter().find(|c| c.variant == variant).unwrap();
    let inputs = &cell("cached").stack[0].inputs;
    let block = |role: &str, bytes| Offer::Block { device: format!("{{device.{role}}}"), bytes };
    assert_eq!(inputs["origin"], block("slow", 1 << 30));
    assert_eq!(inputs["cache"], block("fast", 256 << 20));
    let emptied = |variant: &str| {
        let steps = cell(variant).up.iter().map(|step| step.action.show());
        steps.filter(|shown| shown.starts_with("blkdiscard")).count()
    };
    assert_eq!((emptied("slow"), emptied("cached")), (1, 2));
}

#[test]
fn what_a_layer_stands_on_is_refused_by_name_with_what_there_is() {
    let on = "on = { origin = \"slow\", cache = \"fast\" }";
    refused(on, "on = \"slow\"", &["needs 2 inputs", "origin = \"...\", cache = \"...\""]);
    refused(on, "on = { origin = \"slow\" }", &["has nothing as its cache"]);
    refused(on, "on = { origin = \"slow\", cash = \"fast\" }", &["no input 'cash'"]);
    refused(
        on,
        "on = { origin = \"slow\", cache = \"slow\" }",
        &["'slow' is two inputs of 'cache'"],
    );
    refused(on, "on = { origin = \"slow\", cache = \"fest\" }", &["'fest'", "fast, slow"]);
    refused(on, "on = { origin = \"slow\", cache = 5 }", &["names no device or layer"]);
    refused("name = \"cache\"", "name = \"fast\"", &["the name of a device and of a layer"]);
}

#[test]
fn a_set_of_devices_is_a_list_of_equal_ones() {
    let set = |on: &str, more: &str| {
        plan(&format!(
            "name = \"x\"\nabout = \"x\"\nrepeat = 1\n[devices.one]\nsize = \"1G\"\n\
             [devices.two]\nsize = \"1G\"\n{more}\n[[stack]]\nlayer = \"striped\"\n{on}\n\
             [[stage]]\ndo = \"load\"\nname = \"l\"\nmeasure = true\nops = {{ randread = 100 }}\n\
             duration = \"3s\"\n"
        ))
        .map_err(|error| error.render(false))
    };
    let inputs = |on: &str| set(on, "").unwrap().cells[0].stack[0].inputs.clone();
    let listed = inputs("on = [\"two\", \"one\"]");
    assert_eq!(listed["member1"].path(), "{device.two}");
    assert_eq!(listed, inputs("on = { member1 = \"two\", member2 = \"one\" }"));
    let refused = |on: &str, more: &str, phrase: &str| {
        let shown = set(on, more).expect_err(on);
        assert!(shown.contains(phrase), "{on}: no '{phrase}' in\n{shown}");
    };
    refused("on = \"one\"", "", "needs 2 inputs");
    refused("on = \"one\"", "", "on = [\"...\", \"...\"], with up to 8 names");
    refused("on = [\"one\"]", "", "has nothing as its member2");
    refused("on = [\"one\", \"one\"]", "", "'one' is two inputs");
    refused("on = [\"one\", 2]", "", "names no device or layer");
    let nine = ["\"one\""; 9].join(", ");
    refused(&format!("on = [{nine}]"), "", "has 8 inputs, and no more");
    let large = "logical_block = 4096";
    refused(
        "on = [\"one\", \"two\"]",
        large,
        "logical blocks differ: 4 KiB ('two'), 512 B ('one')",
    );
    let other = "[devices.three]\nsize = \"2G\"";
    refused("on = [\"one\", \"three\"]", other, "1 GiB and 2 GiB");
}

#[test]
fn a_stage_works_on_the_layer_it_names() {
    let target = "name = \"cold\"\ntarget = \"cache\"\nonly = [\"cached\"]";
    let plan = cache("name = \"cold\"", target).unwrap();
    let stages = |variant: &str| {
        let cell = plan.cells.iter().find(|c| c.variant == variant).unwrap();
        cell.stages.iter().map(|s| (s.name.clone(), s.target.name.clone())).collect::<Vec<_>>()
    };
    assert!(stages("cached").contains(&("cold".into(), "cache".into())));
    assert!(!stages("slow").iter().any(|(name, _)| name == "cold"));
    refused("name = \"cold\"", "name = \"cold\"\ntarget = \"cash\"", &["No layer", "'cash'"]);
    let strange = "name = \"cold\"\nonly = [\"chached\"]";
    refused("name = \"cold\"", strange, &["a variant 'chached'", "slow, cached"]);
}

#[test]
fn stages_that_are_no_load_become_steps() {
    let more = "name = \"x\"\nduration = \"3s\"\n\n[[stage]]\ndo = \"drop_caches\"\n\n\
                [[stage]]\ndo = \"read\"\n\n[[stage]]\ndo = \"load\"\nname = \"cold\"";
    let text = shipped(CACHE).unwrap().text;
    let text =
        text.replacen("do = \"load\"\nname = \"cold\"", &format!("do = \"wait\"\n{more}"), 1);
    let plan = plan(&text).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let steps = |name: &str| {
        let stage = plan.cells[0].stages.iter().find(|stage| stage.name == name).unwrap();
        let Task::Steps(steps) = &stage.task else { panic!("{name} is no steps") };
        steps.iter().map(|step| step.action.show()).collect::<Vec<_>>()
    };
    assert_eq!(steps("x").len(), 1);
    assert!(steps("drop_caches")[1].contains("/proc/sys/vm/drop_caches"));
    assert!(steps("read").is_empty());
    let text = shipped("copy-on-vdo").unwrap().text;
    let more = "[[stage]]\ndo = \"trim\"\n\n[[stage]]\ndo = \"remount\"\n\n[[stage]]\ndo = \"set\"\nonly = [\"vdo\"]\n\
                set.\"vdo.dedupe\" = false\n\n[[stage]]\ndo = \"drop_caches\"";
    let plan = super::plan(&text.replacen("[[stage]]\ndo = \"drop_caches\"", more, 1));
    let plan = plan.unwrap_or_else(|error| panic!("{}", error.render(false)));
    let vdo = plan.cells.iter().find(|cell| cell.variant == "vdo").unwrap();
    let stage = |name: &str| vdo.stages.iter().find(|stage| stage.name == name).unwrap();
    let shown = |name: &str| {
        let Task::Steps(steps) = &stage(name).task else { panic!("{name} is no steps") };
        steps.iter().map(|step| step.action.show()).collect::<Vec<_>>().join("; ")
    };
    assert!(shown("trim").starts_with("fstrim /run/fathom_"), "{}", shown("trim"));
    let remount = shown("remount");
    assert!(remount.starts_with("umount /run/") && remount.contains("mount -t xfs"), "{remount}");
    assert!(stage("set").before[0].action.show().contains("--deduplication n"));
    assert!(plan.needs.packages.iter().any(|package| package == "util-linux"));
    let long = "do = \"wait\"\nname = \"w\"\nduration = \"48h\"\n\n[[stage]]\ndo = \"load\"";
    refused("do = \"load\"", long, &["too long", "at most 24h"]);
    let mounts = "do = \"remount\"\n\n[[stage]]\ndo = \"load\"";
    refused("do = \"load\"", mounts, &["is not a mounted file system"]);
    let sets = "do = \"set\"\n\n[[stage]]\ndo = \"load\"";
    refused("do = \"load\"", sets, &["changes nothing", "set."]);
    let without = "do = \"wait\"\nname = \"w\"\n\n[[stage]]\ndo = \"load\"";
    refused("do = \"load\"", without, &["duration"]);
    let fresh = "measure = true\nplaces = \"other\"";
    refused("measure = true", fresh, &["places cannot be 'other'", "fresh"]);
}

#[test]
fn a_question_is_of_a_stage_and_an_operation_or_a_layer_that_is_measured() {
    let of_stage = "metric = \"iops\"\nstage = \"cold\"\noperation = \"randread\"";
    let of_layer = "metric = \"used_percent\"\nstage = \"cold\"\nlayer = \"cache\"";
    let plan = cache(of_stage, of_layer).unwrap();
    let question = &plan.facts.questions[0];
    assert_eq!(question.stage.as_deref(), Some("cold"));
    assert_eq!((question.operation.as_deref(), question.layer.as_deref()), (None, Some("cache")));
    assert_eq!(plan.facts.measured_stages(), ["cold", "warm"]);
    let stage = "stage = \"cold\"";
    refused(stage, "stage = \"layout\"", &["No measured stage is called 'layout'", "cold, warm"]);
    refused(stage, "stage = \"could\"", &["did you mean 'cold'"]);
    refused(stage, "stage = \"warm\"", &["'iops' of randread in warm is asked for twice"]);
    let operation = "operation = \"randread\"";
    refused(operation, "operation = \"write\"", &["Stage 'cold' does no 'write'", "randread"]);
    refused(operation, "layer = \"cash\"", &["No stack has a layer or a device 'cash'", "cache"]);
    let both = "operation = \"randread\"\nlayer = \"cache\"";
    refused(operation, both, &["of an operation ('randread') or of a layer"]);
}

#[test]
fn an_action_on_a_part_that_earlier_stages_took_away_or_left_is_refused_where_it_stands() {
    let staged = |actions: &[&str]| {
        let stage = |action: &&str| match *action {
            "fill" => "[[stage]]\ndo = \"fill\"\nname = \"fill\"\nto = \"50%\"\nof = \"cache\"\n"
                .to_owned(),
            _ => format!("[[stage]]\ndo = \"layer\"\nname = \"{action}\"\naction = \"{action}\"\n"),
        };
        let mut all = String::new();
        for (i, action) in actions.iter().enumerate() {
            all += &stage(action).replacen("name = \"", &format!("name = \"{i} "), 1);
        }
        let text = format!(
            "name = \"x\"\nabout = \"\"\n[devices.slow]\nsize = \"1G\"\n[devices.fast]\nsize = \"256M\"\n\
             [[stack]]\nlayer = \"lvmcache\"\nname = \"tier\"\non = {{ origin = \"slow\", cache = \"fast\" }}\n{all}\
             [[stage]]\ndo = \"load\"\nmeasure = true\nops = {{ randread = 100 }}\nduration = \"5s\"\n"
        );
        plan(&text).map_err(|error| error.render(false))
    };
    for fine in [
        &["restart", "fill", "split"][..],
        &["split", "attach", "restart", "split", "attach", "fill"],
    ] {
        staged(fine).unwrap_or_else(|error| panic!("{error}"));
    }
    for (actions, phrase, remedy) in [
        (&["attach"][..], "the cache of 'tier' is there: nothing took it away", "\"split\""),
        (&["split", "split"], "not there: stage '0 split' took it away", "\"attach\""),
        (&["split", "restart"], "The action 'restart' cannot be here", "\"attach\""),
        (&["split", "attach", "attach"], "nothing took it away", "\"split\""),
        (
            &["split", "fill"],
            "whose cache is not there: stage '0 split' took it away",
            "\"attach\"",
        ),
    ] {
        let shown = staged(actions).expect_err("an order that cannot be");
        assert!(shown.contains(phrase) && shown.contains(remedy), "{actions:?}: {shown}");
        let last = actions[actions.len() - 1];
        let key = if last == "fill" { "do" } else { "action" };
        assert!(shown.contains(&format!("{key} = \"{last}\"")), "{shown}");
    }
}

#[test]
fn latency_by_layer_is_of_every_block_device_over_those_that_it_stands_on_and_off_unless_asked_for()
{
    let text = |key: &str| {
        format!(
            "name = \"x\"\nabout = \"\"\nrepeat = 1\n{key}\n[devices.data]\nsize = \"20G\"\n[devices.fast]\nsize = \"1G\"\n\
             [[stack]]\nlayer = \"lvmcache\"\nname = \"cache\"\non = {{ origin = \"data\", cache = \"fast\" }}\n\
             [[stack]]\nlayer = \"vdo\"\nlogical_size = \"20G\"\n[[stack]]\nlayer = \"xfs\"\n\
             [[stage]]\ndo = \"layout\"\nname = \"files\"\nsize = \"1G\"\n\
             [[stage]]\ndo = \"load\"\nmeasure = true\nfiles = \"files\"\nops = {{ randwrite = 100 }}\nduration = \"5s\"\n"
        )
    };
    let planned = |key: &str| {
        plan(&text(key)).unwrap_or_else(|error| panic!("{}", error.render(false))).cells.remove(0)
    };
    let is_latency = |probe: &&Probe| matches!(probe.source, Source::Latency { .. });
    for off in ["", "latency_by_layer = false"] {
        assert_eq!(planned(off).probes.iter().find(is_latency), None);
    }
    let cell = planned("latency_by_layer = true");
    let Source::Latency { devices, instance } =
        &cell.probes.iter().find(is_latency).unwrap().source
    else {
        unreachable!()
    };
    let placed: Vec<_> =
        devices.iter().map(|device| (&*device.name, device.on.join(" "))).collect();
    let wanted = [
        ("vdo", "vdo-pool"),
        ("vdo-pool", "vdo-data"),
        ("vdo-data", "cache"),
        ("cache", "fast data"),
        ("data", ""),
        ("fast", ""),
    ];
    let wanted = wanted.map(|(name, on)| (name, on.to_owned()));
    assert_eq!(placed, wanted);
    // Whatever it began is ended with the stack, and after a kill.
    let undone = cell.up.iter().flat_map(|step| &step.undo).any(
        |action| matches!(action, Action::Untrace { instance: untraced } if untraced == instance),
    );
    assert!(undone, "{instance}");
}
