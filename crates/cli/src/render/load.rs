//! A single load as it goes on, and its summary.

use indicatif::ProgressBar;
use results::model::{ContentFigures, LoadSummary, OperationSummary};
use run::OperationBrief;
use serde_json::{Value, json};
use units::{Nanos, Unit, show};

use super::run::figures;
use super::{bar, live, set_fraction, time_left};
use crate::terminal::{Style, answer, json_line, say};

/// Renders the events of a load.
pub struct LoadView {
    json: bool,
    bar: Option<ProgressBar>,
    style: Style,
}

impl LoadView {
    pub fn new(json: bool) -> Self {
        Self { json, bar: live().then(bar), style: Style::of_stderr() }
    }

    pub fn event(&mut self, event: &engine::Event) {
        match event {
            engine::Event::Started(started) => {
                if self.json {
                    json_line(&json!({
                        "event": "started", "backend": started.backend,
                        "target_bytes": started.target.0, "direct": started.direct,
                    }));
                }
            }
            engine::Event::Intervals { rows, progress } => {
                if self.json {
                    for row in rows {
                        json_line(&interval(row));
                    }
                }
                let shown: Vec<_> =
                    rows.iter().map(|row| figures(&OperationBrief::from(row))).collect();
                let left = time_left(progress.remaining_ns, progress.elapsed_ns);
                self.progress(progress.fraction, &format!("{left}  {}", shown.join("  ")));
            }
            engine::Event::Notice(text) => {
                if self.json {
                    json_line(&json!({"event": "notice", "text": text}));
                }
                let line = format!("{} {text}", self.style.note("note:"));
                match &self.bar {
                    Some(bar) => bar.suspend(|| say(&line)),
                    None => say(&line),
                }
            }
        }
    }

    fn progress(&self, fraction: Option<f64>, text: &str) {
        match &self.bar {
            Some(bar) => {
                set_fraction(bar, fraction);
                bar.set_message(text.to_owned());
            }
            None => say(text),
        }
    }

    /// Takes the live view off the terminal.
    pub fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// The last word: a table for people, the summary line for programs.
    pub fn summary(&self, summary: &LoadSummary) {
        let text = table(summary);
        if self.json {
            say(text.trim_end());
            json_line(&summary_json(summary));
        } else {
            answer(&text);
        }
    }
}

fn interval(row: &results::model::IntervalRow) -> Value {
    let seconds = row.end_ns.saturating_sub(row.start_ns).max(1) as f64 / 1e9;
    json!({
        "event": "interval", "operation": row.operation,
        "start_ns": row.start_ns, "end_ns": row.end_ns,
        "ios": row.ios, "bytes": row.bytes, "errors": row.errors,
        "iops": row.ios as f64 / seconds, "throughput_bytes_per_s": row.bytes as f64 / seconds,
        "latency_p50_ns": row.latency.map(|l| l.p50_ns), "latency_p99_ns": row.latency.map(|l| l.p99_ns),
    })
}

/// The summary line of `fathom load --json` (docs/json.md).
fn summary_json(summary: &LoadSummary) -> Value {
    let operations: serde_json::Map<String, Value> =
        summary.operations.iter().map(|(name, op)| (name.clone(), operation(op))).collect();
    json!({
        "event": "summary",
        "schema": results::model::SCHEMA,
        "seed": summary.seed,
        "ended_by": summary.ended_by,
        "duration_ns": summary.duration_ns,
        "operations": operations,
        "content": summary.asked.as_ref().map(|asked| json!({
            "asked": content(asked), "achieved": summary.achieved.as_ref().map(content),
        })),
        "cpu": summary.cpu,
        "engine": summary.engine,
        "notices": summary.notices,
    })
}

fn operation(op: &OperationSummary) -> Value {
    let latency = |get: fn(&results::model::LatencySummary) -> Value| op.latency.as_ref().map(get);
    json!({
        "ios": op.ios,
        "bytes": op.bytes,
        "errors": op.errors,
        "iops": op.iops,
        "throughput_bytes_per_s": op.throughput_bytes_per_s,
        "latency_mean_ns": latency(|l| json!(l.mean_ns)),
        "latency_p50_ns": latency(|l| json!(l.p50_ns)),
        "latency_p99_ns": latency(|l| json!(l.p99_ns)),
        "latency_p999_ns": latency(|l| json!(l.p999_ns)),
        "latency_max_ns": latency(|l| json!(l.max_ns)),
    })
}

fn content(figures: &ContentFigures) -> Value {
    serde_json::to_value(figures).unwrap_or_default()
}

fn table(summary: &LoadSummary) -> String {
    let mut text = format!(
        "{:<10} {:>10} {:>9} {:>12} {:>9} {:>9} {:>9} {:>9}  errors\n",
        "operation", "I/Os", "IOPS", "throughput", "p50", "p99", "p99.9", "max"
    );
    for (name, op) in &summary.operations {
        let latency = |get: fn(&results::model::LatencySummary) -> u64| {
            op.latency.as_ref().map_or_else(|| "–".into(), |l| show::nanos(get(l) as f64))
        };
        let rate =
            |unit: Unit, value: Option<f64>| value.map_or_else(|| "–".into(), |v| unit.show(v));
        let errors: Vec<_> = op.errors.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        text.push_str(&format!(
            "{name:<10} {:>10} {:>9} {:>12} {:>9} {:>9} {:>9} {:>9}  {}\n",
            show::grouped(op.ios),
            rate(Unit::PerSecond, op.iops.map(f64::round)),
            rate(Unit::BytesPerSecond, op.throughput_bytes_per_s),
            latency(|l| l.p50_ns),
            latency(|l| l.p99_ns),
            latency(|l| l.p999_ns),
            latency(|l| l.max_ns),
            if errors.is_empty() { "none".to_owned() } else { errors.join(", ") },
        ));
    }
    if let (Some(asked), Some(achieved)) = (&summary.asked, &summary.achieved) {
        let pair = |name: &str, get: fn(&ContentFigures) -> Option<f64>| {
            let show = |v: Option<f64>| v.map_or_else(|| "–".into(), |v| Unit::Percent.show(v));
            format!("{name} {} (asked {})", show(get(achieved)), show(get(asked)))
        };
        text.push_str(&format!(
            "content    {}, {}, {}\n",
            pair("duplicates", |c| c.duplicate_percent),
            pair("LZ4 saving", |c| c.lz4_saving_percent),
            pair("zero", |c| c.zero_percent),
        ));
    }
    if let Some(cpu) = summary.cpu {
        let per_io = cpu.per_io_us.map_or_else(|| "–".into(), |us| Unit::Micros.show(us));
        text.push_str(&format!(
            "CPU        {per_io} per I/O ({} user, {} kernel)\n",
            show::nanos(cpu.user_s * 1e9),
            show::nanos(cpu.system_s * 1e9),
        ));
    }
    text.push_str(&format!(
        "ended by {} after {}; seed {}\n",
        summary.ended_by,
        Nanos(summary.duration_ns),
        summary.seed
    ));
    text
}
