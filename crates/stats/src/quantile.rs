//! Quantiles of a sorted sample.

use std::ops::Deref;

/// Values in ascending order, a sample from which quantiles can be taken. It cannot be made from values without sorting them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sorted(Vec<f64>);

impl Sorted {
    /// Sorts all of `values`, infinite ones included; none may be NaN.
    pub(crate) fn with_infinite(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// The median; `None` for an empty sample.
    pub fn median(&self) -> Option<f64> {
        quantile(self, 0.5)
    }
}

impl FromIterator<f64> for Sorted {
    /// The finite values.
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self::with_infinite(values.into_iter().filter(|v| v.is_finite()).collect())
    }
}

impl From<&[f64]> for Sorted {
    fn from(values: &[f64]) -> Self {
        values.iter().copied().collect()
    }
}

impl Deref for Sorted {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

/// The quantile `q` (0 to 1) of a sample, in the unit of the sample.
///
/// Type 7 of Hyndman and Fan (1996), the default of R and NumPy: linear between the order
/// statistics at `(n - 1) q`. `None` for an empty sample and for a `q` outside 0 to 1.
pub fn quantile(sorted: &Sorted, q: f64) -> Option<f64> {
    if sorted.is_empty() || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let at = (sorted.len() - 1) as f64 * q;
    let below = sorted[at.floor() as usize];
    let above = sorted[at.ceil() as usize];
    // Equal neighbours give exactly their value, infinite ones too.
    Some(if below == above { below } else { below + (above - below) * at.fract() })
}

/// The median of an ascending sample that is not empty: for resamples, which are sorted in place ten thousand times.
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
    use super::{Sorted, median, quantile};

    #[test]
    fn quantiles_equal_those_of_numpy() {
        // numpy.quantile([1, 2, 4, 8, 16, 32], [0, .1, .25, .5, .9, .99, 1])
        let sample = Sorted::from(&[8.0, 1.0, 32.0, 2.0, 16.0, 4.0][..]);
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
        let one = Sorted::from(&[7.0][..]);
        assert_eq!(quantile(&Sorted::default(), 0.5), None);
        assert_eq!(quantile(&one, 1.1), None);
        assert_eq!(quantile(&one, f64::NAN), None);
        assert_eq!(quantile(&one, 0.3), Some(7.0));
    }

    #[test]
    fn what_is_not_finite_is_left_out_and_the_median_is_the_quantile_at_one_half() {
        let clean = Sorted::from(&[3.0, f64::NAN, 1.0, f64::INFINITY, 2.0, 10.0][..]);
        assert_eq!(clean[..], [1.0, 2.0, 3.0, 10.0]);
        assert_eq!(Some(median(&clean)), quantile(&clean, 0.5));
        assert_eq!(clean.median(), Some(2.5));
        assert_eq!(median(&clean[..3]), 2.0);
    }
}
