//! Quantiles of a sorted sample.

/// The quantile `q` (0 to 1) of an ascending sample, in the unit of the sample.
///
/// Type 7 of Hyndman and Fan (1996), the default of R and NumPy: linear between the order
/// statistics at `(n - 1) q`. `None` for an empty sample and for a `q` outside 0 to 1.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    if sorted.is_empty() || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let at = (sorted.len() - 1) as f64 * q;
    let below = sorted[at.floor() as usize];
    let above = sorted[at.ceil() as usize];
    // Equal neighbours stay exact, infinite ones too.
    Some(if below == above { below } else { below + (above - below) * at.fract() })
}

/// The finite values in ascending order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    finite.sort_by(f64::total_cmp);
    finite
}

/// The median of an ascending sample that is not empty.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        sorted[middle - 1] + (sorted[middle] - sorted[middle - 1]) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::{median, quantile, sorted};

    #[test]
    fn quantiles_equal_those_of_numpy() {
        // numpy.quantile([1, 2, 4, 8, 16, 32], [0, .1, .25, .5, .9, .99, 1])
        let sample = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        for (q, expected) in [
            (0.0, 1.0),
            (0.1, 1.5),
            (0.25, 2.5),
            (0.5, 6.0),
            (0.9, 24.0),
            (0.99, 31.2),
            (1.0, 32.0),
        ] {
            let got = quantile(&sample, q).unwrap();
            assert!((got - expected).abs() < 1e-12, "{q}: {got}");
        }
    }

    #[test]
    fn there_is_no_quantile_of_nothing_and_none_beyond_the_ends() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[1.0], 1.1), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
        assert_eq!(quantile(&[7.0], 0.3), Some(7.0));
    }

    #[test]
    fn what_is_not_finite_is_left_out_and_the_median_is_the_quantile_at_one_half() {
        let clean = sorted(&[3.0, f64::NAN, 1.0, f64::INFINITY, 2.0, 10.0]);
        assert_eq!(clean, [1.0, 2.0, 3.0, 10.0]);
        assert_eq!(Some(median(&clean)), quantile(&clean, 0.5));
        assert_eq!(median(&clean[..3]), 2.0);
    }
}
