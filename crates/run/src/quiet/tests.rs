//! Waiting for a machine whose noise is made up.

use std::sync::{Arc, Mutex};

use results::model::{Accelerator, MachineFacts};

use super::*;
use crate::{ExperimentSource, LAB, RunRequest, Start};

fn quiet(text: &str) -> QuietMachine {
    text.parse().unwrap()
}

/// Returns the reported lines, and the shares that the manifest keeps for the cells, when others take these shares, one in each window.
fn notices(
    limit: &str,
    shares: &'static [Option<f64>],
    cells: usize,
) -> (Vec<String>, Vec<Option<f64>>) {
    let dir = tempfile::tempdir().unwrap();
    let plan =
        RunRequest::once().plan(&ExperimentSource::find("vdo-vs-plain").unwrap(), LAB).unwrap();
    let start = Start {
        command: Vec::new(),
        tool_version: "0".into(),
        accelerator: Accelerator::None,
        accelerator_reason: None,
        simulated: false,
        devices: std::collections::BTreeMap::new(),
        host: MachineFacts::default(),
        experiment_text: String::new(),
    };
    let message = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&message);
    let on = Box::new(move |event: &Event| {
        if let Event::Notice { text, .. } = event {
            keep.lock().unwrap().push(text.clone());
        }
    });
    let out = dir.path().join("result");
    let mut ledger = Ledger::begin(&out, &plan, start, on).unwrap();
    let mut shares = shares.iter().copied();
    let measure = Box::new(move |_| shares.next().expect("nothing more is measured"));
    let mut waiting = Waiting { measure, ..Waiting::new(quiet(limit)) };
    for cell in 0..cells {
        waiting.before(cell, &mut ledger, &Interrupt::new()).unwrap();
    }
    let set = results::open(&out).unwrap();
    let kept = set.manifest.cells.iter().map(|cell| cell.disturbed_percent).collect();
    let message = message.lock().unwrap().clone();
    (message, kept)
}

#[test]
fn a_quiet_machine_is_not_waited_for_and_not_mentioned() {
    assert_eq!(notices("5%", &[Some(0.01), Some(0.05)], 2), (Vec::new(), vec![None, None]));
}

#[test]
fn a_cell_waits_until_the_machine_is_quiet_and_says_how_long() {
    let (message, kept) = notices("5%", &[Some(0.4), Some(0.2), Some(0.03)], 1);
    assert!(
        message[0].contains("waited 2 s") && message[0].contains("others take 3%"),
        "{message:?}"
    );
    assert_eq!((message.len(), kept), (1, vec![None, None]));
}

#[test]
fn when_the_time_of_all_cells_is_over_they_run_and_are_marked() {
    const NOISY: &[Option<f64>] = &[Some(0.4), Some(0.3), Some(0.5), Some(0.34)];
    let (message, kept) = notices("5%:2s", NOISY, 2);
    assert!(
        message[0].contains("is not quiet: others take 50% of its CPUs after 2 s"),
        "{message:?}"
    );
    assert!(
        message[1].contains("the time to wait is used up; the cell runs and is marked"),
        "{message:?}"
    );
    assert_eq!(kept, [Some(50.0), Some(34.0)]);
    let (message, kept) = notices("5%", &[None], 1);
    assert_eq!((message.len(), kept[0]), (1, None));
    assert!(message[0].contains("cannot be known"));
}

#[test]
fn a_share_and_a_time_are_read_and_shares_that_say_nothing_refused() {
    assert_eq!(quiet("5%"), QuietMachine { others: Percent(5.0), time: Nanos::from_secs(600) });
    assert_eq!(
        quiet("7.5%:2m"),
        QuietMachine { others: Percent(7.5), time: Nanos::from_secs(120) }
    );
    for wrong in ["0%", "100%", "x", "5%:soon", "", "5%:", "-1%"] {
        assert!(!wrong.parse::<QuietMachine>().unwrap_err().is_empty(), "{wrong}");
    }
}
