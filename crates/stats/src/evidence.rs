//! The evidence that repeats give about the difference between two variants: an estimate, its interval, and p-values of claims. Values here are
//! differences of logarithms, or of values where a logarithm has no meaning.

use crate::ranks::Ranks;
use crate::student;

/// The evidence for a difference between the new side and the base, by one of three methods.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Evidence {
    /// One difference per block, assumed to be normally distributed (Student 1908).
    Paired {
        /// Their mean.
        mean: f64,
        /// Their standard deviation, divisor n - 1; `None` for a single one.
        deviation: Option<f64>,
        /// Number of blocks: one difference each.
        blocks: usize,
    },
    /// Every value of one side compared with every value of the other (Hodges and Lehmann 1963).
    Ranked {
        /// All differences, and the chance that so many of them lie on one side of a border.
        ranks: Ranks,
        /// Factor by which the interval is widened about the estimate where the two values of a block move in opposite directions ([`stretch`]).
        stretch: f64,
    },
    /// Numbers of runs in which an event happened at all (Fisher 1934).
    Occurred {
        /// Runs of the base in which it happened.
        base: usize,
        /// Runs of the new side in which it happened.
        new: usize,
        /// All runs of each side.
        runs: usize,
    },
}

impl Evidence {
    /// Makes evidence from pairs of base and new, at least one, both on the scale on which differences are taken.
    pub(crate) fn paired(pairs: &[(f64, f64)]) -> Self {
        let n = pairs.len() as f64;
        let differences = || pairs.iter().map(|(base, new)| new - base);
        let mean = differences().sum::<f64>() / n;
        let squares: f64 = differences().map(|d| (d - mean).powi(2)).sum();
        let deviation = (pairs.len() > 1).then(|| (squares / (n - 1.0)).sqrt());
        Self::Paired { mean, deviation, blocks: pairs.len() }
    }

    /// Evidence from ranks, without regard to which values make a pair.
    pub(crate) fn ranked(pairs: &[(f64, f64)]) -> Self {
        Self::Ranked { ranks: Ranks::of(pairs), stretch: stretch(pairs) }
    }

    /// Evidence from whether the values are above zero.
    pub(crate) fn occurred(pairs: &[(f64, f64)]) -> Self {
        let base = pairs.iter().filter(|(base, _)| *base > 0.0).count();
        let new = pairs.iter().filter(|(_, new)| *new > 0.0).count();
        Self::Occurred { base, new, runs: pairs.len() }
    }

    /// The mean, or the median of all differences; for an event the difference of the shares of runs.
    pub(crate) fn estimate(&self) -> f64 {
        match self {
            Self::Paired { mean, .. } => *mean,
            Self::Ranked { ranks, .. } => ranks.median(),
            Self::Occurred { base, new, runs } => (*new as f64 - *base as f64) / *runs as f64,
        }
    }

