//! Simulates experiments with factors that are looked at while repeats come in: how often any verdict on a comparison or effect is false.

use units::{Better, Seed, Test};

use crate::factorial::{Factor, Trial, effects};
use crate::simulation::Factorial;
use crate::{AtLooks, LOOKS, Verdict, claims_of, compare_at_looks, judge_after_looks};

/// The relative difference that does not matter.
const THRESHOLD: f64 = 0.03;

/// Returns the share of so many experiments in which any verdict is false. The effects must all lie at the border, where every verdict on them is
/// false; the verdict that compares a combination with the first is false where the true ratio contradicts it.
pub fn any_false_verdict(simulated: Factorial, experiments: u32, seed: Seed) -> f64 {
    let mut rng = seed.generator();
    // Without noise the values are the true ones.
    let quiet = Factorial { spread: 0.0, blocks: 0.0, ..simulated };
    let truth: Vec<f64> = quiet.draw(1, &mut rng).iter().map(|trial| trial.value).collect();
    let most = LOOKS.last().copied().unwrap_or_default();
    let count = (0..experiments)
        .filter(|_| {
            let trials = simulated.draw(most, &mut rng);
            let false_word = |verdicts: &[(f64, Option<Verdict>)]| {
                verdicts.iter().any(|(ratio, verdict)| is_false(*ratio, *verdict))
            };
            let (last, compared) = comparisons(&trials, &truth);
            false_word(&compared) || effect_claimed(&trials, last)
        })
        .count();
    count as f64 / f64::from(experiments.max(1))
}

/// Claims of an experiment of three factors: seven comparisons with the first of eight, and six effects.
const CLAIMS: usize = 13;
const FACTORS: [Factor; 3] = [Factor { levels: 2, ordered: false }; 3];

/// The repeat at which the run ends, and for each combination but the first its true ratio to the first and the verdict on it.
fn comparisons(trials: &[Trial], truth: &[f64]) -> (u32, Vec<(f64, Option<Verdict>)>) {
    let of = |combination: usize| trials.iter().skip(combination).step_by(truth.len());
    let mut last = 0;
    let compared = (1..truth.len()).map(|new| {
        let pairs = of(0).zip(of(new)).map(|(base, new)| (base.block + 1, (base.value, new.value)));
        let repeats: Vec<_> = pairs.collect();
        let compared = compare_at_looks(&AtLooks {
            repeats: &repeats,
            looks: &LOOKS,
            test: Test::Paired,
            threshold: THRESHOLD,
            better: Better::Higher,
            claims: CLAIMS,
            least: 0.0,
        });
        let end = compared.decided_after.or(LOOKS.last().copied());
        last = last.max(end.unwrap_or_default());
        (truth[new] / truth[0], compared.verdict)
    });
    let compared = compared.collect();
    (last, compared)
}

/// Tells whether a verdict contradicts the true ratio. At the border, where chance alone decides, `better`, `worse` and `same` are all false.
fn is_false(ratio: f64, verdict: Option<Verdict>) -> bool {
    let near = 1e-9;
    match verdict {
        Some(Verdict::Better) => ratio <= 1.0 + THRESHOLD + near,
        Some(Verdict::Worse) => ratio >= 1.0 - THRESHOLD - near,
        Some(Verdict::Same) => !(1.0 - THRESHOLD + near..1.0 + THRESHOLD - near).contains(&ratio),
        _ => false,
    }
}

/// Tells whether any effect gets a verdict at the end of the run, after the repeat `last`.
fn effect_claimed(trials: &[Trial], last: u32) -> bool {
    let ran: Vec<Trial> = trials.iter().filter(|trial| trial.block < last).cloned().collect();
    let Some(mut all) = effects(&FACTORS, &ran, THRESHOLD) else { return false };
    let mut family = [(&mut all, Better::Higher)];
    let claims = claims_of(&family) + 7;
    debug_assert_eq!(claims, CLAIMS);
    judge_after_looks(&mut family, claims);
    all.effects.iter().any(|effect| effect.verdict != Verdict::Unclear)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_and_effects_of_a_run_that_was_looked_at_err_together_in_five_percent() {
        let border = Factorial { spread: 0.02, blocks: 0.05, ratios: [1.03; 3], all: 1.03 };
        let share = any_false_verdict(border, 600, Seed(7));
        // Three standard errors of chance.
        assert!(share < 0.05 + 3.0 * (0.05_f64 * 0.95 / 600.0).sqrt(), "{share}");
    }

    #[test]
    fn a_word_is_false_where_the_truth_is_not_beyond_the_border() {
        assert!(is_false(1.03, Some(Verdict::Better)) && is_false(1.03, Some(Verdict::Same)));
        assert!(!is_false(1.1, Some(Verdict::Better)) && is_false(1.1, Some(Verdict::Same)));
        assert!(is_false(1.1, Some(Verdict::Worse)) && !is_false(1.0, Some(Verdict::Same)));
        assert!(!is_false(1.0, Some(Verdict::Unclear)) && !is_false(1.0, None));
    }
}
