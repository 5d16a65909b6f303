//! Changes in a series of successive results: a measurement that is repeated, for example, on every release.

use units::{Seed, SplitMix64};

use crate::quantile::Sorted;
use crate::spread::mean;

/// Fewest results for a trend: with fewer a change cannot be told from correlated results.
pub const LEAST_RESULTS: usize = 20;
/// Most results that are looked at: older ones no longer matter.
pub const MOST_RESULTS: usize = 100;

/// Fewest results on either side of a change.
const EITHER_SIDE: usize = 4;
/// Number of series drawn to find how large the statistic becomes by chance.
const DRAWN: u32 = 4_999;
/// A single change counts below this p: a series is tested again after each result.
const ERROR: f64 = 0.001;
/// A change that was undone later counts below this p, which is smaller because it is searched for second, and in more places.
const STRETCH_ERROR: f64 = 0.000_5;
/// Lag-one correlation above which a series without a change counts as drifting.
const DRIFTING: f64 = 0.3;

/// The trend of a series of results.
#[derive(Debug, Clone, PartialEq)]
pub enum Trend {
    /// Fewer than [`LEAST_RESULTS`].
    TooFew,
    /// The series drifts: there is no change that counts, and each result is correlated this much with the one before.
    Drifting(f64),
    /// The changes, in order; none where the series is stable.
    Changes(Vec<LevelShift>),
}

/// A change from one level to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelShift {
    /// Number of results before it.
    pub at: usize,
    /// The mean of the stretch after it minus the mean of the stretch before it.
    pub by: f64,
    /// The share of drawn series without a change whose statistic is at least as great.
    pub p: f64,
}

/// Finds the changes in `values`, oldest first. Only the last [`MOST_RESULTS`] are looked at; places count from the first of all values.
///
/// The statistic is the greatest two-sample t of a stretch of results against those before and behind it, at least four on either side
/// (circular binary segmentation: Olshen and others 2004). A stretch up to the end is a single change, an inner one a change that was undone.
/// p is the share of 4,999 drawn series without a change whose statistic is at least as great (`Drawn`). A single change needs p < 0.001, one that
/// was undone p < 0.0005, and each a size of at least `least`; the parts are then searched again. `seed` seeds the drawn series.
pub fn trend(values: &[f64], least: f64, seed: Seed) -> Trend {
    let first = values.len().saturating_sub(MOST_RESULTS);
    let recent = &values[first..];
    if recent.len() < LEAST_RESULTS || recent.iter().any(|value| !value.is_finite()) {
        return Trend::TooFew;
    }
    let mut edges = Vec::new();
    divide(recent, 0, seed, &mut edges);
    edges.sort_by_key(|(at, _)| *at);
    let mut changes = shifts(recent, &edges);
    // The smallest change is removed first: removing it joins the stretches on its sides, which changes the size of the others.
    while let Some(small) = least_of(&changes).filter(|at| changes[*at].by.abs() < least) {
        edges.remove(small);
        changes = shifts(recent, &edges);
    }
    let follows = lag_one(&residuals(recent, &edges));
    if edges.is_empty() && follows > DRIFTING {
        return Trend::Drifting(follows);
    }
    changes.iter_mut().for_each(|change| change.at += first);
    Trend::Changes(changes)
}

fn least_of(changes: &[LevelShift]) -> Option<usize> {
    let by = |at: &usize| changes[*at].by.abs();
    (0..changes.len()).min_by(|a, b| by(a).total_cmp(&by(b)))
}

/// The changes at these places, each computed from the stretches on its two sides.
fn shifts(values: &[f64], edges: &[(usize, f64)]) -> Vec<LevelShift> {
    let level = |from: usize, to: usize| mean(&values[from..to]);
    let shift = |place: usize| {
        let (at, p) = edges[place];
        let before = if place == 0 { 0 } else { edges[place - 1].0 };
        let after = edges.get(place + 1).map_or(values.len(), |edge| edge.0);
        LevelShift { at, by: level(at, after) - level(before, at), p }
    };
    (0..edges.len()).map(shift).collect()
}

/// Finds the places of changes in a stretch that begins with result `first`, with their p: a single change, or else one and its end.
fn divide(values: &[f64], first: usize, seed: Seed, found: &mut Vec<(usize, f64)>) {
    let seed = seed.derive(&format!("trend {first} {}", values.len()));
    let split = tested(values, seed, (single, ERROR))
        .or_else(|| tested(values, seed, (stretch, STRETCH_ERROR)));
    let Some(((from, to), p)) = split else { return };
    let inner = [from, to].into_iter().filter(|at| *at > 0 && *at < values.len());
    found.extend(inner.map(|at| (first + at, p)));
    for (from, to) in [(0, from), (from, to), (to, values.len())] {
        divide(&values[from..to], first + from, seed, found);
    }
}

/// A stretch (from, to) and its two-sample t against the rest.
type Split = ((usize, usize), f64);

/// A function that finds the split of one kind with the greatest t.
type Greatest = fn(&[f64]) -> Option<Split>;

