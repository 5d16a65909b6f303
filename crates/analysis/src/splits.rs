//! One large I/O, or the same bytes in flight as many small ones: for each sweep by outstanding bytes, the fastest split, and how sure it is.

use std::collections::BTreeMap;

use results::model::{PlanFacts, SweepFacts};
use stats::{Comparison, Verdict};
use units::{Better, Test};

use crate::VariantFigures;
use crate::comparisons::few_ios;
use crate::effects::level_number;
use crate::values::{MetricValues, pairs};

/// The keys of a sweep by outstanding bytes.
const OUTSTANDING: &str = "outstanding";
const DEPTH: &str = "depth";
/// The metric by which the fastest split is found.
const METRIC: &str = "throughput_bytes_per_s";
/// The share of the throughput below which a difference does not matter.
const THRESHOLD: f64 = 0.05;

/// The answer for one variant with one amount of bytes in flight.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// The variant.
    pub variant: String,
    /// The stage that sweeps.
    pub stage: String,
    /// The operation.
    pub operation: String,
    /// Bytes in flight of each job.
    pub outstanding: u64,
    /// The split into the fewest I/Os, the base of all comparisons: a single one, if that was swept.
    pub whole: SplitPoint,
    /// The fastest of the other splits.
    pub best: SplitPoint,
    /// Throughput of `best` over that of `whole`; `None` where no repeat has both.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Repeats that have both.
    pub n: usize,
    /// The fewest I/Os of a run, if they were too few for an answer.
    pub few_ios: Option<u64>,
    /// The answer.
    pub answer: SplitAnswer,
}

/// The bytes in flight split into so many I/Os.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitPoint {
    /// I/Os in flight.
    pub depth: u64,
    /// Median of the throughput, bytes per second; `None` where nothing was measured.
    pub median: Option<f64>,
}

/// The better way to split an amount of bytes in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SplitAnswer {
    /// Many small I/Os: the fastest split is surely faster than the whole.
    Split,
    /// One large I/O: every split is surely slower.
    Whole,
    /// It does not matter: no split is faster, and at least one is as fast.
    Either,
    /// The repeats do not decide it.
    Open,
}

impl SplitAnswer {
    /// The answer in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Whole => "whole",
            Self::Either => "either",
            Self::Open => "open",
        }
    }
}

/// The values of one variant, stage, operation and amount, by swept depth.
type Amount<'a> = BTreeMap<u64, Option<Measured<'a>>>;

/// Values, and the fewest I/Os of any run behind them.
#[derive(Clone, Copy)]
struct Measured<'a> {
    values: &'a MetricValues,
    least_ios: u64,
}

/// A split compared with the whole of its amount.
struct Beside {
    depth: u64,
    comparison: Comparison,
    few_ios: Option<u64>,
}

/// Returns all answers, by stage, operation, variant and amount.
///
/// Every split is compared with the whole of its amount, and all comparisons of a result are judged as one family (Holm), so that the fastest of
/// many splits is not called better only because there are many.
pub(crate) fn splits(plan: &PlanFacts, variants: &[VariantFigures]) -> Vec<Split> {
    let amounts: Vec<_> = variants
        .iter()
        .flat_map(|variant| amounts(plan, variant).into_iter().map(move |amount| (variant, amount)))
        .collect();
    let mut compared: Vec<_> =
        amounts.iter().map(|(_, (_, amount))| beside_whole(amount)).collect();
    judge(compared.iter_mut().flatten());
    let mut found: Vec<Split> = amounts
        .iter()
        .zip(&compared)
        .filter_map(|((variant, (named, amount)), compared)| {
            split(&variant.name, named, amount, compared)
        })
        .collect();
    let order = |split: &Split| (split.stage.clone(), split.operation.clone());
    found.sort_by_key(order);
    found
}

/// Judges all splits together, except those with too few I/Os.
fn judge<'a>(all: impl Iterator<Item = &'a mut Beside>) {
    let enough = all.filter(|beside| beside.few_ios.is_none());
    let mut family: Vec<_> =
        enough.map(|beside| (&mut beside.comparison, Better::Higher)).collect();
    stats::judge(&mut family);
}

