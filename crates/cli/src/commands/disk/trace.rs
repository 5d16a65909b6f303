//! `fathom trace show`: the trace of a modelled disk.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use disk::replay::recorded;
use disk::trace::Trace;
use serde_json::json;

use super::table::time;
use super::trace_text::{exit_code, heading, latencies};
use crate::args::TraceShowArgs;
use crate::failure::Failure;
use crate::terminal::{Out, answer, json as put_json, note_lost_output};

pub fn run(args: &TraceShowArgs) -> Result<ExitCode, Failure> {
    let trace = Trace::open(&args.trace)?;
    if args.csv {
        if let Err(error) = csv(&trace) {
            note_lost_output(error);
        }
        return Ok(exit_code(&trace));
    }
    let outcome = recorded(&trace);
    let (p50, p99, most) = lateness(&trace);
    if args.json {
        put_json(
            &json!({
                "schema": 1, "header": trace.header, "requests": trace.records.len(),
                "dropped": trace.dropped, "outcome": outcome,
                "lateness": {"p50_ns": p50, "p99_ns": p99, "max_ns": most},
            })
            .to_string(),
        );
        return Ok(exit_code(&trace));
    }
    let mut text = heading(&trace);
    text.line(format!(
        "{}, at most {} in flight; latencies of the model:",
        time(outcome.seconds * 1e9),
        outcome.most_in_flight
    ));
    text.append(&latencies(&outcome));
    let [p50, p99, most] = [p50, p99, most].map(|ns| time(f64::from(ns)));
    text.line(format!("replies were sent late by {p50} (p50), {p99} (p99), {most} (max)"));
    answer(&text);
    Ok(exit_code(&trace))
}

fn lateness(trace: &Trace) -> (u32, u32, u32) {
    let mut late: Vec<u32> = trace.records.iter().map(|r| r.late_ns).collect();
    late.sort_unstable();
    let at = |part: usize| late.get(late.len() * part / 100).or(late.last()).copied().unwrap_or(0);
    (at(50), at(99), late.last().copied().unwrap_or(0))
}

fn csv(trace: &Trace) -> std::io::Result<()> {
    let mut out = BufWriter::new(Out);
    writeln!(out, "arrival_ns,op,fua,failed,offset_bytes,length_bytes,latency_ns,late_ns")?;
    for r in &trace.records {
        let (op, fua, failed) = (r.op.name(), u8::from(r.fua), u8::from(r.failed));
        let (offset, length, latency, late) = (r.offset, r.length, r.latency_ns, r.late_ns);
        writeln!(out, "{},{op},{fua},{failed},{offset},{length},{latency},{late}", r.arrival_ns)?;
    }
    out.flush()
}
