//! Sentences and tables about a trace, for the terminal and the page.

use advise::{Figures, FileKind, OpFigures, ReuseFigures, Trace};
use units::show::{bytes, grouped, names, significant};

/// The share of the bytes in runs of at least 1 MiB from which on an operation is in order, percent.
const IN_ORDER: f64 = 80.0;
/// The share of the I/Os that continue a run below which an operation is at random, percent.
const AT_RANDOM: f64 = 20.0;
/// The share of the I/Os from which on an operation or a size stands for all, percent.
const NEARLY_ALL: f64 = 90.0;

pub(super) fn percent(value: f64) -> String {
    format!("{} %", significant(value, if value < 1.0 { 2 } else { 3 }))
}

fn or_none<T>(value: Option<T>, shown: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "–".into(), shown)
}

/// A table: names of the columns, and rows.
pub(super) type Table = (Vec<String>, Vec<Vec<String>>);

fn heads(heads: &[&str]) -> Vec<String> {
    heads.iter().map(|head| (*head).to_owned()).collect()
}

/// Returns the format of the files, and how many there are.
pub(super) fn format(trace: &Trace) -> String {
    let files = trace.files();
    let name = |kind| match kind {
        FileKind::DiskTrace => "trace of a modelled disk",
        FileKind::IoLog => "log of I/Os of fathom load",
        FileKind::Blktrace => "blktrace",
        FileKind::FioLog => "fio's log with offsets",
        FileKind::FioIoLog => "fio's I/O log for replay",
    };
    let kind = files.first().map_or("", |file| name(file.kind));
    match files.len() {
        1 => kind.to_owned(),
        many => format!("{kind}, {many} files merged by time"),
    }
}

/// Says in one line what the recorded load does.
pub(super) fn headline(figures: &Figures) -> String {
    let ops = figures.ops();
    let of = |name: &str| ops.iter().find(|op| op.op == name);
    let ios = |name| of(name).map_or(0.0, |op| op.counts.ios as f64);
    let reads = 100.0 * ios("read") / (ios("read") + ios("write"));
    if reads.is_nan() {
        let discarded = of("discard").map_or(0.0, |op| op.counts.bytes as f64);
        return format!("Nothing but discards, of {}", bytes(discarded));
    }
    let parts = match reads {
        share if share >= NEARLY_ALL => vec![of("read")],
        share if share <= 100.0 - NEARLY_ALL => vec![of("write")],
        _ => vec![of("read"), of("write")],
    };
    let several = parts.len() > 1;
    let part = |op: &OpFigures| {
        let share = 100.0 * op.counts.ios as f64 / (ios("read") + ios("write"));
        let share = if several { format!("{} ", percent(share.round())) } else { String::new() };
        let main = op
            .sizes
            .first()
            .filter(|size| 100.0 * size.ios as f64 >= NEARLY_ALL * op.counts.ios as f64);
        let size = main.and_then(|size| size.bytes);
        let size = size.map_or_else(String::new, |size| format!(" of {}", bytes(size as f64)));
        format!("{share}{}s{size} {}", op.op, order(op))
    };
    let parts: Vec<_> = parts.into_iter().flatten().map(part).collect();
    let touched = bytes(figures.analysis().touched().bytes);
    let text = format!("{}; {touched} touched", parts.join(", "));
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn order(op: &OpFigures) -> &'static str {
    let long = op.runs.as_ref().map_or(0.0, |runs| runs.in_1mib_percent);
    match op.counts.sequential_percent().unwrap_or(0.0) {
        share if share < AT_RANDOM => "at random",
        _ if long >= IN_ORDER => "in order",
        _ => "partly in order",
    }
}

/// A row for each operation: I/Os, bytes, rates.
pub(super) fn operations(ops: &[OpFigures]) -> Table {
    let rate = |value| or_none(value, |value| significant(value, 3));
    let row = |op: &OpFigures| {
        vec![
            op.op.to_owned(),
            grouped(op.counts.ios),
            bytes(op.counts.bytes as f64),
            rate(op.per_second),
            rate(op.most_per_second),
        ]
    };
    (heads(&["", "I/Os", "data", "I/Os/s", "at most"]), ops.iter().map(row).collect())
}

/// The sizes of each operation, a line each.
pub(super) fn sizes(ops: &[OpFigures]) -> Vec<String> {
    let line = |op: &OpFigures| {
        let size = |one: &advise::SizeCount| {
            let name = one.bytes.map_or_else(|| "others".into(), |size| bytes(size as f64));
            format!("{name} {}", percent(100.0 * one.ios as f64 / op.counts.ios as f64))
        };
        let all: Vec<_> = op.sizes.iter().map(size).collect();
        format!("{} sizes: {}", op.op, all.join(", "))
    };
    ops.iter().filter(|op| !op.sizes.is_empty()).map(line).collect()
}

