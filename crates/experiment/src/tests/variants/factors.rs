//! Tests of factors: of what they cross, of what is left out, and of the reports of wrong ones.

use super::{DEDUPE, DUPLICATES, HEAD, LOAD, STACK, TWO, cells, mistake, names, planned, setting};
use crate::tests::plan;
use plan::Plan;

const CONTENT: &str = "[[factor]]\nname = \"content\"\nlevels = [\n\
                       { name = \"random\" },\n\
                       { name = \"packable\", set = { \"write.content.compress\" = \"2.5x\", \"vdo.compression\" = false } },\n]\n";

#[test]
fn factors_are_crossed_and_cells_named_by_their_levels() {
    let plan = planned(&format!("{DEDUPE}{DUPLICATES}"));
    assert_eq!(
        names(&plan),
        [
            "dedupe off, duplicates 0%",
            "dedupe off, duplicates 25%",
            "dedupe off, duplicates 50%",
            "dedupe on, duplicates 0%",
            "dedupe on, duplicates 25%",
            "dedupe on, duplicates 50%",
        ]
    );
    assert_eq!(setting(&plan, 0, "vdo", "dedupe"), "off");
    assert_eq!(setting(&plan, 5, "vdo", "dedupe"), "on");
    let dedupe = |variant: usize| cells(&plan)[variant].stages[0].load().unwrap().content.dedupe.0;
    assert_eq!((dedupe(3), dedupe(5)), (0.0, 50.0));
    let levels = &plan.facts.variants[4].levels;
    assert_eq!((levels["dedupe"].as_str(), levels["duplicates"].as_str()), ("on", "25%"));
    let factors: Vec<_> =
        plan.facts.factors.iter().map(|f| (f.name.as_str(), f.levels.len())).collect();
    assert_eq!(factors, [("dedupe", 2), ("duplicates", 3)]);
}

#[test]
fn levels_that_mean_the_same_are_no_two_levels() {
    for (key, levels) in [
        ("write.block_size", "\"4k\", \"4096\""),
        ("write.block_size", "\"8k\", \"4k\", 4096"),
        ("write.duration", "\"1s\", \"1000ms\""),
        ("write.content.dedupe", "\"25%\", \"25.0%\""),
        ("vdo.logical_size", "\"1G\", \"1024M\""),
        ("write.block_size", "\"4k\", \"4k=100\""),
        ("write.block_size", "\"4k..4k\", \"4k\""),
        ("write.content.compress", "\"2.5x\", \"60%\""),
        ("write.content.compress", "\"1x\", \"none\""),
        ("write.block_size", "\"4k=50,8k=50\", \"8k=50,4k=50\""),
        ("write.size", "\"512M\", \"50%\""),
        ("write.size", "\"1G\", \"100%\""),
        ("write.offset", "0, \"0%\""),
        ("write.pattern", "\"zipf:1.1\", \"zipf:1.10\""),
    ] {
        let line = format!("levels = [{levels}]");
        let factor = format!("[[factor]]\nname = \"same\"\nkey = \"{key}\"\n{line}\n");
        // Together with another factor, and with variants.
        for others in ["", DUPLICATES, TWO] {
            let others = if key.contains("dedupe") { "" } else { others };
            let found = mistake(&format!("{others}{factor}"), &line);
            assert!(found.message.contains("of 'same' are the same"), "{key}: {}", found.message);
        }
    }
    let named =
        "levels = [{ name = \"a\", set = { \"vdo.dedupe\" = true } }, { name = \"usual\" }]";
    let found = mistake(&format!("[[factor]]\nname = \"same\"\n{named}\n"), named);
    assert!(found.message.contains("'a' and 'usual'"), "{}", found.message);
    // One that matters in a single variant alone is a factor.
    planned(&format!("{TWO}set.\"write.depth\" = 2\n{DEDUPE}"));
}

