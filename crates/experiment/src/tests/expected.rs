//! Tests of `[[expect]]`.

use results::model::Bound;

use super::plan;
use crate::shipped;

fn expecting(keys: &str) -> Result<crate::Plan, String> {
    let text = shipped("cache-first-look").unwrap().text;
    plan(&format!("{text}\n[[expect]]\n{keys}\n")).map_err(|error| error.render(false))
}

#[test]
fn an_expectation_is_of_a_figure_or_of_a_ratio_that_names_only_what_differs() {
    let keys = "metric = \"iops\"\nstage = \"warm\"\noperation = \"randread\"\nvariant = \"cached\"\n\
                near = 2\ntolerance = \"15 %\"\nof = { variant = \"slow\" }\nsource = \"a page\"";
    let plan = expecting(keys).unwrap();
    let expected = plan.facts.expectations.last().unwrap();
    assert!(matches!(expected.bound, Bound::Near { value: 2.0, by } if (by - 0.3).abs() < 1e-12));
    let of = expected.of.as_ref().unwrap();
    assert_eq!((of.variant.as_str(), of.stage.as_deref()), ("slow", Some("warm")));
    assert_eq!((of.metric.as_str(), of.operation.as_deref()), ("iops", Some("randread")));
    let points = "metric = \"hit_percent\"\nlayer = \"cache\"\nnear = 80\ntolerance = \"3 points\"";
    let plan = expecting(points).unwrap();
    let expected = plan.facts.expectations.last().unwrap();
    assert_eq!(expected.bound, Bound::Near { value: 80.0, by: 3.0 });
    assert_eq!(expected.figure.variant, "cached", "the last one unless another is named");
}

#[test]
fn what_is_expected_at_another_scale_is_left_out() {
    let count = |scale: &str| {
        let keys = format!("metric = \"iops\"\nabove = 5\nscale = \"{scale}\"");
        expecting(&keys).unwrap().facts.expectations.len()
    };
    assert_eq!(count("lab"), count("full") + 1, "tests plan at the scale of the lab");
}

#[test]
fn what_cannot_be_expected_names_the_key_and_the_remedy() {
    for (keys, said) in [
        ("metric = \"iops\"", "one of 'above', 'below' and 'near'"),
        ("metric = \"iops\"\nabove = 1\nbelow = 2", "one of 'above', 'below' and 'near'"),
        ("metric = \"iops\"\nnear = 5", "How near"),
        ("metric = \"iops\"\nnear = 5\ntolerance = \"some\"", "tolerance cannot be 'some'"),
        ("metric = \"iops\"\nnear = 5\ntolerance = \"-1 %\"", "tolerance cannot be '-1 %'"),
        ("metric = \"iops\"\nabove = 5\ntolerance = \"3 points\"", "Only what is near"),
        ("metric = \"iops\"\nabove = \"much\"", "above takes a number"),
        ("metric = \"iosp\"\nabove = 5", "did you mean 'iops'"),
        ("metric = \"iops\"\nabove = 5\nvariant = \"cache\"", "did you mean 'cached'"),
        ("metric = \"iops\"\nabove = 5\nstage = \"hot\"", "No measured stage is called 'hot'"),
        ("metric = \"iops\"\nabove = 5\nof = { variant = \"fast\" }", "no variant 'fast'"),
        ("metric = \"iops\"\nabove = 5\nof = 5", "of takes"),
        ("metric = \"iops\"\nabove = 5\nabout = 5", "about"),
        ("metric = \"iops\"\nabove = 5\nscale = \"fall\"", "did you mean 'full'"),
        ("metric = \"iops\"\nabove = 5\nscale = 5", "scale takes"),
    ] {
        let shown = expecting(keys).expect_err(keys);
        assert!(shown.contains(said) && shown.contains("help:"), "{keys}: no '{said}' in\n{shown}");
    }
}

