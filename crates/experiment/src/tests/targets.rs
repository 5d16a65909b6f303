//! Tests of what stages work on: files that were laid out, several targets, actions of layers, deadlines.

use units::{Bytes, Nanos, Percent};

use super::{only_mistake, plan};
use crate::explain;
use plan::Plan;
use plan::Rounds;
use plan::StagePlan;
use plan::Task;

const LAYOUT: &str = "[[stage]]\ndo = \"layout\"\nname = \"my files\"\nfiles = 3\nsize = \"64M\"\n";

/// XFS on VDO, a plain volume, and these stages; the last entry is the file system.
fn text(stages: &str) -> String {
    format!(
        "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"8G\"\n[devices.other]\nsize = \"1G\"\n\
         [[stack]]\nlayer = \"linear\"\nname = \"plain\"\non = \"other\"\n\
         [[stack]]\nlayer = \"vdo\"\non = \"data\"\nlogical_size = \"4G\"\n\
         [[stack]]\nlayer = \"xfs\"\nname = \"fs\"\non = \"vdo\"\n{stages}{USED}"
    )
}

/// Nothing may stand idle.
const USED: &str = "[[stage]]\ndo = \"trim\"\nname = \"trim plain\"\ntarget = \"plain\"\n\
                    [[stage]]\ndo = \"trim\"\nname = \"trim fs\"\ntarget = \"fs\"\n";

fn planned(stages: &str) -> Plan {
    plan(&text(stages)).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// The planned stage of this name.
fn stage<'a>(plan: &'a Plan, name: &str) -> &'a StagePlan {
    plan.cells[0].stages.iter().find(|stage| stage.name == name).unwrap()
}

/// Returns the report of the only mistake, which has to be in a line with `line`.
fn refused(stages: &str, line: &str) -> String {
    only_mistake(&text(stages), line)
}

fn load(keys: &str) -> String {
    format!(
        "[[stage]]\ndo = \"load\"\nmeasure = true\nops = {{ randread = 100 }}\nduration = \"5s\"\n{keys}\n"
    )
}

#[test]
fn layouts_of_different_names_never_share_a_file() {
    let names =
        ["a b", "a/b", "a_b", "a-b", "a%b", "a%20b", "a.b", "..", ".", "A b", "ä", "a\u{308}"];
    let layout =
        |name: &str| format!("[[stage]]\ndo = \"layout\"\nname = \"{name}\"\nsize = \"1M\"\n");
    let stages: String = names.iter().map(|name| layout(name)).collect();
    let plan = planned(&format!("{stages}{}", load("files = \"a b\"")));
    let folder = |name: &&str| stage(&plan, name).aims[0].files.clone().unwrap().folder;
    let folders: std::collections::BTreeSet<_> = names.iter().map(folder).collect();
    assert_eq!(folders.len(), names.len(), "{folders:?}");
    let inside = |folder: &String| !folder.contains(['/', '.', '{', '}']);
    assert!(folders.iter().all(inside), "{folders:?}");
    let long = "\u{1f4be}".repeat(30);
    let shown = refused(&format!("{}{}", layout(&long), load("target = \"plain\"")), "name = ");
    assert!(shown.contains("is too long for a folder of its files"), "{shown}");
}

#[test]
fn files_are_laid_out_in_a_directory_and_driven_by_the_loads_that_name_them() {
    let plan = planned(&format!("{LAYOUT}{}", load("files = \"my files\"")));
    let layout = stage(&plan, "my files");
    assert_eq!((layout.ios, layout.bytes), (Some(192), Some(Bytes(192 << 20))));
    let files = layout.aims[0].files.clone().unwrap();
    assert!(files.make && files.folder == "my%20files");
    let driven = stage(&plan, "load");
    assert!(!driven.aims[0].files.as_ref().unwrap().make);
    let paths = driven.aims[0].paths();
    assert_eq!(paths[2].0, "/run/fathom_0badcafe_fs/my%20files/2");
    assert!((paths.iter().map(|(_, share)| share.0).sum::<f64>() - 100.0).abs() < 1e-9);
    let shown = explain(&plan).variants[0].stages.join("\n");
    assert!(shown.contains("on 3 files of 64 MiB in fs"), "{shown}");
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
}

#[test]
fn a_load_has_several_targets_with_shares() {
    let stages = format!("{LAYOUT}{}", load("target = { plain = 25, \"my files\" = 75 }"));
    let plan = planned(&stages);
    let aims = &stage(&plan, "load").aims;
    let shares: Vec<_> = aims.iter().map(|aim| (aim.target.name.as_str(), aim.share)).collect();
    assert_eq!(shares, [("fs", Percent(75.0)), ("plain", Percent(25.0))]);
    let shown = explain(&plan).variants[0].stages.join("\n");
    assert!(shown.contains("75% to 3 files of 64 MiB in fs, 25% to plain"), "{shown}");
}

