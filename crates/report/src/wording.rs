//! The spelling of figures, ratios and intervals, the same on every page and terminal.

use analysis::{
    Evidence, Expectation, ExpectationOutcome, MetricComparison, Reported, ReportedRow,
};
use results::model::{Bound, ExpectedFigure, FigureName, Grounds, ReportedSpread};
use stats::{LEAST_REPEATS, RANGE_BELOW, Spread, Verdict};
use units::{Test, Unit, show};

use crate::view::{Figure, FigureRow, GridCell, View};

/// A moment of a result as people write it: `26 Nov 2026, 10:28 UTC`; as it stands where it is no such moment.
pub fn day(utc: &str) -> String {
    let read = utc.parse::<jiff::Timestamp>();
    read.map_or_else(|_| utc.to_owned(), |at| at.strftime("%-d %b %Y, %H:%M UTC").to_string())
}

/// Stands where there is no figure.
pub const NONE: &str = "–";

/// Digits of a source's figure: as many as it gave.
pub const SOURCE_DIGITS: usize = 6;

/// Returns when a verdict claims a difference.
pub fn claims() -> String {
    format!(
        "a verdict is given where its p-value, corrected for all that is asked, is below 0.05 and there are {LEAST_REPEATS} repeats or \
         more: a difference lies wholly beyond what does not matter, and the same lies wholly within."
    )
}

/// Returns how it was decided how many repeats were needed, and what its verdicts are of; nothing where the number was fixed.
pub fn sequential(view: &View) -> String {
    let of = "A verdict is of the first look that decided; what is decided stays so.";
    view.sequential.as_ref().map_or_else(String::new, |s| format!(" {} {of}", s.text))
}

/// A figure without its interval: `41.2k/s`, or a dash.
pub fn median(unit: Unit, figure: Option<&Figure>) -> String {
    figure.map_or_else(
        || NONE.to_owned(),
        |f| format!("{}{}", value(unit, f.median), bytes(unit, f.median)),
    )
}

/// ` (256 MiB)` beside a number of blocks, which few people multiply by 4 KiB; nothing beside other figures.
fn bytes(unit: Unit, number: f64) -> String {
    match unit {
        Unit::Blocks if number != 0.0 => format!(" ({})", Unit::Bytes.show(number * BLOCK)),
        _ => String::new(),
    }
}

/// Bytes of a block.
const BLOCK: f64 = 4096.0;

/// A number in its unit. Counts that are medians may have a fraction; they keep three digits then.
pub fn value(unit: Unit, number: f64) -> String {
    match unit {
        Unit::Count | Unit::Blocks if number.fract() == 0.0 && (0.0..1e15).contains(&number) => {
            show::grouped(number as u64)
        }
        Unit::Count | Unit::Blocks if number.abs() >= 1000.0 => {
            let sign = if number < 0.0 { "-" } else { "" };
            format!("{sign}{}", show::grouped(number.abs().round() as u64))
        }
        Unit::PerSecond if number.abs() >= 1000.0 && number.abs() < 100_000.0 => {
            format!("{}/s", show::grouped(number.round() as u64))
        }
        _ => unit.show(number),
    }
}

/// The interval of a figure: `[40.1k/s, 42.3k/s]`; `None` when it has none.
pub fn interval(unit: Unit, figure: &Figure) -> Option<String> {
    Some(format!("[{}, {}]", value(unit, figure.low?), value(unit, figure.high?)))
}

/// Returns what an interval over so many repeats is: few cover the truth too seldom to be called one of 95 %.
pub fn interval_name(repeats: usize) -> String {
    if repeats < RANGE_BELOW {
        format!("range of {repeats} repeats")
    } else {
        "95 % interval".to_owned()
    }
}

