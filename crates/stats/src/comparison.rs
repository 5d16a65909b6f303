//! Two variants side by side in one metric.

use serde::{Deserialize, Serialize};
use units::Better;

use crate::quantile::{Sorted, median};
use crate::ratio::{divide, resampled};
use crate::verdict::{LEAST_REPEATS, Verdict, decide, zone};
use crate::{Interval, RANGE_BELOW, bootstrap, rank_test};

/// The least number of repeats a side that can decide six questions at once (2 / 252 x 6 < 0.05).
const REPEATS_FOR_SIX_QUESTIONS: f64 = 5.0;

/// More repeats than this nobody runs; the estimate is left out.
const MOST_REPEATS: f64 = 1000.0;

/// How the new variant's figure relates to the base's.
///
/// All ratios are new over base and have no unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Median of new over median of base; `None` where it has no meaning (a side without values,
    /// a negative value, a base of zero). Two medians of zero are equal: 1.
    pub ratio: Option<f64>,
    /// The lower bound of the ratio's 95 % interval; `None` with fewer than two repeats a side.
    pub low: Option<f64>,
    /// The upper bound; also `None` where resamples of the base are zero, so that it has no bound.
    pub high: Option<f64>,
    /// The two-sided p-value of the rank test, before any correction; `None` without values.
    pub p: Option<f64>,
    /// The verdict, set by [`Comparison::judge`]; `None` while none is given for the metric.
    pub verdict: Option<Verdict>,
    /// How many repeats of the base had a value.
    pub n_base: usize,
    /// How many repeats of the new variant had a value.
    pub n_new: usize,
    /// About how many repeats a side would decide; `None` when these do, when the spread is
    /// unknown (one repeat), and when no number up to 1000 would.
    pub repeats_that_would_decide: Option<u32>,
    /// What was computed, in words.
    pub method: String,
}

impl Comparison {
    /// The ratio's interval, where there is one; its upper bound may be infinite.
    pub fn interval(&self) -> Option<Interval> {
        Some(Interval { low: self.low?, high: self.high.unwrap_or(f64::INFINITY) })
    }

    /// Gives the verdict, by the p-value that stands after the correction for several metrics,
    /// and with it the number of repeats that would decide.
    pub fn judge(&mut self, adjusted_p: Option<f64>, better: Better, threshold: f64) {
        let verdict = decide(self, adjusted_p, better, threshold);
        self.verdict = Some(verdict);
        self.repeats_that_would_decide = self.repeats(verdict, threshold);
    }

    /// About how many repeats a side bring the interval to one side of the zone's border.
    ///
    /// Taken from the interval's width, which shrinks with the root of the number of repeats, at
    /// the ratio that was found (logarithms throughout).
    fn repeats(&self, verdict: Verdict, threshold: f64) -> Option<u32> {
        let (ratio, interval) = (self.ratio?.ln(), self.interval()?);
        if verdict != Verdict::Unclear {
            return None;
        }
        let (least, most) = zone(threshold);
        let (least, most) = (least.max(0.0).ln(), most.ln());
        let (down, up) = (ratio - interval.low.ln(), interval.high.ln() - ratio);
        // How much narrower the interval must become.
        let factor = if ratio > most {
            down / (ratio - most)
        } else if ratio < least {
            up / (least - ratio)
        } else {
            (down / (ratio - least)).max(up / (most - ratio))
        };
        let now = self.n_base.min(self.n_new) as f64;
        let repeats = (now * factor * factor).ceil().max(REPEATS_FOR_SIX_QUESTIONS).max(now + 1.0);
        (repeats <= MOST_REPEATS).then_some(repeats as u32)
    }
}

/// Compares the repeats of two variants in one metric.
///
/// * `ratio`: median of `new` over median of `base`, with the 95 % percentile bootstrap interval
///   of that ratio: both sides are drawn anew, independently, 10,000 times (see [`crate::figure()`]).
/// * `p`: the exact two-sided rank test (see [`rank_test`]).
/// * `verdict`: none yet; [`Comparison::judge`] gives it once p is corrected for all metrics asked about.
/// * `repeats_that_would_decide`: by the uncorrected p, until `judge` knows better.
///
/// Values that are not finite are dropped; `n_base` and `n_new` count the rest. `threshold` is
/// the share below which a difference does not matter.
pub fn compare(base: &[f64], new: &[f64], better: Better, threshold: f64) -> Comparison {
    let (base, new) = (Sorted::from(base), Sorted::from(new));
    let test = rank_test(&base, &new);
    let ratio = ratio_of_medians(&base, &new);
    let interval = ratio.and_then(|_| interval(&base, &new));
    let mut comparison = Comparison {
        ratio,
        low: interval.map(|i| i.low),
        high: interval.map(|i| i.high).filter(|h| h.is_finite()),
        p: test.map(|t| t.p),
        verdict: None,
        n_base: base.len(),
        n_new: new.len(),
        repeats_that_would_decide: None,
        method: String::new(),
    };
    comparison.method = method(&comparison, test.is_some_and(|t| t.exact));
    let verdict = decide(&comparison, comparison.p, better, threshold);
    comparison.repeats_that_would_decide = comparison.repeats(verdict, threshold);
    comparison
}

