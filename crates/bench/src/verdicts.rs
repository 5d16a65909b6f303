//! Verdicts compared with the truth: conditions that they must meet in simulated experiments.

use stats::simulation::{Noise, Repeats, Sample, Shares, Simulated};
use units::{Seed, Test};

/// The bound on the share of a verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wanted {
    /// Neither `better` nor `worse` more often than this.
    FalseSides(f64),
    /// `same` at least so often.
    Same(f64),
    /// `better` at least so often.
    Better(f64),
}

/// Shares that the method reaches where it misses those wanted before anything was measured, and the reason: a limit of the method, not an aim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Each false side at most.
    pub sides: f64,
    /// A false `same` at most.
    pub same: f64,
    /// Why.
    pub why: &'static str,
}

/// The outcome of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// The wanted bound is met.
    Wanted,
    /// The wanted bound is missed, but not the limit that the method is known to have.
    Limit,
    /// Both are missed.
    Missed,
}

impl Met {
    /// The word in tables and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Wanted => "met",
            Self::Limit => "known limit",
            Self::Missed => "MISSED",
        }
    }
}

/// One condition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// The noise in words.
    pub noise: &'static str,
    /// The experiments.
    pub simulated: Simulated,
    /// The bound that must hold.
    pub wanted: Wanted,
    /// The mean number of repeats may be at most this.
    pub most_repeats: Option<f64>,
    /// The limit where the method is known to miss the condition.
    pub limit: Option<Limit>,
}

/// The share that does not matter, in all conditions.
const THRESHOLD: f64 = 0.03;

/// Number of experiments from which on the bounds count as they stand.
pub(crate) const ENOUGH: u32 = 20_000;

/// Three standard errors of a share of this size; none from [`ENOUGH`] experiments on, whose error is in the bounds.
pub(crate) fn slack(share: f64, experiments: u32) -> f64 {
    if experiments >= ENOUGH {
        return 0.0;
    }
    3.0 * (share * (1.0 - share) / f64::from(experiments.max(1))).sqrt()
}

const NOISES: [(&str, Noise); 17] = [
    ("normal", Noise::Normal),
    ("heavy tails", Noise::HeavyTailed),
    ("two modes", Noise::Bimodal),
    ("correlated -0.5", Noise::Correlated(-0.5)),
    ("correlated 0.5", Noise::Correlated(0.5)),
    ("correlated 0.9", Noise::Correlated(0.9)),
    ("drift 1", Noise::Drift(1.0)),
    ("drift 10", Noise::Drift(10.0)),
    ("period of two", Noise::Periodic(2.0)),
    ("period of two and a half", Noise::Periodic(2.5)),
    ("period of three", Noise::Periodic(3.0)),
    ("period of four", Noise::Periodic(4.0)),
    ("period of five", Noise::Periodic(5.0)),
    ("period of six", Noise::Periodic(6.0)),
    ("spreads 1 to 10", Noise::UnequalSpreads),
    ("normal against constant", Noise::AgainstConstant),
    ("exponential against constant", Noise::SkewedAgainstConstant),
];

/// Returns every condition: few false verdicts at the border, and differences that are plain are seen.
pub fn conditions() -> Vec<Condition> {
    let mut all = Vec::new();
    for test in [Test::Paired, Test::Ranked] {
        for (name, noise) in NOISES {
            for repeats in [Repeats::Fixed(5), Repeats::Fixed(12), Repeats::Auto] {
                let simulated = Simulated {
                    noise,
                    spread: 0.03,
                    ratio: 1.03,
                    repeats,
                    test,
                    threshold: THRESHOLD,
                };
                // Bounds that were set before anything was measured.
                let most = match (test, noise) {
                    (_, Noise::Periodic(_)) => 0.035,
                    (Test::Ranked, Noise::SkewedAgainstConstant) => 0.08,
                    (Test::Paired, Noise::SkewedAgainstConstant) => 0.11,
                    _ => 0.03,
                };
                all.push(Condition {
                    noise: name,
                    simulated,
                    wanted: Wanted::FalseSides(most),
                    most_repeats: None,
                    limit: limit(&simulated),
                });
            }
        }
    }
    all.extend(plain());
    all
}