#[test]
fn a_level_sets_several_keys_and_crosses_variants() {
    let plan = planned(&format!("{TWO}set.\"vdo.dedupe\" = false\n{CONTENT}"));
    assert_eq!(
        names(&plan),
        ["a, content random", "a, content packable", "b, content random", "b, content packable"]
    );
    let compression: Vec<_> = (0..4).map(|v| setting(&plan, v, "vdo", "compression")).collect();
    assert_eq!(compression, ["on", "off", "on", "off"]);
    assert_eq!(setting(&plan, 2, "vdo", "dedupe"), "off");
}

#[test]
fn a_variant_without_what_a_factor_sets_is_there_once() {
    let plain =
        "[[variant]]\nname = \"plain\"\n[[variant.stack]]\nlayer = \"linear\"\non = \"data\"\n";
    let plan = planned(&format!("{plain}[[variant]]\nname = \"vdo\"\n{DEDUPE}"));
    assert_eq!(names(&plan), ["plain", "vdo, dedupe off", "vdo, dedupe on"]);
    assert!(plan.facts.variants[0].levels.is_empty());
}

#[test]
fn a_stage_is_for_all_cells_of_a_variant_or_for_one_of_them() {
    let only = |name: &str| format!("{TWO}{DEDUPE}[[stage]]\ndo = \"read\"\nonly = [\"{name}\"]\n");
    let stages = |plan: &Plan| cells(plan).iter().map(|cell| cell.stages.len()).collect::<Vec<_>>();
    assert_eq!(stages(&planned(&only("b"))), [1, 1, 2, 2]);
    assert_eq!(stages(&planned(&only("b, dedupe on"))), [1, 1, 1, 2]);
    assert!(mistake(&only("c"), "only = [\"c\"]").help.unwrap().contains("b, dedupe on"));
}

#[test]
fn excluded_combinations_are_left_out() {
    let exclude = "[[exclude]]\ndedupe = false\nduplicates = \"25%\"\n";
    let plan = planned(&format!("{DEDUPE}{DUPLICATES}{exclude}"));
    assert_eq!(plan.facts.variants.len(), 5);
    assert!(!names(&plan).contains(&"dedupe off, duplicates 25%"));
    let exclude = "[[exclude]]\nvariant = \"a\"\ndedupe = \"on\"\n";
    assert_eq!(
        names(&planned(&format!("{TWO}{DEDUPE}{exclude}"))),
        ["a, dedupe off", "b, dedupe off", "b, dedupe on"]
    );
}

/// Checks that the mistake with the remedy `help` is reported at the line `line` of this experiment.
fn is_told(rest: &str, line: &str, help: &str) {
    // Keys of the file itself come before its tables.
    let (first, rest) = match rest.split_once('\n') {
        Some((first, rest)) if !first.starts_with('[') => (first, rest),
        None => (rest, ""),
        _ => ("", rest),
    };
    let text = format!("{first}\n{HEAD}{STACK}{LOAD}{rest}");
    let error = plan(&text).expect_err(&text);
    let found = error.mistakes.iter().find(|m| format!("{m:?}").contains(help));
    let found = found.unwrap_or_else(|| panic!("{help}:\n{}", error.render(false)));
    let at = text[..found.span.clone().unwrap().start].matches('\n').count();
    assert_eq!(text.lines().nth(at), Some(line), "{}", error.render(false));
}

#[test]
fn what_a_factor_varies_nothing_else_sets() {
    for (rest, line, help) in [
        (
            format!(
                "{DEDUPE}[[factor]]\nname = \"again\"\nkey = \"vdo.dedupe\"\nlevels = [true, false]\n"
            ),
            "name = \"again\"",
            "vary it by one of them",
        ),
        (
            "[[factor]]\nname = \"size\"\nkey = \"device.data.size\"\nlevels = [\"8G\", \"9G\"]\n"
                .to_owned(),
            "name = \"size\"",
            "the layer on it",
        ),
        (
            format!("[[variant]]\nname = \"own\"\nset.\"vdo.dedupe\" = false\n{DEDUPE}"),
            "name = \"dedupe\"",
            "remove it from one of them",
        ),
    ] {
        is_told(&rest, line, help);
    }
}

