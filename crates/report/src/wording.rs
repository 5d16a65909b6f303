//! The spelling of figures, ratios and intervals, the same on every page and terminal.

mod comparisons;
mod figures;
mod sources;
mod splits;

use analysis::MetricComparison;
use stats::{LEAST_REPEATS, RANGE_BELOW, Verdict};

use comparisons::equal;
pub use comparisons::*;
pub use figures::*;
pub use sources::*;
pub use splits::*;

use crate::view::{GridCell, View};

/// Returns a moment in a readable form: `26 Nov 2026, 10:28 UTC`; unchanged if it cannot be parsed.
pub fn day(utc: &str) -> String {
    let read = utc.parse::<jiff::Timestamp>();
    read.map_or_else(|_| utc.to_owned(), |at| at.strftime("%-d %b %Y, %H:%M UTC").to_string())
}

/// Explains when a verdict is given.
pub fn claims() -> String {
    format!(
        "a verdict needs at least {LEAST_REPEATS} repeats and a p-value, corrected for all questions, below 0.05. “Better” and “worse” need \
         the whole interval outside the threshold, “same” needs it inside."
    )
}

/// Explains how the number of repeats was decided, and which look gave a verdict; empty where the number was fixed.
pub fn sequential(view: &View) -> String {
    let of = "A verdict comes from the first look that decided it; later repeats change it only if they bring outliers that contradict it.";
    view.sequential.as_ref().map_or_else(String::new, |s| format!(" {} {of}", s.text))
}

/// Returns the name of an interval over so many repeats: with few, it covers the true median too seldom to be called a 95 % interval.
pub fn interval_name(repeats: usize) -> String {
    if repeats < RANGE_BELOW {
        format!("range of {repeats} repeats")
    } else {
        "95 % interval".to_owned()
    }
}

/// Returns a name for intervals that fits all figures of a page.
pub fn intervals_name(view: &View) -> &'static str {
    let repeats = || view.variants.iter().map(|v| v.repeats).filter(|n| *n > 0);
    let few = |n: usize| n < RANGE_BELOW;
    match (repeats().any(few), repeats().all(few)) {
        (_, true) => "range",
        (true, false) => "95 % interval (the range, where there are fewer than five repeats)",
        (false, false) => "95 % interval",
    }
}

/// Returns the words for intervals in the head of a column.
pub fn intervals_short(view: &View) -> &'static str {
    match intervals_name(view) {
        "range" => "with ranges",
        "95 % interval" => "with 95 % intervals",
        _ => "with intervals or ranges",
    }
}

/// The metrics that are shown of each job.
pub const JOB_METRICS: [&str; 7] = [
    "iops",
    "throughput_bytes_per_s",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_p999_ns",
    "latency_max_ns",
    "errors",
];
/// Explanation of the figures of jobs.
pub const JOBS: &str = "The jobs of a load all do the same. Rates are over the time that a job was at work; medians over the repeats.";

/// Returns a verdict with a mark that can be understood without colour: `▲ better`.
pub fn verdict(word: &str) -> String {
    format!("{} {word}", mark(word))
}

fn mark(verdict: &str) -> &'static str {
    match verdict {
        "better" => "▲",
        "worse" => "▼",
        "same" => "=",
        "differs" => "≠",
        _ => "?",
    }
}

/// A cell of a table of many figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The figure.
    pub value: String,
    /// The figure's ratio to that of the base; empty for the base itself.
    pub ratio: String,
    /// The mark of its verdict; empty where none is decided.
    pub mark: &'static str,
    /// Its verdict.
    pub verdict: Option<&'static str>,
}

/// Returns a cell of a table of many figures: `5,800/s`, `0.88×`, `▼`.
pub fn cell(view: &View, of: Option<GridCell>) -> Cell {
    let row = of.and_then(|of| Some((of, view.figures.get(of.row)?)));
    let Some((of, row)) = row else {
        return Cell { value: NONE.to_owned(), ratio: String::new(), mark: "", verdict: None };
    };
    let comparison = row.comparisons.get(of.variant).and_then(Option::as_ref);
    // Percentages that are not asked about need no difference: readers compare them directly.
    let apart = |c: &MetricComparison| c.verdict.is_some() && c.difference.is_some() && !equal(c);
    let shown = comparison.filter(|c| c.ratio.is_some() || apart(c));
    let verdict = comparison.and_then(|c| c.verdict);
    Cell {
        value: median(row.unit, row.values.get(of.variant).copied().flatten().as_ref()),
        ratio: shown.map_or_else(String::new, |c| compared_in_row(row, of.variant, c)),
        mark: verdict.filter(|_| decided(view)).map_or("", |verdict| mark(verdict.word())),
        verdict: verdict.map(Verdict::word),
    }
}

/// Tells whether any figure has a decided verdict.
pub fn decided(view: &View) -> bool {
    let all = view.figures.iter().flat_map(|row| row.comparisons.iter().flatten());
    all.filter_map(|c| c.verdict).any(|verdict| verdict != Verdict::Unclear)
}

/// Explains the marks of verdicts, or says that none is decided; empty where only effects of factors have verdicts.
pub fn marks(view: &View) -> &'static str {
    let comparisons = view.figures.iter().flat_map(|row| row.comparisons.iter().flatten());
    let mut effects = view.effects.iter().flat_map(|row| &row.found.effects);
    let of_effects = effects.any(|effect| effect.verdict != Verdict::Unclear);
    match (comparisons.clone().any(|c| c.verdict.is_some()), decided(view)) {
        (false, _) => "",
        (true, false) if of_effects => "",
        (true, false) => "All verdicts are open.",
        (true, true) => "▲ better, ▼ worse, = same, ≠ differs, ? open.",
    }
}

#[cfg(test)]
mod tests {
    use units::Unit;

    use super::*;

    #[test]
    fn counts_are_grouped_and_what_is_missing_is_a_dash() {
        assert_eq!(value(Unit::Blocks, 262_144.0), "262,144");
        assert_eq!(value(Unit::Blocks, -8192.0), "-8,192");
        assert_eq!(value(Unit::PerSecond, 15_234.4), "15,234/s");
        assert_eq!(median(Unit::Bytes, None), "–");
        assert_eq!(p_value(Some(0.007_936)), "0.0079");
        assert_eq!(verdict("worse"), "▼ worse");
        assert_eq!(interval_name(5), "95 % interval");
        assert_eq!(interval_name(4), "range of 4 repeats");
    }

    #[test]
    fn a_day_is_told_as_people_write_it() {
        assert_eq!(super::day("2026-11-06T10:28:39Z"), "6 Nov 2026, 10:28 UTC");
        assert_eq!(super::day("never"), "never");
    }
}
