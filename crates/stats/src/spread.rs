//! The spread of the figures of a run's intervals, in the form of the tables of the thesis that Fathom began with.

use serde::{Deserialize, Serialize};

use crate::quantile::{Sorted, median, quantile};

/// Median, quartiles, extremes, mean and standard deviation of a sample, in the sample's unit.
///
/// It describes one run. Neighbouring intervals of a run depend on each other, so `n` is not a
/// number of independent values; [`crate::effective_sample_size`] estimates that.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of finite values.
    pub n: usize,
    /// The median.
    pub median: f64,
    /// The lower quartile (type 7, see [`crate::quantile()`]).
    pub q1: f64,
    /// The upper quartile.
    pub q3: f64,
    /// The smallest value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample standard deviation (divisor n - 1); `None` for a single value, which has none.
    pub std_dev: Option<f64>,
}

/// The spread of the finite `values`; `None` when there are none.
pub fn spread(values: &[f64]) -> Option<Spread> {
    let sorted = Sorted::from(values);
    let n = sorted.len();
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let mean = mean(&sorted);
    let squares: f64 = sorted.iter().map(|v| (v - mean).powi(2)).sum();
    Some(Spread {
        n,
        median: median(&sorted),
        q1: quantile(&sorted, 0.25)?,
        q3: quantile(&sorted, 0.75)?,
        min,
        max,
        mean,
        std_dev: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()),
    })
}

/// The mean, taken from the first value on: equal values give exactly that value.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let origin = values.first().copied().unwrap_or(0.0);
    origin + values.iter().map(|v| v - origin).sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn the_table_equals_that_of_numpy() {
        // x = [512.3, 498.1, 530.7, 120.0, 515.5, 522.9, 509.4]; numpy median, quantile, mean,
        // std(ddof=1)
        let s = spread(&[512.3, 498.1, 530.7, 120.0, 515.5, 522.9, 509.4]).unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        assert_eq!((s.n, s.min, s.max), (7, 120.0, 530.7));
        close(s.median, 512.3);
        close(s.q1, 503.75);
        close(s.q3, 519.2);
        close(s.mean, 458.414_285_714_285_7);
        close(s.std_dev.unwrap(), 149.579_860_816_571_03);
    }

    #[test]
    fn one_value_has_no_standard_deviation_and_none_has_no_table() {
        assert_eq!(spread(&[4.0]).unwrap().std_dev, None);
        assert_eq!(spread(&[f64::NAN]), None);
        assert_eq!(spread(&[0.1; 9]).unwrap().std_dev, Some(0.0));
        let json = serde_json::to_value(spread(&[4.0])).unwrap();
        assert!(json["std_dev"].is_null());
    }
}
