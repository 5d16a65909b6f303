//! Effects of several factors where all their levels were crossed: the main effect of each, and whether one factor's effect depends on another (Jain
//! 1991, chapters 20 to 23).

use units::Better;

use crate::comparison::ERROR;
use crate::student;
use crate::verdict::{self, Claim, Verdict};

/// A factor of the experiment, which was varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factor {
    /// Number of levels.
    pub levels: usize,
    /// Tells whether the levels have an order: each is then compared with its neighbour, else each with the first.
    pub ordered: bool,
}

/// One run: its block, its level of each factor, and the measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The block: a repeat, in which every combination ran once.
    pub block: u32,
    /// The level of each factor.
    pub levels: Vec<usize>,
    /// The measured value.
    pub value: f64,
}

/// A step from one level of a factor to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Index of the factor.
    pub factor: usize,
    /// The level that is compared with.
    pub from: usize,
    /// The level that is compared.
    pub to: usize,
}

/// The effect of a change, averaged over all levels of the other factors; or, with a second change, the factor by which that one changes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The change.
    pub of: Change,
    /// The second change; `None` for a main effect.
    pub with: Option<Change>,
    /// The value at `to` over that at `from`; for two changes, the ratio of two such ratios: 1 where they do not depend on each
    /// other.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The two-sided p-value of the claim that the estimate points to: outside the threshold, or within it.
    pub p: f64,
    /// The p-value after correction over all claims, set where all are judged together.
    pub p_adjusted: Option<f64>,
    /// The verdict, set where all are judged together; `Same` for two changes means that they do not depend on each other.
    pub verdict: Verdict,
    claim: Claim,
}

/// All effects of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Effects {
    /// The effects: those of each factor, then those of each two.
    pub effects: Vec<Effect>,
    /// Number of complete blocks they are computed from.
    pub blocks: usize,
    /// Number of blocks left out because a combination has no value in them.
    pub dropped: usize,
    /// Degrees of freedom of the residuals.
    pub freedom: usize,
    /// Their standard deviation, of logarithms.
    pub deviation: f64,
}

/// The effects of `factors` by least squares: ln value = block + factors + two-way interactions. As all combinations are in every block,
/// the estimates are differences of means. Interactions of three factors count as noise.
///
/// `None` where no block is complete, a value is not above zero, or no degree of freedom is left. `threshold` is the relative difference that
/// does not matter.
pub fn effects(factors: &[Factor], trials: &[Trial], threshold: f64) -> Option<Effects> {
    let combinations: usize = factors.iter().map(|factor| factor.levels).product();
    let mut blocks: Vec<u32> = trials.iter().map(|trial| trial.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let all = blocks.len();
    blocks.retain(|block| complete(factors, trials, *block, combinations));
    let of_block = |trial: &&Trial| blocks.contains(&trial.block);
    let cells: Vec<(&Trial, f64)> =
        trials.iter().filter(of_block).map(|trial| (trial, trial.value.ln())).collect();
    if cells.is_empty() || cells.iter().any(|(_, y)| !y.is_finite()) {
        return None;
    }
    let model = Model { factors, cells: &cells };
    let fitted = 1 + (blocks.len() - 1) + model.parameters();
    let freedom = cells.len().checked_sub(fitted).filter(|freedom| *freedom > 0)?;
    let deviation = (model.residuals(&blocks) / freedom as f64).sqrt();
    let zone = ((1.0 - threshold).max(0.0).ln(), threshold.ln_1p());
    let effects = model.contrasts().into_iter().map(|(of, with)| {
        let (estimate, share) = model.contrast(of, with);
        let error = deviation * share.sqrt();
        effect((of, with), estimate, error, (freedom, zone))
    });
    Some(Effects {
        effects: effects.collect(),
        blocks: blocks.len(),
        dropped: all - blocks.len(),
        freedom,
        deviation,
    })
}

/// Sets the verdicts on all effects by their `adjusted` p-values, and returns how many claims stay open. A p-value that is not finite (effects of
/// a single block, whose spread is unknown) gives no verdict and is not counted.
pub(crate) fn settle_effects(family: &mut [(&mut Effects, Better)], adjusted: &[f64]) -> usize {
    let each = family.iter_mut().flat_map(|(effects, better)| {
        let better = *better;
        effects.effects.iter_mut().map(move |effect| (effect, better))
    });
    let mut open = 0;
    for ((effect, better), p) in each.zip(adjusted) {
        effect.p_adjusted = Some(*p).filter(|p| p.is_finite());
        match effect.p_adjusted {
            Some(p) if p < ERROR => effect.verdict = verdict::word(effect.claim, better),
            Some(_) => open += 1,
            None => {}
        }
    }
    open
}

fn effect(
    (of, with): (Change, Option<Change>),
    estimate: f64,
    error: f64,
    (freedom, zone): (usize, (f64, f64)),
) -> Effect {
    let half = student::critical(ERROR, freedom) * error;
    let claim = Claim::of(estimate, zone);
    let tail = |distance: f64| match distance {
        distance if error > 0.0 => student::upper_tail(distance / error, freedom),
        distance if distance >= 0.0 => 0.0,
        _ => 1.0,
    };
    // Doubled also for "it does not matter", so that every claim has the same error.
    let p = 2.0
        * match claim {
            Claim::More => tail(estimate - zone.1),
            Claim::Less => tail(zone.0 - estimate),
            Claim::Within => tail(estimate - zone.0).max(tail(zone.1 - estimate)),
        };
    Effect {
        of,
        with,
        ratio: estimate.exp(),
        low: (estimate - half).exp(),
        high: (estimate + half).exp(),
        p: p.min(1.0),
        p_adjusted: None,
        verdict: Verdict::Unclear,
        claim,
    }
}

/// Tells whether every combination ran exactly once in a block.
fn complete(factors: &[Factor], trials: &[Trial], block: u32, combinations: usize) -> bool {
    let fits = |trial: &&Trial| {
        trial.levels.len() == factors.len()
            && trial.levels.iter().zip(factors).all(|(level, factor)| *level < factor.levels)
    };
    let of_block = trials.iter().filter(|trial| trial.block == block).filter(fits);
    let mut levels: Vec<&Vec<usize>> = of_block.map(|trial| &trial.levels).collect();
    let many = levels.len();
    levels.sort();
    levels.dedup();
    many == levels.len() && many == combinations
}

struct Model<'a> {
    factors: &'a [Factor],
    /// Runs with the logarithms of their values.
    cells: &'a [(&'a Trial, f64)],
}

