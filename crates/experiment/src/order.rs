//! The order of cells: repeats interleaved A B B A, so that drift of the machine hits all variants alike.

/// Variant index and repeat (from 1) of every cell in the order of running.
pub fn interleaved(variants: usize, repeats: u32) -> Vec<(usize, u32)> {
    (1..=repeats)
        .flat_map(|repeat| {
            let forward = repeat % 2 == 1;
            (0..variants).map(move |i| (if forward { i } else { variants - 1 - i }, repeat))
        })
        .collect()
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
