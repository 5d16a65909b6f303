//! Tests of `do = "fill"`.

use units::Nanos;

use super::{only_mistake, plan};
use crate::explain;
use plan::FillPlan;
use plan::Plan;
use plan::Task;

const UNTIL: &str = "until = { layer = \"cache\", metric = \"used_percent\", at_least = 99 }";
const BY: &str = "by = { ops = { randread = 100 }, pattern = \"zipf:1.2\", depth = 8 }";

/// An experiment that fills a cache before it reads; `fill` are the keys of the fill.
fn text(fill: &str) -> String {
    format!(
        "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.slow]\nsize = \"1G\"\n[devices.fast]\nsize = \"256M\"\n\
         [[stack]]\nlayer = \"lvmcache\"\nname = \"cache\"\non = {{ origin = \"slow\", cache = \"fast\" }}\n\
         size = \"512M\"\ncache_size = \"128M\"\n[[stage]]\ndo = \"fill\"\nname = \"junk\"\n{fill}\n\
         [[stage]]\ndo = \"load\"\nmeasure = true\nops = {{ randread = 100 }}\nduration = \"5s\"\n"
    )
}

fn planned(fill: &str) -> Plan {
    plan(&text(fill)).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn fill(plan: &Plan) -> &FillPlan {
    let Task::Fill(fill) = &plan.cells[0].stages[0].task else { panic!("no fill") };
    fill
}

/// Returns the report of the only mistake, which has to be in a line with `line`.
fn refused(fill: &str, line: &str) -> String {
    only_mistake(&text(fill), line)
}

#[test]
fn a_fill_says_until_when_by_what_and_how_long_at_most() {
    let plan = planned(&format!("{UNTIL}\n{BY}"));
    let found = fill(&plan);
    assert_eq!((&*found.layer, &*found.metric, found.at_least), ("cache", "used_percent", 99.0));
    assert_eq!(found.by.depth, 8);
    let stage = &plan.cells[0].stages[0];
    assert!(stage.load().is_none() && stage.driven().is_some());
    assert_eq!(stage.patience(), Some(Nanos::from_secs(1800)));
    let shown = explain(&plan).variants[0].stages[0].clone();
    assert!(shown.contains("until used_percent of cache is at least 99 %"), "{shown}");
    assert!(shown.contains("zipf") && shown.contains("for at most 30"), "{shown}");
    let short = planned(&format!("{UNTIL}\n{BY}\ndeadline = \"20s\""));
    assert_eq!(short.cells[0].stages[0].patience(), Some(Nanos::from_secs(20)));
    assert_eq!(short.cells[0].stages[0].about, Nanos::from_secs(20));
}

#[test]
fn a_plan_with_a_fill_travels_through_json_unchanged() {
    let plan = planned(&format!("{UNTIL}\n{BY}"));
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
}

#[test]
fn what_is_missing_or_wrong_in_a_fill_is_told_at_its_place() {
    let until = |text: &str| format!("until = {{ {text} }}\n{BY}");
    let by = |text: &str| format!("{UNTIL}\nby = {{ {text} }}");
    for (fill, line, phrase) in [
        (BY.to_owned(), "[[stage]]", "has no goal"),
        (UNTIL.to_owned(), "[[stage]]", "no key 'by'"),
        (format!("until = 5\n{BY}"), "until = 5", "used_percent"),
        (until("metric = \"used_percent\", at_least = 9"), "until", "no key 'layer'"),
        (until("layer = \"cache\", at_least = 9"), "until", "no key 'metric'"),
        (until("layer = \"cache\", metric = \"used_percent\""), "until", "no key 'at_least'"),
        (
            until("layer = \"cash\", metric = \"used_percent\", at_least = 9"),
            "cash",
            "did you mean 'cache'",
        ),
        (
            until("layer = \"cache\", metric = \"saving_percent\", at_least = 9"),
            "saving",
            "There are: hit_percent",
        ),
        (
            until("layer = \"cache\", metric = \"used_percent\", at_least = 101"),
            "101",
            "never 101 %",
        ),
        (
            until("layer = \"cache\", metric = \"used_percent\", at_least = nan"),
            "nan",
            "cannot be NaN",
        ),
        (
            until("layer = \"cache\", metric = \"used_percent\", at_least = \"9\""),
            "until",
            "a number",
        ),
        (
            until("layer = \"cache\", metric = \"used_percent\", at_leats = 9, at_least = 9"),
            "at_leats",
            "did you mean 'at_least'",
        ),
        (format!("{UNTIL}\nby = 5"), "by = 5", "ops"),
        (by("depth = 8"), "by", "ops"),
        (by("ops = { randread = 100 }, dept = 8"), "dept", "did you mean 'depth'"),
        (by("ops = { randread = 100 }, duration = \"5s\""), "duration", "'until' or 'to' ends it"),
        (by("ops = { randread = 100 }, passes = 1"), "passes", "deadline"),
        (by("ops = { randread = 100 }, ramp = \"1s\""), "ramp", "nothing of it is measured"),
        (by("ops = { randread = 100 }, verify = \"read\""), "verify", "remove it"),
        (by("ops = { write = 100 }, jobs = 2"), "by", "pattern = \"permutation\""),
        (by("ops = { write = 50, randread = 50 }"), "by", "jobs = 1"),
        (format!("to = \"80%\"\n{BY}"), "[[stage]]", "of = "),
        (format!("of = \"cache\"\n{BY}"), "[[stage]]", "to = "),
        (
            format!("to = \"80%\"\nof = \"cash\"\n{BY}"),
            "cash",
            "did you mean 'cache'? There are: cache",
        ),
        (format!("to = \"180%\"\nof = \"cache\"\n{BY}"), "180", "80%"),
        (by("ops = { randwrite = 100 }, pattern = \"strided:8\""), "by", "strided:8"),
        (by("ops = { randread = 100 }, size = \"8G\""), "by", "8"),
        (format!("{UNTIL}\n{BY}\ndeadline = \"200h\""), "200h", "1s to 168h"),
        (format!("{UNTIL}\n{BY}\ndeadline = true"), "deadline", "a time"),
        (format!("{UNTIL}\n{BY}\nmeasure = true"), "measure", "cannot be measured"),
        (format!("{UNTIL}\n{BY}\nto = \"80%\"\nof = \"cache\""), "until", "has two goals"),
        (format!("{UNTIL}\n{BY}\ntarget = \"cash\""), "cash", "'cash'"),
    ] {
        let shown = refused(&fill, line);
        assert!(shown.contains(phrase), "{fill}: no '{phrase}' in\n{shown}");
    }
}

#[test]
fn a_layer_that_has_no_metrics_is_said_to_have_none() {
    let text = text(&format!("{UNTIL}\n{BY}"))
        .replace("layer = \"lvmcache\"\nname", "layer = \"linear\"\nname")
        .replace("on = { origin = \"slow\", cache = \"fast\" }", "on = \"slow\"")
        .replace("cache_size = \"128M\"\n", "")
        .replace("[devices.fast]\nsize = \"256M\"\n", "");
    let shown = plan(&text).unwrap_err().render(false);
    assert!(shown.contains("'cache', a linear, has no metric 'used_percent'"), "{shown}");
    assert!(shown.contains("fathom layers"), "{shown}");
}
