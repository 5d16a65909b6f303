//! Two variants side by side in one metric.

use units::{Better, Test};

use crate::apart::Apart;
use crate::evidence::Evidence;
use crate::quantile::{Sorted, median};
use crate::verdict::{self, Claim, LEAST_REPEATS, Verdict};
use crate::{Interval, holm};

/// The repeats that a claim rests on leave this chance of error; intervals leave it out, one half at either end.
pub(crate) const ERROR: f64 = 0.05;

/// Fewer pairs give no interval: of two Student's t makes one from next to nothing to everything.
const LEAST_BOUNDED: usize = 3;

/// More repeats than this nobody runs; the estimate is left out.
const MOST_REPEATS: usize = 1000;

/// The comparison of the new variant's figure with the base's.
///
/// All ratios are new over base and have no unit.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// New over base; `None` where it has no meaning (no repeat with both, a negative value, a base that is zero in some repeat).
    pub ratio: Option<f64>,
    /// The lower bound of the ratio's 95 % interval; `None` with too few repeats, and where there is a difference instead.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
    /// New less base, where values of zero or below leave no ratio to test.
    pub difference: Option<Difference>,
    /// The p-value of the claim that the figures point to, before any correction (see [`compare`]); `None` below two repeats.
    pub p: Option<f64>,
    /// The p-value after Holm's correction over all that is asked, set by [`judge`].
    pub p_adjusted: Option<f64>,
    /// The verdict, set by [`judge`]; `None` while none is given for the metric.
    pub verdict: Option<Verdict>,
    /// In how many repeats both sides had a value.
    pub n: usize,
    /// About how many repeats would decide, set by [`judge`]; `None` when these do, when the spread is
    /// unknown (one repeat), and when no number up to 1000 would.
    pub repeats_that_would_decide: Option<u32>,
    /// After which repeat it was decided, where it was looked at while repeats came in ([`crate::compare_at_looks`]).
    pub decided_after: Option<u32>,
    /// Runs that stand apart for the bad and speak against the claim, so that it is not made; set with the verdict.
    pub apart: Apart,
    /// The method of the computation, in words.
    pub method: String,
    tested: Option<Tested>,
}

/// New less base, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The mean within repeats, or the median of all differences.
    pub value: f64,
    /// Its 95 % interval; `None` with too few repeats.
    pub interval: Option<Interval>,
}

/// The basis of a verdict: evidence, threshold and pairs.
#[derive(Debug, Clone)]
struct Tested {
    evidence: Evidence,
    /// The differences that do not matter, on the scale of the evidence; `None` where nothing is asked.
    zone: Option<(f64, f64)>,
    /// The pairs on that scale, where some runs may stand apart unseen.
    ranked: Vec<(f64, f64)>,
}

impl Comparison {
    /// The ratio's interval, where there is one.
    pub fn interval(&self) -> Option<Interval> {
        Some(Interval { low: self.low?, high: self.high? })
    }

    /// Returns what the estimate points to and how sure that is: a two-sided p-value, that of "it differs by less" too.
    pub(crate) fn claim(&self) -> Option<(Claim, f64)> {
        let Tested { evidence, zone: Some(zone), .. } = self.tested.as_ref()? else { return None };
        Some((Claim::of(evidence.estimate(), *zone), self.p?))
    }

    /// Gives the word for a claim where it is sure, or `unclear`, also where runs that stand apart speak against it; these are kept.
    pub(crate) fn settle(&mut self, claim: Claim, better: Better, sure: bool) {
        let speaks =
            |tested: &Tested| Some(Apart::against(claim, better, &tested.ranked, tested.zone?));
        self.apart = self.tested.as_ref().and_then(speaks).unwrap_or_default();
        let stands = sure && self.apart.is_empty();
        let word = if stands { verdict::word(claim, better) } else { Verdict::Unclear };
        self.verdict = Some(word);
    }