/// Returns the shares that a condition at the border is known to reach where it misses the wanted ones, each with three standard errors of a simulation of
/// 20,000 experiments.
fn limit(simulated: &Simulated) -> Option<Limit> {
    match (simulated.test, simulated.noise) {
        (Test::Paired, Noise::SkewedAgainstConstant) if simulated.repeats == Repeats::Auto => {
            Some(Limit {
                sides: 0.03,
                same: 0.149,
                why: "Student's t takes the ratios for normal: the mean of a few exponential values lies below the truth more often than above, and then their \
                      spread is small, too (Johnson 1978); each look meets this again",
            })
        }
        (Test::Ranked, Noise::AgainstConstant | Noise::UnequalSpreads)
            if simulated.repeats != Repeats::Fixed(12) =>
        {
            Some(Limit {
                sides: 0.06,
                same: 0.055,
                why: "below eight repeats ranks take both sides to spread alike: five values lie all beyond a constant one in 1 of 32, where 1 of 252 is \
                      supposed; a run that goes on as long as is needed looks there first",
            })
        }
        (Test::Paired, Noise::Periodic(period)) if is_hard(period, simulated.repeats) => {
            Some(Limit {
                sides: if period == 2.5 { 0.075 } else { 0.048 },
                same: 0.04,
                why: "no drawn order is proof against all periods: the cells of a repeat are two of a period of three, or five of two; free draws give \
                  6.0 % with a period of two and a half and 3.7 % with three, and 4.7 % with two and 3.6 % with four, which have 0.6 and 2.2 % now",
            })
        }
        _ => None,
    }
}

/// Tells whether a period is one that orders within pairs of cells cannot average out.
fn is_hard(period: f64, repeats: Repeats) -> bool {
    [2.5, 3.0].contains(&period) || (period == 6.0 && repeats == Repeats::Fixed(12))
}

/// Returns the conditions away from the border, whose verdict is plain: the spread within a pair is 2.7 %.
fn plain() -> impl Iterator<Item = Condition> {
    let spread = 0.027 / std::f64::consts::SQRT_2;
    let (same, some, better) = (Wanted::Same(0.99), Wanted::Better(0.84), Wanted::Better(0.99));
    let all = [
        (1.0, Repeats::Fixed(27), same, None),
        (1.05, Repeats::Fixed(27), some, None),
        (1.1, Repeats::Fixed(8), better, None),
        (1.0, Repeats::Auto, same, Some(14.0)),
        (1.05, Repeats::Auto, some, Some(18.0)),
        (1.1, Repeats::Auto, better, Some(6.0)),
    ];
    all.into_iter().map(move |(ratio, repeats, wanted, most_repeats)| {
        let (noise, test) = (Noise::Normal, Test::Paired);
        let simulated = Simulated { noise, spread, ratio, repeats, test, threshold: THRESHOLD };
        Condition { noise: "normal", simulated, wanted, most_repeats, limit: None }
    })
}

impl Condition {
    /// Returns the shares of the verdicts in `experiments` simulated experiments.
    pub fn measure(&self, experiments: u32, seed: Seed) -> Shares {
        self.simulated.shares(experiments, seed)
    }

    /// Compares these shares with what is wanted, and with the known limit.
    pub fn met(&self, shares: &Shares) -> Met {
        let n = shares.experiments;
        let slack = |share: f64| slack(share, n);
        // The number of repeats spreads by about half of itself.
        let few = self.most_repeats.is_none_or(|most| shares.repeats <= most * (1.0 + slack(0.5)));
        let most = |share: f64| share + slack(share);
        let within = |sides: f64, same: f64| {
            let (sides, same) = (most(sides), most(same));
            shares.better <= sides && shares.worse <= sides && shares.same <= same
        };
        let wanted = match self.wanted {
            Wanted::FalseSides(most) => within(most, most),
            Wanted::Same(least) => shares.same >= least - slack(least),
            Wanted::Better(least) => shares.better >= least - slack(least),
        };
        match self.limit {
            _ if wanted && few => Met::Wanted,
            Some(limit) if few && within(limit.sides, limit.same) => Met::Limit,
            _ => Met::Missed,
        }
    }
}

