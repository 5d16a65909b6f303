//! Tests of what says two things at once, or nothing: each is refused at its line, with the remedy.

use super::{only_mistake, plan};

/// A volume and a load that measures it; `stage` are keys of the load, `rest` what follows.
fn text(stage: &str, rest: &str) -> String {
    format!(
        "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"8G\"\n[[stack]]\nlayer = \"vdo\"\n\
         on = \"data\"\nlogical_size = \"1G\"\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
         set.\"vdo.dedupe\" = false\n[[stage]]\ndo = \"load\"\nname = \"w\"\nmeasure = true\n{stage}\n{rest}\n"
    )
}

const WRITES: &str = "ops = { randwrite = 100 }\nduration = \"2s\"";
const READS: &str = "ops = { randread = 100 }\nduration = \"2s\"";

/// Each text with what its only mistake stands in and says.
fn refuses(wrong: &[(String, &str, &str)]) {
    for (text, line, phrase) in wrong {
        let shown = only_mistake(text, line);
        assert!(shown.contains(phrase), "no '{phrase}' in\n{shown}");
    }
}

#[test]
fn a_figure_over_itself_and_an_interval_of_nothing_are_no_expectations() {
    let expect = |keys: &str| {
        text(WRITES, &format!("[[expect]]\nmetric = \"iops\"\noperation = \"randwrite\"\n{keys}"))
    };
    plan(&expect("above = 1\nof = { variant = \"a\" }")).unwrap();
    refuses(&[
        (expect("above = 1\nof = {}"), "of = {}", "always 1"),
        (expect("above = 1\nof = { variant = \"b\" }"), "of = ", "always 1"),
        (expect("near = 0\ntolerance = \"15 %\""), "tolerance", "write points"),
        (expect("over = 1"), "over = 1", "Allowed here"),
    ]);
}

#[test]
fn a_swept_key_has_no_value_beside_the_sweep_and_changes_something() {
    let sweep = |sweep: &str| text(&format!("{READS}\n{sweep}"), "");
    plan(&sweep("sweep = { depth = [1, 8] }")).unwrap();
    refuses(&[
        (sweep("depth = 8\nsweep = { depth = [1, 8] }"), "depth = 8", "leave one of the two out"),
        (sweep("sweep = { depth = [4] }"), "sweep", "a single point"),
        (sweep("sweep = { \"content.dedupe\" = [\"0%\", \"50%\"] }"), "sweep", "writes nothing"),
        (sweep("sweep_state = \"steady\""), "sweep_state", "add sweep = "),
        (sweep("hot_seed = 7"), "hot_seed", "Allowed here"),
    ]);
    assert!(!only_mistake(&sweep("hot_sed = 7"), "hot_sed").contains("hot_seed"));
}

#[test]
fn a_stage_that_waits_for_nothing_is_for_nobody_or_has_a_target_that_means_nothing_is_refused() {
    let stage = |keys: &str| text(WRITES, &format!("[[stage]]\n{keys}\n"));
    refuses(&[
        (stage("do = \"wait\"\nduration = \"0s\""), "duration", "more than 0s"),
        (stage("do = \"trim\"\nonly = []"), "only", "leave the stage out"),
        (stage("do = \"drop_caches\"\ntarget = \"vdo\""), "target", "leave target out"),
        (stage("do = \"read\"\ntarget = \"vdo\""), "target", "leave target out"),
        (
            stage(
                "do = \"fill\"\nuntil = { layer = \"vdo\", metric = \"physical_used_percent\", at_least = -1 }\nby = { ops = { randwrite = 100 } }",
            ),
            "until",
            "above 0",
        ),
    ]);
}

#[test]
fn a_picture_is_drawn_once_and_has_each_percentile_once() {
    let bars = "[[picture]]\nshow = \"latency bars\"\nstage = \"w\"\n";
    refuses(&[
        (text(WRITES, &format!("{bars}{bars}")), "[[picture]]", "leave one of the two out"),
        (text(WRITES, &format!("{bars}percentiles = [50, 50]")), "percentiles", "leave one out"),
    ]);
}

#[test]
fn a_key_that_is_needed_and_misspelt_is_told_by_the_name_that_was_meant() {
    let rest = |rest: &str| text(WRITES, rest);
    let layer = text(WRITES, "").replace("layer = \"vdo\"", "layr = \"vdo\"");
    let layer = layer.replace("set.\"vdo.dedupe\" = false", "");
    refuses(&[
        (rest("[[question]]\nmetrc = \"iops\""), "metrc", "did you mean 'metric'"),
        (rest("[[stage]]\ndoo = \"trim\""), "doo", "did you mean 'do'"),
        (
            rest("[[stage]]\ndo = \"layer\"\nactoin = \"restart\""),
            "actoin",
            "did you mean 'action'",
        ),
        (rest("[[stage]]\ndo = \"state\"\niss = \"fresh\""), "iss", "did you mean 'is'"),
        (layer, "layr", "did you mean 'layer'"),
    ]);
    let set = |path: &str| text(WRITES, "").replace("\"vdo.dedupe\"", path);
    refuses(&[
        (set("\"vod.dedupe\""), "vod", "did you mean 'vdo'"),
        (set("\"device.dat.size\""), "device.dat", "did you mean 'device.data'"),
    ]);
}

#[test]
fn a_layer_that_nobody_uses_is_refused_where_a_stack_has_several_tops() {
    let beside = |stage: &str, rest: &str| {
        text(&format!("{WRITES}\n{stage}"), rest).replace(
            "[[variant]]\nname = \"a\"",
            "[[stack]]\nlayer = \"linear\"\nname = \"plain\"\non = \"other\"\n[[variant]]\nname = \"a\"",
        )
        .replace("[devices.data]", "[devices.other]\nsize = \"1G\"\n[devices.data]")
    };
    refuses(&[
        (beside("", ""), "layer = \"vdo\"", "target = \"vdo\""),
        (beside("target = \"vdo\"", ""), "layer = \"linear\"", "target = \"plain\""),
    ]);
    let question = "[[question]]\nmetric = \"saving_percent\"\nlayer = \"vdo\"";
    plan(&beside("", question)).unwrap();
    plan(&beside("target = { vdo = 50, plain = 50 }", "")).unwrap();
}
