//! Tests of `[[expect]]`.

use results::model::Bound;

use super::plan;
use crate::shipped;

fn expecting(keys: &str) -> Result<plan::Plan, String> {
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
    let points = "metric = \"hit_percent\"\nstage = \"warm\"\nlayer = \"cache\"\nnear = 80\ntolerance = \"3 points\"";
    let plan = expecting(points).unwrap();
    let expected = plan.facts.expectations.last().unwrap();
    assert_eq!(expected.bound, Bound::Near { value: 80.0, by: 3.0 });
    assert_eq!(expected.figure.variant, "cached", "the last one unless another is named");
}

#[test]
fn what_runs_changes_nothing_in_what_is_expected_and_was_reported() {
    for shipped in crate::SHIPPED {
        let more = match shipped.name {
            "cache-first-look" => {
                "\n[[expect]]\nmetric = \"iops\"\nstage = \"warm\"\nabove = 2\nof = { variant = \"slow\" }\n\
                 [[reported]]\nwhat = \"a\"\nunit = \"1/s\"\nmetric = \"iops\"\nstage = \"warm\"\nvalues = [{ value = 1 }, { value = 2, variant = \"cached\" }]\n"
            }
            _ => "",
        };
        let text = format!("{}{more}", shipped.text);
        let whole = plan(&text).unwrap().facts;
        for variant in &whole.variants {
            let choices =
                crate::PlanOptions { only: vec![variant.name.clone()], ..super::choices() };
            let one = crate::compose(shipped.name, &text, &choices).unwrap().facts;
            assert_eq!((one.variants.len(), &one.variants[0].name), (1, &variant.name));
            assert_eq!(one.expectations, whole.expectations, "{}: {}", shipped.name, variant.name);
            assert_eq!(one.reported, whole.reported, "{}: {}", shipped.name, variant.name);
        }
    }
}

#[test]
fn why_something_is_expected_at_one_scale_alone_is_kept_where_the_run_has_another() {
    let kept = |scale: &str| {
        let keys = format!(
            "metric = \"iops\"\nstage = \"warm\"\nabove = 5\nbecause = \"two CPUs\"\n{scale}"
        );
        expecting(&keys).map(|mut plan| plan.facts.expectations.pop().unwrap().because)
    };
    assert_eq!(kept("scale = \"lab\"").unwrap(), None, "tests plan at the scale of the lab");
    assert_eq!(kept("scale = \"full\"").unwrap().as_deref(), Some("two CPUs"));
    let needless = kept("").unwrap_err();
    assert!(needless.contains("because = \"two CPUs\""), "the line: {needless}");
    assert!(needless.contains("scale = \"full\""), "the remedy: {needless}");
}

#[test]
fn what_is_expected_at_another_scale_says_at_which() {
    let scale = |scale: &str| {
        let keys = format!("metric = \"iops\"\nstage = \"warm\"\nabove = 5\nscale = \"{scale}\"");
        expecting(&keys).unwrap().facts.expectations.pop().unwrap().scale
    };
    assert_eq!(scale("lab"), None, "tests plan at the scale of the lab");
    assert_eq!(scale("full").as_deref(), Some("full"));
}

#[test]
fn evidence_is_of_both_variants_of_a_ratio() {
    let keys = "metric = \"iops\"\nstage = \"warm\"\noperation = \"randread\"\nabove = 2\nof = { variant = \"slow\" }\n\
                evidence = [{ metric = \"latency_p99_ns\" }]\ndiffers = \"a slow guest\"";
    let expected = expecting(keys).unwrap().facts.expectations.pop().unwrap();
    let shown: Vec<_> =
        expected.evidence.iter().map(|f| (f.metric.as_str(), f.variant.as_str())).collect();
    assert_eq!(shown, [("latency_p99_ns", "cached"), ("latency_p99_ns", "slow")]);
    assert_eq!(expected.evidence[0].operation.as_deref(), Some("randread"));
    assert_eq!(expected.differs.as_deref(), Some("a slow guest"));
}

