//! Text about a trace and its replay.

use std::process::ExitCode;

use disk::replay::Replayed;
use disk::trace::Trace;
use units::Bytes;
use units::show::{bytes, count};

use super::table::{table, time};
use crate::terminal::{Style, Text, say_line};

/// Returns the lines that name the trace's disk and its size.
pub(super) fn heading(trace: &Trace) -> Text {
    let header = &trace.header;
    let moved: f64 = trace.records.iter().map(|r| f64::from(r.length)).sum();
    let mut text = Text::from(format!(
        "{}: a disk of {} like {}; {} requests, {}",
        header.role,
        Bytes(header.size),
        header.like,
        count(trace.records.len() as f64),
        bytes(moved),
    ));
    if !header.faults.is_empty() {
        text.line(format!("with {} faults", header.faults.len()));
    }
    for (key, value) in header.attributes.shown() {
        text.line(format!("{key}: {value}"));
    }
    text
}

/// A row for each operation.
pub(super) fn latencies(outcome: &Replayed) -> Text {
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

/// Returns exit code 5 where the trace is not complete, and prints why.
pub(super) fn exit_code(trace: &Trace) -> ExitCode {
    let note = Style::of_stderr().note("note:");
    match trace.dropped {
        Some(0) => ExitCode::SUCCESS,
        Some(dropped) => {
            say_line(
                note.and(format!("the trace was full: {dropped} later requests are not in it")),
            );
            ExitCode::SUCCESS
        }
        None => {
            say_line(
                note.and("this trace was cut off: how many requests are missing is not known"),
            );
            ExitCode::from(5)
        }
    }
}
