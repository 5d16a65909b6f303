//! The word for a comparison.

use serde::{Deserialize, Serialize};
use units::Better;

use crate::Comparison;

/// With fewer repeats a side no verdict is given: not even complete separation is significant.
pub const LEAST_REPEATS: usize = 4;

/// A p-value below this is significant.
const SIGNIFICANT: f64 = 0.05;

/// What a comparison says about one metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The new side is better, by more than the threshold.
    Better,
    /// The new side is worse, by more than the threshold.
    Worse,
    /// The two sides differ by less than the threshold. A claim, not the lack of one.
    Same,
    /// These repeats do not decide.
    Unclear,
}

impl Verdict {
    /// The word as it is written in reports and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Unclear => "unclear",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.pad(self.word())
    }
}

/// The verdict on `comparison`.
///
/// `threshold` is the share below which a difference does not matter (0.03: 3 %). The zone of
/// ratios that do not matter is 1 − threshold to 1 + threshold.
///
/// * Fewer than four repeats on a side, or no interval: `Unclear`.
/// * The whole 95 % interval of the ratio within the zone: `Same`.
/// * The whole interval beyond the zone on one side, and `adjusted_p` (after [`crate::holm()`] over
///   all metrics that the experiment asks about) below 0.05: `Better` or `Worse`.
/// * Everything else: `Unclear`.
///
/// So each word but the last is a claim that could have been refuted. A metric of which neither
/// direction is good ([`Better::Neither`]) can be `Same` or `Unclear`.
pub fn decide(
    comparison: &Comparison,
    adjusted_p: Option<f64>,
    better: Better,
    threshold: f64,
) -> Verdict {
    let Some(interval) = comparison.interval() else { return Verdict::Unclear };
    if comparison.n_base.min(comparison.n_new) < LEAST_REPEATS {
        return Verdict::Unclear;
    }
    let (least, most) = zone(threshold);
    if interval.low >= least && interval.high <= most {
        return Verdict::Same;
    }
    if !adjusted_p.is_some_and(|p| p < SIGNIFICANT) {
        return Verdict::Unclear;
    }
    let (greater, smaller) = (interval.low > most, interval.high < least);
    match better {
        Better::Higher if greater => Verdict::Better,
        Better::Higher if smaller => Verdict::Worse,
        Better::Lower if greater => Verdict::Worse,
        Better::Lower if smaller => Verdict::Better,
        _ => Verdict::Unclear,
    }
}

/// The ratios that do not matter. A threshold that is no positive number leaves 1 alone.
pub(crate) fn zone(threshold: f64) -> (f64, f64) {
    let threshold = threshold.max(0.0);
    (1.0 - threshold, 1.0 + threshold)
}

#[cfg(test)]
mod tests {
    use super::{Verdict, decide};
    use crate::Comparison;
    use units::Better;

    fn comparison(low: f64, high: f64, n: usize) -> Comparison {
        Comparison {
            ratio: Some((low + high) / 2.0),
            low: Some(low),
            high: Some(high),
            p: Some(0.0079),
            verdict: None,
            n_base: n,
            n_new: n,
            repeats_that_would_decide: None,
            method: String::new(),
        }
    }

    fn verdict(low: f64, high: f64, p: f64) -> Verdict {
        decide(&comparison(low, high, 5), Some(p), Better::Higher, 0.03)
    }

    #[test]
    fn each_word_needs_its_own_evidence() {
        assert_eq!(verdict(1.09, 1.14, 0.0079), Verdict::Better);
        assert_eq!(verdict(0.80, 0.90, 0.0079), Verdict::Worse);
        assert_eq!(verdict(0.98, 1.02, 0.9), Verdict::Same);
        assert_eq!(verdict(0.95, 1.15, 0.446), Verdict::Unclear);
    }

    #[test]
    fn a_significant_difference_that_does_not_matter_is_the_same() {
        assert_eq!(verdict(1.01, 1.02, 0.0079), Verdict::Same);
    }

    #[test]
    fn a_difference_that_may_not_matter_is_unclear_however_significant() {
        assert_eq!(verdict(1.01, 1.10, 0.0079), Verdict::Unclear);
    }

    #[test]
    fn a_clear_interval_without_a_significant_test_is_unclear() {
        assert_eq!(verdict(1.09, 1.14, 0.05), Verdict::Unclear);
        let c = comparison(1.09, 1.14, 5);
        assert_eq!(decide(&c, None, Better::Higher, 0.03), Verdict::Unclear);
    }

    #[test]
    fn three_repeats_decide_nothing() {
        let c = comparison(1.5, 1.6, 3);
        assert_eq!(decide(&c, Some(0.01), Better::Higher, 0.03), Verdict::Unclear);
    }

    #[test]
    fn less_is_better_where_the_metric_says_so_and_neither_has_no_good_side() {
        let c = comparison(1.09, 1.14, 5);
        assert_eq!(decide(&c, Some(0.01), Better::Lower, 0.03), Verdict::Worse);
        assert_eq!(decide(&c, Some(0.01), Better::Neither, 0.03), Verdict::Unclear);
        let same = comparison(1.0, 1.0, 5);
        assert_eq!(decide(&same, Some(1.0), Better::Neither, 0.0), Verdict::Same);
    }

    #[test]
    fn an_interval_without_an_upper_bound_can_still_be_beyond_the_zone() {
        let mut c = comparison(1.5, 9.0, 5);
        c.high = None;
        assert_eq!(decide(&c, Some(0.01), Better::Higher, 0.03), Verdict::Better);
    }

    #[test]
    fn words_are_written_in_small_letters() {
        assert_eq!(serde_json::to_string(&Verdict::Unclear).unwrap(), "\"unclear\"");
        assert_eq!(Verdict::Same.to_string(), "same");
    }
}
