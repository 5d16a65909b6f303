//! Simulates distributions with tails, where some runs are far worse than the others: how often a verdict is refused because of them, and how
//! often one is given in spite of them.

use units::{Better, Seed, SplitMix64, Test};

use crate::bootstrap::standard_normal;
use crate::{Verdict, compare, judge};

/// The distribution of the runs of two variants; apart from the slow runs both are equal, with a spread of 1 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tails {
    /// Normal.
    Normal,
    /// The logarithms are exponential.
    Skewed,
    /// Student's t with 3 degrees of freedom.
    HeavyTailed,
    /// This share of the runs of either side is ten times as slow.
    OfBoth(f64),
    /// This share of the runs of the new side is ten times as slow.
    OfNew(f64),
    /// Exactly so many runs of the new side are ten times as slow.
    Some(usize),
}

/// Shares of experiments.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TailShares {
    /// Share with the verdict `same` or `better`.
    pub given: f64,
    /// Share with one of these verdicts although only the new side has slow runs.
    pub wrong: f64,
    /// Share in which the p-value allowed a verdict, but outliers contradicted it.
    pub refused: f64,
}

impl Tails {
    /// Simulates so many experiments with so many runs per side, and returns the shares.
    pub fn shares(self, runs: usize, experiments: u32, seed: Seed) -> TailShares {
        let mut rng = seed.generator();
        let (mut given, mut wrong, mut refused) = (0, 0, 0);
        for _ in 0..experiments {
            let (mut slow_base, mut slow_new) = (0, 0);
            let pairs: Vec<(f64, f64)> = (0..runs)
                .map(|run| {
                    let base = self.draw(&mut rng, (false, run), &mut slow_base);
                    (base, self.draw(&mut rng, (true, run), &mut slow_new))
                })
                .collect();
            let mut c = compare(&pairs, Test::Ranked, Some(0.03));
            judge(&mut [(&mut c, Better::Lower)]);
            let word = matches!(c.verdict, Some(Verdict::Same | Verdict::Better));
            given += u32::from(word);
            wrong += u32::from(word && slow_new > 0 && slow_base == 0);
            let sure = c.p_adjusted.is_some_and(|p| p < 0.05);
            refused += u32::from(sure && !c.apart.is_empty());
        }
        let of = |count: u32| f64::from(count) / f64::from(experiments.max(1));
        TailShares { given: of(given), wrong: of(wrong), refused: of(refused) }
    }

    fn draw(self, rng: &mut SplitMix64, (new, run): (bool, usize), slow: &mut u32) -> f64 {
        let normal = standard_normal(rng);
        let noise = match self {
            Self::Skewed => -(1.0 - rng.unit()).ln(),
            Self::HeavyTailed => {
                let chi: f64 = (0..3).map(|_| standard_normal(rng).powi(2)).sum();
                normal / (chi / 3.0).sqrt() / 3.0_f64.sqrt()
            }
            _ => normal,
        };
        let bad = match self {
            Self::OfBoth(share) => rng.unit() < share,
            Self::OfNew(share) => new && rng.unit() < share,
            Self::Some(runs) => new && run < runs,
            _ => false,
        };
        *slow += u32::from(bad);
        let times = if bad { 10.0 } else { 1.0 };
        times * (0.01 * noise).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_given_beside_runs_ten_times_slower_and_few_are_refused_without() {
        for (runs, bad) in [(5, 1), (8, 1), (12, 1), (12, 3), (18, 6), (27, 9)] {
            let shares = Tails::Some(bad).shares(runs, 300, Seed(1));
            assert_eq!((shares.given, shares.wrong), (0.0, 0.0), "{bad} of {runs}");
        }
        for (tails, most) in
            [(Tails::Normal, 0.005), (Tails::Skewed, 0.03), (Tails::HeavyTailed, 0.03)]
        {
            for runs in [5, 8, 12, 27] {
                let shares = tails.shares(runs, 1_000, Seed(2));
                assert!(shares.refused <= most, "{tails:?} {runs}: {shares:?}");
            }
        }
    }
}