    /// The confidence interval at level 1 - `alpha`; `None` where there are too few repeats for one.
    ///
    /// Paired: d ± t(1 - α/2, n - 1) s / √n. Ranked: the shifts that the rank test does not reject, both ends among the differences (Hollander
    /// and Wolfe 1999, 4.3), widened by [`stretch`].
    pub(crate) fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        match self {
            Self::Paired { mean, deviation, blocks } => {
                let error = (*deviation)? / (*blocks as f64).sqrt();
                let half = student::critical(alpha, blocks - 1) * error;
                Some((mean - half, mean + half))
            }
            Self::Ranked { ranks, .. } => {
                let (low, high) = ranks.interval(alpha / 2.0)?;
                Some((self.widened(low), self.widened(high)))
            }
            Self::Occurred { .. } => None,
        }
    }

    /// The one-sided p-value of "it is more than `border`": half of the `alpha` at which the interval's lower bound is the border.
    pub(crate) fn p_above(&self, border: f64) -> f64 {
        match self {
            Self::Paired { mean, .. } => self.tail(mean - border, false),
            // Ties at the border speak against the claim.
            Self::Ranked { ranks, .. } => ranks.p_above(self.narrowed(border), false),
            Self::Occurred { base, new, runs } => fisher(*new, *base, *runs),
        }
    }

    /// One-sided p-value of the claim "it is less than `border`".
    pub(crate) fn p_below(&self, border: f64) -> f64 {
        match self {
            Self::Paired { mean, .. } => self.tail(border - mean, false),
            Self::Ranked { ranks, .. } => ranks.p_below(self.narrowed(border), false),
            Self::Occurred { base, new, runs } => fisher(*base, *new, *runs),
        }
    }

    /// The p-value of "it is from `low` to `high`": the greater of two one-sided tests (TOST; Schuirmann 1987).
    pub(crate) fn p_within(&self, (low, high): (f64, f64)) -> f64 {
        let (up, down) = match self {
            Self::Paired { mean, .. } => {
                (self.tail(mean - low, true), self.tail(high - mean, true))
            }
            // The borders belong to the zone.
            Self::Ranked { ranks, .. } => {
                (ranks.p_above(self.narrowed(low), true), ranks.p_below(self.narrowed(high), true))
            }
            // As certain as complete separation would be. Events that happened equally often on both sides are no proof of `same`.
            Self::Occurred { base: 0, new: 0, runs } => {
                let sure = fisher(*runs, 0, *runs);
                (sure, sure)
            }
            Self::Occurred { .. } => (1.0, 1.0),
        };
        up.max(down)
    }

    /// Moves a bound away from the estimate by the factor `stretch`, for ranks.
    fn widened(&self, bound: f64) -> f64 {
        match self {
            Self::Ranked { stretch, .. } if *stretch > 1.0 => {
                let estimate = self.estimate();
                estimate + (bound - estimate) * stretch
            }
            _ => bound,
        }
    }

    /// Moves a border towards the estimate by the factor `stretch`: the widened interval stays clear of the border exactly where the plain
    /// one stays clear of this.
    fn narrowed(&self, border: f64) -> f64 {
        match self {
            Self::Ranked { stretch, .. } if *stretch > 1.0 => {
                let estimate = self.estimate();
                estimate + (border - estimate) / stretch
            }
            _ => border,
        }
    }

    /// The chance of a mean at least `distance` beyond the border, on the claim's side. Without any spread it is 0 where the claim holds
    /// (on the border only if `closed`), else 1.
    fn tail(&self, distance: f64, closed: bool) -> f64 {
        let Self::Paired { deviation: Some(deviation), blocks, .. } = self else { return 1.0 };
        if *deviation == 0.0 {
            let holds = distance > 0.0 || closed && distance == 0.0;
            return if holds { 0.0 } else { 1.0 };
        }
        student::upper_tail(distance * (*blocks as f64).sqrt() / deviation, blocks - 1)
    }

    /// Estimates how many repeats give an interval at level 1 - `alpha` that reaches no farther than `distance` from the estimate.
    ///
    /// Paired: the least n with t(1 - α/2, n - 1) s / √n <= distance. Ranked: the interval's farther end, assumed to shrink with the
    /// root of n, and at least as many as have an interval at all.
    pub(crate) fn repeats(&self, alpha: f64, distance: f64) -> Option<Needed> {
        /// Most repeats that are suggested.
        const MAX_REPEATS_SUGGESTED: usize = 1000;
        // It never happened on either side: as many runs as prove `same`.
        if let Self::Occurred { base: 0, new: 0, .. } = self {
            let runs =
                (2..=MAX_REPEATS_SUGGESTED).find(|runs| 2.0 * fisher(*runs, 0, *runs) <= alpha)?;
            return Some(Needed { least: runs, by_spread: runs });
        }
        if distance <= 0.0 {
            return None;
        }
        match self {
            Self::Paired { deviation, .. } => {
                let deviation = (*deviation)?;
                let enough = |n: &usize| {
                    let t = distance * (*n as f64).sqrt() / deviation;
                    deviation == 0.0 || student::two_sided(t, n - 1) <= alpha
                };
                let by_spread = (2..=MAX_REPEATS_SUGGESTED).find(enough)?;
                Some(Needed { least: 2, by_spread })
            }
            Self::Ranked { ranks, .. } => {
                let (first, last) = ranks.range()?;
                let whole = (self.widened(first), self.widened(last));
                let (low, high) = self.interval(alpha).unwrap_or(whole);
                let estimate = self.estimate();
                let factor = f64::max(estimate - low, high - estimate) / distance;
                let by_width = (ranks.runs() as f64 * factor * factor).ceil();
                let least = Ranks::least_runs(alpha / 2.0)?;
                let by_spread = by_width as usize;
                (by_width <= MAX_REPEATS_SUGGESTED as f64).then_some(Needed { least, by_spread })
            }
            Self::Occurred { .. } => None,
        }
    }
}