#[test]
fn a_wrong_factor_or_exclusion_is_told_at_its_line_with_the_remedy() {
    let factor = |lines: &str| format!("[[factor]]\n{lines}\n");
    let named = |lines: &str| format!("[[factor]]\nname = \"f\"\n{lines}\n");
    let key = |lines: &str| format!("[[factor]]\nname = \"f\"\nkey = \"write.depth\"\n{lines}\n");
    let exclude = |lines: &str| format!("{DEDUPE}[[exclude]]\n{lines}\n");
    let many =
        format!("levels = [{}]", (1..=1001).map(|n| n.to_string()).collect::<Vec<_>>().join(", "));
    let long = format!("name = \"{}\"", "x".repeat(62));
    for (rest, line, help) in [
        (factor("levels = [1, 2]"), "[[factor]]", "name takes"),
        (factor("name = 5"), "name = 5", "as in name"),
        (factor("name = \"variant\""), "name = \"variant\"", "another name"),
        (named("# none"), "[[factor]]", "levels takes"),
        (named("levels = 5"), "levels = 5", "as in levels"),
        (named("levels = [1, 2]"), "levels = [1, 2]", "add it: key takes"),
        (named("levels = [[1], [2]]"), "levels = [[1], [2]]", "as in levels"),
        (named("levels = [{ set = {} }]"), "levels = [{ set = {} }]", "name takes"),
        (
            named("levels = [{ name = \"a\", st = 1 }]"),
            "levels = [{ name = \"a\", st = 1 }]",
            "did you mean 'set'",
        ),
        (
            named("levels = [{ name = \"a\", set = 1 }]"),
            "levels = [{ name = \"a\", set = 1 }]",
            "as in set",
        ),
        (named("key = 5"), "key = 5", "as in key"),
        (named("lvels = [1]"), "lvels = [1]", "did you mean 'levels'"),
        (key("levels = [1]"), "levels = [1]", "add levels"),
        (key("levels = [1, 1]"), "levels = [1, 1]", "its own name"),
        (key("levels = [1, { name = \"a\" }]"), "levels = [1, { name = \"a\" }]", "leave key out"),
        (key("levels = [1, 0]"), "levels = [1, 0]", "depth"),
        (key("levels = [1, true]"), "levels = [1, true]", "as in depth"),
        (named("key = \"rite.depth\"\nlevels = [1, 2]"), "key = \"rite.depth\"", "stages: write"),
        (
            named("key = \"vdo.dedup\"\nlevels = [1, 2]"),
            "key = \"vdo.dedup\"",
            "did you mean 'dedupe'",
        ),
        (
            named("levels = [{ name = \"a\" }, { name = \"b\" }]"),
            "levels = [{ name = \"a\" }, { name = \"b\" }]",
            "write what a level sets",
        ),
        (key(&many), "name = \"f\"", "fewer levels"),
        (
            factor(&format!("{long}\nkey = \"write.depth\"\nlevels = [100, 200]")),
            "levels = [100, 200]",
            "64",
        ),
        (
            format!("{DEDUPE}# again\n{}", DEDUPE.replace("key", "  key")),
            "name = \"dedupe\"",
            "its own name",
        ),
        (exclude("# none"), "[[exclude]]", "name levels"),
        (exclude("dedup = \"on\""), "dedup = \"on\"", "did you mean 'dedupe'"),
        (exclude("dedupe = \"onn\""), "dedupe = \"onn\"", "did you mean 'on'"),
        (exclude("dedupe = [1]"), "dedupe = [1]", "one level of each"),
        (exclude("variant = \"a\""), "variant = \"a\"", "There are: dedupe"),
        (
            exclude("dedupe = \"on\"\n[[exclude]]\ndedupe = false"),
            "[[exclude]]",
            "leave an exclusion out",
        ),
        (format!("exclude = 5\n{DEDUPE}"), "exclude = 5", "as in exclude"),
        ("factor = 5".to_owned(), "factor = 5", "as in factor"),
    ] {
        is_told(&rest, line, help);
    }
}