    /// About how many repeats bring an interval free of the zone's border that leaves out `error`.
    ///
    /// Fewer repeats than a verdict needs hardly know their spread (two say 995 where thirty are enough): they tell only that these would do.
    pub(crate) fn repeats(&self, error: f64) -> Option<u32> {
        let Tested { evidence, zone: Some((low, high)), .. } = self.tested.as_ref()? else {
            return None;
        };
        let at = evidence.estimate();
        let distance = match Claim::of(at, (*low, *high)) {
            Claim::More => at - high,
            Claim::Less => low - at,
            Claim::Within => f64::min(at - low, high - at),
        };
        let repeats = evidence.repeats(error, distance)?;
        let repeats = repeats.max(LEAST_REPEATS).max(self.n + 1);
        let most = if self.n < LEAST_REPEATS { LEAST_REPEATS } else { MOST_REPEATS };
        (repeats <= most).then_some(repeats as u32)
    }
}

/// Compares two variants in one metric by the repeats in which both have a value: `pairs` of base and new.
///
/// On logarithms, so that what is estimated is a ratio:
///
/// * [`Test::Paired`]: the mean of ln new - ln base within the repeats, interval and p by Student's t.
/// * [`Test::Occurrence`]: the shares of runs in which it happened at all, p by Fisher's exact test; the same only where it never did.
/// * [`Test::Ranked`]: the median of all ln new - ln base, across repeats too, interval and p by the rank test of Mann and Whitney, from eight
///   repeats on by that of Brunner and Munzel. No claim for a side of which some runs stand apart for the bad ([`Apart`]).
///
/// Where a value is zero or negative the same is done on the values themselves. `threshold` is the share below which a difference
/// does not matter, of the base's median there; `None` where nothing is asked. `p` belongs to the claim that the estimate points
/// to: a difference beyond the zone of what does not matter, or one within it. It is twice the (greater) one-sided p-value, so that it is below
/// 0.05 just where the 95 % interval lies wholly beyond, or wholly within. Where nothing is asked it is the two-sided p-value of any difference.
///
/// Pairs with a value that is not finite are dropped.
pub fn compare(pairs: &[(f64, f64)], test: Test, threshold: Option<f64>) -> Comparison {
    compare_with(pairs, test, threshold, ERROR)
}

/// Compares with intervals of confidence `1 - error`.
pub(crate) fn compare_with(
    pairs: &[(f64, f64)],
    test: Test,
    threshold: Option<f64>,
    error: f64,
) -> Comparison {
    let finite = |(base, new): &&(f64, f64)| base.is_finite() && new.is_finite();
    let pairs: Vec<_> = pairs.iter().filter(finite).copied().collect();
    let (base, new): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let mut comparison = Comparison {
        ratio: None,
        low: None,
        high: None,
        difference: None,
        p: None,
        p_adjusted: None,
        verdict: None,
        n: pairs.len(),
        repeats_that_would_decide: None,
        decided_after: None,
        apart: Apart::default(),
        method: "no test: no repeat in which both have a value".into(),
        tested: None,
    };
    let Some(middle) = Sorted::from(&base[..]).median() else { return comparison };
    let threshold = threshold.map(|share| share.max(0.0));
    let scale = Scale::of(&pairs);
    let scaled: Vec<_> = pairs.iter().map(|(b, n)| (scale.at(*b), scale.at(*n))).collect();
    let evidence = match test {
        Test::Paired => Evidence::paired(&scaled),
        // How many there were is shown; whether there were any decides.
        Test::Ranked | Test::Occurrence => Evidence::ranked(&scaled),
    };
    let value = evidence.estimate();
    let bounds = evidence.interval(error).filter(|_| pairs.len() >= LEAST_BOUNDED);
    let zone = match scale {
        Scale::Values => {
            let interval = bounds.map(|(low, high)| Interval { low, high });
            comparison.difference = Some(Difference { value, interval });
            // A base that is nothing now and then is no measure of the other: half an I/O is not one 256,968th of them.
            let positive = pairs.iter().all(|(b, n)| *b > 0.0 && *n >= 0.0);
            let ratio = || Some(median(&Sorted::from(&new[..])) / middle);
            comparison.ratio = positive.then(ratio).flatten();
            threshold.map(|share| (-share * middle.abs(), share * middle.abs()))
        }
        Scale::Nothing => {
            let interval = bounds.map(|(low, high)| Interval { low, high });
            comparison.difference = Some(Difference { value, interval });
            threshold.map(|share| (-share, share))
        }
        Scale::Logarithms => {
            comparison.ratio = Some(value.exp());
            comparison.low = bounds.map(|(low, _)| low.exp());
            comparison.high = bounds.map(|(_, high)| high.exp());
            threshold.map(|share| ((1.0 - share).max(0.0).ln(), share.ln_1p()))
        }
    };
    let (evidence, zone) = match test {
        Test::Occurrence => (Evidence::occurred(&pairs), zone.map(|_| (0.0, 0.0))),
        _ => (evidence, zone),
    };
    comparison.p = (pairs.len() > 1).then(|| p_value(&evidence, zone));
    comparison.method = method(&evidence, scale, pairs.len(), bounds.is_some());
    if test == Test::Occurrence {
        let bounds = |interval: &mut Option<Interval>| *interval = None;
        comparison.difference.iter_mut().for_each(|difference| bounds(&mut difference.interval));
        (comparison.low, comparison.high) = (None, None);
    }
    let ranked = if test == Test::Ranked { scaled } else { Vec::new() };
    comparison.tested = Some(Tested { evidence, zone, ranked });
    comparison
}