#[test]
fn a_fill_to_a_share_writes_in_order_and_a_file_system_gets_files() {
    let fill = |keys: &str| {
        let text = format!("[[stage]]\ndo = \"fill\"\n{keys}\n{}", load("target = \"plain\""));
        let text = text.replacen("[[stage]]\nlayer = \"xfs\"", "", 1);
        planned(&text)
    };
    let plan = fill("to = \"50%\"\nof = \"file system\"");
    let Task::Fill(files) = &stage(&plan, "fill").task else { panic!("no fill") };
    assert_eq!(
        (&*files.layer, &*files.metric, files.at_least),
        ("fs", "filesystem_used_percent", 50.0)
    );
    assert_eq!(files.rounds, Rounds::Files(Bytes(64 << 20)));
    // Without the file system the volume itself is on top.
    let volume = |keys: &str| {
        let text =
            text(&format!("[[stage]]\ndo = \"fill\"\n{keys}\n{}", load("target = \"plain\"")));
        let fs = "[[stack]]\nlayer = \"xfs\"\nname = \"fs\"\non = \"vdo\"\n";
        super::plan(&text.replacen(fs, "", 1).replace("target = \"fs\"", "target = \"vdo\""))
    };
    let plan = volume("to = \"1%\"\nof = \"physical\"\ntarget = \"vdo\"").unwrap();
    let Task::Fill(parts) = &stage(&plan, "fill").task else { panic!("no fill") };
    assert_eq!(parts.layer, "vdo");
    let Rounds::Parts { bytes, count } = parts.rounds else { panic!("{parts:?}") };
    let all = stage(&plan, "fill").aims[0].bytes();
    assert!(bytes.0 * u64::from(count) >= all && bytes.0 * u64::from(count - 1) < all);
    let second = parts.round(2, Nanos(u64::MAX));
    assert_eq!(
        (second.offset, second.size, second.passes),
        (Some(bytes.into()), Some(bytes.into()), Some(1))
    );
    let wrong = volume("to = \"1%\"\nof = \"physical\"\ntarget = \"plain\"").unwrap_err();
    assert!(wrong.mistakes[0].message.contains("Neither 'plain' nor what is under it"));
}

#[test]
fn an_action_changes_what_later_stages_find() {
    let grow = "[[stage]]\ndo = \"layer\"\ntarget = \"vdo\"\naction = \"grow\"\nlogical_size = \"6G\"\n\
                [[stage]]\ndo = \"layer\"\nname = \"fs grows\"\naction = \"grow\"\n\
                [[stage]]\ndo = \"layout\"\nsize = \"5G\"\n";
    let plan = planned(&format!("{grow}{}", load("files = \"layout\"")));
    let shown = explain(&plan).variants[0].stages.join("\n");
    assert!(shown.contains("lvm lvextend --yes --size 6442450944b"), "{shown}");
    assert!(shown.contains("xfs_growfs /run/fathom_0badcafe_fs"), "{shown}");
    assert_eq!(stage(&plan, "layout").target.offer.bytes(), 6 << 30);
}

#[test]
fn a_deadline_bounds_every_kind_of_stage() {
    let stages = format!(
        "[[stage]]\ndo = \"drop_caches\"\ndeadline = \"20s\"\n[[stage]]\ndo = \"command\"\n\
         argv = [\"sync\"]\ndeadline = \"30s\"\n{}",
        load("target = \"plain\"\ndeadline = \"40s\"")
    );
    let plan = planned(&stages);
    let Task::Steps(steps) = &stage(&plan, "drop_caches").task else { panic!("no steps") };
    assert!(steps.iter().all(|step| step.deadline_s == 20));
    let patience = |name: &str| stage(&plan, name).patience();
    assert_eq!(patience("command"), Some(Nanos::from_secs(30)));
    assert_eq!(patience("load"), Some(Nanos::from_secs(40)));
}

/// Each stage with what its only mistake stands in and says.
fn refuses(wrong: &[(String, &str, &str)]) {
    for (stages, line, phrase) in wrong {
        let shown = refused(stages, line);
        assert!(shown.contains(phrase), "{stages}: no '{phrase}' in\n{shown}");
    }
}

/// A stage before a load on the plain volume.
fn before(stage: &str) -> String {
    format!("[[stage]]\n{stage}\n{}", load("target = \"plain\""))
}

