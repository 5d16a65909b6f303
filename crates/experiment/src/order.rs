//! The order of cells: repeats interleaved A B B A, so that drift of the machine hits all variants alike. The order of a sweep's
//! points within a cell is drawn, equally for all variants of a repeat.

use units::Seed;

use crate::plan::StagePlan;

/// Variant index and repeat (from 1) of every cell in the order of running.
pub fn interleaved(variants: usize, repeats: u32) -> Vec<(usize, u32)> {
    (1..=repeats)
        .flat_map(|repeat| {
            let forward = repeat % 2 == 1;
            (0..variants).map(move |i| (if forward { i } else { variants - 1 - i }, repeat))
        })
        .collect()
}

/// Brings the points of each sweep into the order that `seed` draws (Fisher and Yates).
pub(crate) fn sweeps(stages: &mut [StagePlan], seed: Seed) {
    let name = |stage: &StagePlan| stage.sweep.as_ref().map(|sweep| sweep.stage.clone());
    for points in stages.chunk_by_mut(|a, b| a.sweep.is_some() && name(a) == name(b)) {
        let Some(stage) = points.first().and_then(name) else { continue };
        // What changes before the stage changes before its first point, whichever that is.
        let before = points.first_mut().map(|first| std::mem::take(&mut first.before));
        let mut random = seed.derive(&format!("sweep {stage}")).generator();
        for last in (1..points.len()).rev() {
            let other = random.below(last as u64 + 1) as usize;
            points.swap(last, other);
        }
        if let (Some(first), Some(before)) = (points.first_mut(), before) {
            first.before = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::interleaved;

    #[test]
    fn two_variants_run_a_b_b_a() {
        assert_eq!(interleaved(2, 3), [(0, 1), (1, 1), (1, 2), (0, 2), (0, 3), (1, 3)]);
    }

    #[test]
    fn every_variant_runs_once_in_every_repeat() {
        let mut order = interleaved(3, 5);
        order.sort_unstable();
        order.dedup();
        assert_eq!(order.len(), 15);
    }
}