/// On what differences are taken.
#[derive(Clone, Copy, PartialEq)]
enum Scale {
    Logarithms,
    Values,
    /// Every value is zero: two variants without errors do not differ.
    Nothing,
}

impl Scale {
    fn of(pairs: &[(f64, f64)]) -> Self {
        let all = |what: fn(f64) -> bool| pairs.iter().all(|(b, n)| what(*b) && what(*n));
        if all(|value| value > 0.0) {
            Self::Logarithms
        } else if all(|value| value == 0.0) {
            Self::Nothing
        } else {
            Self::Values
        }
    }

    fn at(self, value: f64) -> f64 {
        if self == Self::Logarithms { value.ln() } else { value }
    }
}

fn p_value(evidence: &Evidence, zone: Option<(f64, f64)>) -> f64 {
    let claim = |zone: (f64, f64)| match Claim::of(evidence.estimate(), zone) {
        Claim::More => 2.0 * evidence.p_above(zone.1),
        Claim::Less => 2.0 * evidence.p_below(zone.0),
        Claim::Within => 2.0 * evidence.p_within(zone),
    };
    let any = || 2.0 * f64::min(evidence.p_above(0.0), evidence.p_below(0.0));
    zone.map_or_else(any, claim).min(1.0)
}

/// Gives the verdicts on `family`, all comparisons that an experiment asks about, with the direction that is good in each.
///
/// The p-values of all their claims are adjusted together after Holm (see [`crate::holm()`]).
pub fn judge(family: &mut [(&mut Comparison, Better)]) {
    let p: Vec<f64> = family.iter().map(|(c, _)| c.p.unwrap_or(f64::NAN)).collect();
    for ((comparison, better), p) in family.iter_mut().zip(holm(&p)) {
        comparison.p_adjusted = Some(p).filter(|p| p.is_finite());
        let claim = comparison
            .tested
            .as_ref()
            .and_then(|tested| Some(Claim::of(tested.evidence.estimate(), tested.zone?)));
        comparison.verdict = Some(Verdict::Unclear);
        if let Some(claim) = claim.filter(|_| comparison.n >= LEAST_REPEATS) {
            comparison.settle(claim, *better, p < ERROR);
        }
    }
    // Nobody knows how many repeats it takes until runs that stand apart have come up on both sides.
    let unclear =
        |c: &Comparison| c.verdict == Some(Verdict::Unclear) && c.p.is_some() && c.apart.is_empty();
    let open = family.iter().filter(|(comparison, _)| unclear(comparison)).count();
    for (comparison, _) in family.iter_mut().filter(|(comparison, _)| unclear(comparison)) {
        // What is decided already takes nothing from the others (Holm).
        comparison.repeats_that_would_decide = comparison.repeats(ERROR / open as f64);
    }
}

