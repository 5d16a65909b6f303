//! Two variants side by side in one metric.

use units::{Better, Test};

use crate::apart::Apart;
use crate::evidence::Evidence;
use crate::quantile::{Sorted, median};
use crate::verdict::{self, Claim, LEAST_REPEATS, Verdict};
use crate::{Interval, holm, student};

/// The repeats that a claim rests on leave this chance of error; intervals leave it out, one half at either end.
pub(crate) const ERROR: f64 = 0.05;

/// Fewer pairs give no interval: of two Student's t makes one from next to nothing to everything.
const LEAST_BOUNDED: usize = 3;

/// More repeats than this nobody runs; the estimate is left out.
const MOST_REPEATS: usize = 1000;

/// The comparison of the new variant's figure with the base's.
///
/// All ratios are new over base and have no unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// New over base; `None` where it has no meaning (no repeat with both, a negative value, a base that is zero in some repeat or that is
    /// nearly nothing).
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
    /// With how few repeats it may be decided and with how many it is likely to be, set by [`judge`]; `None` when these decide, when fewer than
    /// five hardly know the spread, and when it may take more than 1000.
    pub repeats_that_would_decide: Option<(u32, u32)>,
    /// After which repeat it was decided, where it was looked at while repeats came in ([`crate::compare_at_looks`]).
    pub decided_after: Option<u32>,
    /// Runs that stand apart for the bad and speak against the claim, so that it is not made; set with the verdict.
    pub apart: Apart,
    /// Runs that went badly came up on both sides, as often, so that they speak against nothing; set with the verdict.
    pub bad_seen: bool,
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
#[derive(Debug, Clone, PartialEq)]
struct Tested {
    evidence: Evidence,
    /// The differences that do not matter, on the scale of the evidence; `None` where nothing is asked.
    zone: Option<(f64, f64)>,
    /// The pairs on that scale, where some runs may stand apart unseen.
    ranked: Vec<(f64, f64)>,
}

impl Comparison {
    /// Returns one that nothing decides, as `method` says why.
    pub fn open(method: String) -> Self {
        Self { verdict: Some(Verdict::Unclear), method, ..Self::default() }
    }

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
        let seen = |tested: &Tested| Some(Apart::any(better, &tested.ranked, tested.zone?));
        self.bad_seen = self.tested.as_ref().and_then(seen).unwrap_or_default();
        let stands = sure && self.apart.is_empty();
        let word = if stands { verdict::word(claim, better) } else { Verdict::Unclear };
        self.verdict = Some(word);
    }

    /// The least and the most repeats that are likely to bring an interval free of the zone's border that leaves out `error`: as many as the
    /// spread that was seen asks for, were it truly that of one end or the other of its own 80 % interval.
    ///
    /// `None` below [`LEAST_REPEATS`], which hardly know their spread (two say 995 where thirty are enough), and where the most is above
    /// [`MOST_REPEATS`].
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
            // What never happened has no spread.
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
    compare_to(pairs, test, threshold, 0.0)
}

/// Compares as [`compare`] does; a base whose median is below `least`, in the unit of the values, is nearly nothing, and no ratio is made to it:
/// 16,602 flushes beside one are no multiple of it. A difference stands in its place, tested on the values themselves.
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

/// On what differences are taken.
#[derive(Clone, Copy, PartialEq)]
enum Scale {
    Logarithms,
    Values,
    /// Every value is zero: two variants without errors do not differ.
    Nothing,
}

impl Scale {
    /// Returns the scale for pairs; to a base that is `nearly nothing` there are no ratios.
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
    settle_all(family, &holm(&p), 0);
}

/// Gives the verdicts on comparisons by their `adjusted` p-values; `others` claims are open beside them.
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
    // Nobody knows how many repeats it takes until runs that stand apart have come up on both sides.
    let unclear =
        |c: &Comparison| c.verdict == Some(Verdict::Unclear) && c.p.is_some() && c.apart.is_empty();
    let open = family.iter().filter(|(comparison, _)| unclear(comparison)).count() + others;
    for (comparison, _) in family.iter_mut().filter(|(comparison, _)| unclear(comparison)) {
        // What is decided already takes nothing from the others (Holm).
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
