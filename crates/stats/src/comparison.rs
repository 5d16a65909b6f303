//! Two variants side by side in one metric.

use units::{Better, Test};

use crate::apart::Apart;
use crate::evidence::Evidence;
use crate::quantile::{Sorted, median};
use crate::verdict::{self, Claim, LEAST_REPEATS, Verdict};
use crate::{Interval, holm, student};

/// The accepted chance of error of a claim, and of an interval: one half at either end.
pub(crate) const ERROR: f64 = 0.05;

/// Fewest pairs for an interval: from two, Student's t makes one that is too wide to be of use.
const LEAST_BOUNDED: usize = 3;

/// Most repeats that are suggested: nobody runs more, so that a larger estimate is left out.
const MOST_REPEATS: usize = 1000;

/// The comparison of the new variant's figure with the base's.
///
/// All ratios are new over base and have no unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// New over base; `None` where it has no meaning (no repeat with both, a negative value, a base that is zero in some repeat or nearly zero
    /// throughout).
    pub ratio: Option<f64>,
    /// The lower bound of the ratio's 95 % interval; `None` with too few repeats, and where `difference` is tested instead.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
    /// New minus base, where values at or below zero, or a base near zero, leave no ratio to test.
    pub difference: Option<Difference>,
    /// The p-value of the claim that the figures point to, before any correction (see [`compare`]); `None` below two repeats.
    pub p: Option<f64>,
    /// The p-value after Holm's correction over all questions of the experiment, set by [`judge`].
    pub p_adjusted: Option<f64>,
    /// The verdict, set by [`judge`]; `None` while none is given for the metric.
    pub verdict: Option<Verdict>,
    /// Number of repeats in which both sides had a value.
    pub n: usize,
    /// The smallest number of repeats that may decide it, and the number that is likely to, set by [`judge`]; `None` when it is decided already,
    /// when fewer than five repeats say too little about the spread, and when it may take more than 1000.
    pub repeats_that_would_decide: Option<(u32, u32)>,
    /// The repeat after which it was decided, where it was looked at while repeats came in ([`crate::compare_at_looks`]).
    pub decided_after: Option<u32>,
    /// Outliers in the bad direction that contradict the claim, so that it is not made; set with the verdict.
    pub apart: Apart,
    /// Tells whether any run of either side is an outlier in the bad direction, whether or not it contradicts the claim; set with the verdict.
    pub bad_seen: bool,
    /// Tells whether every value of both sides is zero.
    pub all_zero: bool,
    /// The method of computation, in words.
    pub method: String,
    tested: Option<Tested>,
}

/// New minus base, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The mean of the differences within each repeat, or the median of all differences.
    pub value: f64,
    /// Its 95 % interval; `None` with too few repeats.
    pub interval: Option<Interval>,
}

/// The basis of a verdict: evidence, threshold and pairs.
#[derive(Debug, Clone, PartialEq)]
struct Tested {
    evidence: Evidence,
    /// The range of differences that do not matter, on the scale of the evidence; `None` where no threshold is given.
    zone: Option<(f64, f64)>,
    /// The pairs on that scale, for a ranked test, which would not notice outliers; otherwise empty.
    ranked: Vec<(f64, f64)>,
}

impl Comparison {
    /// Returns a comparison with the verdict `unclear`; `method` gives the reason.
    pub fn open(method: String) -> Self {
        Self { verdict: Some(Verdict::Unclear), method, ..Self::default() }
    }

    /// The ratio's interval, where there is one.
    pub fn interval(&self) -> Option<Interval> {
        Some(Interval { low: self.low?, high: self.high? })
    }

    /// Returns the claim that the estimate points to, with its p-value, which is doubled as a two-sided one also for "it differs by less".
    pub(crate) fn claim(&self) -> Option<(Claim, f64)> {
        let Tested { evidence, zone: Some(zone), .. } = self.tested.as_ref()? else { return None };
        Some((Claim::of(evidence.estimate(), *zone), self.p?))
    }

