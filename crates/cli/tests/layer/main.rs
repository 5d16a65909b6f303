//! A layer of one folder goes through the whole program: here one that nobody has, from its settings to the page. What its
//! [`KIND`](made_up::KIND) does not say, no other place may have to know.

#[cfg(test)]
mod made_up;

use std::collections::BTreeMap;

use results::model::{Accelerator, MachineFacts};
use run::local::{self, LocalMachine};
use run::{Ledger, RunOutcome, Start};
use sys::interrupt::Interrupt;
use units::Seed;

/// A made-up layer on two devices, and one on none, against nothing but a volume.
const TEXT: &str = r#"
name = "made-up"
about = "What a layer that nobody has does"
repeat = 2

[devices.data]
size = "1G"

[devices.spare]
size = "1G"

[[variant]]
name = "plain"
[[variant.stack]]
layer = "linear"
on = "data"
size = "256M"

[[variant]]
name = "mirrored"
[[variant.stack]]
layer = "mirrored"
name = "pair"
on = { left = "data", right = "spare" }
width = "128k"

[[variant]]
name = "in memory"
[[variant.stack]]
layer = "heap"

[[stage]]
do = "load"
name = "writes"
measure = true
ops = { randwrite = 100 }
duration = "3s"

[[question]]
metric = "mirrored_writes"
layer = "pair"

[[question]]
metric = "iops"
operation = "randwrite"
"#;

fn plan(text: &str) -> Result<plan::Plan, experiment::ExperimentError> {
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
fn a_layer_of_one_folder_goes_through_the_whole_program() {
    assert!(layers::register([made_up::KIND, made_up::HEAP]), "no test may ask for kinds before");
    let refused = plan(&TEXT.replace("128k", "3k")).unwrap_err().render(false);
    assert!(refused.contains("width") && refused.contains("made-up.toml:"), "{refused}");
    let plan = plan(TEXT).unwrap_or_else(|error| panic!("{}", error.render(false)));
    assert!(plan.needs.modules.iter().any(|module| module == "dm-made-up"));
    let explained = serde_json::to_string(&experiment::explain(&plan)).unwrap();
    assert!(explained.contains("mirrorctl create fathom_0badcafe_pair"), "{explained}");

    let heap = plan.cells.iter().find(|cell| cell.variant == "in memory").unwrap();
    let shown: Vec<_> = heap.up.iter().map(|step| step.action.show()).collect();
    let forget = ["sync", "echo 3 > /proc/sys/vm/drop_caches"];
    let expected = [&["heapctl create fathom_0badcafe_heap"][..], &forget].concat();
    assert_eq!(shown, expected, "no device is emptied for it");
    assert_eq!(plan.needs.memory.0, 256 << 20);

    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("result");
    let start = Start {
        command: vec!["a test".into()],
        tool_version: "0".into(),
        accelerator: Accelerator::None,
        accelerator_reason: None,
        simulated: true,
        devices: std::collections::BTreeMap::new(),
        host: MachineFacts::default(),
        experiment_text: TEXT.into(),
    };
    let ledger = Ledger::begin(&out, &plan, start, Box::new(|_| {})).unwrap();
    let machine = LocalMachine::Simulated { pace: None };
    let outcome = local::run(&plan, &machine, &[], ledger, None, &Interrupt::new()).unwrap();
    assert_eq!(outcome, RunOutcome::Complete);

    let result = results::open(&out).unwrap();
    for record in result.cells.iter().map(|cell| cell.record.as_ref().unwrap()) {
        assert_eq!(record.leftovers, Some(Vec::new()));
    }
    let mut pairs = result.cells_of("mirrored").filter_map(|cell| cell.record.as_ref());
    let writes = pairs.next().unwrap().layers["pair"]["mirrored_writes"];
    assert!(writes.is_some_and(|writes| writes > 0.0), "{writes:?}");

    let iops = |cell: &results::read::CellData| {
        let stages = &cell.record.as_ref().unwrap().stages;
        stages[0].load.as_ref().unwrap().operations["randwrite"].iops
    };
    assert!(result.cells_of("in memory").all(|cell| iops(cell).is_some_and(|iops| iops > 0.0)));

    let analysis = analysis::analyse(&result);
    let findings = doctor::examine(&result, &analysis);
    assert!(findings.iter().any(|finding| finding.rule == "mirrored_twice"), "{findings:?}");
    let view = report::view::view(&result, &analysis, &findings);
    let page = report::html::page(std::slice::from_ref(&view));
    for phrase in ["writes to both sides", "Both sides over time", "every write goes to both sides"]
    {
        assert!(page.contains(phrase), "the page does not say '{phrase}'");
    }
    let shown = report::terminal::text(&view, 100, false);
    assert!(shown.contains("writes to both sides"), "{shown}");
    let json = report::json::json(&view);
    let figure = &json["variants"][1]["layers"]["pair"]["mirrored_writes"]["median"];
    assert!(figure.as_f64().is_some(), "{json}");
    let mirrored = host::capabilities().into_iter().find(|one| one.id == "mirrored").unwrap();
    assert!(mirrored.detail.contains("mirrorctl"), "{mirrored:?}");
    assert!(layers::is_absent("mirrorctl", "pair is gone already"));
}