/// Returns what intervals are called where one name has to fit all figures of a page.
pub fn intervals_name(view: &View) -> &'static str {
    let repeats = || view.variants.iter().map(|v| v.repeats).filter(|n| *n > 0);
    let few = |n: usize| n < RANGE_BELOW;
    match (repeats().any(few), repeats().all(few)) {
        (_, true) => "range",
        (true, false) => "95 % interval (the range, where there are fewer than five repeats)",
        (false, false) => "95 % interval",
    }
}

/// The head of a column of figures with their intervals: what these are.
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
/// The meaning of jobs' figures.
pub const JOBS: &str = "The jobs of a load all do the same. Rates are over the time that a job was at work; medians over the repeats.";

/// A ratio: `0.37×`.
pub fn ratio(number: f64) -> String {
    format!("{}×", show::significant(number, 3))
}

/// The 95 % interval of a ratio: `[0.353, 1.026]`, or of the difference that stands for it; `None` when it has none.
pub fn ratio_interval(unit: Unit, comparison: &MetricComparison) -> Option<String> {
    if let Some(difference) = comparison.difference {
        let interval = difference.interval.filter(|_| !equal(comparison))?;
        return Some(format!("[{}, {}]", signed(unit, interval.low), signed(unit, interval.high)));
    }
    Some(format!("[{}, {}]", show::bound(comparison.low?), show::bound(comparison.high?)))
}

/// Returns how new and base compare: a ratio, `0.37×`, or where there is none a difference, `+20`.
pub fn compared(unit: Unit, comparison: &MetricComparison) -> String {
    if equal(comparison) {
        return "equal, no ratio".to_owned();
    }
    let difference = || comparison.difference.map(|difference| signed(unit, difference.value));
    comparison.ratio.map(ratio).or_else(difference).unwrap_or_else(|| NONE.to_owned())
}

/// Tells whether there is no ratio because neither side has any of it.
fn equal(comparison: &MetricComparison) -> bool {
    let none = |difference: stats::Difference| {
        difference.value == 0.0 && difference.interval.is_none_or(|i| i.low == 0.0 && i.high == 0.0)
    };
    comparison.ratio.is_none() && comparison.difference.is_some_and(none)
}

/// The relative difference between a ratio and that of the medians beside it that needs a word where nobody asks.
const VISIBLE: f64 = 0.03;

/// The ratio of the two medians beside a ratio that is made of pairs of runs; `None` where a reader who divides them comes to about the same.
pub fn of_medians(row: &FigureRow, variant: usize) -> Option<String> {
    let comparison = row.comparisons.get(variant)?.as_ref()?;
    let made = comparison.ratio.filter(|ratio| *ratio > 0.0)?;
    let median = |variant: usize| row.values.get(variant).copied().flatten().map(|f| f.median);
    let own = median(variant)? / median(0)?;
    let against = (made > 1.0 && own < 1.0) || (made < 1.0 && own > 1.0);
    let far = (made / own).ln().abs() > comparison.threshold.unwrap_or(VISIBLE).ln_1p();
    let shown = ratio(own);
    // Neither is worth a word where it is shown as equal.
    let visible = shown != ratio(made) && shown != ratio(1.0) && ratio(made) != ratio(1.0);
    (own > 0.0 && own.is_finite() && (far || against && visible)).then_some(shown)
}

/// Both ratios, where they differ: `pairs of runs: 1.31×; medians: 0.838×`.
pub fn beside_medians(row: &FigureRow, variant: usize) -> Option<String> {
    let medians = of_medians(row, variant)?;
    let comparison = row.comparisons.get(variant)?.as_ref()?;
    let pairs = if comparison.test == Test::Paired { "pairs of runs" } else { "all pairs of runs" };
    Some(format!("{pairs}: {}; medians: {medians}", ratio(comparison.ratio?)))
}

/// How new and base compare, in one cell: `1.31× (medians 0.838×)` where the medians beside it would say something else.
pub fn compared_in_row(row: &FigureRow, variant: usize, comparison: &MetricComparison) -> String {
    let said = compared(row.unit, comparison);
    match of_medians(row, variant) {
        Some(medians) => format!("{said} (medians {medians})"),
        None => said,
    }
}

