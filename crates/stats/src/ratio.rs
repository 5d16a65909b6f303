//! The ratio of two small effects that noise may make negative.

use crate::quantile::{Sorted, median};
use crate::{Figure, bootstrap};

/// Median of `new` over median of `base` with its 95 % confidence interval, without a test; values may be negative. There is no ratio where
/// either side is empty or the base's median is not above zero.
///
/// The interval is the percentile bootstrap of that ratio (both sides are drawn anew, independently; see [`crate::figure()`]). A
/// median of ratios taken pair by pair would rest on pairs whose base is near zero by chance; this does not.
pub fn ratio_of_medians(base: &[f64], new: &[f64]) -> Figure {
    let (base, new) = (Sorted::from(base), Sorted::from(new));
    let n = base.len().min(new.len());
    let none = Figure { median: None, low: None, high: None, n };
    if n == 0 || median(&base) <= 0.0 {
        return none;
    }
    let ratio = Some(median(&new) / median(&base));
    if n < 2 {
        return Figure { median: ratio, ..none };
    }
    let bounds = bootstrap::bounds(resampled(&base, &new));
    let bounds = bounds.filter(|b| b.0.is_finite() && b.1.is_finite());
    Figure { median: ratio, low: bounds.map(|b| b.0), high: bounds.map(|b| b.1), n }
}

/// New over base, of the medians of resamples of two ascending samples: both sides are drawn anew, independently.
fn resampled(base: &Sorted, new: &Sorted) -> Vec<f64> {
    let news = bootstrap::medians(new, "new").into_iter();
    // Zero over zero is no ratio.
    let both = |(new, base): &(f64, f64)| *new != 0.0 || *base != 0.0;
    let pairs = news.zip(bootstrap::medians(base, "base")).filter(both);
    pairs.map(|(new, base)| new / base).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_below_zero_is_a_value_like_others_and_a_base_of_nothing_gives_no_ratio() {
        let ratio = ratio_of_medians(&[4.0, 5.0, 6.0, 5.0, 4.5], &[-1.0, 0.5, 1.0, 2.0, 0.8]);
        assert_eq!(ratio.median, Some(0.8 / 5.0));
        assert!(ratio.low.unwrap() < 0.0 && ratio.high.unwrap() > 0.2);
        for base in [&[][..], &[0.0, 0.0], &[-3.0, -1.0]] {
            assert_eq!(ratio_of_medians(base, &[1.0, 2.0]).median, None);
        }
        assert_eq!(ratio_of_medians(&[2.0], &[1.0]).interval(), None);
    }
}