/// Returns the greatest split of its kind with its p, if that is below `error`.
fn tested(values: &[f64], seed: Seed, (greatest, error): (Greatest, f64)) -> Option<Split> {
    let (at, statistic) = greatest(values)?;
    let mut drawn = Drawn::around(values, at);
    let mut rng = seed.generator();
    let mut as_great = 0;
    for _ in 0..DRAWN {
        let by_chance = greatest(drawn.next(&mut rng));
        as_great += u32::from(by_chance.is_some_and(|(_, chance)| chance >= statistic));
        // Whatever the remaining series give, p can no longer be below `error`.
        if p_of(as_great) >= error {
            return None;
        }
    }
    Some((at, p_of(as_great)))
}

/// The p-value if so many drawn series have a statistic as great; the observed series counts as one of them.
fn p_of(as_great: u32) -> f64 {
    f64::from(as_great + 1) / f64::from(DRAWN + 1)
}

/// Draws series without a change, whose values are as autocorrelated as the observed ones may be.
///
/// The residuals about the split are prewhitened, permuted at random, and the autocorrelation put back: permuting the values themselves (Matteson and
/// James 2014) would assume that each result is independent of the one before it. The autocorrelation is estimated from the same few values,
/// where the split has absorbed a part of it, so that more is assumed than is seen ([`supposed`]).
struct Drawn {
    follows: f64,
    /// The innovations: the part of each residual that does not follow from the one before it.
    news: Vec<f64>,
    series: Vec<f64>,
}

impl Drawn {
    fn around(values: &[f64], (from, to): (usize, usize)) -> Self {
        let (inner, n) = (mean(&values[from..to]), values.len());
        let outer: f64 = values[..from].iter().chain(&values[to..]).sum();
        let outer = outer / (n - (to - from)).max(1) as f64;
        let level = |at: usize| if (from..to).contains(&at) { inner } else { outer };
        let left: Vec<f64> = values.iter().enumerate().map(|(at, v)| v - level(at)).collect();
        let follows = supposed(lag_one(&left), n);
        let first = left.first().map(|first| first * (1.0 - follows * follows).sqrt());
        let rest = left.windows(2).map(|pair| pair[1] - follows * pair[0]);
        let news = first.into_iter().chain(rest).collect();
        Self { follows, news, series: vec![0.0; n] }
    }

    fn next(&mut self, rng: &mut SplitMix64) -> &[f64] {
        // Fisher and Yates.
        for last in (1..self.news.len()).rev() {
            self.news.swap(last, rng.below(last as u64 + 1) as usize);
        }
        let mut before = None;
        for (value, new) in self.series.iter_mut().zip(&self.news) {
            let start = || new / (1.0 - self.follows * self.follows).sqrt();
            *value = before.map_or_else(start, |before: f64| self.follows * before + new);
            before = Some(*value);
        }
        &self.series
    }
}

/// Returns the lag-one correlation to assume for `n` results whose residuals about a split have the correlation `seen`: three times the bias of that
/// (Kendall 1954; a split that was searched for absorbs more than a mean does) and one standard error are added.
fn supposed(seen: f64, n: usize) -> f64 {
    let n = n as f64;
    (seen + 3.0 * (1.0 + 3.0 * seen) / n + 1.0 / n.sqrt()).clamp(0.0, 0.9)
}

/// The final stretch of a series that differs most from all before it.
fn single(values: &[f64]) -> Option<Split> {
    let n = values.len();
    most_different(values, (EITHER_SIDE..=n.saturating_sub(EITHER_SIDE)).map(|from| (from, n)))
}

/// The stretch in the midst of a series that differs most from the rest.
fn stretch(values: &[f64]) -> Option<Split> {
    let end = values.len().saturating_sub(EITHER_SIDE);
    let of = |from: usize| (from + EITHER_SIDE..=end).map(move |to| (from, to));
    most_different(values, (EITHER_SIDE..=end).flat_map(of))
}

/// Returns the one of these stretches that differs most from the rest; `None` if there is none, and if nothing varies.
fn most_different(
    values: &[f64],
    stretches: impl Iterator<Item = (usize, usize)>,
) -> Option<Split> {
    let n = values.len();
    let centre = mean(values);
    let whole: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    if n < 2 * EITHER_SIDE || whole <= 0.0 {
        return None;
    }
    // Prefix sums of the deviations from the mean.
    let mut sums = Vec::with_capacity(n + 1);
    let mut sum = 0.0;
    sums.push(sum);
    for value in values {
        sum += value - centre;
        sums.push(sum);
    }
    let mut best = ((0, 0), 0.0);
    for (from, to) in stretches {
        let (inner, outer) = ((to - from) as f64, (n - (to - from)) as f64);
        // Sum of squares between the stretch and the rest.
        let between = (sums[to] - sums[from]).powi(2) * (1.0 / inner + 1.0 / outer);
        if between > best.1 {
            best = ((from, to), between);
        }
    }
    let (at, between) = best;
    let within = (whole - between).max(whole * 1e-12);
    (at.1 > 0).then(|| (at, ((n as f64 - 2.0) * between / within).sqrt()))
}

