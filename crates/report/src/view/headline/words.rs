//! The words of headlines: names of figures and operations, and their verbs.

use crate::view::{FigureRow, Of};
use crate::wording;

/// The most words of a name that Fathom did not choose.
const NAME: usize = 4;

/// Returns a name cut to few words, in quotes if it has several, as they may be any words.
pub(in crate::view) fn short_name(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    match words.len() {
        0 | 1 => name.to_owned(),
        few if few <= NAME => format!("“{name}”"),
        _ => format!("“{} …”", words[..NAME].join(" ")),
    }
}

/// Returns the usual name of an operation.
pub(super) fn operation(name: &str) -> &str {
    match name {
        "randread" => "random reads",
        "randwrite" => "random writes",
        "randdiscard" => "random discards",
        "randwritezeroes" => "random writes of zeros",
        "read" => "reads",
        "write" => "writes",
        "discard" => "discards",
        "writezeroes" => "writes of zeros",
        "flush" => "flushes",
        other => other,
    }
}

/// Returns the name of a row's operations; `None` for a row of something else.
pub(in crate::view) fn operations(row: &FigureRow) -> Option<&str> {
    match &row.scope.of {
        Of::Operation(name) => Some(operation(name)),
        _ => None,
    }
}

/// Describes the I/Os that a percentile is about: `, the slowest 1 %`; empty for other metrics.
fn whose(metric: &str) -> &'static str {
    match metric {
        "latency_p99_ns" => ", the slowest 1 %",
        "latency_p999_ns" => ", the slowest 0.1 %",
        _ => "",
    }
}

/// Describes the scope of a row in plain words: `random writes, the slowest 1 %`, `reads in copy at depth 16`.
pub(crate) fn place(row: &FigureRow) -> String {
    let Some(operations) = operations(row) else { return row.scope.name() };
    format!("{operations}{}{}", stage(row), whose(&row.metric))
}

/// Returns the object of a row's figure: `random writes`, `p99 latency of random writes`, `CPU per I/O`.
pub(in crate::view) fn object(row: &FigureRow) -> String {
    match operations(row) {
        Some(operations) if row.metric == "iops" => operations.to_owned(),
        Some(operations) if row.metric.starts_with("throughput") => {
            format!("throughput of {operations}")
        }
        Some(operations) if row.metric.starts_with("latency") => {
            format!("{} of {operations}", row.label)
        }
        _ => row.label.clone(),
    }
}

/// Returns ` in copy-2`, where there are several stages; ` in write at depth 16` for a point of a sweep.
pub(in crate::view) fn stage(row: &FigureRow) -> String {
    let Some(stage) = &row.scope.stage else { return String::new() };
    let swept = |word: &str| {
        let (key, level) = word.split_once('=')?;
        Some(wording::at_level((&key.to_owned(), &level.to_owned())))
    };
    let name: Vec<&str> = stage.split(' ').take_while(|word| swept(word).is_none()).collect();
    let point: Vec<String> = stage.split(' ').filter_map(swept).collect();
    match (name.join(" "), point.join(", ")) {
        (_, point) if point.is_empty() => format!(" in {stage}"),
        (name, point) => format!(" in {name} at {point}"),
    }
}

pub(in crate::view) use crate::wording::in_words as factor;

/// Returns the verb for a figure of one variant, or of many.
pub(in crate::view) fn verb(row: &FigureRow, many: bool) -> &'static str {
    let takes = row.metric.starts_with("elapsed") || row.metric.contains("cpu");
    match (row.metric.as_str(), many) {
        ("iops", false) => "does",
        ("iops", true) => "do",
        (_, false) if takes => "takes",
        (_, true) if takes => "take",
        (_, false) => "has",
        (_, true) => "have",
    }
}

/// Returns a ratio in words: `0.38 times the random writes`, `4.7 times as long`.
pub(in crate::view) fn times(row: &FigureRow, ratio: f64, base: Option<&str>) -> String {
    let times = factor(ratio);
    if row.metric.starts_with("elapsed") {
        let than = base.map_or_else(String::new, |base| format!(" as {base}"));
        return format!("{times} times as long{than}");
    }
    let of = base.map_or_else(String::new, |base| format!(" of {base}"));
    format!("{times} times the {}{of}", object(row))
}

/// Returns a ratio with its verb: `does 0.38 times the random writes`, `takes 4.7 times as long`.
pub(in crate::view) fn ratio_clause(row: &FigureRow, ratio: f64, base: Option<&str>) -> String {
    format!("{} {}", verb(row, false), times(row, ratio, base))
}

/// Describes equality: `does as many random writes as plain`, `has the same p99 latency as plain`.
pub(in crate::view) fn does_the_same(row: &FigureRow, base: Option<&str>) -> String {
    let than = base.map_or_else(String::new, |base| format!(" as {base}"));
    match row.metric.as_str() {
        "iops" => format!("does as many {}{than}", object(row)),
        metric if metric.starts_with("elapsed") => format!("takes as long{than}"),
        _ => format!("has the same {}{than}", object(row)),
    }
}