/// Returns what was computed, in words, with the reason for what is missing.
fn method(evidence: &Evidence, scale: Scale, n: usize, bounded: bool) -> String {
    let (logs, what) = match scale {
        Scale::Values => ("differences", "; differences of values: some are zero or negative"),
        Scale::Nothing => ("differences", "; every value is zero: equal, and there is no ratio"),
        Scale::Logarithms => ("log ratios", ""),
    };
    let test = match evidence {
        Evidence::Paired { .. } => {
            format!("paired: mean of the {logs} within each repeat, interval and p by Student's t")
        }
        Evidence::Ranked { ranks, .. } => {
            let test = ranks.test();
            format!("ranked: median of all {logs}, interval and p by {test}")
        }
        Evidence::Occurred { base, new, runs } => {
            let note =
                if n < LEAST_REPEATS { "; fewer than five repeats decide nothing" } else { "" };
            return format!(
                "occurrence: it happened in {base} of {runs} runs of the base and {new} of {runs} of the new side, p by Fisher's exact test; \
                 the same only where it never did{note}"
            );
        }
    };
    let missing = if bounded { "" } else { "; no interval: too few repeats for one" };
    let note = if n < LEAST_REPEATS { "; fewer than five repeats decide nothing" } else { "" };
    format!("{test}{what}{missing}{note}")
}

#[cfg(test)]
mod tests {
    use super::{Comparison, compare, judge};
    use crate::Verdict;
    use proptest::prelude::*;
    use units::{Better, Test};

    const TESTS: [Test; 2] = [Test::Paired, Test::Ranked];

    fn judged(base: &[f64], new: &[f64], test: Test, better: Better) -> Comparison {
        let mut c = compare(&pairs(base, new), test, Some(0.03));
        judge(&mut [(&mut c, better)]);
        c
    }

    fn pairs(base: &[f64], new: &[f64]) -> Vec<(f64, f64)> {
        base.iter().copied().zip(new.iter().copied()).collect()
    }

    const BASE: [f64; 5] = [100.0, 101.0, 99.0, 100.5, 99.5];

    fn times(factor: f64) -> Vec<f64> {
        // Not in the order of the base.
        BASE.iter().rev().map(|v| v * factor).collect()
    }

    #[test]
    fn a_clear_gain_is_better_and_a_clear_loss_worse() {
        for test in TESTS {
            let gain = judged(&BASE, &times(1.2), test, Better::Higher);
            assert_eq!(gain.verdict, Some(Verdict::Better));
            assert!((gain.ratio.unwrap() - 1.2).abs() < 1e-3, "{gain:?}");
            assert!(gain.p.unwrap() <= 2.0 / 252.0 && gain.p == gain.p_adjusted);
            assert!(gain.interval().unwrap().contains(1.2));
            assert_eq!(gain.repeats_that_would_decide, None);
            let worse = judged(&BASE, &times(1.2), test, Better::Lower);
            assert_eq!(worse.verdict, Some(Verdict::Worse));
            assert_eq!(
                judged(&BASE, &times(0.5), test, Better::Lower).verdict,
                Some(Verdict::Better)
            );
            let neither = judged(&BASE, &times(0.5), test, Better::Neither);
            assert_eq!(neither.verdict, Some(Verdict::Differs));
            assert_eq!(neither.repeats_that_would_decide, None);
        }
    }