/// Returns the residual of each result about the median of its stretch.
fn residuals(values: &[f64], edges: &[(usize, f64)]) -> Vec<f64> {
    let mut ends: Vec<usize> = vec![0];
    ends.extend(edges.iter().map(|edge| edge.0));
    ends.push(values.len());
    let stretches = ends.windows(2).flat_map(|edge| {
        let stretch = &values[edge[0]..edge[1]];
        let middle = Sorted::from(stretch).median().unwrap_or_default();
        stretch.iter().map(move |value| value - middle)
    });
    stretches.collect()
}

/// Returns the lag-one correlation of the residuals; 0 where nothing varies.
fn lag_one(residuals: &[f64]) -> f64 {
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    residuals.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::standard_normal;

    /// A series with a spread of 0.01 whose results follow each other by `carry`, and a step.
    fn following(seed: u64, n: usize, carry: f64, step: Option<(usize, f64)>) -> Vec<f64> {
        let mut rng = Seed(seed).generator();
        let level = |i: usize| step.map_or(0.0, |(at, by)| if i < at { 0.0 } else { by });
        let mut state = standard_normal(&mut rng);
        let mut next = |at: usize| {
            state = carry * state + (1.0 - carry * carry).sqrt() * standard_normal(&mut rng);
            0.01 * state + level(at)
        };
        (0..n).map(&mut next).collect()
    }

    fn series(seed: u64, n: usize, step: Option<(usize, f64)>) -> Vec<f64> {
        following(seed, n, 0.0, step)
    }

    fn changes(values: &[f64], least: f64) -> Vec<LevelShift> {
        if let Trend::Changes(all) = trend(values, least, Seed(1)) { all } else { Vec::new() }
    }

    #[test]
    fn a_step_is_found_where_it_is_and_a_level_series_has_none() {
        let found = changes(&series(1, 30, Some((18, -0.1))), 0.03);
        let [change] = found[..] else { panic!("{found:?}") };
        assert_eq!(change.at, 18);
        assert!((change.by + 0.1).abs() < 0.02 && change.p < 0.001, "{change:?}");
        assert_eq!(trend(&series(2, 30, None), 0.03, Seed(1)), Trend::Changes(Vec::new()));
    }

    #[test]
    fn two_steps_are_found_one_after_the_other_and_places_are_among_all_results() {
        let mut values = series(7, 120, Some((60, 0.1)));
        values[90..].iter_mut().for_each(|value| *value -= 0.1);
        let found = changes(&values, 0.03);
        assert_eq!(found.iter().map(|change| change.at).collect::<Vec<_>>(), [60, 90]);
    }

    #[test]
    fn what_does_not_matter_is_no_change_few_say_nothing_and_a_drift_has_no_place() {
        assert!(changes(&series(4, 30, Some((15, 0.02))), 0.03).is_empty());
        assert_eq!(trend(&series(5, 19, None), 0.03, Seed(1)), Trend::TooFew);
        assert_eq!(trend(&[1.0; 20], 0.03, Seed(1)), Trend::Changes(Vec::new()));
        let slow: Vec<f64> = (0..30).map(|i| 0.02 * (f64::from(i) / 3.0).sin()).collect();
        assert!(matches!(trend(&slow, 0.03, Seed(1)), Trend::Drifting(follows) if follows > 0.3));
    }

    /// Counts the series, of a hundred with a change of so many deviations after thirty results, in which it is found eight results later.
    fn detections(carry: f64, deviations: f64) -> usize {
        let step = |seed: u64| following(seed, 38, carry, Some((30, 0.01 * deviations)));
        (0..100).filter(|seed| !changes(&step(*seed), 0.0).is_empty()).count()
    }

    #[test]
    fn results_that_follow_each_other_are_no_change_and_a_real_one_is_told() {
        for carry in [0.0, 0.15, 0.35, 0.5] {
            let alarms = (0..100).filter(|seed| {
                let all = following(*seed, 100, carry, None);
                (LEAST_RESULTS..=100).step_by(4).any(|n| !changes(&all[..n], 0.0).is_empty())
            });
            let alarms = alarms.count();
            // Of 5 in a hundred, three standard errors more.
            assert!(alarms <= 11, "{carry}: {alarms}");
        }
        let (three, four) = (detections(0.0, 3.0), detections(0.25, 4.0));
        assert!(three >= 75 && four >= 60, "{three} {four}");
    }

    #[test]
    fn more_is_supposed_than_is_seen_and_less_more_where_there_are_many_results() {
        assert!((supposed(0.0, 100) - 0.13).abs() < 1e-9);
        assert!(supposed(0.0, 20) > 0.3 && supposed(0.9, 20) == 0.9 && supposed(-0.9, 40) == 0.0);
    }

    #[test]
    fn the_same_series_has_the_same_changes() {
        let values = series(6, 30, Some((12, 0.025)));
        assert_eq!(trend(&values, 0.01, Seed(1)), trend(&values, 0.01, Seed(1)));
    }
}
