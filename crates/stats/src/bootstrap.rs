//! Resampled medians: values that the median could as well have had.

use units::{Seed, SplitMix64};

use crate::quantile::{Sorted, median, quantile};

/// Number of resamples that are drawn from a sample.
pub(crate) const RESAMPLES: usize = 10_000;

/// From this many values on the resamples are smoothed.
///
/// The median of a resample can only be one of the observed values, or between two of them. With
/// seven values the plain interval therefore leaves the outermost ones out and covers 88 %
/// instead of 95 %; noise of the size of the standard error (Hesterberg 2015, section 4.1.2) corrects that.
/// Up to five values the plain interval is already the whole range of the sample, the widest
/// interval there can be within it.
const SMOOTHED_FROM: usize = 6;

/// The medians of resamples of an ascending sample that is not empty, seeded by the sample itself.
///
/// Different values of `part` give equal samples different random streams. Smoothed medians are clamped
/// to the range of the sample, so that no bound lies beyond all measured values.
pub(crate) fn medians(sorted: &Sorted, part: &str) -> Vec<f64> {
    draw_medians(sorted, part, RESAMPLES)
}

fn draw_medians(sorted: &Sorted, part: &str, resamples: usize) -> Vec<f64> {
    let n = sorted.len();
    let mut rng = seed(sorted).derive(part).generator();
    let noise = if n < SMOOTHED_FROM { 0.0 } else { standard_error(sorted) };
    let mut resample = vec![0.0; n];
    (0..resamples)
        .map(|_| {
            for slot in &mut resample {
                *slot = sorted[rng.below(n as u64) as usize];
                if noise > 0.0 {
                    *slot += noise * standard_normal(&mut rng);
                }
            }
            resample.sort_by(f64::total_cmp);
            median(&resample).clamp(sorted[0], sorted[n - 1])
        })
        .collect()
}

/// The bounds that leave out 2.5 % of the resampled figures at either end.
pub(crate) fn bounds(resampled: Vec<f64>) -> Option<(f64, f64)> {
    let resampled = Sorted::with_infinite(resampled);
    Some((quantile(&resampled, 0.025)?, quantile(&resampled, 0.975)?))
}

/// A seed from the values: equal for equal samples, whatever their order.
fn seed(sorted: &[f64]) -> Seed {
    // Adding zero turns -0.0 into 0.0.
    sorted.iter().fold(Seed(sorted.len() as u64), |seed, v| {
        Seed(Seed(seed.0 ^ (v + 0.0).to_bits()).generator().next_u64())
    })
}

/// The standard deviation over the root of n; 0 for a single value.
fn standard_error(sorted: &[f64]) -> f64 {
    let std_dev = crate::spread(sorted).and_then(|s| s.std_dev).unwrap_or(0.0);
    std_dev / (sorted.len() as f64).sqrt()
}

/// A standard normal deviate (Box and Muller 1958).
pub(crate) fn standard_normal(rng: &mut SplitMix64) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}

#[cfg(test)]
mod tests {
    use super::{Sorted, bounds, draw_medians, medians, standard_normal};
    use crate::simulation::Sample;
    use units::Seed;

    #[test]
    fn resampled_medians_are_as_frequent_as_theory_says() {
        // P(median* <= x(k)) = P(Bin(5, k/5) >= 3): scipy.stats.binom.sf(2, 5, [.2, .4, .6, .8])
        let sample = Sorted::from(&[1.0, 2.0, 3.0, 4.0, 5.0][..]);
        let medians = medians(&sample, "test");
        for (k, expected) in [(1.0, 0.05792), (2.0, 0.31744), (3.0, 0.68256), (4.0, 0.94208)] {
            let share = medians.iter().filter(|m| **m <= k).count() as f64 / medians.len() as f64;
            assert!((share - expected).abs() < 0.015, "{k}: {share}");
        }
    }

    #[test]
    fn streams_of_two_parts_are_unrelated_though_the_sample_is_the_same() {
        let sample = Sorted::from(&[1.0, 2.0, 3.0, 4.0, 5.0][..]);
        assert_ne!(medians(&sample, "base"), medians(&sample, "new"));
        assert_eq!(medians(&sample, "base"), medians(&sample, "base"));
    }

    #[test]
    fn bounds_leave_out_one_fortieth_at_either_end() {
        let (low, high) = bounds((0..=1000).map(f64::from).collect()).unwrap();
        assert_eq!((low, high), (25.0, 975.0));
        assert_eq!(bounds(vec![]), None);
    }

    #[test]
    fn normal_deviates_have_mean_zero_and_variance_one() {
        let mut rng = Seed(3).generator();
        let draws: Vec<f64> = (0..100_000).map(|_| standard_normal(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|d| d * d).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.015 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        let beyond = draws.iter().filter(|d| d.abs() > 1.96).count();
        assert!((4_600..5_400).contains(&beyond), "{beyond}");
    }

    /// Returns how often the interval of the ratio covers the truth, in `trials` experiments with `n` repeats a side.
    fn coverage(n: usize, trials: u64, sample: Sample) -> f64 {
        let mut covered = 0.0;
        for trial in 0..trials {
            let mut rng = Seed(trial).derive("coverage").generator();
            let mut side = || (0..n).map(|_| sample.draw(&mut rng)).collect::<Sorted>();
            let (base, new) = (side(), side());
            let of_base = draw_medians(&base, "base", 1000);
            let of_new = draw_medians(&new, "new", 1000);
            let ratios = of_new.iter().zip(&of_base).map(|(n, b)| n / b).collect();
            let (low, high) = bounds(ratios).unwrap();
            covered += f64::from(low <= 1.0 && 1.0 <= high);
        }
        covered / trials as f64
    }

    #[test]
    fn intervals_of_ratios_cover_the_truth_about_as_often_as_they_claim() {
        for n in [3, 4, 5, 7, 10] {
            for sample in [Sample::Normal, Sample::Skewed, Sample::Slow] {
                let name = sample.name();
                let ratio = coverage(n, 300, sample);
                println!("{n:2} repeats, {name}: ratio {:.1} %", 100.0 * ratio);
                // No interval within the sample covers more often than its range does.
                let most = 1.0 - 2.0 * 0.5_f64.powi(n as i32);
                let ratio_claim = if n < 5 { most - 0.03 } else { 0.93 };
                assert!(ratio >= ratio_claim, "{n} {name}: {ratio}");
            }
        }
    }
}