/// Compares every measured split of an amount with its whole, by depth, without verdicts; nothing where the whole was not measured.
fn beside_whole(amount: &Amount) -> Vec<Beside> {
    let mut all = amount.iter();
    let Some((_, Some(whole))) = all.next() else { return Vec::new() };
    let of = |(depth, measured): (&u64, &Option<Measured>)| {
        let parts = measured.as_ref()?;
        let pairs = pairs(whole.values, parts.values).0;
        let pairs: Vec<_> = pairs.into_iter().map(|(_, pair)| pair).collect();
        let ios = [whole.least_ios, parts.least_ios].map(|ios| (METRIC, ios));
        Some(Beside {
            depth: *depth,
            comparison: stats::compare(&pairs, Test::Paired, Some(THRESHOLD)),
            few_ios: few_ios(ios.into_iter()),
        })
    };
    all.filter_map(of).collect()
}

/// Stage, operation and bytes in flight.
type Named = (String, String, u64);

/// Returns the amounts of a variant that were measured at two depths at least.
fn amounts<'a>(plan: &PlanFacts, variant: &'a VariantFigures) -> BTreeMap<Named, Amount<'a>> {
    let facts = plan.variants.iter().find(|facts| facts.name == variant.name);
    let points: BTreeMap<&str, (&SweepFacts, u64, u64)> = facts
        .iter()
        .flat_map(|facts| &facts.stages)
        .filter_map(|stage| {
            let sweep = stage.sweep.as_ref()?;
            let whole = |key: &str| Some(level_number(sweep.point.get(key)?)? as u64);
            Some((&*stage.name, (sweep, whole(OUTSTANDING)?, whole(DEPTH)?)))
        })
        .collect();
    let swept = |stage: &str, outstanding: u64| -> Amount<'a> {
        let at_stage =
            points.values().filter(|(s, amount, _)| s.stage == stage && *amount == outstanding);
        at_stage.map(|(.., depth)| (*depth, None)).collect()
    };
    let mut found: BTreeMap<Named, Amount> = BTreeMap::new();
    for values in variant.values.iter().filter(|values| values.metric == METRIC) {
        let stage = values.scope.stage.as_deref();
        let Some((sweep, outstanding, depth)) = stage.and_then(|stage| points.get(stage)) else {
            continue;
        };
        let Some(operation) = values.scope.as_operation() else { continue };
        if values.points.is_empty() {
            continue;
        }
        let named = (sweep.stage.clone(), operation.to_owned(), *outstanding);
        // A missing count comes from an old result, which kept none.
        let least_ios = variant.least_ios.get(&values.scope).copied().unwrap_or(u64::MAX);
        let amount = found.entry(named);
        let amount = amount.or_insert_with(|| swept(&sweep.stage, *outstanding));
        amount.insert(*depth, Some(Measured { values, least_ios }));
    }
    found.retain(|_, amount| amount.len() > 1);
    found
}

