//! The headline of a sweep: how a figure changes from the first to the last level of the swept key.

use analysis::level_number;
use units::Unit;

use super::words::{does_the_same, factor, object, ratio_clause, short_name, times, verb};
use crate::view::{Figure, FigureRow, Variant};
use crate::wording;

/// The smallest relative change that counts as one.
const CHANGED: f64 = 0.05;
/// The fewest runs at each end for a sure order: with fewer, all runs of one end lie above all of the other by chance in more than 5 % of cases.
const FEWEST: usize = 4;

/// Describes a change: `random reads become 12 times as many`, `p99 latency of random reads becomes 4 times as long`.
fn becomes(row: &FigureRow, ratio: f64) -> String {
    let (verb, much) = match row.unit {
        _ if row.metric == "iops" => ("become", "many"),
        Unit::Nanos | Unit::Seconds => ("becomes", "long"),
        _ => ("becomes", "large"),
    };
    format!("{} {verb} {} times as {much}", object(row), factor(ratio))
}

/// Describes that nothing changes: `random reads stay as they are`, `p99 latency of random reads stays as it is`.
fn stays(row: &FigureRow) -> String {
    let how = if row.metric == "iops" { "stay as they are" } else { "stays as it is" };
    format!("{} {how}", object(row))
}

/// A change of a variant's figure from the first to the last level of a swept key.
struct Gain<'a> {
    variant: &'a str,
    /// Indices of the two levels.
    ends: (usize, usize),
    ratio: f64,
    runs: usize,
    /// Tells whether the ranges at the two ends overlap without being nearly equal, so that the change has no sure direction.
    meets: bool,
}

/// Returns the clauses: `From depth 1 to 32 at block size 4 KiB, ssd does 23 times the random reads, hdd 2.7 times`.
pub(super) fn over_sweep(variants: &[Variant], rows: &[FigureRow]) -> Option<Vec<String>> {
    let points = variants.iter().flat_map(|variant| &variant.points);
    let points: Vec<_> = points.collect();
    let point = |row: &FigureRow| {
        let stage = row.scope.stage.as_deref()?;
        points.iter().find(|(name, _)| name == stage).map(|(_, sweep)| sweep)
    };
    let any_asked = rows.iter().any(|row| row.asked);
    let leads = |row: &&FigureRow| row.asked || !any_asked && row.metric == "iops";
    let first = rows.iter().filter(leads).find(|row| row.known() && point(row).is_some())?;
    let sweep = point(first)?;
    let stage_points =
        || points.iter().map(|(_, other)| other).filter(|other| other.stage == sweep.stage);
    let levels = |key: &str| {
        let mut levels: Vec<&str> =
            stage_points().filter_map(|o| Some(o.point.get(key)?.as_str())).collect();
        levels.retain(|level| level_number(level).is_some());
        levels.sort_by(|a, b| {
            level_number(a).partial_cmp(&level_number(b)).unwrap_or(std::cmp::Ordering::Equal)
        });
        levels.dedup();
        levels
    };
    let key = sweep.point.keys().max_by_key(|key| levels(key).len())?;
    let levels = levels(key);
    let at = |level: &str| {
        rows.iter().find(|row| {
            let here = point(row).filter(|other| other.stage == sweep.stage);
            let alike = |(name, value): (&String, &String)| {
                if name == key { value == level } else { sweep.point.get(name) == Some(value) }
            };
            row.metric == first.metric
                && row.scope.of == first.scope.of
                && here.is_some_and(|other| other.point.iter().all(alike))
        })
    };
    let mut gains: Vec<Gain> = Vec::new();
    for (index, variant) in variants.iter().enumerate() {
        let known = |(place, level): (usize, &&'_ str)| {
            Some((place, at(level)?.values.get(index).copied().flatten()?))
        };
        let mut ends = levels.iter().enumerate().filter_map(known);
        let Some((from, low)) = ends.next() else { continue };
        let Some((to, high)) = ends.next_back() else { continue };
        if low.median > 0.0 {
            let (ratio, runs) = (high.median / low.median, low.n.min(high.n));
            let (variant, ends) = (variant.name.as_str(), (from, to));
            let meets = low.meets(high) && !is_flat(low, high);
            gains.push(Gain { variant, ends, ratio, runs, meets });
        }
    }
    let others = sweep.point.iter().filter(|(name, _)| *name != key);
    let others: Vec<_> = others.map(wording::at_level).collect();
    let others =
        if others.is_empty() { String::new() } else { format!(" at {}", others.join(", ")) };
    let (from, to) = widest(&mut gains)?;
    let [from, to] = [levels.get(from)?, levels.get(to)?].map(|level| wording::level(level));
    let start = format!("From {} {from} to {to}{others}", wording::key(key));
    let (open, sure): (Vec<_>, Vec<_>) = gains.into_iter().partition(|gain| gain.meets);
    if sure.is_empty() {
        let no_change = format!("{start}, no change of {} can be told", object(first));
        return Some(vec![no_change, overlapping(&open)]);
    }
    let few = undecided(&sure);
    let change = format!("{start}, {}", over_range(first, sure, variants.len())?);
    Some(vec![change, few, overlapping(&open)])
}

