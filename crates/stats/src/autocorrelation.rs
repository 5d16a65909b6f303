//! The number of independent values that a series within one run is worth.

use crate::spread::mean;

/// The effective sample size of a time series: between 1 and the number of its finite values.
///
/// `n / (1 + 2 Σ ρ_k)` over the autocorrelations `ρ_k`, summed in pairs for as long as the sums
/// are positive and do not grow (the initial monotone sequence of Geyer, 1992). A series that swings to
/// and fro would give more than `n`; it is held at `n`. A constant series has nothing to correct
/// and gives `n`; an empty one gives 0. Values that are not finite are left out and their
/// neighbours closed up.
pub fn effective_sample_size(values: &[f64]) -> f64 {
    let series: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let n = series.len();
    let centre = mean(&series);
    let from_mean: Vec<f64> = series.iter().map(|v| v - centre).collect();
    let at_lag =
        |k: usize| -> f64 { from_mean.iter().zip(&from_mean[k..]).map(|(a, b)| a * b).sum() };
    let variance = if n == 0 { 0.0 } else { at_lag(0) };
    if variance <= 0.0 {
        return n as f64;
    }
    // Pairs (ρ_0 + ρ_1), (ρ_2 + ρ_3), ...; for a reversible process they fall and stay positive.
    let (mut sum, mut last) = (0.0, f64::INFINITY);
    for k in (0..n.saturating_sub(1)).step_by(2) {
        let pair = ((at_lag(k) + at_lag(k + 1)) / variance).min(last);
        if pair <= 0.0 {
            break;
        }
        sum += pair;
        last = pair;
    }
    (n as f64 / (2.0 * sum - 1.0).max(1.0)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::effective_sample_size;
    use units::Seed;

    /// A first-order autoregressive series with uniform noise.
    fn series(n: usize, carry: f64, seed: u64) -> Vec<f64> {
        let mut rng = Seed(seed).generator();
        let mut level = 0.0;
        (0..n + 200)
            .map(|_| {
                level = carry * level + rng.unit() - 0.5;
                level
            })
            .skip(200)
            .collect()
    }

    #[test]
    fn a_carry_of_phi_leaves_one_minus_phi_over_one_plus_phi() {
        for (carry, share) in [(0.0, 1.0), (0.5, 1.0 / 3.0), (0.8, 1.0 / 9.0)] {
            let n = 2000;
            let mean = (0..40)
                .map(|seed| effective_sample_size(&series(n, carry, seed)) / n as f64)
                .sum::<f64>()
                / 40.0;
            assert!((mean / share - 1.0).abs() < 0.15, "carry {carry}: {mean} for {share}");
        }
    }

    #[test]
    fn a_trend_is_worth_little_and_a_swing_no_more_than_its_length() {
        let trend: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(effective_sample_size(&trend) < 5.0);
        let swing: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert_eq!(effective_sample_size(&swing), 100.0);
    }

    #[test]
    fn short_and_constant_series_are_taken_as_they_are() {
        assert_eq!(effective_sample_size(&[]), 0.0);
        assert_eq!(effective_sample_size(&[3.0]), 1.0);
        assert_eq!(effective_sample_size(&[0.1; 30]), 30.0);
        assert_eq!(effective_sample_size(&[f64::NAN, 2.0]), 1.0);
    }
}