fn signed(unit: Unit, number: f64) -> String {
    let sign = if number < 0.0 { "−" } else { "+" };
    format!("{sign}{}", amount(unit, number.abs()))
}

/// Returns how much more or less: of two shares, percentage points.
pub fn amount(unit: Unit, number: f64) -> String {
    match unit {
        Unit::Percent => format!("{} points", value(unit, number).trim_end_matches(" %")),
        _ => value(unit, number),
    }
}

/// Returns how the repeats were compared, in a word or two, with the repeats that were left out.
pub fn tested(comparison: &MetricComparison) -> String {
    let test = match comparison.test {
        Test::Paired => "paired",
        Test::Ranked => "by ranks",
        Test::Occurrence => "by whether it happened",
    };
    let test = match comparison.decided_after {
        Some(repeat) => format!("{test}, decided after {repeat} repeats"),
        None => test.to_owned(),
    };
    match comparison.dropped {
        0 => test,
        1 => format!("{test}, 1 repeat with one side only left out"),
        n => format!("{test}, {n} repeats with one side only left out"),
    }
}

/// Names the runs that stand apart, which keep a verdict unclear: `cells 3, 9 and 14 (vdo) stand apart from all others`; `None` where none do.
pub fn apart(comparison: &MetricComparison) -> Option<String> {
    let sides = [&comparison.base, &comparison.new].into_iter().filter_map(|side| {
        let own = comparison.apart.iter().filter(|run| run.variant == **side);
        let cells: Vec<String> = own.map(|run| run.cell.to_string()).collect();
        let noun = if cells.len() == 1 { "cell" } else { "cells" };
        Some(format!("{noun} {} ({side})", joined(&cells)?))
    });
    let verb = if comparison.apart.len() == 1 { "stands" } else { "stand" };
    Some(format!("{} {verb} apart from all others", joined(&sides.collect::<Vec<_>>())?))
}

/// Why no verdict is given on a percentile of few I/Os.
pub const FEW_BEYOND: &str =
    "fewer than 10 I/Os of a run lie beyond this percentile: let the load do more";

/// Tells whether a verdict is unclear because it is on a percentile of few I/Os.
pub fn of_few_ios(comparison: &MetricComparison) -> bool {
    comparison.verdict == Some(Verdict::Unclear) && comparison.few_beyond
}

/// Says what a verdict leaves open: of the same what nobody can see, else the runs that stand apart, that there are too few I/Os, or about
/// how many repeats would decide.
pub fn left_open(comparison: &MetricComparison) -> Vec<String> {
    let of = |verdict: Verdict| comparison.verdict == Some(verdict);
    let unseen = of(Verdict::Same).then(|| {
        let share = unseen(comparison.n);
        format!("as much as {share} of runs could be otherwise and not have come up")
    });
    let few = of_few_ios(comparison).then(|| FEW_BEYOND.to_owned());
    let repeats = comparison.repeats_that_would_decide;
    let repeats = repeats.map(|repeats| format!("about {repeats} repeats would decide"));
    [unseen, apart(comparison), few, no_interval(comparison), repeats]
        .into_iter()
        .flatten()
        .collect()
}

/// `3, 9 and 14`; `None` of nothing.
fn joined(names: &[String]) -> Option<String> {
    match names {
        [] => None,
        [one] => Some(one.clone()),
        [before @ .., last] => Some(format!("{} and {last}", before.join(", "))),
    }
}

/// The share of runs that could be of another kind where none of so many was: `45 %`.
fn unseen(runs: usize) -> String {
    format!("{} %", show::significant(stats::unseen_percent(runs), 2))
}

