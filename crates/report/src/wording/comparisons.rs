//! Comparisons of two figures in words: ratios, their intervals, and what is left open.

use analysis::MetricComparison;
use stats::{Comparison, LEAST_REPEATS, Verdict};
use units::{Test, Unit, show};

use super::figures::{NONE, value};
use crate::view::FigureRow;

/// Returns a ratio: `0.37×`.
pub fn ratio(number: f64) -> String {
    format!("{}×", show::significant(number, 3))
}

/// Returns the 95 % interval of a ratio, `[0.353, 1.026]`, or of the difference that takes its place; `None` when there is none.
pub fn ratio_interval(unit: Unit, comparison: &MetricComparison) -> Option<String> {
    if let Some(difference) = comparison.difference {
        let interval = difference.interval.filter(|_| !equal(comparison))?;
        return Some(format!("[{}, {}]", signed(unit, interval.low), signed(unit, interval.high)));
    }
    Some(format!("[{}, {}]", show::bound(comparison.low?), show::bound(comparison.high?)))
}

/// Describes how new compares with base: a ratio, `0.37×`, or where there is none a difference, `+20`.
pub fn compared(unit: Unit, comparison: &MetricComparison) -> String {
    if equal(comparison) {
        return "equal, no ratio".to_owned();
    }
    let difference = || comparison.difference.map(|difference| signed(unit, difference.value));
    comparison.ratio.map(ratio).or_else(difference).unwrap_or_else(|| NONE.to_owned())
}

/// Tells whether there is no ratio because both sides are the same: zero in every run, or without any difference.
pub(super) fn equal(comparison: &MetricComparison) -> bool {
    let none = |difference: stats::Difference| {
        difference.value == 0.0
            && difference.interval.is_some_and(|i| i.low == 0.0 && i.high == 0.0)
    };
    comparison.ratio.is_none() && (comparison.all_zero || comparison.difference.is_some_and(none))
}

/// For figures not asked about: the relative difference between a ratio and that of the medians from which the latter is shown too.
const VISIBLE: f64 = 0.03;

/// Returns the ratio of the two medians, to be shown next to a ratio that is computed from pairs of runs; `None` where both are about the same.
pub fn of_medians(row: &FigureRow, variant: usize) -> Option<String> {
    let comparison = row.comparisons.get(variant)?.as_ref()?;
    let median = |variant: usize| row.values.get(variant).copied().flatten().map(|f| f.median);
    ratio_of_medians(comparison, (median(0), median(variant)))
}

/// Returns the same for given medians of base and new.
fn ratio_of_medians(
    comparison: &MetricComparison,
    (base, new): (Option<f64>, Option<f64>),
) -> Option<String> {
    let made = comparison.ratio.filter(|ratio| *ratio > 0.0)?;
    let of_medians = new? / base?;
    let against = (made > 1.0 && of_medians < 1.0) || (made < 1.0 && of_medians > 1.0);
    let far = (made / of_medians).ln().abs() > comparison.threshold.unwrap_or(VISIBLE).ln_1p();
    let shown = ratio(of_medians);
    // Nothing is added where either ratio is displayed as 1.
    let visible = shown != ratio(made) && shown != ratio(1.0) && ratio(made) != ratio(1.0);
    (of_medians > 0.0 && of_medians.is_finite() && (far || against && visible)).then_some(shown)
}

/// Returns both ratios where they differ: `pairs of runs: 1.31×; medians: 0.838×`.
pub fn beside_medians(row: &FigureRow, variant: usize) -> Option<String> {
    let medians = of_medians(row, variant)?;
    let comparison = row.comparisons.get(variant)?.as_ref()?;
    let pairs = if comparison.test == Test::Paired { "pairs of runs" } else { "all pairs of runs" };
    Some(format!("{pairs}: {}; medians: {medians}", ratio(comparison.ratio?)))
}

