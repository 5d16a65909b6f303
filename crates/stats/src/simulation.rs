//! Simulates experiments whose true result is known: how often verdicts are right, and how often wrong.

use units::{Better, Seed, SplitMix64, Test};

use crate::bootstrap::standard_normal;
use crate::factorial::Trial;
use crate::{
    AtLooks, Comparison, LOOKS, Verdict, compare, compare_at_looks, draw_orders, figure, judge,
};

/// The noise of the cells of a session. All kinds have a standard deviation of one; drift adds its trend to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Independent and normal.
    Normal,
    /// Student's t with 3 degrees of freedom: occasional far outliers.
    HeavyTailed,
    /// One cell in five is far on one side.
    Bimodal,
    /// Each cell follows its predecessor with this correlation (AR(1)).
    Correlated(f64),
    /// The machine drifts by so many standard deviations in ten cells.
    Drift(f64),
    /// The base is constant, and the logarithm of the new side exponential, shifted so that its mean (paired) or median (ranked) is the true ratio.
    SkewedAgainstConstant,
    /// The base spreads a tenth as much as the new side.
    UnequalSpreads,
    /// The base is constant, the new side normal.
    AgainstConstant,
    /// A periodic disturbance of one standard deviation, with a period of so many cells, present in half of them.
    Periodic(f64),
}

/// The number of repeats of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// So many.
    Fixed(usize),
    /// As many as are needed to decide at one of the [`LOOKS`].
    Auto,
}

/// An experiment with one question and two variants, to be simulated many times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Simulated {
    /// The noise of the cells.
    pub noise: Noise,
    /// The noise's standard deviation, as a share of the value.
    pub spread: f64,
    /// The true ratio of the new variant to the base.
    pub ratio: f64,
    /// The number of repeats.
    pub repeats: Repeats,
    /// The test that compares the two variants.
    pub test: Test,
    /// The relative difference that does not matter.
    pub threshold: f64,
}

/// The shares of the experiments that got each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shares {
    /// `better`: more than the threshold above the base.
    pub better: f64,
    /// `worse`: more than the threshold below it.
    pub worse: f64,
    /// `same`.
    pub same: f64,
    /// `unclear`.
    pub unclear: f64,
    /// The mean number of repeats.
    pub repeats: f64,
    /// Number of experiments that were simulated.
    pub experiments: u32,
}

impl Simulated {
    /// Simulates so many experiments and returns the shares of their verdicts.
    pub fn shares(&self, experiments: u32, seed: Seed) -> Shares {
        let mut rng = seed.generator();
        let (mut better, mut worse, mut same) = (0, 0, 0);
        let mut repeats = 0.0;
        for _ in 0..experiments {
            let comparison = self.experiment(&mut rng);
            repeats += f64::from(comparison.decided_after.unwrap_or(comparison.n as u32));
            match comparison.verdict {
                Some(Verdict::Better) => better += 1,
                Some(Verdict::Worse) => worse += 1,
                Some(Verdict::Same) => same += 1,
                _ => {}
            }
        }
        let of = |count: u32| f64::from(count) / f64::from(experiments.max(1));
        let unclear = of(experiments.saturating_sub(better + worse + same));
        let repeats = repeats / f64::from(experiments.max(1));
        let (better, worse, same) = (of(better), of(worse), of(same));
        Shares { better, worse, same, unclear, repeats, experiments }
    }

    /// Simulates one experiment and returns its comparison.
    fn experiment(&self, rng: &mut SplitMix64) -> Comparison {
        match self.repeats {
            Repeats::Fixed(n) => {
                let mut comparison = compare(&self.pairs(n, rng), self.test, Some(self.threshold));
                judge(&mut [(&mut comparison, Better::Higher)]);
                comparison
            }
            Repeats::Auto => {
                let most = LOOKS.last().map_or(0, |last| *last as usize);
                let repeats: Vec<_> = (1..).zip(self.pairs(most, rng)).collect();
                compare_at_looks(&AtLooks {
                    repeats: &repeats,
                    looks: &LOOKS,
                    test: self.test,
                    threshold: self.threshold,
                    better: Better::Higher,
                    claims: 1,
                    least: 0.0,
                })
            }
        }
    }

    /// Draws the pairs of so many repeats; the order of the two cells in each repeat is drawn as in an experiment.
    fn pairs(&self, repeats: usize, rng: &mut SplitMix64) -> Vec<(f64, f64)> {
        let mut state =
            Session { noise: self.noise, cell: 0, last: standard_normal(rng), phase: rng.unit() };
        let center = if self.test == Test::Paired { 1.0 } else { std::f64::consts::LN_2 };
        let orders = draw_orders(2, repeats, rng);
        let pair = |order: &Vec<usize>| {
            if self.noise == Noise::SkewedAgainstConstant {
                let new = -(1.0 - rng.unit()).ln() - center;
                return (1.0, self.ratio * (self.spread * new).exp());
            }
            // The share of the noise that the base gets.
            let quiet = match self.noise {
                Noise::UnequalSpreads => Some(0.1),
                Noise::AgainstConstant => Some(0.0),
                _ => None,
            };
            if let Some(part) = quiet {
                let (base, new) = (part * state.next(rng), state.next(rng));
                return ((self.spread * base).exp(), self.ratio * (self.spread * new).exp());
            }
            let (first, second) = (state.next(rng), state.next(rng));
            let (base, new) = if order[0] == 0 { (first, second) } else { (second, first) };
            ((self.spread * base).exp(), self.ratio * (self.spread * new).exp())
        };
        orders.iter().map(pair).collect()
    }
}

