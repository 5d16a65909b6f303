//! `fathom doctor DEVICE --watch 60s`: what a stack did over time.

use std::process::ExitCode;
use std::time::Duration;

use analysis::Ladder;
use layers::standing::{Node, StandingStack};
use layers::watched::{IoGrowth, Watched};
use results::model::Finding;
use serde_json::{Value, json as object};
use standing::{Ended, Recorded, Top, Watch};
use sys::interrupt::Interrupt;
use units::Unit;

use crate::failure::Failure;
use crate::render::WatchView;
use crate::terminal::{Style, Text, say};

/// Counters of a layer that the text shows; JSON has all.
const SHOWN: usize = 10;
/// Threads that the text shows.
const THREADS: usize = 3;

pub fn run(
    of: (&Recorded, &Top),
    stack: &mut StandingStack,
    length: Duration,
) -> Result<Watch, Failure> {
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let view = WatchView::new();
    if !view.is_shown() {
        say(&format!("watching for {} s; Ctrl-C ends it with what was seen", length.as_secs_f64()));
    }
    let seen = standing::watch(of, stack, length, &interrupt, &mut |watching| {
        view.progress(watching, length);
    });
    view.close();
    Ok(seen)
}

/// The exit code: a watch that the user or the loss of a device ended early is incomplete.
pub fn exit_code(seen: &Watch) -> ExitCode {
    ExitCode::from(match seen.ended {
        Ended::Time => 0,
        Ended::Interrupted => 130,
        Ended::Gone | Ended::Silent => 5,
    })
}

fn word(ended: Ended) -> &'static str {
    match ended {
        Ended::Time => "time",
        Ended::Interrupted => "interrupted",
        Ended::Gone => "gone",
        Ended::Silent => "silent",
    }
}

pub fn document(
    (seen, ladder): (&Watch, Option<&Ladder>),
    stack: &StandingStack,
    findings: &[Finding],
) -> serde_json::Result<Value> {
    let nodes = stack.nodes.iter().filter_map(|node| Some((node, node.watched.as_ref()?)));
    let devices: Vec<Value> = nodes.map(|(node, watched)| device(node, watched)).collect();
    Ok(object!({
        "findings": serde_json::to_value(findings)?,
        "watch": {
            "seconds": seen.seconds, "every_s": seen.every_s, "ended_by": word(seen.ended),
            "threads_seen": seen.sees_threads, "devices": devices,
            "latency": ladder.map(report::ladder::json),
        },
    }))
}

fn device(node: &Node, watched: &Watched) -> Value {
    let threads = watched.threads.iter().map(|thread| {
        object!({
            "name": thread.name, "id": thread.id, "cpu_percent": thread.cpu_percent,
            "cpu_most_percent": thread.most_percent, "full_percent": thread.full_percent,
        })
    });
    let gone = watched.gone.as_ref().map(|(at_s, why)| object!({ "at_s": at_s, "why": why }));
    object!({
        "device": node.name, "id": node.id, "kind": node.kind, "gone": gone,
        "whole": io(&watched.io), "intervals": watched.rows.iter().map(io).collect::<Vec<_>>(),
        "counters": watched.grown, "levels": watched.levels,
        "threads": threads.collect::<Vec<_>>(),
    })
}

fn io(io: &IoGrowth) -> Value {
    object!({
        "from_s": io.from_s, "to_s": io.to_s,
        "reads_per_s": io.rate("reads"), "read_bytes_per_s": io.rate("read_bytes"),
        "read_latency_mean_ns": io.latency_ns("reads", "read_ms"),
        "writes_per_s": io.rate("writes"), "written_bytes_per_s": io.rate("written_bytes"),
        "write_latency_mean_ns": io.latency_ns("writes", "write_ms"),
        "discards_per_s": io.rate("discards"), "discarded_bytes_per_s": io.rate("discarded_bytes"),
        "flushes_per_s": io.rate("flushes"), "flush_latency_mean_ns": io.latency_ns("flushes", "flush_ms"),
        "busy_percent": io.busy_percent(), "in_flight_mean": io.in_flight(),
    })
}

pub fn text(seen: &Watch, stack: &StandingStack, style: Style) -> Text {
    let mut text = Text::new();
    let early = match seen.ended {
        Ended::Time => "",
        Ended::Interrupted => ", until it was interrupted",
        Ended::Gone => ", until the device went away",
        Ended::Silent => ", until something did not answer for 10 s",
    };
    let (seconds, every) = (seen.seconds, seen.every_s);
    text.line(
        style.dim(&format!("Watched for {seconds:.0} s{early}, with a look every {every:.0} s:")),
    );
    let nodes = stack.nodes.iter().filter_map(|node| Some((node, node.watched.as_ref()?)));
    let nodes: Vec<(&Node, &Watched)> = nodes.collect();
    let width = nodes.iter().map(|(node, _)| node.name.chars().count()).max().unwrap_or(0);
    let head = ["reads", "read", "latency", "writes", "written", "latency", "busy"];
    let head: String = head.iter().map(|word| format!("{word:>12}")).collect();
    let mut lines = format!("  {:width$}{head}\n", "");
    for (node, watched) in &nodes {
        lines.push_str(&row(node, watched, width));
    }
    text.append(&Text::as_it_is(&lines));
    nodes.iter().for_each(|(node, watched)| more(&mut text, node, watched, style));
    busiest(&mut text, seen, &nodes);
    text
}