    #[test]
    fn equal_runs_are_the_same_within_three_percent_and_not_within_a_fifth_of_a_percent() {
        for test in TESTS {
            let same = judged(&BASE, &times(1.0), test, Better::Higher);
            assert_eq!(same.verdict, Some(Verdict::Same), "{same:?}");
            let mut strict = compare(&pairs(&BASE, &times(1.0)), test, Some(0.002));
            judge(&mut [(&mut strict, Better::Higher)]);
            assert!(strict.repeats_that_would_decide.unwrap() > 10, "{strict:?}");
            let mut hopeless = compare(&pairs(&BASE, &times(1.0)), test, Some(0.0));
            judge(&mut [(&mut hopeless, Better::Higher)]);
            assert_eq!(hopeless.repeats_that_would_decide, None);
        }
    }

    #[test]
    fn runs_that_go_up_and_down_together_are_told_apart_by_pairs_and_not_by_ranks() {
        let base = [60.0, 80.0, 100.0, 130.0, 170.0];
        let new: Vec<f64> =
            base.iter().zip([1.09, 1.1, 1.11, 1.1, 1.1]).map(|(b, f)| b * f).collect();
        let paired = judged(&base, &new, Test::Paired, Better::Higher);
        assert_eq!(paired.verdict, Some(Verdict::Better));
        assert!(paired.low.unwrap() > 1.09 && paired.high.unwrap() < 1.11);
        let ranked = judged(&base, &new, Test::Ranked, Better::Higher);
        assert_eq!(ranked.verdict, Some(Verdict::Unclear));
    }

    #[test]
    fn one_run_twice_as_slow_hides_nothing_from_ranks() {
        let base = [100.0, 101.0, 99.0, 100.5, 99.5, 200.0, 100.2, 99.8];
        let new: Vec<f64> = [111.0, 109.5, 110.0, 222.0, 110.5, 109.0, 110.2, 111.5].to_vec();
        assert_eq!(judged(&base, &new, Test::Ranked, Better::Lower).verdict, Some(Verdict::Worse));
        assert_eq!(
            judged(&base, &new, Test::Paired, Better::Lower).verdict,
            Some(Verdict::Unclear)
        );
    }