/// The meaning of the words for a test.
pub const TESTS: &str = "Paired: the repeats' own ratios, their mean and Student's t, for rates, means and CPU. By ranks: every repeat of one \
    side over every one of the other, their median and the rank test of Mann and Whitney, from eight repeats on of Brunner and Munzel, for tails; \
    no word that runs which stand apart for the bad speak against. \
    By whether it happened: the shares of runs that have any, and Fisher's exact test, for failures; the same only where there are none.";

/// A p-value: `0.0079`, `< 0.0001`.
pub fn p_value(p: Option<f64>) -> String {
    match p {
        None => NONE.to_owned(),
        Some(p) if p < 1e-4 => "< 0.0001".to_owned(),
        Some(p) => show::significant(p, 2),
    }
}

/// Tells whether a verdict is open for want of repeats: whatever its p-value, it would be.
pub fn wants_repeats(comparison: &MetricComparison) -> bool {
    comparison.verdict == Some(Verdict::Unclear) && comparison.n < LEAST_REPEATS
}

/// Says that so few runs give no interval: `2 runs give no interval`; `None` where there is one, or nobody asks, and of a single run, which says it
/// itself.
pub fn no_interval(comparison: &MetricComparison) -> Option<String> {
    let MetricComparison { n, low, difference, test, .. } = comparison;
    let bounded = low.is_some() || difference.is_some_and(|of| of.interval.is_some());
    let missing = !bounded && *n > 1 && *test != Test::Occurrence && comparison.verdict.is_some();
    missing.then(|| format!("{n} runs give no interval"))
}

/// Returns what a verdict rests on beside its interval: `adjusted p 0.016`; `None` without a verdict, and where that is open for want of repeats.
pub fn rests_on(comparison: &MetricComparison) -> Option<String> {
    comparison.verdict.filter(|_| !wants_repeats(comparison))?;
    Some(format!("adjusted p {}", p_value(Some(comparison.p_adjusted?))))
}

/// A verdict with a mark that does not rest on colour: `▲ better`.
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

/// A cell of a table of many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The figure.
    pub value: String,
    /// It over that of the base; empty of the base itself.
    pub ratio: String,
    /// The mark of its verdict; empty where none is decided.
    pub mark: &'static str,
    /// Its verdict.
    pub verdict: Option<&'static str>,
}

/// A figure of a table of many: `5,800/s`, `0.88×`, `▼`.
pub fn cell(view: &View, of: Option<GridCell>) -> Cell {
    let row = of.and_then(|of| Some((of, view.figures.get(of.row)?)));
    let Some((of, row)) = row else {
        return Cell { value: NONE.to_owned(), ratio: String::new(), mark: "", verdict: None };
    };
    let comparison = row.comparisons.get(of.variant).and_then(Option::as_ref);
    // Shares that nobody asks about are read off side by side.
    let apart = |c: &MetricComparison| c.verdict.is_some() && c.difference.is_some() && !equal(c);
    let told = comparison.filter(|c| c.ratio.is_some() || apart(c));
    let verdict = comparison.and_then(|c| c.verdict);
    Cell {
        value: median(row.unit, row.values.get(of.variant).copied().flatten().as_ref()),
        ratio: told.map_or_else(String::new, |c| compared_in_row(row, of.variant, c)),
        mark: verdict.filter(|_| decided(view)).map_or("", |verdict| mark(verdict.word())),
        verdict: verdict.map(Verdict::word),
    }
}

/// Tells whether any figure has a verdict that is not open.
pub fn decided(view: &View) -> bool {
    let all = view.figures.iter().flat_map(|row| row.comparisons.iter().flatten());
    all.filter_map(|c| c.verdict).any(|verdict| verdict != Verdict::Unclear)
}

/// The meaning of the marks of verdicts, or that none is decided.
pub fn marks(view: &View) -> &'static str {
    let asked = view.figures.iter().flat_map(|row| row.comparisons.iter().flatten());
    match (asked.clone().any(|c| c.verdict.is_some()), decided(view)) {
        (false, _) => "",
        (true, false) => "All verdicts are open.",
        (true, true) => "▲ better, ▼ worse, = same, ≠ differs, ? open.",
    }
}