fn split(
    variant: &str,
    (stage, operation, outstanding): &Named,
    amount: &Amount,
    compared: &[Beside],
) -> Option<Split> {
    let median = |depth: u64| {
        let values = amount.get(&depth)?.as_ref()?.values;
        stats::figure(&values.numbers()).median
    };
    let (whole, _) = amount.first_key_value()?;
    let is = |verdict: Verdict| move |one: &Beside| one.comparison.verdict == Some(verdict);
    let few_ios = compared.iter().filter_map(|beside| beside.few_ios).min();
    let answer = match () {
        () if compared.iter().any(is(Verdict::Better)) => SplitAnswer::Split,
        () if compared.is_empty() || few_ios.is_some() => SplitAnswer::Open,
        () if compared.iter().all(is(Verdict::Worse)) => SplitAnswer::Whole,
        () if compared.iter().any(is(Verdict::Unclear)) => SplitAnswer::Open,
        () => SplitAnswer::Either,
    };
    // Where some splits are surely faster, the best is one of these, even if an undecided one happens to have a higher median.
    let is_answer = |depth: &u64| {
        let sure = |beside: &Beside| beside.depth == *depth && is(Verdict::Better)(beside);
        answer != SplitAnswer::Split || compared.iter().any(sure)
    };
    let others = amount.keys().skip(1).filter(|depth| is_answer(depth));
    let medians = others.filter_map(|depth| Some((median(*depth)?, *depth)));
    let (best, depth) = medians.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let comparison = compared.iter().find(|beside| beside.depth == depth);
    let comparison = comparison.map(|beside| &beside.comparison);
    Some(Split {
        variant: variant.to_owned(),
        stage: stage.clone(),
        operation: operation.clone(),
        outstanding: *outstanding,
        whole: SplitPoint { depth: *whole, median: median(*whole) },
        best: SplitPoint { depth, median: Some(best) },
        ratio: comparison.and_then(|c| c.ratio),
        low: comparison.and_then(|c| c.low),
        high: comparison.and_then(|c| c.high),
        n: comparison.map_or(0, |c| c.n),
        few_ios: few_ios.filter(|_| answer == SplitAnswer::Open),
        answer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::{Of, Scope};
    use crate::values::Point;

    fn values(stage: &str, values: &[f64]) -> MetricValues {
        let point = |(repeat, value): (usize, &f64)| Point { repeat: repeat as u32, value: *value };
        MetricValues {
            scope: Scope {
                stage: Some(stage.to_owned()),
                of: Of::Operation("randread".to_owned()),
            },
            metric: METRIC.to_owned(),
            points: values.iter().enumerate().map(point).collect(),
        }
    }

    fn answer_of(least_ios: u64, whole: &[f64], splits: &[&[f64]]) -> Split {
        let named = ("read".to_owned(), "randread".to_owned(), 524_288);
        let all: Vec<MetricValues> =
            std::iter::once(&whole).chain(splits).map(|of| values("p", of)).collect();
        let measured = all
            .iter()
            .map(|values| (!values.points.is_empty()).then_some(Measured { values, least_ios }));
        let amount: Amount = (0..).map(|at| 8_u64.pow(at)).zip(measured).collect();
        let mut compared = beside_whole(&amount);
        judge(compared.iter_mut());
        split("flash", &named, &amount, &compared).expect("two depths")
    }

    fn answer(whole: &[f64], splits: &[&[f64]]) -> Split {
        answer_of(10, whole, splits)
    }

    #[test]
    fn too_few_ios_and_a_whole_that_measured_nothing_leave_it_open() {
        let whole = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0];
        let fast = whole.map(|value| value * 3.0);
        let few = answer_of(9, &whole, &[&fast]);
        assert_eq!((few.answer, few.few_ios), (SplitAnswer::Open, Some(9)));
        assert_eq!(answer_of(10, &whole, &[&fast]).answer, SplitAnswer::Split);
        // The second of three is not taken for the whole.
        let none = answer(&[], &[&whole, &fast]);
        assert_eq!((none.answer, none.ratio), (SplitAnswer::Open, None));
        assert_eq!((none.whole.depth, none.whole.median, none.best.depth), (1, None, 64));
    }

    #[test]
    fn the_fastest_split_is_named_only_where_it_is_surely_faster() {
        let whole = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0];
        let times = |by: f64| whole.map(|value| value * by);
        let found = answer(&whole, &[&times(1.6), &times(1.2)]);
        assert_eq!((found.answer, found.best.depth, found.whole.depth), (SplitAnswer::Split, 8, 1));
        assert!(found.ratio.is_some_and(|ratio| (ratio - 1.6).abs() < 1e-9), "{found:?}");
        assert_eq!(answer(&whole, &[&times(0.3), &times(0.07)]).answer, SplitAnswer::Whole);
        let same = [100.5, 100.4, 99.2, 99.8, 101.7, 98.3];
        assert_eq!(answer(&whole, &[&same, &times(0.07)]).answer, SplitAnswer::Either);
        // One median is higher by chance, another one is surely higher: the sure one is the answer.
        let wild = [400.0, 20.0, 500.0, 30.0, 600.0, 700.0];
        let found = answer(&whole, &[&times(1.6), &wild]);
        assert_eq!((found.answer, found.best.depth), (SplitAnswer::Split, 8));
        assert_eq!(answer(&whole, &[&wild]).answer, SplitAnswer::Open);
        // One run decides nothing, however far apart.
        assert_eq!(answer(&[100.0], &[&[900.0]]).answer, SplitAnswer::Open);
    }
}