/// The line of a device in the table.
fn row(node: &Node, watched: &Watched, width: usize) -> String {
    let Watched { io, seconds, .. } = watched;
    let name = &node.name;
    if *seconds <= 0.0 {
        return format!("  {name:width$}  seen once at most: nothing can be said\n");
    }
    if io.is_idle() {
        let off = node.limit("iostats") == Some(0.0);
        let why = if off { "counts nothing: queue/iostats is 0" } else { "no I/O" };
        return format!("  {name:width$}  {why}\n");
    }
    let shown =
        |value: Option<f64>, unit: Unit| value.map_or("–".into(), |value| unit.show(value));
    let count = |field: &str| {
        shown(
            io.rate(field).map(|rate| if rate < 10.0 { rate } else { rate.round() }),
            Unit::PerSecond,
        )
    };
    let cells = [
        count("reads"),
        shown(io.rate("read_bytes"), Unit::BytesPerSecond),
        latency(io, "reads", "read_ms"),
        count("writes"),
        shown(io.rate("written_bytes"), Unit::BytesPerSecond),
        latency(io, "writes", "write_ms"),
        shown(io.busy_percent(), Unit::Percent),
    ];
    let cells: String = cells.iter().map(|cell| format!("{cell:>12}")).collect();
    format!("  {name:width$}{cells}\n")
}

/// The mean time of an I/O; `–` where there was none.
fn latency(io: &IoGrowth, ios: &str, ms: &str) -> String {
    match (io.latency_ns(ios, ms), io.number(ios)) {
        (Some(ns), _) => Unit::Nanos.show(ns),
        (None, Some(ios)) if ios > 0.0 && io.number(ms).is_some() => {
            format!("< {}", Unit::Nanos.show(1e6 / ios))
        }
        _ => "–".to_owned(),
    }
}

/// Adds the sentences on a device below the table.
fn more(text: &mut Text, node: &Node, watched: &Watched, style: Style) {
    if let Some((at_s, why)) = &watched.gone {
        let when = format!("{} after {at_s:.0} s: {why}", node.name);
        text.line(style.bad("  went away:").and(when));
    }
    let io = &watched.io;
    let others = ["discards", "flushes"].iter().filter_map(|field| {
        let rate = io.rate(field).filter(|rate| *rate > 0.0)?;
        Some(format!("{field} {}", Unit::PerSecond.show(rate)))
    });
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        text.line(format!("  {}: {}", node.name, others.join(", ")));
    }
    let anew = watched.grown.values().filter(|value| value.is_none()).count();
    if anew > 0 {
        text.line(format!(
            "  {}: {anew} counters were reset or were not there at first",
            node.name
        ));
    }
    let mut grown: Vec<(&str, f64)> = watched
        .grown
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.filter(|value| *value > 0.0)?)))
        .collect();
    grown.sort_by(|a, b| b.1.total_cmp(&a.1));
    let left = grown.len().saturating_sub(SHOWN);
    let shown = grown.iter().take(SHOWN).map(|(name, value)| format!("{name} {value}"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match (grown.len(), left) {
        (0, _) => {}
        (_, 0) => text.line(format!("  {} counted: {shown}", node.name)),
        _ => text.line(format!("  {} counted: {shown}; {left} more with --json", node.name)),
    }
}

/// The threads that took most, of all devices.
fn busiest(text: &mut Text, seen: &Watch, nodes: &[(&Node, &Watched)]) {
    let all =
        nodes.iter().flat_map(|(node, watched)| watched.threads.iter().map(move |t| (*node, t)));
    let mut all: Vec<_> = all.collect();
    all.sort_by(|a, b| b.1.cpu_percent.total_cmp(&a.1.cpu_percent));
    if all.is_empty() {
        let why = match seen.sees_threads {
            true => {
                "no thread of the kernel that names a device or layer of the stack took CPU time"
            }
            false => "threads of the kernel cannot be seen from here",
        };
        text.line(format!("  busiest thread: {why}"));
    }
    for (place, (node, thread)) in all.into_iter().take(THREADS).enumerate() {
        let lead = if place == 0 { "busiest thread" } else { "then" };
        let percent = |value: f64| format!("{value:.0} %");
        text.line(format!(
            "  {lead}: {} of {}, {} of a CPU, at most {}",
            thread.name,
            node.name,
            percent(thread.cpu_percent),
            percent(thread.most_percent)
        ));
    }
}