    #[test]
    fn three_of_twelve_runs_ten_times_slower_are_neither_the_same_nor_better() {
        let base: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i % 3) * 0.3).collect();
        let mut new: Vec<f64> = base.iter().rev().copied().collect();
        (new[1], new[6], new[9]) = (1_010.0, 950.0, 1_200.0);
        let same = judged(&base, &new, Test::Ranked, Better::Lower);
        assert_eq!((same.verdict, &same.apart.new[..]), (Some(Verdict::Unclear), &[1, 6, 9][..]));
        assert_eq!(same.repeats_that_would_decide, None);
        // One alone would not make it unclear by ranks.
        let mut one = base.clone();
        one[3] = 1_010.0;
        let one = judged(&base, &one, Test::Ranked, Better::Lower);
        assert_eq!((one.verdict, &one.apart.new[..]), (Some(Verdict::Unclear), &[3][..]));
        assert!(one.p_adjusted.unwrap() < 0.05, "{one:?}");
        let lower: Vec<f64> = new.iter().map(|v| v * 0.8).collect();
        let better = judged(&base, &lower, Test::Ranked, Better::Lower);
        assert_eq!(better.verdict, Some(Verdict::Unclear), "{better:?}");
        let quiet = judged(&base, &base[..], Test::Ranked, Better::Lower);
        assert!(quiet.verdict == Some(Verdict::Same) && quiet.apart.is_empty());
    }

    #[test]
    fn what_is_unclear_says_how_many_repeats_would_decide() {
        let base = [90.0, 110.0, 100.0, 95.0, 105.0];
        let noisy = judged(&base, &[121.0, 97.0, 99.0, 116.0, 108.0], Test::Paired, Better::Higher);
        assert_eq!(noisy.verdict, Some(Verdict::Unclear));
        let repeats = noisy.repeats_that_would_decide.unwrap();
        assert!((6..=300).contains(&repeats), "{repeats}");
        for test in TESTS {
            let four = judged(&BASE[..4], &times(2.0)[..4], test, Better::Higher);
            assert_eq!(four.verdict, Some(Verdict::Unclear));
            assert_eq!(four.repeats_that_would_decide, Some(5));
            assert!(four.method.contains("fewer than five"), "{}", four.method);
        }
    }

    #[test]
    fn claims_share_one_correction_and_those_decided_take_nothing_from_the_rest() {
        let base: Vec<f64> = (0..5).map(|i| 100.0 + f64::from(i)).collect();
        let far: Vec<f64> = base.iter().map(|v| v * 2.0).collect();
        let mut all: Vec<_> =
            (0..7).map(|_| compare(&pairs(&base, &far), Test::Ranked, Some(0.03))).collect();
        let mut family: Vec<_> = all.iter_mut().map(|c| (c, Better::Higher)).collect();
        judge(&mut family[..6]);
        // Five repeats a side can decide six ranked questions and not seven.
        assert!(family[..6].iter().all(|(c, _)| c.verdict == Some(Verdict::Better)));
        assert!((family[0].0.p_adjusted.unwrap() - 12.0 / 252.0).abs() < 1e-12);
        judge(&mut family);
        assert!(family.iter().all(|(c, _)| c.verdict == Some(Verdict::Unclear)));
        assert!(
            family.iter().all(|(c, _)| c.repeats_that_would_decide == Some(6)),
            "{:?}",
            family[0]
        );
    }

    #[test]
    fn one_repeat_has_a_ratio_and_neither_interval_nor_test() {
        for test in TESTS {
            let c = judged(&[100.0], &[150.0], test, Better::Higher);
            assert!((c.ratio.unwrap() - 1.5).abs() < 1e-12);
            assert_eq!((c.low, c.high, c.p), (None, None, None));
            assert_eq!((c.verdict, c.repeats_that_would_decide), (Some(Verdict::Unclear), None));
        }
        for test in TESTS {
            let two = judged(&BASE[..2], &times(2.0)[..2], test, Better::Higher);
            assert_eq!((two.low, two.high, two.verdict), (None, None, Some(Verdict::Unclear)));
            assert!(two.method.contains("no interval"), "{}", two.method);
            let none = judged(&[0.0, 0.0], &[3.0, 4.0], test, Better::Lower);
            assert_eq!(none.difference.unwrap().interval, None);
        }
        // Of three a side no ranks are unlikely enough for an interval.
        let three = judged(&BASE[..3], &times(2.0)[..3], Test::Ranked, Better::Higher);
        assert_eq!((three.low, three.high), (None, None));
        assert!(three.method.contains("no interval"), "{}", three.method);
        assert!(judged(&BASE[..3], &times(2.0)[..3], Test::Paired, Better::Higher).low.is_some());
    }

    #[test]
    fn no_data_is_null() {
        let c = judged(&[], &[], Test::Paired, Better::Higher);
        assert_eq!((c.ratio, c.p, c.p_adjusted, c.n), (None, None, None, 0));
        assert_eq!(c.verdict, Some(Verdict::Unclear));
        assert_eq!(compare(&[(f64::NAN, 1.0), (2.0, 2.0)], Test::Paired, None).n, 1);
    }

    #[test]
    fn nothing_on_both_sides_is_the_same_and_a_base_of_zero_has_a_difference() {
        for test in TESTS {
            let none = judged(&[0.0; 5], &[0.0; 5], test, Better::Lower);
            assert_eq!((none.ratio, none.low, none.verdict), (None, None, Some(Verdict::Same)));
            assert_eq!(none.difference.map(|difference| difference.value), Some(0.0));
            assert!(none.method.contains("there is no ratio"), "{}", none.method);
            let some = judged(&[0.0; 5], &[18.0, 20.0, 25.0, 19.0, 21.0], test, Better::Lower);
            assert_eq!((some.ratio, some.low, some.verdict), (None, None, Some(Verdict::Worse)));
            let difference = some.difference.unwrap();
            assert!(difference.interval.unwrap().low > 0.0 && difference.value > 19.0);
            assert!(some.method.contains("differences of values"), "{}", some.method);
            let gone = judged(&[18.0, 20.0, 25.0, 19.0, 21.0], &[0.0; 5], test, Better::Lower);
            assert_eq!((gone.ratio, gone.verdict), (Some(0.0), Some(Verdict::Better)));
            let negative = judged(&[-1.0, 1.0, 2.0, 3.0, 2.0], &BASE, test, Better::Lower);
            assert_eq!((negative.ratio, negative.verdict), (None, Some(Verdict::Worse)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_interval_holds_the_ratio_and_sides_may_be_swapped(
            pairs in prop::collection::vec((1.0..1e3f64, 1.0..1e3f64), 4..16),
        ) {
            for test in TESTS {
                let c = compare(&pairs, test, None);
                let interval = c.interval().unwrap();
                prop_assert!(interval.contains(c.ratio.unwrap()), "{c:?}");
                let swapped: Vec<_> = pairs.iter().map(|(b, n)| (*n, *b)).collect();
                let s = compare(&swapped, test, None);
                prop_assert!((c.ratio.unwrap() * s.ratio.unwrap() - 1.0).abs() < 1e-9);
                prop_assert!((interval.low * s.high.unwrap() - 1.0).abs() < 1e-9);
                prop_assert!((c.p.unwrap() - s.p.unwrap()).abs() < 1e-9);
            }
        }

        #[test]
        fn neither_the_unit_nor_the_order_of_the_repeats_matters(
            pairs in prop::collection::vec((1.0..1e3f64, 1.0..1e3f64), 5),
        ) {
            for test in TESTS {
                let other: Vec<_> = pairs.iter().rev().map(|(b, n)| (b * 1024.0, n * 1024.0)).collect();
                let (a, b) = (compare(&pairs, test, Some(0.03)), compare(&other, test, Some(0.03)));
                prop_assert!((a.ratio.unwrap() / b.ratio.unwrap() - 1.0).abs() < 1e-9);
                prop_assert!((a.p.unwrap() - b.p.unwrap()).abs() < 1e-9);
                prop_assert!((a.low.unwrap() / b.low.unwrap() - 1.0).abs() < 1e-9);
            }
        }

        /// Asked alone, a difference is claimed just where the 95 % interval lies beyond the zone.
        #[test]
        fn a_difference_is_claimed_where_the_interval_lies_beyond_the_zone(
            pairs in prop::collection::vec((95.0..105.0f64, 100.0..115.0f64), 5..9),
        ) {
            for test in TESTS {
                let mut c = compare(&pairs, test, Some(0.03));
                judge(&mut [(&mut c, Better::Higher)]);
                prop_assert_eq!(c.verdict == Some(Verdict::Better), c.low.unwrap() > 1.03, "{:?}", c);
            }
        }
    }

    #[test]
    fn failures_are_the_same_only_where_there_are_none_whatever_their_number() {
        let judged = |base: &[f64], new: &[f64]| judged(base, new, Test::Occurrence, Better::Lower);
        let none = [0.0; 12];
        assert_eq!(judged(&none, &none).verdict, Some(Verdict::Same));
        // Nine runs without, and three in which thousands fail.
        let mut some = none;
        (some[9], some[10], some[11]) = (40.0, 5_000.0, 100_000.0);
        let found = judged(&none, &some);
        assert_eq!(found.verdict, Some(Verdict::Unclear), "{found:?}");
        assert!((found.p.unwrap() - 2.0 * 0.108_695_652).abs() < 1e-6, "{found:?}");
        let all = [7.0; 12];
        assert_eq!(judged(&none, &all).verdict, Some(Verdict::Worse));
        assert_eq!(judged(&all, &none).verdict, Some(Verdict::Better));
        assert_eq!(judged(&all, &all).verdict, Some(Verdict::Unclear));
        // 2 x scipy.stats.fisher_exact([[5, 0], [0, 5]], "greater")
        assert!((judged(&none[..5], &all[..5]).p.unwrap() - 2.0 / 252.0).abs() < 1e-9);
        assert_eq!(judged(&none[..5], &all[..5]).verdict, Some(Verdict::Worse));
    }
}