/// An expectation in words.
pub struct Expected {
    /// The figure: `IOPS of randread in warm, cached over slow`.
    pub figure: String,
    /// `above 1.5`, `20 to 40`.
    pub asked: String,
    /// The figure that was found.
    pub found: Option<String>,
    /// Its interval.
    pub interval: Option<String>,
}

/// An expectation and what was found, in words.
pub fn expected(held: &Expectation) -> Expected {
    let ExpectedFigure { figure, bound, of, .. } = &held.expected;
    let show = |number: f64| value(held.unit, number);
    let asked = match *bound {
        Bound::Above(least) => format!("above {}", show(least)),
        Bound::Below(most) => format!("below {}", show(most)),
        Bound::Near { value, by } => format!("{} to {}", show(value - by), show(value + by)),
    };
    Expected {
        figure: of.as_ref().map_or_else(|| named(figure), |other| over(figure, other)),
        asked,
        found: held.found.map(show),
        interval: held
            .low
            .zip(held.high)
            .map(|(low, high)| format!("[{}, {}]", show(low), show(high))),
    }
}

/// Returns the name of a kind of source, as a label.
pub fn grounds(grounds: Grounds) -> &'static str {
    match grounds {
        Grounds::Document => "Source",
        Grounds::Appendix => "The source's appendix",
        Grounds::DataSheet => "Data sheet",
        Grounds::Layer => "The layer's documentation",
        Grounds::Formula => "Computed",
        Grounds::Conclusion => "A conclusion, which no document states",
        Grounds::Measurement => "Measured before",
        Grounds::Model => "The model is built to do so",
    }
}

/// Returns what is said of a figure that is as expected: a source found it only where its document states the same quantity.
pub fn as_expected(grounds: Grounds) -> &'static str {
    match grounds {
        Grounds::Document => "as the source found",
        Grounds::Appendix => "as in the source's appendix",
        Grounds::DataSheet => "as the data sheet says",
        Grounds::Layer => "as the layer's documentation says",
        Grounds::Formula => "as computed",
        Grounds::Conclusion => "as concluded",
        Grounds::Measurement => "as measured before",
        Grounds::Model => "as the model is built",
    }
}

/// A ratio: `0.868×`.
pub fn times(ratio: f64) -> String {
    format!("{}×", Unit::Ratio.show(ratio))
}