#[test]
fn targets_that_cannot_be_are_told_at_their_place() {
    let trim = "do = \"trim\"\ntarget = { plain = 50, fs = 50 }";
    let elsewhere = load("files = \"my files\"\ntarget = \"plain\"");
    refuses(&[
        (load(""), "do = \"load\"", "do = \"layout\""),
        (load("files = \"file\""), "files", "add a stage with do = \"layout\""),
        (format!("{LAYOUT}{}", load("files = \"file\"")), "files", "There are: my files"),
        (format!("{LAYOUT}{elsewhere}"), "target", "in 'fs', not in 'plain'"),
        (load("target = { plain = 50, vdo = 40 }"), "target", "sum to 90"),
        (load("target = { plain = 50, vdo = 50 }"), "target", "'fs' stands on it"),
        (load("target = { plain = 100 }"), "target", "2 to 16"),
        (load("target = { plain = 0, fs = 100 }"), "target", "above 0"),
        (load("target = 5"), "target", "the name of a layer"),
        (before(trim), "target", "name one layer"),
    ]);
}

#[test]
fn layouts_that_cannot_be_are_told_at_their_place() {
    let layout = |keys: &str| before(&format!("do = \"layout\"\n{keys}"));
    refuses(&[
        (layout("target = \"plain\"\nsize = \"1M\""), "target", "files need a directory"),
        (layout(""), "[[stage]]", "no key 'size'"),
        (layout("size = \"1500k\""), "size", "multiple of block_size"),
        (layout("size = \"3000\""), "size", "a multiple of 512 bytes"),
        (layout("size = \"8G\""), "size", "fewer or smaller"),
        (layout("size = \"1M\"\nfiles = 0"), "files", "from 1 to 1000"),
        (layout("size = \"1M\"\nops = { write = 100 }"), "ops", "Allowed here"),
    ]);
}

#[test]
fn actions_that_cannot_be_are_told_at_their_place() {
    let act = |keys: &str| before(&format!("do = \"layer\"\n{keys}"));
    let grow = |keys: &str| act(&format!("action = \"grow\"\ntarget = \"vdo\"\n{keys}"));
    let plain = act("action = \"grow\"\ntarget = \"plain\"");
    refuses(&[
        (act(""), "[[stage]]", "no key 'action'"),
        (act("action = \"grov\""), "action", "did you mean 'grow'"),
        (plain, "action", "'plain', a linear, has no action"),
        (act("action = \"restart\"\ntarget = \"vdo\""), "target", "'fs' stands on it"),
        (grow(""), "action", "add logical_size"),
        (grow("logical_size = \"1G\""), "logical_size = \"1G\"", "less than the 4G it has"),
        (grow("logical_sise = \"8G\""), "logical_sise", "did you mean 'logical_size'"),
        (grow("logical_size = true"), "logical_size", "a size"),
    ]);
}

#[test]
fn deadlines_that_cannot_be_are_told_at_their_place() {
    let wait = before("do = \"wait\"\nduration = \"1m\"\ndeadline = \"5s\"");
    refuses(&[
        (load("target = \"plain\"\ndeadline = \"5s\""), "deadline", "more time"),
        (load("target = \"plain\"\ndeadline = \"10ms\""), "deadline", "1s to 168h"),
        (wait, "deadline", "waits longer"),
    ]);
}

/// Two VDO volumes side by side, a small linear volume on the first; the last entry is the second volume.
fn two_tops(stage: &str) -> String {
    format!(
        "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.a]\nsize = \"8G\"\n[devices.b]\nsize = \"8G\"\n\
         [[stack]]\nlayer = \"vdo\"\nname = \"one\"\non = \"a\"\nlogical_size = \"40G\"\n\
         [[stack]]\nlayer = \"linear\"\nname = \"on one\"\nsize = \"20G\"\n\
         [[stack]]\nlayer = \"vdo\"\nname = \"two\"\non = \"b\"\nlogical_size = \"2G\"\n\
         [[stage]]\n{stage}\n{}",
        load("target = { on-one = 50, two = 50 }")
    )
    .replace("on one", "on-one")
}

/// Returns what each stage before the load drives, and how many I/Os it makes.
fn driven(text: &str) -> Vec<(String, String, Option<u64>)> {
    let plan = super::plan(text).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let stages = plan.cells[0].stages.iter().filter(|stage| !stage.measured);
    stages.map(|s| (s.name.clone(), s.target.name.clone(), s.ios)).collect()
}

#[test]
fn every_layer_is_allocated_through_the_device_that_stands_over_it() {
    let both = driven(&two_tops("do = \"allocate\""));
    let [(one, over_one, first), (two, over_two, second)] = &both[..] else { panic!("{both:?}") };
    assert_eq!((&**one, &**over_one), ("allocate one", "on-one"));
    assert_eq!((&**two, &**over_two), ("allocate two", "two"));
    // A page of a block map for every 812 blocks of 4 KiB, and the last block.
    assert_eq!((first.unwrap(), second.unwrap()), (6458, 647));
    for target in ["one", "on-one"] {
        let named = driven(&two_tops(&format!("do = \"allocate\"\ntarget = \"{target}\"")));
        assert_eq!(named, both[..1], "{target}");
    }
}