#[test]
fn what_a_source_reported_is_kept_in_its_order_with_the_figure_it_stands_for() {
    let text = shipped("cache-first-look").unwrap().text;
    let with = |keys: &str| plan(&format!("{text}\n[[reported]]\n{keys}\n"));
    let keys = "what = \"table 1\"\nunit = \"MB/s\"\nmetric = \"throughput_bytes_per_s\"\noperation = \"randread\"\n\
                stage = \"cold\"\nvalues = [{ variant = \"slow\", value = 1.5 }, \
                { variant = \"cached\", stage = \"warm\", value = 30 }]";
    let reported = with(keys).unwrap().facts.reported.pop().unwrap();
    let shown: Vec<_> = reported
        .values
        .iter()
        .map(|v| (v.figure.stage.as_deref(), v.figure.variant.as_str(), v.value))
        .collect();
    assert_eq!(shown, [(Some("cold"), "slow", 1.5), (Some("warm"), "cached", 30.0)]);
    for (from, to, phrase) in [
        ("unit = \"MB/s\"", "", "no key 'unit'"),
        ("\"slow\"", "\"slw\"", "did you mean 'slow'?"),
        ("\"warm\"", "\"warn\"", "did you mean 'warm'?"),
        ("value = 30", "value = \"30\"", "value takes a number"),
        ("value = 30", "worth = 30", "value"),
        ("throughput_bytes_per_s", "throughput", "no metric 'throughput'"),
        ("what = \"table 1\"", "whot = \"table 1\"", "what"),
    ] {
        let shown = with(&keys.replace(from, to)).expect_err(to).render(false);
        assert!(
            shown.contains(phrase) && shown.contains("help:"),
            "{to}: no '{phrase}' in\n{shown}"
        );
    }
    let nan = with(&keys.replace("value = 30", "value = nan")).unwrap_err().render(false);
    assert!(nan.contains("value cannot be NaN"), "{nan}");
    let none = with("what = \"a\"\nunit = \"s\"\nmetric = \"iops\"\nvalues = []").unwrap_err();
    assert!(none.render(false).contains("0 values are reported"));
}

#[test]
fn what_cannot_be_expected_names_the_key_and_the_remedy() {
    for (keys, phrase) in [
        ("metric = \"iops\"", "one of 'above', 'below' and 'near'"),
        ("metric = \"iops\"\nabove = 1\nbelow = 2", "only one of 'above', 'below' and 'near'"),
        ("metric = \"iops\"\nnear = 5", "near = ... has no tolerance"),
        ("metric = \"iops\"\nnear = 5\ntolerance = \"some\"", "tolerance cannot be 'some'"),
        ("metric = \"iops\"\nnear = 5\ntolerance = \"-1 %\"", "tolerance cannot be '-1 %'"),
        (
            "metric = \"iops\"\nabove = 5\ntolerance = \"3 points\"",
            "Only near = ... can have a tolerance",
        ),
        ("metric = \"iops\"\nabove = \"much\"", "above takes a number"),
        ("metric = \"iosp\"\nabove = 5", "did you mean 'iops'"),
        ("metric = \"iops\"\nabove = 5\nvariant = \"cache\"", "did you mean 'cached'"),
        ("metric = \"iops\"\nabove = 5\nstage = \"hot\"", "No measured stage is called 'hot'"),
        ("metric = \"iops\"\nabove = 5\nof = { variant = \"fast\" }", "no variant 'fast'"),
        ("metric = \"iops\"\nabove = 5\nof = 5", "of takes"),
        ("metric = \"iops\"\nabove = 5\nabout = 5", "about"),
        ("metric = \"iops\"\nabove = 5\nscale = \"fall\"", "did you mean 'full'"),
        ("metric = \"iops\"\nabove = 5\nscale = 5", "scale takes"),
        ("metric = \"iops\"\nabove = nan", "above cannot be NaN"),
        ("metric = \"iops\"\nnear = -inf\ntolerance = \"1 %\"", "near cannot be -inf"),
        ("metric = \"iops\"\nabove = 5", "measured in 2 stages"),
        ("metric = \"iops\"\nabove = 5\nevidence = [{ metric = \"iosp\" }]", "did you mean 'iops'"),
        ("metric = \"iops\"\nabove = 5\nevidence = 5", "evidence cannot be 5"),
        ("metric = \"iops\"\nabove = 5\ndiffers = 5", "differs takes"),
    ] {
        let shown = expecting(keys).expect_err(keys);
        assert!(
            shown.contains(phrase) && shown.contains("help:"),
            "{keys}: no '{phrase}' in\n{shown}"
        );
    }
}

/// Returns the report on an expectation with these keys in one of the shipped experiments.
fn refused_in(name: &str, keys: &str) -> String {
    let text = shipped(name).unwrap().text;
    let error = plan(&format!("{text}\n[[expect]]\nabove = 1\n{keys}\n")).expect_err(keys);
    assert_eq!(error.mistakes.len(), 1, "{}", error.render(false));
    error.render(false)
}