/// What is said of an expectation with these keys in one of the shipped experiments.
fn refused_in(name: &str, keys: &str) -> String {
    let text = shipped(name).unwrap().text;
    let error = plan(&format!("{text}\n[[expect]]\nabove = 1\n{keys}\n")).expect_err(keys);
    assert_eq!(error.mistakes.len(), 1, "{}", error.render(false));
    error.render(false)
}

#[test]
fn a_figure_that_nothing_here_can_have_is_refused_with_what_has_it() {
    for (name, keys, said) in [
        (
            "cache-first-look",
            "metric = \"hit_percent\"\noperation = \"randread\"",
            "a figure of lvmcache, and 'randread' is an operation",
        ),
        (
            "cache-first-look",
            "metric = \"saving_percent\"\nlayer = \"cache\"",
            "a figure of vdo, and 'cache' is a lvmcache",
        ),
        ("cache-first-look", "metric = \"saving_percent\"", "of which there is none here"),
        (
            "cache-first-look",
            "metric = \"iops\"\nlayer = \"cache\"",
            "a figure of loads, and 'cache'",
        ),
        (
            "cache-first-look",
            "metric = \"hit_percent\"\nlayer = \"slow\"\nvariant = \"slow\"",
            "and 'slow' is a device",
        ),
        ("cache-first-look", "metric = \"elapsed_s\"", "a figure of commands"),
        (
            "cache-first-look",
            "metric = \"elapsed_s\"\nstage = \"warm\"",
            "a figure of commands, and stage 'warm' is none",
        ),
        ("copy-on-vdo", "metric = \"iops\"\nstage = \"copy-1\"", "and stage 'copy-1' is none"),
        (
            "copy-on-vdo",
            "metric = \"device_reads\"\nlayer = \"xfs\"",
            "a figure of devices, and 'xfs' is a xfs",
        ),
        (
            "copy-on-vdo",
            "metric = \"saving_percent\"\nlayer = \"vdo\"\nvariant = \"plain\"",
            "Variant 'plain' has no layer or device 'vdo'",
        ),
        (
            "copy-on-vdo",
            "metric = \"saving_percent\"\nlayer = \"vdo\"\nvariant = \"vdo\"\nof = { variant = \"plain\" }",
            "Variant 'plain' has no layer or device 'vdo'",
        ),
    ] {
        let shown = refused_in(name, keys);
        assert!(shown.contains(said) && shown.contains("help:"), "{keys}: no '{said}' in\n{shown}");
    }
}

#[test]
fn what_only_keeps_from_a_variant_is_neither_expected_of_it_nor_all_that_it_measures() {
    let text = |only: &str, more: &str| {
        format!(
            "name = \"x\"\nabout = \"\"\n[devices.data]\nsize = \"2G\"\n[[stack]]\nlayer = \"linear\"\non = \"data\"\n\
             [[variant]]\nname = \"one\"\n[[variant]]\nname = \"two\"\nset.\"linear.size\" = \"1G\"\n\
             [[stage]]\ndo = \"load\"\nname = \"first\"\nmeasure = true\nonly = [\"one\"]\nops = {{ randread = 100 }}\nduration = \"1s\"\n\
             [[stage]]\ndo = \"load\"\nname = \"second\"\nmeasure = true\n{only}ops = {{ randread = 100 }}\nduration = \"1s\"\n{more}"
        )
    };
    plan(&text("", "")).unwrap();
    let shown = plan(&text("only = [\"one\"]\n", "")).unwrap_err().render(false);
    assert!(shown.contains("No stage of variant 'two' is measured"), "{shown}");
    assert!(shown.contains("name = \"two\""), "{shown}");
    let expect = |variant: &str| {
        format!(
            "[[expect]]\nmetric = \"iops\"\nabove = 1\nstage = \"first\"\nvariant = \"{variant}\"\n"
        )
    };
    plan(&text("", &expect("one"))).unwrap();
    let shown = plan(&text("", &expect("two"))).unwrap_err().render(false);
    assert!(shown.contains("Variant 'two' has no measured stage 'first'"), "{shown}");
    assert!(shown.contains("stage = \"first\"") && shown.contains("second"), "{shown}");
}
