//! The further facts of a modelled disk's trace: the disk, its latencies, late replies.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use disk::replay::recorded;
use disk::trace::Trace;
use serde_json::{Value, json};

use super::table::time;
use super::trace_text::{self, heading, latencies};
use crate::terminal::{Out, Text};

/// Returns the disk and its latencies in words.
pub fn text(trace: &Trace) -> Text {
    let outcome = recorded(trace);
    let mut text = heading(trace);
    text.line(format!(
        "{}, at most {} in flight; latencies of the model:",
        time(outcome.seconds * 1e9),
        outcome.most_in_flight
    ));
    text.append(&latencies(&outcome));
    let (p50, p99, most) = lateness(trace);
    let [p50, p99, most] = [p50, p99, most].map(|ns| time(f64::from(ns)));
    text.line(format!("replies were sent late by {p50} (p50), {p99} (p99), {most} (max)"));
    text
}

/// Returns the same as JSON.
pub fn document(trace: &Trace) -> Value {
    let (p50, p99, most) = lateness(trace);
    json!({
        "header": trace.header, "requests": trace.records.len(),
        "dropped": trace.dropped, "outcome": recorded(trace),
        "lateness": {"p50_ns": p50, "p99_ns": p99, "max_ns": most},
    })
}

/// Returns exit code 5 where the trace is not complete, and prints why.
pub fn exit_code(trace: &Trace) -> ExitCode {
    trace_text::exit_code(trace)
}

fn lateness(trace: &Trace) -> (u32, u32, u32) {
    let mut late: Vec<u32> = trace.records.iter().map(|r| r.late_ns).collect();
    late.sort_unstable();
    let at = |part: usize| late.get(late.len() * part / 100).or(late.last()).copied().unwrap_or(0);
    (at(50), at(99), late.last().copied().unwrap_or(0))
}

/// Writes every request as a line of CSV.
pub fn csv(trace: &Trace) -> std::io::Result<()> {
    let mut out = BufWriter::new(Out);
    writeln!(out, "arrival_ns,op,fua,failed,offset_bytes,length_bytes,latency_ns,late_ns")?;
    for r in &trace.records {
        let (op, fua, failed) = (r.op.name(), u8::from(r.fua), u8::from(r.failed));
        let (offset, length, latency, late) = (r.offset, r.length, r.latency_ns, r.late_ns);
        writeln!(out, "{},{op},{fua},{failed},{offset},{length},{latency},{late}", r.arrival_ns)?;
    }
    out.flush()
}