/// Describes a comparison for one cell: `1.31× (medians 0.838×)` where the medians shown next to it suggest something else.
pub fn compared_in_row(row: &FigureRow, variant: usize, comparison: &MetricComparison) -> String {
    with_medians(compared(row.unit, comparison), of_medians(row, variant))
}

/// Does the same for given medians of base and new.
pub fn compared_beside(
    unit: Unit,
    comparison: &MetricComparison,
    medians: (Option<f64>, Option<f64>),
) -> String {
    with_medians(compared(unit, comparison), ratio_of_medians(comparison, medians))
}

fn with_medians(text: String, medians: Option<String>) -> String {
    match medians {
        Some(medians) => format!("{text} (medians {medians})"),
        None => text,
    }
}

fn signed(unit: Unit, number: f64) -> String {
    let sign = if number < 0.0 { "−" } else { "+" };
    format!("{sign}{}", amount(unit, number.abs()))
}

/// Returns a difference with its unit: for percentages, percentage points.
pub fn amount(unit: Unit, number: f64) -> String {
    match unit {
        Unit::Percent => format!("{} points", value(unit, number).trim_end_matches(" %")),
        _ => value(unit, number),
    }
}

/// Describes how the repeats were compared, in a word or two, with the number of repeats left out.
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

/// Tells whether an interval lies wholly outside the threshold.
fn beyond(c: &MetricComparison, low: f64, high: f64) -> bool {
    let threshold = c.threshold.unwrap_or_default();
    low > 1.0 + threshold || high < 1.0 - threshold
}

/// Returns why a comparison is open, both for the headline and for the figure below it.
pub fn why_open(c: &MetricComparison) -> String {
    match (c.n, c.low.zip(c.high)) {
        _ if c.method == analysis::GOES_ON => "the run still goes on".to_owned(),
        _ if c.few_beyond => "too few I/Os to tell".to_owned(),
        _ if c.unmeasured() => "nothing was measured".to_owned(),
        (0, _) => "only one of them has a value".to_owned(),
        (1, _) => "one run of each decides nothing".to_owned(),
        (n, _) if n < LEAST_REPEATS => format!("{n} runs of each decide nothing"),
        _ if !c.apart.is_empty() => "some runs are far from all others".to_owned(),
        // It would be decided if it were the only question.
        (n, Some((low, high))) if beyond(c, low, high) => {
            format!("{n} runs are too few for so many questions")
        }
        (n, Some((low, high))) => {
            format!("{n} runs allow {} to {} times", in_words(low), in_words(high))
        }
        (n, None) => format!("{n} runs do not decide it"),
    }
}

/// Returns a ratio in two digits, `0.38`, `2.6`; in three, `1.05`, where two digits would show a difference as 1.
pub fn in_words(ratio: f64) -> String {
    show::significant(ratio, if (0.995..1.1).contains(&ratio) { 3 } else { 2 })
}

/// Names the runs that stand apart, which keep a verdict unclear: `cells 3, 9 and 14 (vdo) stand apart from all others`; `None` where none do.
pub fn apart(comparison: &MetricComparison) -> Option<String> {
    let sides = [&comparison.base, &comparison.new].into_iter().filter_map(|side| {
        let side_runs = comparison.apart.iter().filter(|run| run.variant == **side);
        let cells: Vec<String> = side_runs.map(|run| run.cell.to_string()).collect();
        let noun = if cells.len() == 1 { "cell" } else { "cells" };
        Some(format!("{noun} {} ({side})", joined(&cells)?))
    });
    let verb = if comparison.apart.len() == 1 { "stands" } else { "stand" };
    Some(format!("{} {verb} apart from all others", joined(&sides.collect::<Vec<_>>())?))
}

/// Returns the reason why no verdict is given on a percentile or rate with few I/Os, or on a figure that no run measured; `None` in other cases.
pub fn of_few_ios(comparison: &MetricComparison) -> Option<&'static str> {
    let rate = analysis::is_rate(&comparison.metric);
    match (comparison.verdict, comparison.few_beyond) {
        _ if comparison.unmeasured() => Some("not measured: no run has a value"),
        (Some(Verdict::Unclear), true) if rate => {
            Some("a run did fewer than 10 I/Os: let the load do more")
        }
        (Some(Verdict::Unclear), true) => {
            Some("fewer than 10 I/Os of a run lie beyond this percentile: let the load do more")
        }
        _ => None,
    }
}