/// Repeats that are likely to decide something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needed {
    /// The fewest that can decide it, however small the spread.
    pub least: usize,
    /// The number that follows from the spread seen so far.
    pub by_spread: usize,
}

/// The factor by which an interval of ranks is too narrow where the two values of a block move in opposite directions: √(1 - r), r their
/// correlation.
///
/// Ranks assume independent sides, with a variance of their difference of a² + b²; in truth it is a² + b² - 2rab, (1 - r) times as much where
/// both sides spread equally (Lehmann 1975, 2.4). A positive correlation makes ranks cautious, and is not corrected: the factor is at least 1.
fn stretch(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let (base, new) = pairs.iter().fold((0.0, 0.0), |(b, n), pair| (b + pair.0, n + pair.1));
    let centred = pairs.iter().map(|pair| (pair.0 - base / n, pair.1 - new / n));
    let (bb, nn, bn) =
        centred.fold((0.0, 0.0, 0.0), |(bb, nn, bn), (b, n)| (bb + b * b, nn + n * n, bn + b * n));
    let r = if bb > 0.0 && nn > 0.0 { bn / (bb * nn).sqrt() } else { 0.0 };
    (1.0 - r.clamp(-1.0, 0.0)).sqrt()
}

/// The chance that, of `more + less` runs with the event dealt out at random to two sides of `runs` runs, a given side gets at least `more`.
pub(crate) fn fisher(more: usize, less: usize, runs: usize) -> f64 {
    let all = more + less;
    // The logarithm of the number of ways to choose `chosen` of `of` runs.
    let ways = |of: usize, chosen: usize| -> f64 {
        (0..chosen).map(|i| ((of - i) as f64 / (i + 1) as f64).ln()).sum()
    };
    let total = ways(2 * runs, all);
    let chance = |k: usize| (ways(runs, k) + ways(runs, all - k) - total).exp();
    (more..=all.min(runs)).map(chance).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scipy::rows;
    use proptest::prelude::*;

    fn logs(base: &[f64], new: &[f64]) -> Vec<(f64, f64)> {
        base.iter().zip(new).map(|(b, n)| (b.ln(), n.ln())).collect()
    }

    #[test]
    fn estimates_intervals_and_p_values_equal_those_of_scipy() {
        for (name, make) in
            [("paired", Evidence::paired as fn(&_) -> _), ("ranked", Evidence::ranked)]
        {
            for row in rows(name) {
                let n = row[0] as usize;
                let evidence = make(&logs(&row[1..=n], &row[n + 1..=2 * n]));
                let (low, high) = evidence.interval(0.05).unwrap();
                let zone = (0.97_f64.ln(), 1.03_f64.ln());
                let p =
                    [evidence.p_above(zone.1), evidence.p_below(zone.0), evidence.p_within(zone)];
                let got = [evidence.estimate().exp(), low.exp(), high.exp(), p[0], p[1], p[2]];
                for (got, expected) in got.iter().zip(&row[2 * n + 1..]) {
                    assert!(
                        (got / expected - 1.0).abs() < 1e-9,
                        "{name} {row:?}: {got} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn without_any_spread_a_claim_holds_or_not_and_the_border_is_within() {
        let evidence = Evidence::paired(&[(1.0, 3.0); 5]);
        assert_eq!(
            (evidence.p_above(1.5), evidence.p_above(2.0), evidence.p_below(1.5)),
            (0.0, 1.0, 1.0)
        );
        assert_eq!((evidence.p_within((1.0, 2.0)), evidence.p_within((0.0, 1.9))), (0.0, 1.0));
        assert_eq!(evidence.interval(0.05), Some((2.0, 2.0)));
    }

    #[test]
    fn blocks_whose_values_go_opposite_ways_widen_the_interval_of_ranks() {
        let base = [1.0, 2.0, 3.0, 4.0, 5.0];
        let with = |new: [f64; 5]| -> Vec<(f64, f64)> { base.into_iter().zip(new).collect() };
        assert_eq!(stretch(&with([2.0, 4.0, 6.0, 8.0, 10.0])), 1.0);
        assert_eq!(stretch(&with([7.0; 5])), 1.0);
        let opposite = with([5.0, 4.0, 3.0, 2.0, 1.0]);
        assert!((stretch(&opposite) - 2.0_f64.sqrt()).abs() < 1e-12);
        let same_way = with(base);
        let width = |pairs: &[(f64, f64)]| {
            let (low, high) = Evidence::ranked(pairs).interval(0.05).unwrap();
            high - low
        };
        assert!((width(&opposite) / width(&same_way) - 2.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn so_many_repeats_as_are_named_would_decide() {
        // s = 0.02, and t(0.975, n - 1) 0.02 / sqrt(n) is 0.0149 at n = 10 and 0.0154 at n = 9.
        let paired = Evidence::Paired { mean: 0.0, deviation: Some(0.02), blocks: 5 };
        let most = |needed: Needed| needed.least.max(needed.by_spread);
        assert_eq!(paired.repeats(0.05, 0.015).map(most), Some(10));
        assert_eq!(paired.repeats(0.05, 1e-5).map(most), None);
        assert_eq!(paired.repeats(0.05, 0.0).map(most), None);
        let alike: Vec<_> = (0..5).map(|i| (0.0, f64::from(i) * 1e-6)).collect();
        assert_eq!(Evidence::ranked(&alike).repeats(0.05 / 7.0, 0.03).map(most), Some(6));
        assert_eq!(Evidence::paired(&alike[..1]).repeats(0.05, 0.03).map(most), None);
        // 2 / C(2n, n) is 0.0079 of five runs and 0.0022 of six.
        let none = Evidence::Occurred { base: 0, new: 0, runs: 5 };
        assert_eq!(
            [0.05, 0.005].map(|alpha| none.repeats(alpha, 0.0).map(most)),
            [Some(4), Some(6)]
        );
        let some = Evidence::Occurred { base: 1, new: 1, runs: 5 };
        assert_eq!(some.repeats(0.05, 0.0).map(most), None);
    }

    proptest! {
        /// A claim has a p below α / 2 just where the interval lies beyond the border.
        #[test]
        fn intervals_and_p_values_agree(
            pairs in prop::collection::vec((0u8..40, 0u8..40), 2..9),
            border in -20i8..20,
            alpha in prop::sample::select(vec![0.1, 0.05, 0.05 / 6.0]),
        ) {
            let pairs: Vec<_> = pairs.into_iter().map(|(b, n)| (f64::from(b), f64::from(n))).collect();
            let border = f64::from(border) + 0.1;
            for evidence in [Evidence::paired(&pairs), Evidence::ranked(&pairs)] {
                let Some((low, high)) = evidence.interval(alpha) else { continue };
                prop_assert_eq!(low > border, evidence.p_above(border) <= alpha / 2.0);
                prop_assert_eq!(high < border, evidence.p_below(border) <= alpha / 2.0);
                let zone = (-border.abs(), border.abs());
                prop_assert_eq!(low >= zone.0 && high <= zone.1, evidence.p_within(zone) <= alpha / 2.0);
                prop_assert!(low <= evidence.estimate() && evidence.estimate() <= high);
            }
        }
    }
}
