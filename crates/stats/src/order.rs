//! The order of the variants within each repeat: drawn at random, and drawn again where it is too regular.

use units::SplitMix64;

use crate::LOOKS;

/// Least number of times that the rarer of the two orders of a pair must occur by each of [`LOOKS`]; the same holds for the rarer of "the same
/// order as in the repeat before" and "the opposite order" (restricted randomisation; Bailey 1987).
const RARER: [usize; LOOKS.len()] = [1, 2, 3, 4, 6];

/// Most attempts to draw the repeats between two looks; then the last one is taken, as with very many variants none may fulfil the rule.
const DRAWS: usize = 1_000;

/// Draws the order of the variants (by index) in each repeat; a longer run begins with the same orders as a shorter one.
///
/// With a free draw five repeats of two variants have the same order in 2 of 32 cases, and strictly alternate in 2 more: a machine that favours
/// the second cell of a repeat, or every other cell, would then pass for a difference. So by each look, for each variant and the first one, both
/// orders must have occurred often enough, and so must changes of the order from repeat to repeat. Beyond the last look orders are drawn freely.
pub fn draw_orders(variants: usize, repeats: usize, random: &mut SplitMix64) -> Vec<Vec<usize>> {
    let mut orders: Vec<Vec<usize>> = Vec::new();
    for (look, rarer) in LOOKS.into_iter().zip(RARER) {
        let begun = orders.len();
        for _ in 0..DRAWS {
            orders.truncate(begun);
            orders.extend((begun..look as usize).map(|_| shuffled(variants, random)));
            if is_mixed(&orders, variants, rarer) {
                break;
            }
        }
    }
    while orders.len() < repeats {
        orders.push(shuffled(variants, random));
    }
    orders.truncate(repeats);
    orders
}

/// Tells whether each variant ran before and after the first one, and changed its order and kept it, at least `rarer` times each.
fn is_mixed(orders: &[Vec<usize>], variants: usize, rarer: usize) -> bool {
    let rare = |times: usize, of: usize| times.min(of - times);
    (1..variants).all(|other| {
        let behind =
            |order: &Vec<usize>| order.iter().find(|v| **v == 0 || **v == other) == Some(&0);
        let sides: Vec<bool> = orders.iter().map(behind).collect();
        let changes = sides.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let behind = sides.iter().filter(|behind| **behind).count();
        rare(behind, sides.len()) >= rarer && rare(changes, sides.len() - 1) >= rarer
    })
}

/// Returns the variants shuffled (Fisher and Yates).
fn shuffled(variants: usize, random: &mut SplitMix64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..variants).collect();
    for last in (1..variants).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use units::Seed;

    use super::*;

    fn drawn(variants: usize, repeats: usize, seed: u64) -> Vec<Vec<usize>> {
        draw_orders(variants, repeats, &mut Seed(seed).generator())
    }

    #[test]
    fn five_repeats_have_neither_one_order_nor_strictly_alternating_ones_and_all_others_are_as_likely()
     {
        let mut counts = BTreeMap::<Vec<usize>, u32>::new();
        for seed in 0..28_000 {
            let firsts: Vec<_> = drawn(2, 5, seed).iter().map(|order| order[0]).collect();
            *counts.entry(firsts).or_default() += 1;
        }
        assert_eq!(counts.len(), 28);
        assert!(counts.values().all(|n| (850..1150).contains(n)), "{counts:?}");
    }

    #[test]
    fn at_each_look_every_variant_has_been_on_both_sides_of_the_first_and_has_changed_and_kept_them()
     {
        for (seed, variants) in (0..200).zip([2, 3, 5].into_iter().cycle()) {
            let orders = drawn(variants, 27, seed);
            for (look, rarer) in LOOKS.into_iter().zip(RARER) {
                assert!(is_mixed(&orders[..look as usize], variants, rarer), "{orders:?}");
            }
        }
    }

    #[test]
    fn more_repeats_change_none_and_many_variants_end_too() {
        assert_eq!(drawn(3, 5, 1), drawn(3, 40, 1)[..5]);
        assert_eq!(drawn(105, 5, 1).len(), 5);
        assert_eq!(drawn(1, 30, 1), vec![vec![0]; 30]);
    }
}