/// New over base, where a ratio has a meaning.
fn ratio_of_medians(base: &Sorted, new: &Sorted) -> Option<f64> {
    // The first value is the least.
    if *base.first()? < 0.0 || *new.first()? < 0.0 {
        return None;
    }
    let ratio = divide(median(new), median(base));
    ratio.is_finite().then_some(ratio)
}

/// The percentile interval of the ratio over resamples of both sides.
fn interval(base: &Sorted, new: &Sorted) -> Option<Interval> {
    if base.len().min(new.len()) < 2 {
        return None;
    }
    let (low, high) = bootstrap::bounds(resampled(base, new))?;
    low.is_finite().then_some(Interval { low, high })
}

/// What was computed, in words, with the reason for what is missing.
fn method(comparison: &Comparison, exact: bool) -> String {
    let test = match (comparison.p, exact) {
        (None, _) => "no test: a side has no values",
        (_, true) => "exact two-sided Mann-Whitney test with middle ranks for ties",
        (_, false) => "two-sided Mann-Whitney test by its normal approximation",
    };
    let runs = comparison.n_base.min(comparison.n_new);
    let interval = match (comparison.p, comparison.ratio, comparison.low) {
        (None, ..) => String::new(),
        (_, None, _) => "; no ratio: the base is zero or a value is negative".to_owned(),
        (_, _, None) => "; ratio of medians, no interval: a side has one repeat".to_owned(),
        _ => {
            let name =
                if runs < RANGE_BELOW { "range" } else { "95 % percentile bootstrap interval" };
            format!("; ratio of medians with its {name} ({} resamples)", bootstrap::RESAMPLES)
        }
    };
    let note =
        if runs < LEAST_REPEATS { "; fewer than four repeats a side decide nothing" } else { "" };
    format!("{test}{interval}{note}")
}

#[cfg(test)]
mod tests {
    use super::{Comparison, compare};
    use crate::Verdict;
    use proptest::prelude::*;
    use units::Better;

    fn judged(base: &[f64], new: &[f64], better: Better) -> Comparison {
        let mut c = compare(base, new, better, 0.03);
        c.judge(c.p, better, 0.03);
        c
    }

    const BASE: [f64; 5] = [100.0, 101.0, 99.0, 100.5, 99.5];

    fn times(factor: f64) -> Vec<f64> {
        BASE.iter().map(|v| v * factor).collect()
    }

    #[test]
    fn a_clear_gain_is_better_and_a_clear_loss_worse() {
        let gain = judged(&BASE, &times(1.2), Better::Higher);
        assert_eq!(gain.verdict, Some(Verdict::Better));
        assert!((gain.ratio.unwrap() - 1.2).abs() < 1e-12);
        assert!((gain.p.unwrap() - 2.0 / 252.0).abs() < 1e-15);
        assert!(gain.interval().unwrap().contains(1.2));
        assert_eq!(gain.repeats_that_would_decide, None);
        assert_eq!(judged(&BASE, &times(1.2), Better::Lower).verdict, Some(Verdict::Worse));
        assert_eq!(judged(&BASE, &times(0.5), Better::Lower).verdict, Some(Verdict::Better));
    }

    #[test]
    fn the_same_runs_again_are_the_same_within_three_percent_and_not_within_half_a_percent() {
        assert_eq!(judged(&BASE, &BASE, Better::Higher).verdict, Some(Verdict::Same));
        let strict = compare(&BASE, &BASE, Better::Higher, 0.005);
        assert!(strict.repeats_that_would_decide.unwrap() > 20);
        let hopeless = compare(&BASE, &BASE, Better::Higher, 0.0);
        assert_eq!(hopeless.repeats_that_would_decide, None);
    }

