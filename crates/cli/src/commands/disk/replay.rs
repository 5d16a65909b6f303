//! `fathom disk replay`: the arrivals of a trace against other disks.

use std::process::ExitCode;

use disk::replay::{Outcome, recorded, replay};
use disk::trace::Trace;
use serde_json::{Value, json};
use units::show::count;

use super::table::{table, time};
use crate::args::DiskReplayArgs;
use crate::failure::Failure;
use crate::terminal::{Text, answer, json as put_json};

pub fn run(args: &DiskReplayArgs) -> Result<ExitCode, Failure> {
    // What is wrong with a disk is said before a long trace is read.
    let profiles = args.like.iter().map(|like| Ok((like.to_string(), like.profile()?)));
    let profiles: Vec<_> = profiles.collect::<Result<_, Failure>>()?;
    let trace = Trace::open(&args.trace)?;
    let mut outcomes = vec![(format!("as recorded: {}", trace.header.like), recorded(&trace))];
    for (name, profile) in profiles {
        outcomes.push((name, replay(&trace, &profile, &[])?));
    }
    if args.json {
        let all: Vec<Value> = outcomes
            .iter()
            .enumerate()
            .map(|(i, (name, outcome))| json!({"disk": name, "recorded": i == 0, "outcome": outcome}))
            .collect();
        put_json(&json!({"schema": 1, "header": trace.header, "outcomes": all}).to_string());
    } else {
        answer(&page(&trace, &outcomes));
    }
    Ok(super::trace::exit_code(&trace))
}

fn page(trace: &Trace, outcomes: &[(String, Outcome)]) -> Text {
    let mut text = super::trace::heading(trace);
    for (name, outcome) in outcomes {
        text.line("");
        text.line(format!(
            "{name}: {}, at most {} in flight",
            time(outcome.seconds * 1e9),
            outcome.most_in_flight
        ));
        text.append(&latencies(outcome));
    }
    text
}

/// A row for each operation.
pub(super) fn latencies(outcome: &Outcome) -> Text {
    let row = |l: &disk::replay::Latencies| {
        vec![
            l.op.name().to_owned(),
            count(l.requests as f64),
            count(l.failed as f64),
            time(l.mean_ns),
            time(l.p50_ns as f64),
            time(l.p99_ns as f64),
            time(l.max_ns as f64),
        ]
    };
    let rows: Vec<_> = outcome.latencies.iter().map(row).collect();
    table(&["", "requests", "failed", "mean", "p50", "p99", "max"], &rows)
}
