//! One correction over all claims of an experiment: its comparisons, and the effects of its factors.

use units::Better;

use crate::comparison::{Comparison, ERROR, settle_all};
use crate::factorial::{Effects, settle_effects};
use crate::holm;
use crate::sequential::LOOK_ERROR;

/// Gives the verdicts on `comparisons` and on `effects`, all that one experiment asks about, each with the direction that is good in it.
///
/// The p-values of all their claims are adjusted together after Holm (see [`crate::holm()`]): the chance of even one false verdict among all of them is
/// at most 5 %. Effects of a single block have no verdict and take no part.
pub fn judge_together(
    comparisons: &mut [(&mut Comparison, Better)],
    effects: &mut [(&mut Effects, Better)],
) {
    let enough = |all: &Effects| all.blocks > 1;
    let claims = effects.iter().flat_map(|(all, _)| {
        all.effects.iter().map(|effect| if enough(all) { effect.p } else { f64::NAN })
    });
    let p: Vec<f64> =
        comparisons.iter().map(|(c, _)| c.p.unwrap_or(f64::NAN)).chain(claims).collect();
    let adjusted = holm(&p);
    let (of_comparisons, of_effects) = adjusted.split_at(comparisons.len());
    let open = settle_effects(effects, of_effects);
    settle_all(comparisons, of_comparisons, open);
}

/// Number of claims that `effects` make. Those of a single block make none: its spread is unknown.
pub fn claims_of(effects: &[(&mut Effects, Better)]) -> usize {
    effects.iter().filter(|(all, _)| all.blocks > 1).map(|(all, _)| all.effects.len()).sum()
}

/// Gives the verdicts on `effects` of a run that was looked at while repeats came in, and ended when its comparisons were decided. They are judged at
/// the last look alone, with their part of its error: `claims` are theirs and those of the comparisons, one family, which has a false verdict in 5 %.
pub fn judge_after_looks(effects: &mut [(&mut Effects, Better)], claims: usize) {
    let share = LOOK_ERROR / claims.max(1) as f64;
    let adjusted: Vec<f64> = effects
        .iter()
        .flat_map(|(all, _)| {
            let enough = all.blocks > 1;
            all.effects.iter().map(move |of| if enough { of.p / share * ERROR } else { f64::NAN })
        })
        .map(|p| if p.is_finite() { p.min(1.0) } else { p })
        .collect();
    settle_effects(effects, &adjusted);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factorial::{self, Factor, Trial};
    use crate::{Verdict, compare, judge};
    use units::Test;

    const TWO: Factor = Factor { levels: 2, ordered: false };

    /// The effects of three factors, none of which matters, from so many blocks with the same spread.
    fn none(blocks: u32) -> Effects {
        let trials = (0..blocks).flat_map(|block| {
            (0..8).map(move |run| Trial {
                block,
                levels: vec![run / 4, run / 2 % 2, run % 2],
                value: 100.0 + ((block as usize * 7 + run * 5) % 11) as f64,
            })
        });
        factorial::effects(&[TWO; 3], &trials.collect::<Vec<_>>(), 0.03).unwrap()
    }

    #[test]
    fn comparisons_and_effects_share_one_correction() {
        let pairs: Vec<_> = (0..5).map(|i| (100.0 + f64::from(i), 200.0 + f64::from(i))).collect();
        let mut ranked: Vec<_> =
            (0..6).map(|_| compare(&pairs, Test::Ranked, Some(0.03))).collect();
        let mut six: Vec<_> = ranked.iter_mut().map(|c| (c, Better::Higher)).collect();
        judge(&mut six);
        assert!(six.iter().all(|(c, _)| c.verdict == Some(Verdict::Better)), "alone they are");
        let mut effects = none(5);
        judge_together(&mut six, &mut [(&mut effects, Better::Higher)]);
        assert!(six.iter().all(|(c, _)| c.verdict == Some(Verdict::Unclear)), "twelve claims");
        assert!((six[0].0.p_adjusted.unwrap() - 24.0 / 252.0).abs() < 1e-12, "{:?}", six[0]);
        assert!(effects.effects.iter().all(|effect| effect.verdict == Verdict::Unclear));
    }

    #[test]
    fn effects_after_looks_have_their_part_of_the_error_of_a_look() {
        let mut effects = none(5);
        let p = effects.effects[0].p;
        let mut family = [(&mut effects, Better::Higher)];
        let claims = claims_of(&family) + 7;
        assert_eq!(claims, 13, "three effects, three of two factors each, seven comparisons");
        judge_after_looks(&mut family, claims);
        let adjusted = effects.effects[0].p_adjusted.unwrap();
        assert!((adjusted - (p * 13.0 * 0.05 / 0.0135).min(1.0)).abs() < 1e-12, "{adjusted}");
        let mut one = none(1);
        let mut family = [(&mut one, Better::Higher)];
        assert_eq!(claims_of(&family), 0);
        judge_after_looks(&mut family, 7);
        assert!(one.effects.iter().all(|effect| effect.p_adjusted.is_none()));
    }

    #[test]
    fn effects_of_a_single_block_take_nothing_from_comparisons() {
        let pairs: Vec<_> = (0..5).map(|i| (100.0 + f64::from(i), 200.0 + f64::from(i))).collect();
        let mut one = compare(&pairs, Test::Ranked, Some(0.03));
        let mut effects = none(1);
        judge_together(&mut [(&mut one, Better::Higher)], &mut [(&mut effects, Better::Higher)]);
        assert!((one.p_adjusted.unwrap() - 2.0 / 252.0).abs() < 1e-12, "{one:?}");
        assert!(effects.effects.iter().all(|effect| effect.p_adjusted.is_none()));
    }
}
