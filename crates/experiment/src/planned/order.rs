//! The order of cells: repeat by repeat, the variants of each repeat in random order, so that neither drift nor a periodic disturbance
//! falls on one of them. The order of a sweep's points within a cell is random too, but the same for all variants of a repeat.

use units::Seed;

use plan::StagePlan;

/// Variant index and repeat (from 1) of every cell in the order of running ([`stats::draw_orders`]).
pub fn draw_order(variants: usize, repeats: u32, seed: Seed) -> Vec<(usize, u32)> {
    let orders =
        stats::draw_orders(variants, repeats as usize, &mut seed.derive("orders").generator());
    let cells = |(repeat, order): (u32, Vec<usize>)| order.into_iter().map(move |v| (v, repeat));
    (1..=repeats).zip(orders).flat_map(cells).collect()
}

/// Shuffles items by the algorithm of Fisher and Yates.
fn shuffle<T>(items: &mut [T], seed: Seed) {
    let mut random = seed.generator();
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
}

/// Brings the points of each sweep into a random order that follows from `seed`.
pub(crate) fn sweeps(stages: &mut [StagePlan], seed: Seed) {
    let name = |stage: &StagePlan| stage.sweep.as_ref().map(|sweep| sweep.stage.clone());
    for points in stages.chunk_by_mut(|a, b| a.sweep.is_some() && name(a) == name(b)) {
        let Some(stage) = points.first().and_then(name) else { continue };
        // Changes before the stage are made before its first point, whichever that is now.
        let before = points.first_mut().map(|first| std::mem::take(&mut first.before));
        shuffle(points, seed.derive(&format!("sweep {stage}")));
        if let (Some(first), Some(before)) = (points.first_mut(), before) {
            first.before = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use units::Seed;

    use super::draw_order;

    #[test]
    fn every_order_of_a_repeat_is_as_likely() {
        let mut counts = BTreeMap::<Vec<usize>, u32>::new();
        for seed in 0..200 {
            for block in draw_order(3, 30, Seed(seed)).chunks(3) {
                *counts.entry(block.iter().map(|(variant, _)| *variant).collect()).or_default() +=
                    1;
            }
        }
        // 1000 of each are expected; five standard deviations are 144.
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|n| (856..1144).contains(n)), "{counts:?}");
    }

    #[test]
    fn the_order_of_one_repeat_says_nothing_about_the_next() {
        let first = |order: &[(usize, u32)]| order.chunks(2).map(|b| b[0].0).collect::<Vec<_>>();
        let firsts = first(&draw_order(2, 4_000, Seed(7)));
        for lag in [1, 2, 4] {
            let equal = firsts.windows(lag + 1).filter(|w| w[0] == w[lag]).count();
            assert!((1_850..2_150).contains(&equal), "{lag}: {equal}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_order_and_more_repeats_change_none() {
        assert_eq!(draw_order(3, 5, Seed(1)), draw_order(3, 5, Seed(1)));
        assert_eq!(draw_order(3, 5, Seed(1)), draw_order(3, 9, Seed(1))[..15]);
        assert_ne!(draw_order(3, 5, Seed(1)), draw_order(3, 5, Seed(2)));
    }

    #[test]
    fn every_variant_runs_once_in_every_repeat_and_repeats_follow_each_other() {
        let mut order = draw_order(3, 5, Seed(3));
        assert!(order.is_sorted_by_key(|(_, repeat)| *repeat));
        order.sort_unstable();
        order.dedup();
        assert_eq!(order.len(), 15);
    }
}
