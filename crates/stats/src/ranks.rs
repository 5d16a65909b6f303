//! Every value of one side against every value of the other: how likely it is by chance that so many lie on one side of a border.

use crate::brunner_munzel::{self, Placements};
use crate::mann_whitney::{self, Pairs};
use crate::quantile::Sorted;

/// All differences (new minus base) of two sides with the same number of runs, and the p-value for each number of them below a border.
///
/// Below eight runs the p-values come from the exact test of Mann and Whitney (1947), which assumes that both sides spread equally; from eight on
/// from the permuted test of Brunner and Munzel (2000), which keeps its error rate where one side spreads more than the other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranks {
    runs: usize,
    /// Ascending.
    differences: Sorted,
    /// One-sided p of "it is above the border", by the number of differences that are not above it.
    above: Vec<f64>,
    /// One-sided p of "it is below the border", by the number of differences that are below it.
    below: Vec<f64>,
}

impl Ranks {
    /// Ranks the values of pairs of base and new; it does not matter which values make a pair.
    pub(crate) fn of(pairs: &[(f64, f64)]) -> Self {
        let runs = pairs.len();
        let mut all: Vec<(f64, usize, usize)> = (0..runs * runs)
            .map(|at| (at / runs, at % runs))
            .map(|(base, new)| (pairs[new].1 - pairs[base].0, base, new))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let differences: Sorted = all.iter().map(|one| one.0).collect();
        let (above, below) = match runs < brunner_munzel::LEAST {
            true => {
                let chance = Pairs::of(runs);
                let at_most = |k: usize| chance.at_most(k);
                let most = runs * runs;
                let up: Vec<f64> = (0..=most).map(at_most).collect();
                (up, (0..=most).map(|k| at_most(most - k)).collect())
            }
            false => studentised(&all, runs),
        };
        Self { runs, differences, above, below }
    }

    /// Number of runs per side.
    pub(crate) fn runs(&self) -> usize {
        self.runs
    }

    /// The name of the test in use.
    pub(crate) fn test(&self) -> &'static str {
        match self.runs {
            few if few < brunner_munzel::LEAST => "the exact test of Mann and Whitney",
            many if many > brunner_munzel::DRAWN_UP_TO => {
                "the test of Brunner and Munzel by Student's t"
            }
            _ => "the permuted test of Brunner and Munzel",
        }
    }

    /// The median of all differences.
    pub(crate) fn median(&self) -> f64 {
        self.differences.median().unwrap_or(f64::NAN)
    }

    /// The least and the greatest difference.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        Some((*self.differences.first()?, *self.differences.last()?))
    }

    /// The one-sided p of "it is above the border", or with `closed` "above or on it": then differences on the border support the claim, else they
    /// count against it.
    pub(crate) fn p_above(&self, border: f64, closed: bool) -> f64 {
        self.above[self.below(border, !closed)]
    }

    /// The one-sided p of "it is below the border".
    pub(crate) fn p_below(&self, border: f64, closed: bool) -> f64 {
        self.below[self.below(border, closed)]
    }

    /// The number of differences that are below a border, or with `closed` on it.
    fn below(&self, border: f64, closed: bool) -> usize {
        self.differences.partition_point(|d| *d < border || closed && *d == border)
    }

    /// The range of shifts that are not rejected at `tail` on either side; `None` where there are too few runs to reject any.
    pub(crate) fn interval(&self, tail: f64) -> Option<(f64, f64)> {
        let low = self.above.partition_point(|p| *p <= tail).checked_sub(1)?;
        let high = self.below.partition_point(|p| *p > tail);
        Some((*self.differences.get(low)?, *self.differences.get(high.checked_sub(1)?)?))
            .filter(|_| high <= self.differences.len())
    }

    /// The least number of runs per side with which complete separation is at most as likely as `tail`.
    pub(crate) fn least_runs(tail: f64) -> Option<usize> {
        (2..=mann_whitney::MOST).find(|n| Pairs::of(*n).rank(tail).is_some())
    }
}

/// The p-values of the test of Brunner and Munzel by the number of differences below a border; `all` is ascending, each with its base and new run.
/// They are made monotone: a border farther from the claim never has a greater p, since the claim covers all shifts up to the border.
fn studentised(all: &[(f64, usize, usize)], runs: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut of_base, mut of_new) = (vec![runs; runs], vec![runs; runs]);
    let squares = runs.pow(3);
    let mut placed = Placements { above: runs * runs, of_base: squares, of_new: squares };
    let tails = |placed: &Placements| {
        let t = placed.statistic(runs);
        (brunner_munzel::upper_tail(t, runs), brunner_munzel::upper_tail(-t, runs))
    };
    let (first, last) = tails(&placed);
    let (mut above, mut below) = (vec![first], vec![last]);
    for (at, (difference, base, new)) in all.iter().enumerate() {
        placed.above -= 1;
        // (c - 1)^2 is c^2 less 2 c - 1.
        placed.of_base -= 2 * of_base[*base] - 1;
        placed.of_new -= 2 * of_new[*new] - 1;
        of_base[*base] -= 1;
        of_new[*new] -= 1;
        // No border lies between equal differences.
        let tied = all.get(at + 1).is_some_and(|next| next.0 == *difference);
        let (up, down) = if tied { (0.0, 0.0) } else { tails(&placed) };
        above.push(above[at].max(up));
        below.push(down);
    }
    for at in (0..all.len()).rev() {
        below[at] = below[at].max(below[at + 1]);
    }
    (above, below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn from_eight_runs_on_the_sides_may_spread_as_they_like() {
        let of = |n: u32| Ranks::of(&vec![(1.0, 2.0); n as usize]);
        assert!(of(7).test().contains("Mann") && of(8).test().contains("Brunner"));
        // A constant base, and nine of twelve above it.
        let new = |at: usize| if at < 3 { -1.0 - at as f64 } else { 1.0 + at as f64 };
        let pairs: Vec<(f64, f64)> = (0..12).map(|at| (0.0, new(at))).collect();
        let p = Ranks::of(&pairs).p_above(0.0, false);
        let equal_spreads = Pairs::of(12).at_most(36);
        assert!(p > 1.5 * equal_spreads && p < 0.06, "{p} {equal_spreads}");
    }

    proptest! {
        /// A border is beyond the interval just where the p of being beyond it is no more than what is left out, ties or none.
        #[test]
        fn intervals_and_p_values_agree(
            values in prop::collection::vec((0u8..12, 0u8..12), 4..11), border in -12i8..12, tail in 0.002..0.2f64,
        ) {
            let pairs: Vec<_> = values.iter().map(|(b, n)| (f64::from(*b), f64::from(*n))).collect();
            let turned: Vec<_> = pairs.iter().map(|(b, n)| (*n, *b)).collect();
            let (ranks, turned) = (Ranks::of(&pairs), Ranks::of(&turned));
            let border = f64::from(border);
            for closed in [true, false] {
                let (p, other) = (ranks.p_above(border, closed), turned.p_below(-border, closed));
                prop_assert!((p - other).abs() < 1e-12, "{p} {other}");
            }
            if let Some((low, high)) = ranks.interval(tail) {
                prop_assert!(low <= ranks.median() && ranks.median() <= high);
                prop_assert_eq!(low > border, ranks.p_above(border, false) <= tail);
                prop_assert_eq!(high < border, ranks.p_below(border, false) <= tail);
            }
        }
    }
}