/// Returns why a figure is otherwise than expected: what the experiment says of it, and the figures that show it; `None` where it is as
/// expected, or nothing is said.
pub fn why_otherwise(held: &Expectation) -> Option<String> {
    if held.outcome != ExpectationOutcome::Missed {
        return None;
    }
    let shown = |evidence: &Evidence| {
        Some(format!("{}: {}", named(&evidence.figure), value(evidence.unit, evidence.median?)))
    };
    let shown: Vec<_> = held.evidence.iter().filter_map(shown).collect();
    let shown = (!shown.is_empty()).then(|| shown.join("; "));
    let all: Vec<_> = held.expected.differs.clone().into_iter().chain(shown).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Returns what a row of a source's table stands for: of its metric, stage and variant those of which the rows have several.
pub fn reported(row: &ReportedRow, rows: &[ReportedRow]) -> String {
    let FigureName { metric, stage, variant, .. } = &row.figure;
    let several = |other: fn(&FigureName, &FigureName) -> bool| {
        rows.iter().any(|r| other(&r.figure, &row.figure))
    };
    let parts = [
        several(|a, b| a.metric != b.metric).then(|| label(metric)),
        stage.as_deref().filter(|_| several(|a, b| a.stage != b.stage)),
        several(|a, b| a.variant != b.variant).then_some(variant.as_str()),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { variant.clone() } else { parts.join(", ") }
}

/// Columns of a spread within a run.
pub const SPREAD_COLUMNS: [&str; 6] =
    ["median", "1st quartile", "3rd quartile", "least", "greatest", "standard deviation"];

/// Returns the spreads of a source's table, each beside the one found here: of what it is, whose, and its columns.
pub fn spreads(table: &Reported) -> Vec<(String, &'static str, [String; 6])> {
    let mut lines = Vec::new();
    for row in &table.rows {
        let Some(ReportedSpread { q1, q3, min, max, std_dev }) = row.source_spread else {
            continue;
        };
        let source = [row.source, q1, q3, min, max, std_dev].map(|value| {
            format!("{} {}", units::show::significant(value, SOURCE_DIGITS), table.source_unit)
        });
        let show =
            |number: Option<f64>| number.map_or_else(|| NONE.to_owned(), |n| value(row.unit, n));
        let of = |figure: fn(&Spread) -> Option<f64>| show(row.spread.as_ref().and_then(figure));
        let here = [
            of(|s| Some(s.median)),
            of(|s| Some(s.q1)),
            of(|s| Some(s.q3)),
            of(|s| Some(s.min)),
            of(|s| Some(s.max)),
            of(|s| s.std_dev),
        ];
        let name = reported(row, &table.rows);
        lines.extend([(name.clone(), "source", source), (name, "here", here)]);
    }
    lines
}

/// The value found here of a figure that a source reported.
pub fn found_here(row: &ReportedRow) -> String {
    match row.found.median {
        Some(median) => value(row.unit, median),
        None if row.ran => NONE.to_owned(),
        None => ExpectationOutcome::NotRun.word().to_owned(),
    }
}

/// Returns what a table of a source's figures is called: `throughput of randwrite in full, table 5.3`; the stage only where all rows have it, the
/// metric too.
pub fn reported_title(table: &Reported) -> String {
    let Reported { what, rows, .. } = table;
    let figures = || rows.iter().map(|row| &row.figure);
    let all = |same: fn(&FigureName, &FigureName) -> bool| {
        figures().zip(figures().skip(1)).all(|(a, b)| same(a, b))
    };
    match rows.first().map(|row| &row.figure).filter(|_| all(|a, b| a.metric == b.metric)) {
        None => what.clone(),
        Some(first) if all(|a, b| a.stage == b.stage) => format!("{}, {what}", of_stage(first)),
        Some(first) => format!("{}, {what}", of_all(first)),
    }
}

/// A figure over another, what they have in common said once: `throughput of read in warm, cached over slow`, or
/// `data blocks of vdo in copy-2 over copy-1, vdo`.
fn over(figure: &FigureName, other: &FigureName) -> String {
    let same = other.metric == figure.metric
        && other.operation == figure.operation
        && other.layer == figure.layer;
    match &other.stage {
        stage if same && *stage == figure.stage => {
            format!("{} over {}", named(figure), other.variant)
        }
        Some(stage) if same && other.variant == figure.variant => {
            format!("{} over {stage}, {}", of_stage(figure), figure.variant)
        }
        _ => format!("{} over {}", named(figure), named(other)),
    }
}

/// `IOPS of randread in warm, cached`.
fn named(figure: &FigureName) -> String {
    format!("{}, {}", of_stage(figure), figure.variant)
}

/// `IOPS of randread in warm`.
fn of_stage(figure: &FigureName) -> String {
    let stage = figure.stage.as_ref().map_or_else(String::new, |stage| format!(" in {stage}"));
    format!("{}{stage}", of_all(figure))
}

/// `IOPS of randread`, whatever the stage.
fn of_all(figure: &FigureName) -> String {
    let label = label(&figure.metric);
    let of = figure.operation.as_ref().or(figure.layer.as_ref());
    let of = of.map_or_else(String::new, |of| format!(" of {of}"));
    format!("{label}{of}")
}

/// A metric's name, or its id where nobody knows it.
fn label(metric: &str) -> &str {
    layers::metric(metric).map_or(metric, |known| known.name)
}

#[cfg(test)]
mod tests {
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