/// Tells whether all runs of both figures are about the same, so that nothing changes.
fn is_flat(a: Figure, b: Figure) -> bool {
    let ends = a.low.zip(b.low).zip(a.high.zip(b.high));
    ends.is_some_and(|((a, b), (c, d))| c.max(d) < (1.0 + CHANGED) * a.min(b))
}

/// Names the variants whose runs at both ends overlap, so that the change has no sure direction; empty if there are none.
fn overlapping(gains: &[Gain]) -> String {
    match gains {
        [] => String::new(),
        [one] => format!("runs of {} overlap at both ends", short_name(one.variant)),
        many => format!("runs of {} variants overlap at both ends", many.len()),
    }
}

/// Returns why there are too few runs to decide anything, in words; empty if there are enough.
fn undecided(gains: &[Gain]) -> String {
    let runs = gains.iter().map(|gain| gain.runs).min().unwrap_or(0);
    match runs {
        1 => "one run of each decides nothing".to_owned(),
        _ if runs < FEWEST => format!("{runs} runs of each decide nothing"),
        _ => String::new(),
    }
}

/// Keeps only the changes over the widest range of levels for which a variant has figures, and returns that range: others are not comparable.
fn widest(gains: &mut Vec<Gain>) -> Option<(usize, usize)> {
    // If several are equally wide, the first.
    let ends = gains.iter().rev().map(|gain| gain.ends).max_by_key(|(from, to)| to - from)?;
    gains.retain(|gain| gain.ends == ends);
    Some(ends)
}

/// Describes how a figure changes from the first to the last level, by variant.
fn over_range(row: &FigureRow, mut gains: Vec<Gain>, variants: usize) -> Option<String> {
    gains.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    let (most, least) = (gains.first()?, gains.last()?);
    let same = |gain: &Gain| (gain.ratio - 1.0).abs() < CHANGED;
    let all = gains.len() == variants;
    if all && same(most) && same(least) {
        return Some(stays(row));
    }
    if variants < 2 {
        return Some(becomes(row, most.ratio));
    }
    if all && most.ratio < (1.0 + CHANGED) * least.ratio {
        let (verb, times) = (verb(row, true), times(row, most.ratio, None));
        return Some(match variants {
            2 => format!("both variants {verb} {times}"),
            many => format!("all {many} variants {verb} {times}"),
        });
    }
    let does = match same(most) {
        true => does_the_same(row, None),
        false => ratio_clause(row, most.ratio, None),
    };
    let first = format!("{} {does}", short_name(most.variant));
    Some(match gains.len() {
        1 => first,
        _ => format!("{first}, {} {} times", short_name(least.variant), factor(least.ratio)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_runs_and_runs_that_overlap_decide_nothing() {
        let gain = |runs| Gain { variant: "a", ends: (0, 1), ratio: 2.0, runs, meets: true };
        assert_eq!(undecided(&[gain(1)]), "one run of each decides nothing");
        assert_eq!(undecided(&[gain(9), gain(3)]), "3 runs of each decide nothing");
        assert_eq!(undecided(&[gain(4)]), "");
        assert_eq!(overlapping(&[gain(4)]), "runs of a overlap at both ends");
        assert_eq!(overlapping(&[gain(4), gain(5)]), "runs of 2 variants overlap at both ends");
        assert_eq!(overlapping(&[]), "");
    }

    #[test]
    fn ranges_that_meet_have_no_direction_but_where_all_is_about_the_same() {
        let figure = |median, low, high| Figure { median, low, high, n: 5 };
        let of = |low: f64, high: f64| figure((low + high) / 2.0, Some(low), Some(high));
        assert!(of(1.0, 2.0).meets(of(1.9, 3.0)) && !of(1.0, 2.0).meets(of(2.1, 3.0)));
        assert!(!figure(1.0, None, None).meets(of(0.5, 3.0)), "one run has no range");
        assert!(is_flat(of(1.0, 1.02), of(1.01, 1.04)) && !is_flat(of(1.0, 1.02), of(1.01, 1.06)));
    }
}