    #[test]
    fn what_is_unclear_says_how_many_repeats_would_decide() {
        let noisy = judged(
            &[90.0, 110.0, 100.0, 95.0, 105.0],
            &[97.0, 121.0, 108.0, 99.0, 116.0],
            Better::Higher,
        );
        assert_eq!(noisy.verdict, Some(Verdict::Unclear));
        let repeats = noisy.repeats_that_would_decide.unwrap();
        assert!((6..=100).contains(&repeats), "{repeats}");
        let three = judged(&BASE[..3], &times(2.0)[..3], Better::Higher);
        assert_eq!(three.verdict, Some(Verdict::Unclear));
        assert_eq!(three.repeats_that_would_decide, Some(5));
        assert!(three.method.contains("fewer than four"), "{}", three.method);
    }

    #[test]
    fn a_correction_that_takes_the_significance_asks_for_more_repeats() {
        let mut c = compare(&BASE[..4], &times(2.0)[..4], Better::Higher, 0.03);
        assert_eq!(c.repeats_that_would_decide, None);
        c.judge(Some(2.0 / 70.0 * 2.0), Better::Higher, 0.03);
        assert_eq!((c.verdict, c.repeats_that_would_decide), (Some(Verdict::Unclear), Some(5)));
    }

    #[test]
    fn one_repeat_a_side_has_a_ratio_and_no_interval() {
        let c = judged(&[100.0], &[150.0], Better::Higher);
        assert_eq!((c.ratio, c.low, c.high), (Some(1.5), None, None));
        assert_eq!((c.verdict, c.repeats_that_would_decide), (Some(Verdict::Unclear), None));
    }

    #[test]
    fn no_data_is_null() {
        let c = judged(&[], &BASE, Better::Higher);
        assert_eq!((c.ratio, c.p, c.n_base, c.n_new), (None, None, 0, 5));
        assert_eq!(c.verdict, Some(Verdict::Unclear));
        assert!(serde_json::to_value(&c).unwrap()["ratio"].is_null());
    }

    #[test]
    fn nothing_on_both_sides_is_the_same_and_a_base_of_zero_has_no_ratio() {
        let none = judged(&[0.0; 5], &[0.0; 5], Better::Lower);
        assert_eq!((none.ratio, none.verdict), (Some(1.0), Some(Verdict::Same)));
        let some = judged(&[0.0; 5], &[3.0; 5], Better::Lower);
        assert_eq!((some.ratio, some.low, some.verdict), (None, None, Some(Verdict::Unclear)));
        assert!(some.p.unwrap() < 0.05 && some.method.contains("base is zero"));
        assert_eq!(judged(&[-1.0, 1.0, 2.0, 3.0], &BASE, Better::Lower).ratio, None);
    }

    #[test]
    fn a_base_that_is_now_and_then_zero_leaves_the_interval_open_above() {
        let c = compare(&[0.0, 0.0, 1.0, 1.0, 1.0], &[2.0; 5], Better::Higher, 0.03);
        assert_eq!((c.ratio, c.low, c.high), (Some(2.0), Some(2.0), None));
    }

    #[test]
    fn a_comparison_is_read_back_as_it_was_written() {
        let c = judged(&BASE, &times(1.2), Better::Higher);
        let json = serde_json::to_string(&c).unwrap();
        assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), c);
        assert!(json.contains("\"verdict\":\"better\""), "{json}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_interval_holds_the_ratio_and_only_ratios_that_were_possible(
            base in prop::collection::vec(1.0..1e3f64, 2..16),
            new in prop::collection::vec(1.0..1e3f64, 2..16),
        ) {
            let c = compare(&base, &new, Better::Higher, 0.03);
            let (least, most) = new.iter().fold((f64::MAX, 0.0_f64), |(l, m), n| (l.min(*n), m.max(*n)));
            let (low, high) = base.iter().fold((f64::MAX, 0.0_f64), |(l, m), n| (l.min(*n), m.max(*n)));
            let interval = c.interval().unwrap();
            prop_assert!(interval.contains(c.ratio.unwrap()), "{c:?}");
            prop_assert!(interval.low >= least / high && interval.high <= most / low);
            prop_assert_eq!(&c, &compare(&base, &new, Better::Higher, 0.03));
        }

        #[test]
        fn the_unit_of_the_figures_does_not_matter(
            base in prop::collection::vec(1.0..1e3f64, 5),
            new in prop::collection::vec(1.0..1e3f64, 5),
        ) {
            // A power of two, so that no rounding comes in.
            let scaled = |v: &[f64]| v.iter().map(|x| x * 1024.0).collect::<Vec<_>>();
            let a = compare(&base, &new, Better::Higher, 0.03);
            let b = compare(&scaled(&base), &scaled(&new), Better::Higher, 0.03);
            prop_assert_eq!((a.ratio, a.p), (b.ratio, b.p));
            prop_assert!((a.low.unwrap() / b.low.unwrap() - 1.0).abs() < 0.05);
        }
    }
}