/// A row for each operation: its sequential runs.
pub(super) fn runs(ops: &[OpFigures]) -> Table {
    let row = |op: &OpFigures| {
        let runs = op.runs.as_ref()?;
        let size = |size: u64| bytes(size as f64);
        Some(vec![
            op.op.to_owned(),
            grouped(runs.runs),
            size(runs.p50_bytes),
            size(runs.p90_bytes),
            size(runs.longest_bytes),
            percent(runs.in_64kib_percent),
            percent(runs.in_1mib_percent),
        ])
    };
    let heads = heads(&["", "runs", "median", "p90", "longest", "in 64 KiB+", "in 1 MiB+"]);
    (heads, ops.iter().filter_map(row).collect())
}

/// Says how often and how far the load jumps.
pub(super) fn seeks(figures: &Figures) -> Option<String> {
    let seeks = figures.seeks()?;
    let share = percent(seeks.percent);
    let rate = figures.seconds().map(|seconds| seeks.seeks as f64 / seconds);
    let most = figures.most_per_second(figures.seeks_over_time());
    let rate = rate.zip(most).map_or_else(String::new, |(rate, most)| {
        format!(", {}/s, at most {}/s", significant(rate, 3), significant(most, 3))
    });
    let [p50, p90, p99] = [seeks.p50_bytes, seeks.p90_bytes, seeks.p99_bytes];
    let distances = match (p50, p90, p99) {
        (Some(p50), Some(p90), Some(p99)) => {
            let [p50, p90, p99] = [p50, p90, p99].map(|far| bytes(far as f64));
            format!("; half within {p50}, 90 % within {p90}, 99 % within {p99}")
        }
        _ => String::new(),
    };
    let back = seeks
        .backward_percent
        .map_or_else(String::new, |share| format!("; {} go back", percent(share)));
    Some(format!(
        "{share} of the reads and writes begin elsewhere than the one before ended{rate}{distances}{back}"
    ))
}

/// Says how much is touched.
pub(super) fn touched(figures: &Figures) -> String {
    let touched = figures.analysis().touched();
    let [all, read, written] =
        [touched.bytes, touched.read_bytes, touched.written_bytes].map(bytes);
    let end = bytes(figures.analysis().pattern().end() as f64);
    format!("{all} of the first {end} of the device; read {read}, written {written}")
}

/// Says how much comes again, a line for each operation.
pub(super) fn reuse(figures: &Figures) -> Vec<String> {
    let line = |op: &ReuseFigures| {
        let again =
            format!("{} of the {}s are of data touched before", percent(op.again_percent), op.op);
        match op.p50_bytes.zip(op.p90_bytes) {
            Some((p50, p90)) => {
                let [p50, p90] = [p50, p90].map(bytes);
                format!(
                    "{again}; half of these after at most {p50} of other data, 90 % after at most {p90}"
                )
            }
            None => again,
        }
    };
    figures.reuse().iter().map(line).collect()
}

/// Returns what the figures cannot tell, a sentence each.
pub(super) fn not_known(trace: &Trace, figures: &Figures) -> Vec<String> {
    let mut lines = Vec::new();
    if !figures.timed() {
        lines.push("when the I/Os came: the recording has no times, so they are put in order by their number.".into());
    }
    if trace.files().iter().any(|file| file.event.is_some()) {
        lines.push("what the kernel dropped during the recording: blktrace printed it then (dropped events).".into());
    }
    if figures.analysis().blocks().rate() < 1.0 {
        let rate = grouped((1.0 / figures.analysis().blocks().rate()).round() as u64);
        lines.push(format!("touched and reused data to the last hundredths: of the blocks touched least, one in {rate} was followed."));
    }
    let ops: Vec<_> = figures
        .ops()
        .iter()
        .map(|op| op.op)
        .filter(|op| ["flush", "discard"].contains(op))
        .collect();
    if !ops.is_empty() {
        let ops: Vec<_> =
            ops.iter().map(|op| if *op == "flush" { "flushes" } else { "discards" }).collect();
        lines.push(format!(
            "what {} do to data: they count neither as seeks nor as touched data.",
            names(&ops)
        ));
    }
    lines
}

/// The bytes in a cell from which on it belongs to each of the four classes, weakest first, if `most` are in the fullest one.
pub(super) fn classes(most: u64) -> [u64; 4] {
    let top = most.checked_next_power_of_two().unwrap_or(1 << 63);
    [1, top >> 6, top >> 4, top >> 2].map(|least| least.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_steps_of_four_up_to_the_fullest_cell() {
        assert_eq!(classes(1 << 20), [1, 1 << 14, 1 << 16, 1 << 18]);
        assert_eq!(classes((1 << 20) - 1), classes(1 << 20));
        assert_eq!((classes(3), classes(u64::MAX)[3]), ([1; 4], 1 << 61));
    }
}