/// Describes how many repeats would decide, or that there are too few to decide anything; `None` if that is not known, and for a single run, for
/// which it is obvious.
pub fn repeats_needed(comparison: &MetricComparison) -> Option<String> {
    if wants_repeats(comparison) && comparison.n > 1 && of_few_ios(comparison).is_none() {
        return Some(format!("fewer than {LEAST_REPEATS} repeats decide nothing"));
    }
    comparison.repeats_that_would_decide.map(so_many_would_decide)
}

/// Returns `20 to 140 repeats would decide`, both numbers to two digits.
pub fn so_many_would_decide((least, most): (u32, u32)) -> String {
    let [least, most] = [least, most].map(|repeats| show::significant(f64::from(repeats), 2));
    if least == most {
        return format!("{most} repeats would decide");
    }
    format!("{least} to {most} repeats would decide")
}

/// Describes what a verdict leaves open: for `same`, the share of runs that may differ unseen; else outliers, too few I/Os, or how many repeats would
/// decide.
pub fn left_open(comparison: &MetricComparison) -> Vec<String> {
    let of_unseen = |share: f64| {
        let share = show::significant(share, 2);
        format!("up to {share} % of runs may behave differently without having been seen")
    };
    let unseen = comparison.unseen_percent().map(of_unseen);
    let few = of_few_ios(comparison).map(str::to_owned);
    [unseen, apart(comparison), few, no_interval(comparison), repeats_needed(comparison)]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns `3, 9 and 14`; `None` for an empty list.
fn joined(names: &[String]) -> Option<String> {
    match names {
        [] => None,
        [one] => Some(one.clone()),
        [before @ .., last] => Some(format!("{} and {last}", before.join(", "))),
    }
}

/// Explanation of the words for tests.
pub const TESTS: &str = "Paired (for rates, means and CPU): the mean of the ratios within each repeat, with Student's t. By ranks (for tails): the \
    median of the ratios of every repeat of one side to every repeat of the other, with the rank test of Mann and Whitney, from eight repeats on \
    that of Brunner and Munzel; no verdict while outliers in the bad direction contradict it. By whether it happened (for failures): the shares of \
    runs with any, with Fisher's exact test; “same” only where there are none.";

/// Returns a p-value: `0.0079`, `< 0.0001`.
pub fn p_value(p: Option<f64>) -> String {
    match p {
        None => NONE.to_owned(),
        Some(p) if p < 1e-4 => "< 0.0001".to_owned(),
        Some(p) => show::significant(p, 2),
    }
}

/// Tells whether a verdict is open because there are too few repeats, whatever its p-value.
pub fn wants_repeats(comparison: &MetricComparison) -> bool {
    comparison.verdict == Some(Verdict::Unclear) && comparison.n < LEAST_REPEATS
}

/// Returns a note that there are too few runs for an interval: `2 runs give no interval`; `None` if there is one, if the figure is not asked
/// about, and for a single run, for which it is obvious.
pub fn no_interval(comparison: &MetricComparison) -> Option<String> {
    let Comparison { n, low, difference, verdict, .. } = **comparison;
    let bounded = low.is_some() || difference.is_some_and(|of| of.interval.is_some());
    let missing = !bounded && n > 1 && comparison.test != Test::Occurrence && verdict.is_some();
    missing.then(|| format!("{n} runs give no interval"))
}

/// Returns the p-value that a verdict rests on: `adjusted p 0.016`; `None` without a verdict, and where it is open because there are too few repeats.
pub fn rests_on(comparison: &MetricComparison) -> Option<String> {
    comparison.verdict.filter(|_| !wants_repeats(comparison))?;
    Some(format!("adjusted p {}", p_value(Some(comparison.p_adjusted?))))
}