    /// Sets the verdict: the word for the claim where it is `sure` and no outliers contradict it, else `unclear`. The outliers are kept.
    pub(crate) fn settle(&mut self, claim: Claim, better: Better, sure: bool) {
        let speaks =
            |tested: &Tested| Some(Apart::against(claim, better, &tested.ranked, tested.zone?));
        self.apart = self.tested.as_ref().and_then(speaks).unwrap_or_default();
        let seen = |tested: &Tested| Some(Apart::any(better, &tested.ranked, tested.zone?));
        self.bad_seen = self.tested.as_ref().and_then(seen).unwrap_or_default();
        let stands = sure && self.apart.is_empty();
        let word = if stands { verdict::word(claim, better) } else { Verdict::Unclear };
        self.verdict = Some(word);
    }

    /// Estimates the least and the most repeats after which the interval, with `error` left out, is likely to be clear of the zone's border:
    /// computed for the lower and the upper end of the 80 % interval of the variance that was seen.
    ///
    /// `None` below [`LEAST_REPEATS`], which say too little about the spread (two may suggest 995 when thirty are enough), and if the most
    /// is above [`MOST_REPEATS`].
    pub(crate) fn repeats(&self, error: f64) -> Option<(u32, u32)> {
        let Tested { evidence, zone: Some((low, high)), .. } = self.tested.as_ref()? else {
            return None;
        };
        if self.n < LEAST_REPEATS {
            return None;
        }
        let at = evidence.estimate();
        let distance = match Claim::of(at, (*low, *high)) {
            Claim::More => at - high,
            Claim::Less => low - at,
            Claim::Within => f64::min(at - low, high - at),
        };
        let needed = evidence.repeats(error, distance)?;
        let (fewer, more) = match evidence {
            // The number of runs does not depend on a spread.
            Evidence::Occurred { .. } => (1.0, 1.0),
            _ => student::variance_range(self.n - 1),
        };
        let [least, most] = [fewer, more]
            .map(|of| (needed.by_spread as f64 * of).ceil() as usize)
            .map(|runs| runs.max(needed.least).max(LEAST_REPEATS).max(self.n + 1));
        (most <= MOST_REPEATS).then_some((least as u32, most as u32))
    }
}

/// Compares two variants in one metric by the repeats in which both have a value: `pairs` of base and new.
///
/// The computation uses logarithms, so that the estimate is a ratio:
///
/// * [`Test::Paired`]: the mean of ln new - ln base within the repeats, interval and p by Student's t.
/// * [`Test::Occurrence`]: the shares of runs in which the event happened at all, p by Fisher's exact test; `same` only where it never did.
/// * [`Test::Ranked`]: the median of all ln new - ln base, across repeats too, interval and p by the rank test of Mann and Whitney, from eight
///   repeats on by that of Brunner and Munzel. No claim in favour of a side with outliers in the bad direction ([`Apart`]).
///
/// Where a value is zero or negative the same is done on the values themselves. `threshold` is the share up to which a difference
/// does not matter (of the base's median, for values); `None` if no verdict is wanted. `p` belongs to the claim that the estimate points
/// to: the difference lies outside the threshold, or within it. It is twice the (greater) one-sided p-value, so that it is below 0.05 exactly
/// where the 95 % interval lies wholly outside, or wholly within. Without a threshold it is the two-sided p-value of any difference.
///
/// Pairs with a value that is not finite are dropped.
pub fn compare(pairs: &[(f64, f64)], test: Test, threshold: Option<f64>) -> Comparison {
    compare_to(pairs, test, threshold, 0.0)
}

/// Compares as [`compare`] does, but forms no ratio to a base whose median is below `least` (in the unit of the values): 16,602 flushes against
/// one do not make a meaningful multiple. The difference of the values is tested instead.
pub fn compare_to(
    pairs: &[(f64, f64)],
    test: Test,
    threshold: Option<f64>,
    least: f64,
) -> Comparison {
    compare_with(pairs, test, threshold, (least, ERROR))
}