/// The state of the simulated machine during an experiment.
struct Session {
    noise: Noise,
    cell: u32,
    last: f64,
    phase: f64,
}

impl Session {
    fn next(&mut self, rng: &mut SplitMix64) -> f64 {
        let normal = standard_normal(rng);
        let cell = self.cell;
        self.cell += 1;
        match self.noise {
            Noise::Normal
            | Noise::SkewedAgainstConstant
            | Noise::UnequalSpreads
            | Noise::AgainstConstant => normal,
            Noise::HeavyTailed => {
                let chi: f64 = (0..3).map(|_| standard_normal(rng).powi(2)).sum();
                // Its variance is 3.
                normal / (chi / 3.0).sqrt() / 3.0_f64.sqrt()
            }
            Noise::Bimodal => {
                // Modes at 0 and -10 with a spread of one: a variance of 1 + 100 x 0.2 x 0.8.
                let mode = if rng.below(5) == 0 { -10.0 } else { 0.0 };
                (normal + mode) / 17.0_f64.sqrt()
            }
            Noise::Correlated(phi) => {
                self.last = phi * self.last + (1.0 - phi * phi).sqrt() * normal;
                self.last
            }
            Noise::Drift(deviations) => normal + f64::from(cell) * deviations / 10.0,
            Noise::Periodic(period) => {
                let high = (f64::from(cell) / period + self.phase).fract() < 0.5;
                normal / 5.0 + if high { 1.0 } else { -1.0 }
            }
        }
    }
}

/// The distribution that figures of single runs are drawn from, to count how often the interval of their median contains the true median.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// Normal, with a spread of 5 %.
    Normal,
    /// Exponential, shifted up by one.
    Skewed,
    /// One run in five is 20 % slower.
    Slow,
    /// Thirty-five runs in a hundred are 20 % slower.
    TwoModes,
    /// Small counts: Poisson with mean one half.
    Counts,
}

impl Sample {
    /// All samples.
    pub const ALL: [Self; 5] =
        [Self::Normal, Self::Skewed, Self::Slow, Self::TwoModes, Self::Counts];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Skewed => "skewed",
            Self::Slow => "slow",
            Self::TwoModes => "two modes",
            Self::Counts => "counts",
        }
    }

    /// The true median.
    pub fn median(self) -> f64 {
        match self {
            Self::Normal => 100.0,
            Self::Skewed => 1.0 + std::f64::consts::LN_2,
            // Where 0.2 + 0.8 F(x) is one half: 100 + 2 norm.ppf(0.375) by SciPy.
            Self::Slow => 99.362_721_272_071_25,
            // Where 0.35 + 0.65 F(x) is one half.
            Self::TwoModes => 98.527_368_165_247_74,
            Self::Counts => 0.0,
        }
    }

    /// Draws one value.
    pub fn draw(self, rng: &mut SplitMix64) -> f64 {
        match self {
            Self::Normal => 100.0 + 5.0 * standard_normal(rng),
            Self::Skewed => 1.0 - (1.0 - rng.unit()).ln(),
            Self::Slow => one_of(rng, 0.2),
            Self::TwoModes => one_of(rng, 0.35),
            Self::Counts => {
                // The number of arrivals within one half, at exponential intervals.
                let next = |rng: &mut SplitMix64| -(1.0 - rng.unit()).ln();
                let (mut count, mut at) = (0.0, next(rng));
                while at < 0.5 {
                    (count, at) = (count + 1.0, at + next(rng));
                }
                count
            }
        }
    }

    /// Returns the share of `experiments`, with so many runs each, in which the interval of the median contains the true median.
    pub fn covered(self, runs: usize, experiments: u32, seed: Seed) -> f64 {
        let mut rng = seed.derive(self.name()).generator();
        let holds = |_: &u32| {
            let values: Vec<f64> = (0..runs).map(|_| self.draw(&mut rng)).collect();
            figure(&values).interval().is_some_and(|interval| interval.contains(self.median()))
        };
        let count = (0..experiments).filter(holds).count();
        count as f64 / f64::from(experiments.max(1))
    }
}

/// Draws a run at 100, or with the probability `slow` at 80, with a spread of 2.
fn one_of(rng: &mut SplitMix64, slow: f64) -> f64 {
    let level = if rng.unit() < slow { 80.0 } else { 100.0 };
    level + 2.0 * standard_normal(rng)
}

/// A series within one run: values about one level, or about one before a place and another after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Series {
    /// Number of values.
    pub values: usize,
    /// Their standard deviation, as a share of the level.
    pub spread: f64,
    /// The correlation of each value with the one before (AR(1)).
    pub carry: f64,
    /// The number of values before the change, and the ratio of the level after it to the one before; `None` for a flat series.
    pub change: Option<(usize, f64)>,
}

