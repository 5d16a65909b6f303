//! The words of a sentence: amounts, certainty, names.

use analysis::MetricComparison;
use stats::Verdict;
use units::show::{bound, significant};

use crate::view::{FigureRow, Of, Scope};
use crate::wording;

/// Returns a variant's name in quotes, as it may be any word.
pub(super) fn quoted(name: &str) -> String {
    format!("“{name}”")
}

/// Returns ` in warm`, where there are several stages.
pub(super) fn in_stage(scope: &Scope) -> String {
    scope.stage.as_ref().map_or_else(String::new, |stage| format!(" in {stage}"))
}

pub(super) fn verb(scope: &Scope, row: &FigureRow) -> &'static str {
    let rate = row.metric == "iops" || row.metric.starts_with("throughput");
    match scope.of {
        _ if rate => "ran at",
        _ if layers::owners_of_metric(&row.metric).ageings => "had",
        Of::Command => "took",
        _ => "had",
    }
}

/// Returns the preposition: twice the errors *of* the base, 20 more errors *than* the base.
pub(super) fn link(c: &MetricComparison) -> &'static str {
    if c.ratio.is_none() && c.difference.is_some() { "than" } else { "of" }
}

/// Returns the 95 % interval: ` [0.374, 0.391]`.
pub(super) fn interval(c: &MetricComparison) -> String {
    let Some((low, high)) = c.low.zip(c.high) else { return String::new() };
    format!(" [{}, {}]", bound(low), bound(high))
}

/// Returns ` (worse, adjusted p = 0.024, 5 + 5 runs)`: the verdict, the p-value it rests on and, when these runs do not decide, how
/// many would.
pub(super) fn certainty(c: &MetricComparison, runs: bool) -> String {
    let mut words = Vec::new();
    match (c.verdict, c.threshold) {
        (Some(Verdict::Same), Some(within)) => {
            words.push(format!("same within {} %", significant(100.0 * within, 2)));
        }
        (Some(verdict), _) => words.push(verdict.to_string()),
        (None, _) => {}
    }
    let adjusted = c.p_adjusted.filter(|p| Some(*p) != c.p);
    let name = if adjusted.is_some() { "adjusted p" } else { "p" };
    let p = adjusted.or(c.p).filter(|_| !wording::wants_repeats(c));
    words.extend(p.map(|p| match p {
        p if p < 1e-4 => format!("{name} < 0.0001"),
        p => format!("{name} = {}", significant(p, 2)),
    }));
    words.extend(wording::repeats_needed(c));
    words.extend(wording::of_few_ios(c).map(str::to_owned));
    words.extend(wording::no_interval(c));
    words.extend(runs.then(|| format!("{0} + {0} runs", c.n)));
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// Returns a ratio in two digits; in three where two digits would show a difference as 1.
pub(super) fn rough(ratio: f64) -> String {
    significant(ratio, if (0.995..1.1).contains(&ratio) { 3 } else { 2 })
}

/// Returns `0.39× the IOPS`, or `20 more failed I/Os` where there is no ratio.
pub(super) fn amount(row: &FigureRow, c: &MetricComparison) -> String {
    let label = &row.label;
    match (c.ratio, c.difference) {
        (Some(ratio), _) => format!("{}× the {label}", rough(ratio)),
        (None, Some(difference)) => {
            let word = if difference.value < 0.0 { "less" } else { "more" };
            format!("{} {word} {label}", wording::amount(row.unit, difference.value.abs()))
        }
        (None, None) => format!("{} the {label}", wording::NONE),
    }
}

/// Returns `0.39× the IOPS`, `the same p99 latency (within 3 %)`, or `0.97× the IOPS (unclear)`.
pub(super) fn times(row: &FigureRow, comparison: &MetricComparison, all_unclear: bool) -> String {
    let label = &row.label;
    let amount = amount(row, comparison);
    match comparison.verdict {
        Some(Verdict::Same) => match comparison.threshold {
            Some(within) => {
                format!("the same {label} (within {} %)", significant(100.0 * within, 2))
            }
            None => format!("the same {label}"),
        },
        Some(Verdict::Unclear) if !all_unclear => format!("{amount} (unclear)"),
        _ => amount,
    }
}

/// Returns `a, b and c`; `None` for an empty list.
pub(super) fn list(clauses: &[String]) -> Option<String> {
    let (last, rest) = clauses.split_last()?;
    Some(if rest.is_empty() { last.clone() } else { format!("{} and {last}", rest.join(", ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_joined_as_people_join_them() {
        let owned = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert_eq!(list(&owned(&["a", "b", "c"])).as_deref(), Some("a, b and c"));
        assert_eq!(list(&owned(&["a"])).as_deref(), Some("a"));
        assert_eq!(list(&[]), None);
    }
}