/// Compares with intervals of confidence `1 - error`, and no ratio to a base below `least`.
pub(crate) fn compare_with(
    pairs: &[(f64, f64)],
    test: Test,
    threshold: Option<f64>,
    (least, error): (f64, f64),
) -> Comparison {
    let finite = |(base, new): &&(f64, f64)| base.is_finite() && new.is_finite();
    let pairs: Vec<_> = pairs.iter().filter(finite).copied().collect();
    let (base, new): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let nothing = "no test: no repeat in which both have a value".into();
    let mut comparison = Comparison { n: pairs.len(), method: nothing, ..Comparison::default() };
    let Some(middle) = Sorted::from(&base[..]).median() else { return comparison };
    let threshold = threshold.map(|share| share.max(0.0));
    let scale = Scale::of(&pairs, middle < least);
    let scaled: Vec<_> =
        pairs.iter().map(|(b, n)| (scale.transformed(*b), scale.transformed(*n))).collect();
    let evidence = match test {
        Test::Paired => Evidence::paired(&scaled),
        // Ranks estimate the number of events, which is shown; the verdict depends on whether there were any (below).
        Test::Ranked | Test::Occurrence => Evidence::ranked(&scaled),
    };
    let value = evidence.estimate();
    let bounds = evidence.interval(error).filter(|_| pairs.len() >= LEAST_BOUNDED);
    let zone = match scale {
        Scale::Values => {
            let interval = bounds.map(|(low, high)| Interval { low, high });
            comparison.difference = Some(Difference { value, interval });
            // A base that is zero in some repeats is no basis for a ratio.
            let positive = pairs.iter().all(|(b, n)| *b > 0.0 && *n >= 0.0);
            let ratio = || median(&Sorted::from(&new[..])) / middle;
            comparison.ratio = (positive && middle >= least).then(ratio);
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
    comparison.all_zero = scale == Scale::Nothing;
    comparison.method = method(&evidence, scale, pairs.len(), bounds.is_some());
    if middle < least && scale == Scale::Values {
        comparison.method.push_str("; no ratio: the base is nearly nothing");
    }
    if test == Test::Occurrence {
        let bounds = |interval: &mut Option<Interval>| *interval = None;
        comparison.difference.iter_mut().for_each(|difference| bounds(&mut difference.interval));
        (comparison.low, comparison.high) = (None, None);
    }
    let ranked = if test == Test::Ranked { scaled } else { Vec::new() };
    comparison.tested = Some(Tested { evidence, zone, ranked });
    comparison
}

/// The scale on which differences are taken.
#[derive(Clone, Copy, PartialEq)]
enum Scale {
    Logarithms,
    Values,
    /// Every value is zero: two variants without errors do not differ.
    Nothing,
}

impl Scale {
    /// Returns the scale for pairs; a base that is `nearly_nothing` allows no ratios.
    fn of(pairs: &[(f64, f64)], nearly_nothing: bool) -> Self {
        let all = |what: fn(f64) -> bool| pairs.iter().all(|(b, n)| what(*b) && what(*n));
        if !nearly_nothing && all(|value| value > 0.0) {
            Self::Logarithms
        } else if all(|value| value == 0.0) {
            Self::Nothing
        } else {
            Self::Values
        }
    }

    fn transformed(self, value: f64) -> f64 {
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
    settle_all(family, &holm(&p), 0);
}

/// Sets the verdicts on comparisons by their `adjusted` p-values; `others` is the number of undecided claims besides these.
pub(crate) fn settle_all(
    family: &mut [(&mut Comparison, Better)],
    adjusted: &[f64],
    others: usize,
) {
    for ((comparison, better), p) in family.iter_mut().zip(adjusted.iter().copied()) {
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
    // Where outliers keep it open, the number of repeats until both sides have had some cannot be estimated.
    let unclear =
        |c: &Comparison| c.verdict == Some(Verdict::Unclear) && c.p.is_some() && c.apart.is_empty();
    let open = family.iter().filter(|(comparison, _)| unclear(comparison)).count() + others;
    for (comparison, _) in family.iter_mut().filter(|(comparison, _)| unclear(comparison)) {
        // Decided claims no longer use up a part of the error (Holm).
        comparison.repeats_that_would_decide = comparison.repeats(ERROR / open as f64);
    }
}

/// Returns what was computed, in words, with the reason for what is missing.
fn method(evidence: &Evidence, scale: Scale, n: usize, bounded: bool) -> String {
    let (logs, what) = match scale {
        Scale::Values => {
            ("differences", "; differences of values: some are zero, negative or nearly nothing")
        }
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
mod tests;