impl Model<'_> {
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let n = self.factors.len();
        (0..n).flat_map(move |a| (a + 1..n).map(move |b| (a, b)))
    }

    /// Returns the number of parameters of all factors and two-way interactions.
    fn parameters(&self) -> usize {
        let degrees = |factor: usize| self.factors[factor].levels - 1;
        (0..self.factors.len()).map(degrees).sum::<usize>()
            + self.pairs().map(|(a, b)| degrees(a) * degrees(b)).sum::<usize>()
    }

    fn mean(&self, of: impl Fn(&Trial) -> bool) -> f64 {
        let fitting = self.cells.iter().filter(|(trial, _)| of(trial));
        let (sum, n) = fitting.fold((0.0, 0.0), |(sum, n), (_, y)| (sum + y, n + 1.0));
        sum / n
    }

    fn level_mean(&self, factor: usize, level: usize) -> f64 {
        self.mean(|trial| trial.levels[factor] == level)
    }

    fn at_both(&self, a: (usize, usize), b: (usize, usize)) -> f64 {
        self.mean(|trial| trial.levels[a.0] == a.1 && trial.levels[b.0] == b.1)
    }

    /// Returns the sum of squares of the residuals.
    fn residuals(&self, blocks: &[u32]) -> f64 {
        let all = self.mean(|_| true);
        let of_block: Vec<f64> =
            blocks.iter().map(|block| self.mean(|trial| trial.block == *block) - all).collect();
        let of_levels = |factor: usize| {
            (0..self.factors[factor].levels).map(move |level| self.level_mean(factor, level) - all)
        };
        let mains: Vec<Vec<f64>> =
            (0..self.factors.len()).map(|factor| of_levels(factor).collect()).collect();
        let mut left: Vec<f64> = self
            .cells
            .iter()
            .map(|(trial, y)| {
                let block = blocks.iter().position(|b| *b == trial.block).unwrap_or(0);
                let effects = trial.levels.iter().zip(&mains).map(|(level, of)| of[*level]);
                y - all - of_block[block] - effects.sum::<f64>()
            })
            .collect();
        for (a, b) in self.pairs() {
            for (i, in_a) in mains[a].iter().enumerate() {
                for (k, in_b) in mains[b].iter().enumerate() {
                    let both = self.at_both((a, i), (b, k)) - all - in_a - in_b;
                    for ((trial, _), left) in self.cells.iter().zip(&mut left) {
                        if trial.levels[a] == i && trial.levels[b] == k {
                            *left -= both;
                        }
                    }
                }
            }
        }
        left.iter().map(|y| y * y).sum()
    }

    fn changes(&self, factor: usize) -> impl Iterator<Item = Change> {
        let Factor { levels, ordered } = self.factors[factor];
        let from = move |to: usize| if ordered { to - 1 } else { 0 };
        (1..levels).map(move |to| Change { factor, from: from(to), to })
    }

    fn contrasts(&self) -> Vec<(Change, Option<Change>)> {
        let mains = (0..self.factors.len()).flat_map(|factor| self.changes(factor));
        let mains = mains.map(|change| (change, None));
        let both = self.pairs().flat_map(|(a, b)| {
            let second: Vec<Change> = self.changes(b).collect();
            self.changes(a)
                .flat_map(move |of| second.clone().into_iter().map(move |with| (of, Some(with))))
                .collect::<Vec<_>>()
        });
        mains.chain(both).collect()
    }

    /// Returns the estimate of a contrast, and its variance relative to that of one run.
    fn contrast(&self, of: Change, with: Option<Change>) -> (f64, f64) {
        let n = self.cells.len() as f64;
        let levels = |factor: usize| self.factors[factor].levels as f64;
        match with {
            None => {
                let estimate =
                    self.level_mean(of.factor, of.to) - self.level_mean(of.factor, of.from);
                (estimate, 2.0 * levels(of.factor) / n)
            }
            Some(with) => {
                let step = |level: usize| {
                    let at = |own_level: usize| {
                        self.at_both((of.factor, own_level), (with.factor, level))
                    };
                    at(of.to) - at(of.from)
                };
                let each = levels(of.factor) * levels(with.factor) / n;
                (step(with.to) - step(with.from), 4.0 * each)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scipy::rows;
    use crate::simulation::Factorial;
    use units::Seed;

    const TWO: Factor = Factor { levels: 2, ordered: false };

    fn judged(factors: &[Factor], trials: &[Trial]) -> Effects {
        let mut all = effects(factors, trials, 0.03).unwrap();
        let p: Vec<f64> = all.effects.iter().map(|effect| effect.p).collect();
        if all.blocks > 1 {
            settle_effects(&mut [(&mut all, Better::Higher)], &crate::holm(&p));
        }
        all
    }

    #[test]
    fn effects_are_those_of_least_squares_with_numpy() {
        for row in rows("factorial") {
            let [a, b, blocks] = [0, 1, 2].map(|at| row[at] as usize);
            let factors =
                [Factor { levels: a, ordered: false }, Factor { levels: b, ordered: true }];
            let (values, expected) = row[3..].split_at(a * b * blocks);
            let mut values = values.iter();
            let mut trials = Vec::new();
            for block in 0..blocks as u32 {
                for i in 0..a {
                    for k in 0..b {
                        let value = *values.next().unwrap();
                        trials.push(Trial { block, levels: vec![i, k], value });
                    }
                }
            }
            let all = effects(&factors, &trials, 0.03).unwrap();
            assert!((all.deviation / expected[0] - 1.0).abs() < 1e-9, "{all:?}");
            // Of each effect the estimate and its standard error.
            for (effect, expected) in all.effects.iter().zip(expected[1..].chunks(2)) {
                let half = student::critical(0.05, all.freedom) * expected[1];
                assert!((effect.ratio.ln() - expected[0]).abs() < 1e-9, "{effect:?} {expected:?}");
                assert!((effect.high.ln() - expected[0] - half).abs() < 1e-9, "{effect:?}");
            }
            assert_eq!(all.effects.len(), (expected.len() - 1) / 2);
        }
    }

    #[test]
    fn one_effect_is_found_and_what_does_nothing_is_the_same() {
        let of = |ratio: f64| Factorial {
            spread: 0.02,
            blocks: 0.05,
            ratios: [ratio, 1.0, 1.0],
            all: 1.0,
        };
        let (mut found, mut wrong) = (0, 0);
        for seed in 0..500 {
            let all = judged(&[TWO; 3], &of(1.1).draw(3, &mut Seed(seed).generator()));
            assert_eq!((all.effects.len(), all.freedom, all.blocks), (6, 15, 3));
            found += u32::from(all.effects[0].verdict == Verdict::Better);
            let others = &all.effects[1..];
            wrong += u32::from(
                others.iter().any(|e| matches!(e.verdict, Verdict::Better | Verdict::Worse)),
            );
        }
        assert!(found >= 495 && wrong <= 5, "{found} {wrong}");
    }

    #[test]
    fn at_the_border_few_experiments_claim_anything() {
        let border = Factorial { spread: 0.02, blocks: 0.05, ratios: [1.03; 3], all: 1.03 };
        let any = (0..2_000).filter(|seed| {
            let all = judged(&[TWO; 3], &border.draw(3, &mut Seed(*seed).generator()));
            all.effects.iter().any(|effect| effect.verdict != Verdict::Unclear)
        });
        let any = any.count();
        // 5.5 %, and three standard errors of it in 2000.
        assert!(any as f64 <= 0.055 * 2_000.0 + 31.0, "{any}");
    }

    #[test]
    fn incomplete_blocks_are_left_out_and_one_block_decides_nothing() {
        let one = Factorial { spread: 0.001, blocks: 0.0, ratios: [1.5, 1.0, 1.0], all: 1.0 };
        let mut trials = one.draw(3, &mut Seed(1).generator());
        trials.remove(11);
        let all = judged(&[TWO; 3], &trials);
        assert_eq!((all.blocks, all.dropped, all.freedom), (2, 1, 8));
        assert_eq!(all.effects[0].verdict, Verdict::Better);
        let alone = one.draw(1, &mut Seed(1).generator());
        let all = judged(&[TWO; 3], &alone);
        assert_eq!((all.freedom, all.effects[0].verdict), (1, Verdict::Unclear));
        assert!(effects(&[TWO; 2], &[], 0.03).is_none());
        let zero: Vec<Trial> = trials.iter().map(|t| Trial { value: 0.0, ..t.clone() }).collect();
        assert!(effects(&[TWO; 3], &zero, 0.03).is_none());
    }
}
