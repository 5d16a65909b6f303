//! Holm's correction for several tests at once.

/// The p-values adjusted after Holm (1979), in the order given.
///
/// An adjusted value below 0.05 keeps the chance of even one false claim among all of them below
/// 5 %, however the tests depend on each other. A NaN is not a test: it stays NaN and is not
/// counted.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).filter(|&i| !p[i].is_nan()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = p.to_vec();
    let mut floor: f64 = 0.0;
    for (rank, &i) in order.iter().enumerate() {
        floor = floor.max(p[i] * (order.len() - rank) as f64).min(1.0);
        adjusted[i] = floor;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::holm;
    use proptest::prelude::*;

    #[test]
    fn the_textbook_example_comes_out() {
        // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (got, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - expected).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn what_was_not_tested_does_not_count() {
        let adjusted = holm(&[0.02, f64::NAN]);
        assert_eq!(adjusted[0], 0.02);
        assert!(adjusted[1].is_nan());
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn adjusting_keeps_the_order_and_never_lowers(p in prop::collection::vec(0.0..=1.0f64, 1..12)) {
            let adjusted = holm(&p);
            for i in 0..p.len() {
                prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
