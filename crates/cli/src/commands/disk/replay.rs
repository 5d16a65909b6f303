//! `fathom disk replay`: the arrivals of a trace against other disks.

use std::process::ExitCode;

use disk::replay::{Replayed, recorded, replay};
use disk::trace::Trace;
use serde_json::{Value, json};

use super::table::time;
use super::trace_text::{exit_code, heading, latencies};
use crate::args::DiskReplayArgs;
use crate::failure::Failure;
use crate::terminal::{Text, answer, json as put_json};

pub fn run(args: &DiskReplayArgs) -> Result<ExitCode, Failure> {
    // Mistakes in a disk are reported before a long trace is read.
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
    Ok(exit_code(&trace))
}

fn page(trace: &Trace, outcomes: &[(String, Replayed)]) -> Text {
    let mut text = heading(trace);
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