/// Numbers of runs for which it is measured how often the interval of their median contains the true one.
const RUNS: [usize; 10] = [2, 3, 4, 5, 6, 7, 8, 10, 15, 20];

/// Returns, by number of runs and for each [`Sample`], the share of experiments in which the interval of the median contains the true one.
pub fn coverage(experiments: u32, seed: Seed) -> Vec<(usize, [f64; Sample::ALL.len()])> {
    RUNS.iter().map(|n| (*n, Sample::ALL.map(|s| s.covered(*n, experiments, seed)))).collect()
}

/// Returns the experiments for the table of what five repeats see: normal noise, paired, by spread of the cells and true ratio.
pub fn power() -> impl Iterator<Item = Simulated> {
    let ratios = [1.0, 1.03, 1.05, 1.1, 1.2];
    [0.01, 0.02, 0.05].into_iter().flat_map(move |spread| {
        ratios.into_iter().map(move |ratio| Simulated {
            noise: Noise::Normal,
            spread,
            ratio,
            repeats: Repeats::Fixed(5),
            test: Test::Paired,
            threshold: THRESHOLD,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(better: f64, worse: f64, same: f64) -> Shares {
        Shares { better, worse, same, unclear: 0.0, repeats: 5.0, experiments: ENOUGH }
    }

    #[test]
    fn a_condition_is_missed_by_what_it_forbids_and_by_nothing_else() {
        let border = conditions()[0];
        assert_eq!(border.met(&shares(0.03, 0.0, 0.03)), Met::Wanted);
        for wrong in [shares(0.031, 0.0, 0.0), shares(0.0, 0.031, 0.0), shares(0.0, 0.0, 0.031)] {
            assert_eq!(border.met(&wrong), Met::Missed, "{wrong:?}");
        }
        let same = Condition { wanted: Wanted::Same(0.9), ..border };
        assert_eq!(same.met(&shares(0.0, 0.0, 0.9)), Met::Wanted);
        assert_eq!(same.met(&shares(0.0, 0.0, 0.8)), Met::Missed);
        let soon = Condition { most_repeats: Some(4.0), ..same };
        assert_eq!(soon.met(&shares(0.0, 0.0, 0.9)), Met::Missed);
        let auto = Simulated { repeats: Repeats::Auto, ..border.simulated };
        let auto = Condition { simulated: auto, ..border };
        assert_eq!(auto.met(&shares(0.0, 0.0, 0.04)), Met::Missed);
        assert_eq!(auto.met(&shares(0.0, 0.0, 0.03)), Met::Wanted);
        // Few experiments may be off by chance.
        let few = Shares { experiments: 1_000, ..shares(0.04, 0.0, 0.0) };
        assert_eq!(border.met(&few), Met::Wanted);
        assert_eq!(border.met(&Shares { better: 0.05, ..few }), Met::Missed);
    }

    #[test]
    fn a_known_limit_is_no_miss_and_what_is_worse_is() {
        let skewed = |c: &&Condition| {
            let Simulated { noise, repeats, .. } = c.simulated;
            (noise, repeats) == (Noise::SkewedAgainstConstant, Repeats::Auto)
        };
        let all = conditions();
        let paired = all.iter().find(skewed).unwrap();
        assert_eq!(paired.met(&shares(0.0, 0.0, 0.1)), Met::Wanted);
        assert_eq!(paired.met(&shares(0.0, 0.0, 0.14)), Met::Limit);
        assert_eq!(paired.met(&shares(0.0, 0.0, 0.15)), Met::Missed);
        assert_eq!(paired.met(&shares(0.12, 0.0, 0.0)), Met::Missed);
        let known = all.iter().filter(|c| c.limit.is_some()).count();
        assert_eq!(known, 1 + 4 + 7, "limits are few, and each has its reason");
    }

    #[test]
    fn what_is_plain_is_seen() {
        for condition in conditions().iter().filter(|c| !matches!(c.wanted, Wanted::FalseSides(_)))
        {
            let shares = condition.measure(500, Seed(1));
            assert_eq!(condition.met(&shares), Met::Wanted, "{condition:?} {shares:?}");
        }
    }
}
