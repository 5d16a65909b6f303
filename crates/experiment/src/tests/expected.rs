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