impl Series {
    /// Draws one such series with a first level of 100.
    pub fn draw(&self, rng: &mut SplitMix64) -> Vec<f64> {
        let mut state = standard_normal(rng);
        let fresh = (1.0 - self.carry * self.carry).sqrt();
        let value = |place: usize| {
            state = self.carry * state + fresh * standard_normal(rng);
            let level = self.change.map_or(1.0, |(at, times)| if place < at { 1.0 } else { times });
            100.0 * level * (self.spread * state).exp()
        };
        (0..self.values).map(value).collect()
    }
}

/// A factorial experiment of three factors with two levels each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factorial {
    /// Standard deviation of a cell, as a share of its value.
    pub spread: f64,
    /// Standard deviation of the part that all cells of a block share.
    pub blocks: f64,
    /// The true ratio of each factor's second level to its first, on average over the levels of the others.
    pub ratios: [f64; 3],
    /// The interaction of any two factors: the ratio of one factor at the second level of the other, over that at its first level.
    pub all: f64,
}

impl Factorial {
    /// Draws the cells of so many blocks.
    pub fn draw(&self, blocks: u32, rng: &mut SplitMix64) -> Vec<Trial> {
        let mut trials = Vec::new();
        for block in 0..blocks {
            let shared = self.blocks * standard_normal(rng);
            for cell in 0..8 {
                let levels: Vec<usize> = (0..3).map(|factor| cell >> factor & 1).collect();
                // Two-way effects are centred, so that they do not change the mean effect of each factor.
                let side = |factor: usize| levels[factor] as f64 - 0.5;
                let mains: f64 = (0..3).map(|f| side(f) * self.ratios[f].ln()).sum();
                let both = side(0) * side(1) + side(0) * side(2) + side(1) * side(2);
                let chance = shared + self.spread * standard_normal(rng);
                let value = (mains + both * self.all.ln() + chance).exp();
                trials.push(Trial { block, levels, value });
            }
        }
        trials
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_THE_BORDER: Simulated = Simulated {
        noise: Noise::Normal,
        spread: 0.03,
        ratio: 1.03,
        repeats: Repeats::Fixed(5),
        test: Test::Paired,
        threshold: 0.03,
    };

    #[test]
    fn at_the_border_few_experiments_find_a_difference_whatever_the_noise() {
        let noises = [
            Noise::Normal,
            Noise::HeavyTailed,
            Noise::Bimodal,
            Noise::Correlated(-0.5),
            Noise::Correlated(0.5),
            Noise::Correlated(0.9),
            Noise::Drift(1.0),
            Noise::Drift(10.0),
        ];
        for noise in noises {
            for (test, ratio) in [(Test::Paired, 1.03), (Test::Paired, 0.97), (Test::Ranked, 1.03)]
            {
                for repeats in [Repeats::Fixed(5), Repeats::Fixed(8), Repeats::Auto] {
                    let s = Simulated { noise, ratio, test, repeats, ..AT_THE_BORDER };
                    let shares = s.shares(2_000, Seed(1));
                    // Three standard errors of 3 % in 2000 experiments.
                    let false_side = 0.03 + 0.0115;
                    assert!(
                        shares.better <= false_side && shares.worse <= false_side,
                        "{s:?} {shares:?}"
                    );
                    assert!(shares.same <= 0.065, "{s:?} {shares:?}");
                }
            }
        }
    }

    #[test]
    fn as_many_repeats_as_are_needed_are_few_where_much_differs() {
        let spread = 0.027 / std::f64::consts::SQRT_2;
        let s = Simulated { spread, ratio: 1.0, repeats: Repeats::Auto, ..AT_THE_BORDER };
        let equal = s.shares(1_000, Seed(4));
        assert!(equal.same > 0.97 && equal.repeats < 14.5, "{equal:?}");
        let apart = Simulated { ratio: 1.1, ..s }.shares(1_000, Seed(4));
        assert!(apart.better > 0.97 && apart.repeats < 6.2, "{apart:?}");
    }

    #[test]
    fn what_runs_share_is_taken_out_by_pairs() {
        let s = Simulated { ratio: 1.06, spread: 0.01, noise: Noise::Drift(10.0), ..AT_THE_BORDER };
        let paired = s.shares(1_000, Seed(2)).better;
        let ranked = Simulated { test: Test::Ranked, ..s }.shares(1_000, Seed(2)).better;
        assert!(paired > 0.5 && ranked < 0.1, "{paired} {ranked}");
    }

    #[test]
    fn equal_variants_are_the_same_and_unequal_ones_are_not() {
        let s = Simulated { ratio: 1.0, spread: 0.01, ..AT_THE_BORDER };
        let equal = s.shares(1_000, Seed(3));
        assert!(equal.same > 0.85 && equal.better + equal.worse == 0.0, "{equal:?}");
        let apart = Simulated { ratio: 1.1, ..s }.shares(1_000, Seed(3));
        assert!(apart.better > 0.98 && apart.same == 0.0, "{apart:?}");
    }
}