#[test]
fn an_allocation_names_a_layer_that_needs_one() {
    let wrong = before("do = \"allocate\"\ntarget = \"plain\"");
    let message = refused(&wrong, "target");
    assert!(
        message.contains("Neither 'plain'") && message.contains("name one of: vdo"),
        "{message}"
    );
    let message = refused(&before("do = \"allocate\""), "do = \"allocate\"");
    assert!(message.contains("no file system stands over"), "{message}");
}

#[test]
fn a_state_is_of_the_layer_that_has_it_and_not_of_the_last_one() {
    let state = |is: &str, keys: &str| {
        let text = two_tops(&format!("do = \"state\"\nis = \"{is}\"\n{keys}"));
        let last =
            "[[stack]]\nlayer = \"vdo\"\nname = \"two\"\non = \"b\"\nlogical_size = \"2G\"\n";
        let plain = "[[stack]]\nlayer = \"linear\"\nname = \"two\"\non = \"b\"\n";
        driven(&text.replacen(last, plain, 1)).remove(0).1
    };
    assert_eq!(state("allocated", ""), "on-one");
    let small = two_tops("do = \"state\"\nis = \"steady\"").replace("\"40G\"", "\"3500M\"");
    assert_eq!(driven(&small.replace("\"20G\"", "\"3G\""))[0].1, "two");
    let one = small.replace("is = \"steady\"", "is = \"steady\"\ntarget = \"one\"");
    assert_eq!(driven(&one.replace("\"20G\"", "\"3G\""))[0].1, "on-one");
    assert_eq!(state("fresh", "target = \"one\""), "one");
    let text = two_tops("do = \"state\"\nis = \"discarded\"\ntarget = \"one\"");
    assert!(only_mistake(&text, "target").contains("'one' cannot be discarded while 'on-one'"));
    assert_eq!(driven(&two_tops("do = \"state\"\nis = \"discarded\""))[0].1, "two");
}

#[test]
fn a_state_that_writes_at_random_does_not_come_about_through_a_file_system() {
    // A volume that its pool can hold.
    let small = text(&before("do = \"state\"\nis = \"steady\"")).replace("\"4G\"", "\"3G\"");
    let message = only_mistake(&small, "is = \"steady\"");
    assert!(
        message.contains("through a file system") && !message.contains("leave 'by' out"),
        "{message}"
    );
}

#[test]
fn a_plan_says_what_a_stage_works_on_where_it_could_be_something_else() {
    let about = |text: &str| {
        let plan = super::plan(text).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let stage =
            plan.facts.variants[0].stages.iter().find(|stage| stage.measured).unwrap().clone();
        let shown = explain(&plan).variants[0].stages.join("\n");
        assert!(shown.contains(&stage.about), "{shown}");
        let targets = stage.targets.iter().map(|t| (t.name.clone(), t.files, t.share_percent));
        (stage.about, targets.collect::<Vec<_>>())
    };
    let (message, targets) = about(&text(&load("target = \"plain\"")));
    assert!(message.ends_with(", on plain"), "{message}");
    assert_eq!(targets, [("plain".to_owned(), None, 100.0)]);
    let (_, targets) = about(&text(&format!("{LAYOUT}{}", load("files = \"my files\""))));
    assert_eq!(targets, [("fs".to_owned(), Some(3), 100.0)]);
    let one = two_tops("do = \"read\"").replace("target = { on-one = 50, two = 50 }", "");
    let last = "[[stack]]\nlayer = \"vdo\"\nname = \"two\"\non = \"b\"\nlogical_size = \"2G\"\n";
    let (message, targets) =
        about(&one.replacen(last, "", 1).replacen("[devices.b]\nsize = \"8G\"\n", "", 1));
    assert!(!message.contains(", on "), "{message}");
    assert_eq!(targets, [("on-one".to_owned(), None, 100.0)]);
}

#[test]
fn warnings_about_reducible_content_are_for_stacks_that_reduce() {
    let warned = |target: &str| {
        let load =
            "ops = { randwrite = 100 }\nduration = \"5s\"\ncontent = { compress = \"1.5x\" }";
        let text = format!(
            "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"8G\"\n[[stack]]\nlayer = \"{target}\"\n\
             on = \"data\"\n[[stage]]\ndo = \"load\"\nmeasure = true\n{load}\n"
        );
        explain(&super::plan(&text).unwrap()).variants[0].warnings.join("\n")
    };
    assert!(warned("vdo").contains("saves nothing on VDO"));
    assert_eq!(warned("linear"), "");
}
