//! One figure of one variant: the median over its repeats, with an interval.

use serde::{Deserialize, Serialize};

use crate::quantile::{Sorted, median};

/// With fewer values than this the interval is called their range, not a 95 % interval: the range of two, three and four values
/// holds the true median in at most 50, 75 and 88 of 100 cases.
pub const RANGE_BELOW: usize = 5;

/// A 95 % confidence interval, both bounds included, in the unit of the figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Interval {
    /// Tells whether `value` lies within the bounds.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The median over repeats with its 95 % confidence interval, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The median; `None` without values.
    pub median: Option<f64>,
    /// The interval's lower bound; `None` with fewer than two values.
    pub low: Option<f64>,
    /// The interval's upper bound; `None` with fewer than two values.
    pub high: Option<f64>,
    /// Number of finite values: one per repeat.
    pub n: usize,
}

impl Figure {
    /// The interval, where there is one.
    pub fn interval(&self) -> Option<Interval> {
        Some(Interval { low: self.low?, high: self.high? })
    }
}

/// The median of the finite `values` and its 95 % interval.
///
/// From six values on, the interval is interpolated between order statistics (Hettmansperger and Sheather 1986); with fewer it is the range of
/// the values, the widest interval there can be within them. How often it covers the true median was measured, and is listed in `docs/method.md`:
/// at least 95 % from six values on, whatever their distribution; at most 94 %, 88 %, 75 % and 50 % with five, four, three and two.
pub fn figure(values: &[f64]) -> Figure {
    let sorted = Sorted::from(values);
    let n = sorted.len();
    if n == 0 {
        return Figure { median: None, low: None, high: None, n };
    }
    let bounds = median_bounds(&sorted);
    Figure { median: Some(median(&sorted)), low: bounds.map(|b| b.0), high: bounds.map(|b| b.1), n }
}

/// The confidence of an interval, as a share.
const LEVEL: f64 = 0.95;

/// Returns the bounds of the median's interval; `None` with fewer than two values.
fn median_bounds(sorted: &Sorted) -> Option<(f64, f64)> {
    let n = sorted.len();
    if n < 2 {
        return None;
    }
    let Some((k, sure, narrower)) = ranks(n) else { return Some((sorted[0], sorted[n - 1])) };
    let part = (sure - LEVEL) / (sure - narrower);
    let share = (n - k) as f64 * part / (k as f64 + (n - 2 * k) as f64 * part);
    // Equal neighbours stay exact.
    let inward = |from: f64, to: f64| if from == to { from } else { from + share * (to - from) };
    Some((inward(sorted[k - 1], sorted[k]), inward(sorted[n - k], sorted[n - k - 1])))
}

/// Returns the largest k for which the interval from the k-th of n values to the k-th from the end reaches [`LEVEL`], its coverage, and that of
/// the next narrower one; `None` where not even the range reaches it.
///
/// The coverage is the chance that n throws of a coin give at least k and at most n - k heads.
fn ranks(n: usize) -> Option<(usize, f64, f64)> {
    let (mut k, mut sure) = (0, 1.0);
    // The logarithm of the chance of exactly k heads.
    let mut chance = -(n as f64) * std::f64::consts::LN_2;
    loop {
        let narrower = sure - 2.0 * chance.exp();
        if narrower < LEVEL {
            return (k > 0).then_some((k, sure, narrower));
        }
        chance += ((n - k) as f64 / (k + 1) as f64).ln();
        (k, sure) = (k + 1, narrower);
    }
}

#[cfg(test)]
mod tests {
    use super::{figure, ranks};
    use crate::simulation::Sample;
    use proptest::prelude::*;
    use units::Seed;

    #[test]
    fn ranks_are_as_sure_as_tables_of_the_binomial_say() {
        // 1 - 2 scipy.stats.binom.cdf(k - 1, n, 0.5)
        for (n, k, sure, narrower) in [
            (6, 1, 0.96875, 0.78125),
            (10, 2, 0.978_515_625, 0.890_625),
            (27, 8, 0.980_847, 0.947_761),
        ] {
            let found = ranks(n).unwrap();
            assert_eq!(found.0, k);
            assert!(
                (found.1 - sure).abs() < 1e-5 && (found.2 - narrower).abs() < 1e-5,
                "{found:?}"
            );
        }
        assert_eq!(ranks(5), None);
        assert!(ranks(5000).is_some_and(|(k, ..)| k > 2400));
        let ten = figure(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
        let part = (0.978_515_625 - 0.95) / (0.978_515_625 - 0.890_625);
        let share = 8.0 * part / (2.0 + 6.0 * part);
        assert!((ten.low.unwrap() - (2.0 + share)).abs() < 1e-9);
        assert!((ten.high.unwrap() - (9.0 - share)).abs() < 1e-9);
    }

    #[test]
    fn the_interval_covers_the_median_as_often_as_it_claims_whatever_the_runs_look_like() {
        for sample in Sample::ALL {
            for n in [2, 4, 5, 6, 8, 12, 20, 27] {
                let covered = sample.covered(n, 4_000, Seed(11));
                let claim = (1.0 - 2.0 * 0.5_f64.powi(n as i32)).min(0.95);
                assert!(covered > claim - 0.02, "{n} runs, {}: {covered}", sample.name());
            }
        }
    }

    #[test]
    fn no_data_is_null_and_one_run_has_no_interval() {
        let json = |values: &[f64]| serde_json::to_string(&figure(values)).unwrap();
        assert_eq!(json(&[]), r#"{"median":null,"low":null,"high":null,"n":0}"#);
        assert_eq!(json(&[f64::NAN]), json(&[]));
        assert_eq!(json(&[7.0]), r#"{"median":7.0,"low":null,"high":null,"n":1}"#);
    }

    #[test]
    fn up_to_five_runs_the_interval_is_their_whole_range() {
        let values = [512.0, 498.0, 530.0, 520.0, 515.0];
        for n in 2..=5 {
            let f = figure(&values[..n]);
            let range = f.interval().unwrap();
            assert_eq!(
                (range.low, range.high),
                (498.0, values[..n].iter().copied().fold(0.0, f64::max))
            );
        }
    }

    #[test]
    fn equal_values_leave_no_doubt() {
        for n in [2, 5, 12] {
            let f = figure(&vec![0.1; n]);
            assert_eq!((f.median, f.low, f.high), (Some(0.1), Some(0.1), Some(0.1)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_interval_holds_the_median_and_stays_within_the_values(
            values in prop::collection::vec(-1e6..1e6f64, 2..24),
        ) {
            let f = figure(&values);
            let interval = f.interval().unwrap();
            prop_assert!(interval.contains(f.median.unwrap()));
            prop_assert!(values.iter().any(|v| *v <= interval.low));
            prop_assert!(values.iter().any(|v| *v >= interval.high));
        }

        #[test]
        fn order_and_missing_values_change_nothing(values in prop::collection::vec(0.0..1e3f64, 1..12)) {
            let mut other = values.clone();
            other.reverse();
            other.push(f64::NAN);
            prop_assert_eq!(figure(&values), figure(&other));
        }
    }
}
