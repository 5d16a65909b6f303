//! Changes in a series of results, one after another: a measurement that is repeated on every release.

use units::{Seed, SplitMix64};

use crate::quantile::Sorted;
use crate::spread::mean;

/// Fewer results say too little: they do not tell a change from results that follow each other.
pub const LEAST_RESULTS: usize = 20;
/// Older results than these no longer matter.
pub const MOST_RESULTS: usize = 100;

/// On either side of a change there are at least so many results.
const EITHER_SIDE: usize = 4;
/// Series that are drawn to find how great the statistic is by chance.
const DRAWN: u32 = 4_999;
/// A single change counts below this p: a series is tested again after each result.
const ERROR: f64 = 0.001;
/// One that was mended later counts below this p: it is looked for second, and in more places.
const STRETCH_ERROR: f64 = 0.000_5;
/// Results that follow the one before by more than this correlation drift where no change accounts for it.
const DRIFTING: f64 = 0.3;

/// The trend of a series of results.
#[derive(Debug, Clone, PartialEq)]
pub enum Trend {
    /// Fewer than [`LEAST_RESULTS`].
    TooFew,
    /// It drifts: there is no change that counts, and each result follows the one before with this correlation.
    Drifting(f64),
    /// Its changes, in order; none where it stays.
    Changes(Vec<LevelShift>),
}

/// A change from one level to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelShift {
    /// Number of results before it.
    pub at: usize,
    /// The mean after less the mean before, of the stretches on either side of it.
    pub by: f64,
    /// The share of drawn series without a change whose statistic is at least as great.
    pub p: f64,
}

/// The changes in `values`, oldest first, of which only the last [`MOST_RESULTS`] count; places are among all of them.
///
/// The statistic is the greatest two-sample t of a stretch of results against those before and behind it, at least four either way
/// (circular binary segmentation: Olshen and others 2004; a stretch up to the end is a single change, and one that was mended is found as
/// well); p is the share of 4,999 drawn series without a change that have a greater one (`Drawn`). A change has p < 0.001, one that was mended
/// p < 0.0005, and is at least `least`; its parts are looked at again. `seed` draws the series.
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
    // The least is taken out first: the stretches beside it become one.
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

/// The changes at these places, each between the stretches on its sides.
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

/// Finds the places of changes in a stretch that begins with result `first`, with their p: a single one, or else one and what ended it.
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

/// A stretch, from and to, with its two-sample t against the rest.
type Split = ((usize, usize), f64);

/// Finds the greatest split of one kind.
type Greatest = fn(&[f64]) -> Option<Split>;

/// The greatest split of its kind with its p, where that counts.
fn tested(values: &[f64], seed: Seed, (greatest, error): (Greatest, f64)) -> Option<Split> {
    let (at, statistic) = greatest(values)?;
    let mut drawn = Drawn::beside(values, at);
    let mut rng = seed.generator();
    let mut as_great = 0;
    for _ in 0..DRAWN {
        let by_chance = greatest(drawn.next(&mut rng));
        as_great += u32::from(by_chance.is_some_and(|(_, chance)| chance >= statistic));
        // So many that the rest cannot bring p below the border.
        if p_of(as_great) >= error {
            return None;
        }
    }
    Some((at, p_of(as_great)))
}

/// The p of so many drawn series that are as far out; the one that was found is one of them.
fn p_of(as_great: u32) -> f64 {
    f64::from(as_great + 1) / f64::from(DRAWN + 1)
}

/// Series without a change whose values follow each other as much as those that were found may do.
///
/// What is left of these beside the split is prewhitened, the order of what that leaves is drawn, and the dependence put back: drawn orders of the
/// values themselves (Matteson and James 2014) would take each result for independent of the one before it. How much each follows is taken from the same
/// few values, from which the split took away a part of it, so more is supposed than is seen ([`supposed`]).
struct Drawn {
    follows: f64,
    /// The part of each result that is new.
    news: Vec<f64>,
    series: Vec<f64>,
}

impl Drawn {
    fn beside(values: &[f64], (from, to): (usize, usize)) -> Self {
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

/// Returns how much each of `n` results may follow the one before, where what is left beside a split follows by `seen`: three times the bias of that
/// (Kendall 1954; a split that was looked for takes away more than a mean does) and one standard error are added.
fn supposed(seen: f64, n: usize) -> f64 {
    let n = n as f64;
    (seen + 3.0 * (1.0 + 3.0 * seen) / n + 1.0 / n.sqrt()).clamp(0.0, 0.9)
}

/// The end of a series that differs most from what is before it.
fn single(values: &[f64]) -> Option<Split> {
    let n = values.len();
    most(values, (EITHER_SIDE..=n.saturating_sub(EITHER_SIDE)).map(|from| (from, n)))
}

/// The stretch in the midst of a series that differs most from the rest.
fn stretch(values: &[f64]) -> Option<Split> {
    let end = values.len().saturating_sub(EITHER_SIDE);
    let of = |from: usize| (from + EITHER_SIDE..=end).map(move |to| (from, to));
    most(values, (EITHER_SIDE..=end).flat_map(of))
}

/// The one of these stretches that differs most from the rest; `None` where there is none, and where nothing varies.
fn most(values: &[f64], stretches: impl Iterator<Item = (usize, usize)>) -> Option<Split> {
    let n = values.len();
    let centre = mean(values);
    let whole: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    if n < 2 * EITHER_SIDE || whole <= 0.0 {
        return None;
    }
    // Sums of what lies beyond the mean, from the start.
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
        // Squares between the two sides, of all squares.
        let between = (sums[to] - sums[from]).powi(2) * (1.0 / inner + 1.0 / outer);
        if between > best.1 {
            best = ((from, to), between);
        }
    }
    let (at, between) = best;
    let within = (whole - between).max(whole * 1e-12);
    (at.1 > 0).then(|| (at, ((n as f64 - 2.0) * between / within).sqrt()))
}

/// Returns what is left of each result beside the median of its stretch.
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

/// Returns how much each follows the one before; 0 where nothing varies.
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

    /// In how many of a hundred series with a change of so many deviations after thirty results, it is told by the eighth from there.
    fn told(carry: f64, deviations: f64) -> usize {
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
        let (three, four) = (told(0.0, 3.0), told(0.25, 4.0));
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
