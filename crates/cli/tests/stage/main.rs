//! A kind of stage of one file goes through the whole program: here one that nobody has, from its key to the verdict. What its
//! [`KIND`](made_up::KIND) does not say, no other place may have to know; and no other place knows a kind by its name.

#[cfg(test)]
mod made_up;
#[cfg(test)]
mod named;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use experiment::Explained;
use plan::Plan;
use results::model::{Accelerator, MachineFacts};
use run::local::{self, LocalMachine};
use run::{Ledger, RunOutcome, Start};
use sys::interrupt::Interrupt;
use units::Seed;

/// A made-up stage after a load that writes, on two volumes.
const TEXT: &str = r#"
name = "made-up"
about = "What a stage that nobody has does"
repeat = 5

[devices.data]
size = "1G"

[[variant]]
name = "small"
[[variant.stack]]
layer = "linear"
on = "data"
size = "256M"

[[variant]]
name = "large"
[[variant.stack]]
layer = "linear"
on = "data"
size = "512M"

[[stage]]
do = "load"
ops = { write = 100 }
passes = 1

[[stage]]
do = "soak"
measure = true
passes = 3

[[question]]
metric = "elapsed_s"
stage = "soak"
"#;

/// A load that reads what only `before` can have written.
const READS: &str = r#"
[[stage]]
do = "load"
name = "reads"
measure = true
ops = { randread = 100 }
duration = "3s"
"#;

/// Tells whether the made-up kind is one of those that there are.
static REGISTERED: LazyLock<bool> = LazyLock::new(|| experiment::register([made_up::KIND]));

fn plan(text: &str) -> Result<Plan, experiment::ExperimentError> {
    let choices = experiment::PlanOptions {
        seed: Seed(1),
        run_tag: "0badcafe".into(),
        repeat: None,
        sizes: BTreeMap::new(),
        scale: experiment::Scale::Usual("lab"),
        only: Vec::new(),
    };
    experiment::compose("made-up.toml", text, &choices)
}

#[test]
fn a_stage_of_one_file_goes_through_the_whole_program() {
    assert!(*REGISTERED, "no test may read a file before");
    let refused = plan(&TEXT.replace("passes = 3", "passes = 30")).unwrap_err().render(false);
    assert!(refused.contains("30 passes") && refused.contains("made-up.toml:"), "{refused}");
    let unknown = plan(&TEXT.replace("\"soak\"\nmeasure", "\"soka\"\nmeasure")).unwrap_err();
    assert!(unknown.render(false).contains("soak"), "it is among those that there are");
    let plan = plan(TEXT).unwrap_or_else(|error| panic!("{}", error.render(false)));
    assert_eq!(plan.needs.tools.iter().filter(|tool| *tool == "soakctl").count(), 1);
    let Explained { variants, .. } = experiment::explain(&plan);
    assert!(variants[0].stages[1].contains("soakctl 3 "), "{:?}", variants[0].stages);
    // Nobody knows how much it writes: at most the target is full.
    assert!(plan.devices["data"].stored.0 > 512 << 20, "{:?}", plan.devices["data"].stored);

    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("result");
    let start = Start {
        command: vec!["a test".into()],
        tool_version: "0".into(),
        accelerator: Accelerator::None,
        accelerator_reason: None,
        simulated: true,
        devices: BTreeMap::new(),
        host: MachineFacts::default(),
        experiment_text: TEXT.into(),
    };
    let ledger = Ledger::begin(&out, &plan, start, Box::new(|_| {})).unwrap();
    let machine = LocalMachine::Simulated { pace: None };
    let outcome = local::run(&plan, &machine, &[], ledger, None, &Interrupt::new()).unwrap();
    assert_eq!(outcome, RunOutcome::Complete);

    let result = results::open(&out).unwrap();
    for record in result.cells.iter().map(|cell| cell.record.as_ref().unwrap()) {
        let soaked = &record.stages[1];
        assert_eq!(
            (soaked.kind.as_str(), soaked.traits),
            ("soak", Some(made_up::KIND.facts.traits))
        );
        assert_eq!(record.content_of_growth().achieved, None, "nobody looked at what it wrote");
    }
    let analysis = analysis::analyse(&result);
    let findings = doctor::examine(&result, &analysis);
    let view = report::view::view(&result, &analysis, &findings);
    let json = report::json::json(&view);
    let elapsed = &json["variants"][1]["command"]["elapsed_s"]["median"];
    assert!(elapsed.as_f64().is_some_and(|seconds| seconds > 0.0), "{json:#}");
    let verdict = &json["comparisons"][0]["verdict"];
    assert!(verdict.is_string(), "{json:#}");
    let page = report::html::page(std::slice::from_ref(&view));
    let shown = report::terminal::text(&view, 100, false);
    // Of a single measured stage the terminal tells the figures alone.
    assert!(shown.contains("command took") && shown.contains("elapsed time"), "{shown}");
    assert!(page.contains("soak") && page.contains("soakctl 3 "));
}

#[test]
fn rules_know_what_a_stage_does_by_its_traits() {
    assert!(*REGISTERED);
    let read_nothing = |text: &str| {
        let plan = plan(text).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let found = doctor::check_plan(&plan.facts);
        found.iter().any(|finding| finding.rule == "reads_of_nothing")
    };
    let stacks = TEXT.split("[[stage]]").next().unwrap();
    let text = |before: &str| format!("{stacks}{before}{READS}");
    assert!(read_nothing(&text("")));
    assert!(read_nothing(&text("[[stage]]\ndo = \"drop_caches\"\n")));
    assert!(!read_nothing(&text("[[stage]]\ndo = \"soak\"\npasses = 1\n")));
}