#[test]
fn a_figure_that_nothing_here_can_have_is_refused_with_what_has_it() {
    for (name, keys, phrase) in [
        (
            "cache-first-look",
            "metric = \"hit_percent\"\noperation = \"randread\"",
            "a figure of lvmcache and writecache, and 'randread' is an operation",
        ),
        (
            "cache-first-look",
            "metric = \"saving_percent\"\nlayer = \"cache\"",
            "a figure of vdo, and 'cache' is an lvmcache",
        ),
        ("cache-first-look", "metric = \"saving_percent\"", "and there is none here"),
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
            "metric = \"turn_fill_percent\"\nstage = \"warm\"\nlayer = \"slow\"\nvariant = \"slow\"",
            "and 'slow' is a device",
        ),
        (
            "cache-first-look",
            "metric = \"turn_bytes\"\nstage = \"warm\"\nlayer = \"cache\"",
            "a figure of loads, and 'cache' is an lvmcache",
        ),
        (
            "cache-first-look",
            "metric = \"elapsed_s\"\nstage = \"warm\"",
            "a figure of commands, and stage 'warm' is none",
        ),
        ("copy-on-vdo", "metric = \"iops\"\nstage = \"copy-1\"", "and stage 'copy-1' is none"),
        (
            "copy-on-vdo",
            "metric = \"device_reads\"\nlayer = \"xfs\"",
            "a figure of devices, and 'xfs' is an xfs",
        ),
        (
            "copy-on-vdo",
            "metric = \"saving_percent\"\nstage = \"copy-2\"\nlayer = \"vdo\"\nvariant = \"plain\"",
            "Variant 'plain' has no layer or device 'vdo'",
        ),
        (
            "copy-on-vdo",
            "metric = \"saving_percent\"\nstage = \"copy-2\"\nlayer = \"vdo\"\nvariant = \"vdo\"\nof = { variant = \"plain\" }",
            "Variant 'plain' has no layer or device 'vdo'",
        ),
    ] {
        let shown = refused_in(name, keys);
        assert!(
            shown.contains(phrase) && shown.contains("help:"),
            "{keys}: no '{phrase}' in\n{shown}"
        );
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

/// An experiment that loads a tree, with more keys at its end.
fn on_a_tree(more: &str) -> Result<plan::Plan, String> {
    let text = "name = \"grown\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"512M\"\n[[stack]]\nlayer = \"xfs\"\nname = \"fs\"\non = \"data\"\n\
                [[stage]]\ndo = \"tree\"\nname = \"grow\"\nmeasure = true\nops = \"create=2,delete=1\"\nfiles = 300\nfile_size = \"8k\"\nfsync = \"5%\"\nios = 100\n";
    plan(&format!("{text}{more}\n")).map_err(|error| error.render(false))
}

#[test]
fn a_load_of_a_tree_is_asked_about_by_operation_and_as_a_whole() {
    let asked = [
        "[[question]]\nmetric = \"iops\"\noperation = \"create\"",
        "[[question]]\nmetric = \"latency_p99_ns\"\noperation = \"fsync\"",
        "[[question]]\nmetric = \"expected_errors\"\noperation = \"delete\"",
        "[[question]]\nmetric = \"operations_per_s\"",
        "[[expect]]\nmetric = \"tree_files\"\nnear = 200\ntolerance = \"10 %\"",
        "[[picture]]\nshow = \"iops over time\"\noperation = \"create\"",
    ];
    let plan = on_a_tree(&asked.join("\n")).unwrap();
    assert_eq!((plan.facts.questions.len(), plan.facts.pictures.len()), (4, 1));
    for (asked, phrase) in [
        ("metric = \"iops\"\noperation = \"append\"", "No measured stage does 'append'"),
        ("metric = \"tree_files\"\noperation = \"create\"", "is a figure of loads of trees"),
    ] {
        let error = on_a_tree(&format!("[[question]]\n{asked}")).unwrap_err();
        assert!(error.contains(phrase), "{error}");
    }
    let error =
        expecting("metric = \"tree_files\"\nstage = \"warm\"\nnear = 1\ntolerance = \"1 %\"");
    assert!(error.unwrap_err().contains("stage 'warm' is none"));
    let error =
        expecting("metric = \"skipped\"\nstage = \"warm\"\noperation = \"randread\"\nabove = 0");
    assert!(error.unwrap_err().contains("is a figure of operations on trees"));
}
