//! Compares every other variant with the first, in each metric that both have, and in those asked about that only one has.

use std::ops::Deref;

use results::model::{AskedMetric, CellEntry, PlanFacts};
use stats::factorial::Effects;
use stats::{AtLooks, Comparison, Verdict};
use units::{Better, Test};

use crate::scope::{Of, Scope};
use crate::values::{MetricValues, Pair, pairs};
use crate::variant::VariantFigures;

/// The most questions: with Holm's correction over more, five repeats per side could decide none.
pub(crate) const QUESTIONS: usize = 6;

/// Fewest I/Os of a run that must lie beyond a percentile: with fewer the next run may differ by chance.
const MIN_IOS_BEYOND: f64 = 10.0;
/// The reason why no verdict is given on a percentile with fewer I/Os beyond it.
const TOO_FEW_BEYOND_PERCENTILE: &str =
    "not compared: fewer than 10 I/Os of a run lie beyond this percentile; let the load do more";
/// The reason why no verdict is given on a rate from fewer I/Os.
const TOO_FEW_IOS: &str = "not compared: a run did fewer than 10 I/Os; let the load do more";
/// The share of the I/Os that lies beyond each percentile; for a rate all of them count.
const SHARES: [(&str, f64); 7] = [
    ("latency_p50_ns", 0.5),
    ("io_bandwidth_p50_bytes_per_s", 0.5),
    ("latency_p99_ns", 0.01),
    ("latency_p999_ns", 0.001),
    ("iops", 1.0),
    ("throughput_bytes_per_s", 1.0),
    ("operations_per_s", 1.0),
];

/// One variant against the base in one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricComparison {
    /// Id of the metric.
    pub metric: String,
    /// Scope of the metric.
    pub scope: Scope,
    /// Name of the base.
    pub base: String,
    /// Name of the variant that is compared with it.
    pub new: String,
    /// The statistics of the values. The runs of its outliers are named in [`MetricComparison::apart`].
    pub statistics: Comparison,
    /// Number of repeats left out because only one side has a value.
    pub dropped: usize,
    /// Test that compares the repeats.
    pub test: Test,
    /// The relative difference that does not matter (0.03 is 3 %); `None` when the experiment does not ask.
    pub threshold: Option<f64>,
    /// Outliers in the bad direction that contradict the claim; while there are any, it is not made.
    pub apart: Vec<RunApart>,
    /// Tells whether too few I/Os of a run lie beyond this percentile, or are behind this rate, so that no number of repeats decides it.
    pub few_beyond: bool,
}

/// A run whose figure lies far from all others, in the bad direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunApart {
    /// Its variant.
    pub variant: String,
    /// Its repeat.
    pub repeat: u32,
    /// The position of its cell in the order of running, from 1.
    pub cell: usize,
}

impl Deref for MetricComparison {
    type Target = Comparison;

    fn deref(&self) -> &Comparison {
        &self.statistics
    }
}

impl MetricComparison {
    /// Tells whether it is asked about and no run of either side has a value.
    pub fn unmeasured(&self) -> bool {
        self.is_asked_about() && self.n == 0 && self.dropped == 0
    }

    /// Returns the largest share of runs, percent, that may behave differently without having been seen; for the verdict `same` without outliers.
    pub fn unseen_percent(&self) -> Option<f64> {
        let quiet = self.verdict == Some(Verdict::Same) && !self.bad_seen;
        quiet.then(|| stats::unseen_percent(self.n))
    }

    /// Tells whether the experiment asks about it.
    pub fn is_asked_about(&self) -> bool {
        self.threshold.is_some()
    }

    /// Tells whether more repeats may decide it.
    pub fn decidable(&self) -> bool {
        self.is_asked_about() && !self.few_beyond && !self.unmeasured()
    }
}

/// A comparison before its verdict is given, with the question that it answers.
struct Draft<'a> {
    new: &'a VariantFigures,
    /// Scope of the metric, as all variants call it.
    scope: &'a Scope,
    values: &'a MetricValues,
    question: Option<(usize, &'a AskedMetric)>,
    better: Better,
    test: Test,
    pairs: Vec<Pair>,
    comparison: Comparison,
    dropped: usize,
    /// The least base for which a ratio is made.
    least: f64,
    /// Tells whether too few I/Os of a run lie beyond this percentile, or are behind this rate.
    few_beyond: bool,
}

impl Draft<'_> {
    /// Returns the question that the verdict answers; `None` where there is no question, or too few I/Os for a verdict.
    fn judged(&self) -> Option<&AskedMetric> {
        self.question.filter(|_| !self.few_beyond).map(|(_, question)| question)
    }
}

/// Makes all comparisons, judged together with the `effects`. `cells` are those of the run. `looks` are the repeats after which a sequential run was
/// judged so far; `None` if the number of repeats is fixed. Effects are judged at the last look only, with their share of that look's error.
pub(crate) fn compare_all(
    variants: &[VariantFigures],
    plan: &PlanFacts,
    cells: &[CellEntry],
    looks: Option<&[u32]>,
    effects: &mut [(&mut Effects, Better)],
) -> Vec<MetricComparison> {
    let questions = &plan.questions;
    let Some((base, others)) = variants.split_first() else { return Vec::new() };
    let questions = &questions[..questions.len().min(QUESTIONS)];
    let mut drafts = Vec::new();
    for new in others {
        let pairs = base.values.iter().filter_map(|old| {
            let described = described(plan, &old.scope, &old.metric)?;
            pair(base, new, old, (questions, described))
        });
        drafts.extend(pairs);
    }
    match looks {
        None => judge(&mut drafts, effects),
        Some(looks) => {
            let claims = judge_at(looks, &mut drafts, stats::claims_of(effects));
            stats::judge_after_looks(effects, claims);
        }
    }
    drafts.sort_by_key(|draft| draft.question.map_or(usize::MAX, |(place, _)| place));
    let mut all: Vec<_> =
        drafts.into_iter().map(|draft| draft.finish(&base.name, (cells, cells))).collect();
    let lone = questions.iter().flat_map(|question| {
        others.iter().filter_map(|new| one_sided(plan, question, base, new)).collect::<Vec<_>>()
    });
    all.extend(lone);
    all
}

/// Compares the variants of two results that have the same name, with `old` as the base. Their runs form no pairs, so all are compared by ranks.
pub(crate) fn compare_results(
    (old, new): (&[VariantFigures], &[VariantFigures]),
    (plan, questions): (&PlanFacts, &[AskedMetric]),
    cells: (&[CellEntry], &[CellEntry]),
) -> Vec<MetricComparison> {
    let questions = &questions[..questions.len().min(QUESTIONS)];
    let mut drafts = Vec::new();
    for after in new {
        let Some(before) = old.iter().find(|variant| variant.name == after.name) else { continue };
        drafts.extend(before.values.iter().filter_map(|values| {
            let (better, test) = described(plan, &values.scope, &values.metric)?;
            let test = if test == Test::Paired { Test::Ranked } else { test };
            pair(before, after, values, (questions, (better, test)))
        }));
    }
    judge(&mut drafts, &mut []);
    drafts.sort_by_key(|draft| draft.question.map_or(usize::MAX, |(place, _)| place));
    let finish = |draft: Draft| {
        let name = draft.new.name.clone();
        draft.finish(&name, cells)
    };
    drafts.into_iter().map(finish).collect()
}

/// Returns an undecided comparison for a figure asked about that the command of only one side printed. A figure that only one side's layers
/// can have, such as the space saved by a VDO that the other side lacks, is not compared.
fn one_sided(
    plan: &PlanFacts,
    question: &AskedMetric,
    base: &VariantFigures,
    new: &VariantFigures,
) -> Option<MetricComparison> {
    let of = |variant: &'_ VariantFigures| {
        let matching = variant.values.iter().filter(|v| asks(question, &v.scope, &v.metric));
        matching.filter(|values| !values.points.is_empty()).cloned().collect::<Vec<_>>()
    };
    let (old, newer) = (of(base), of(new));
    let (values, has, lacks) = match (&old[..], &newer[..]) {
        ([values, ..], []) => (values, base, new),
        ([], [values, ..]) => (values, new, base),
        _ => return None,
    };
    // Tells whether the command of the other side ran as well.
    let ran = |other: &MetricValues| other.scope == values.scope && !other.points.is_empty();
    if values.scope.of != Of::Command || !lacks.values.iter().any(ran) {
        return None;
    }
    let (_, test) = described(plan, &values.scope, &values.metric)?;
    let method = format!("only {} has values", has.name);
    let dropped = values.points.len();
    Some(undecided(question, (&values.scope, test), (base, new), (dropped, method)))
}

/// Returns an undecided comparison for a figure asked about that cannot be compared, for the reason in `method`; `dropped` values are left out.
pub(crate) fn undecided(
    question: &AskedMetric,
    (scope, test): (&Scope, Test),
    (base, new): (&VariantFigures, &VariantFigures),
    (dropped, method): (usize, String),
) -> MetricComparison {
    MetricComparison {
        metric: question.metric.clone(),
        scope: scope.clone(),
        base: base.name.clone(),
        new: new.name.clone(),
        statistics: Comparison::open(method),
        dropped,
        test,
        threshold: Some(question.threshold),
        apart: Vec::new(),
        few_beyond: false,
    }
}

/// Compares `new` with the base in the metric of `old`; `None` where there is nothing to compare.
fn pair<'a>(
    base: &VariantFigures,
    new: &'a VariantFigures,
    old: &'a MetricValues,
    (questions, (better, test)): (&'a [AskedMetric], (Better, Test)),
) -> Option<Draft<'a>> {
    let values = new.values_of(&old.scope, &old.metric)?;
    match old.scope.of {
        // The content written is compared with the content asked for, not with another variant.
        Of::Content => return None,
        // Loads with a single operation: their CPU time is shown with that operation.
        Of::Load if !base.is_mixed(old.scope.stage.as_deref()) => return None,
        _ => {}
    }
    let (pairs, dropped) = pairs(old, values);
    if pairs.is_empty() {
        return None;
    }
    // The question may use either variant's name of a device.
    let asks_it =
        |question: &AskedMetric| [old, values].iter().any(|v| asks(question, &v.scope, &v.metric));
    let question = questions.iter().enumerate().find(|(_, question)| asks_it(question));
    let threshold = question.map(|(_, question)| question.threshold);
    let numbers: Vec<_> = pairs.iter().map(|(_, pair)| *pair).collect();
    let least = least_base(base, &old.scope, &old.metric);
    let comparison = stats::compare_to(&numbers, test, threshold, least);
    let few_beyond = few_beyond(&[base, new], &old.scope, &old.metric);
    Some(Draft {
        new,
        scope: &old.scope,
        values,
        question,
        better,
        test,
        pairs,
        comparison,
        dropped,
        least,
        few_beyond,
    })
}

/// Returns the smallest base figure for which a ratio is formed; for a rate from fewer than ten I/Os infinity, so that no ratio is formed.
fn least_base(base: &VariantFigures, scope: &Scope, metric: &str) -> f64 {
    if is_rate(metric) && few_beyond(&[base], scope, metric) {
        return f64::INFINITY;
    }
    least_of(metric)
}

/// Returns the least value of a metric for which a ratio is made. A mean size may be small by nature, so that any value is accepted.
pub(crate) fn least_of(metric: &str) -> f64 {
    const MEAN_SIZES: [&str; 2] = [layers::machine::WRITE_BYTES, layers::machine::RUN_BYTES];
    let counted = layers::metric(metric).filter(|_| !MEAN_SIZES.contains(&metric));
    counted.map_or(0.0, |metric| metric.unit.least_base())
}

/// Tells whether a metric is a rate of I/Os, to which every I/O contributes.
pub fn is_rate(metric: &str) -> bool {
    SHARES.iter().any(|(id, share)| *id == metric && *share == 1.0)
}

/// Tells whether a metric is a percentile that cannot be compared because too few I/Os lie beyond it in some run of one of the variants, or a rate
/// for which all variants have a run with too few I/Os.
pub(crate) fn few_beyond(variants: &[&VariantFigures], scope: &Scope, metric: &str) -> bool {
    let ios = variants.iter().filter_map(|variant| Some((metric, *variant.least_ios.get(scope)?)));
    few_ios(ios).is_some()
}

/// Returns the fewest I/Os of a run if they are too few for a percentile among these metrics, or for all rates among them. Each metric comes with
/// the fewest I/Os of a run of its variant.
pub(crate) fn few_ios<'a>(figures: impl Iterator<Item = (&'a str, u64)>) -> Option<u64> {
    let share = |metric| SHARES.iter().find(|(id, _)| *id == metric).map(|(_, share)| *share);
    let known = figures.filter_map(|(metric, ios)| Some((share(metric)?, ios)));
    let (rates, percentiles): (Vec<_>, Vec<_>) = known.partition(|(share, _)| *share == 1.0);
    // A rate is too uncertain only if all sides have few I/Os: few on one side and thousands on the other are a stall, not chance.
    let rate = rates.into_iter().max_by_key(|(_, ios)| *ios);
    let few = |(share, ios): &(f64, u64)| *ios as f64 * share < MIN_IOS_BEYOND;
    percentiles.into_iter().chain(rate).filter(few).map(|(_, ios)| ios).min()
}

/// Returns the direction in which a metric is good, and the test that compares it. A metric that neither the catalogue nor the plan describes is
/// not shown, and so is not compared either.
pub(crate) fn described(plan: &PlanFacts, scope: &Scope, metric: &str) -> Option<(Better, Test)> {
    let picked = || match scope.of {
        Of::Command => plan.picked_figure(scope.stage.as_deref(), metric),
        _ => None,
    };
    let known = layers::metric(metric).map(|metric| (metric.better, metric.test));
    // As far as Fathom knows, figures printed by a command are rates, times or amounts.
    known.or_else(|| picked().map(|picked| (picked.better, Test::Paired)))
}

/// Tells whether `question` is about this metric of `scope`.
pub fn asks(question: &AskedMetric, scope: &Scope, metric: &str) -> bool {
    // A point of a sweep has the name of its stage, followed by what is swept: `random-read depth=16`.
    let point = |name: &str, of: &str| {
        name.strip_prefix(of).is_some_and(|rest| rest.starts_with(' ') && rest.contains('='))
    };
    let stage = match (&question.stage, &scope.stage) {
        (Some(name), Some(stage)) => name == stage || point(stage, name),
        _ => true,
    };
    let same = |wanted: &Option<String>, name: &String| wanted.as_ref().is_none_or(|w| w == name);
    question.metric == metric
        && stage
        && match &scope.of {
            Of::Operation(name) => question.layer.is_none() && same(&question.operation, name),
            Of::Layer(name) => question.operation.is_none() && same(&question.layer, name),
            Of::Load | Of::Command => question.operation.is_none() && question.layer.is_none(),
            Of::Content => false,
        }
}

/// Gives the verdicts on all questions, with one correction over all of them.
fn judge(drafts: &mut [Draft], effects: &mut [(&mut Effects, Better)]) {
    let judged = drafts.iter_mut().filter(|draft| draft.judged().is_some());
    let mut family: Vec<_> = judged.map(|draft| (&mut draft.comparison, draft.better)).collect();
    stats::judge_together(&mut family, effects);
}

/// Judges a sequential run at its looks. The questions and the `effects` claims of the effects share the error of each look equally. Returns the
/// number of all claims.
fn judge_at(looks: &[u32], drafts: &mut [Draft], effects: usize) -> usize {
    let claims = effects + drafts.iter().filter(|draft| draft.judged().is_some()).count();
    for draft in drafts {
        let Some(threshold) = draft.judged().map(|question| question.threshold) else { continue };
        draft.comparison = stats::compare_at_looks(&AtLooks {
            repeats: &draft.pairs,
            looks,
            test: draft.test,
            threshold,
            better: draft.better,
            claims,
            least: draft.least,
        });
    }
    claims
}

impl Draft<'_> {
    /// Completes the comparison; outliers are named by the cells of the base and of the new side.
    fn finish(self, base: &str, (old, new): (&[CellEntry], &[CellEntry])) -> MetricComparison {
        let mut comparison = self.comparison;
        if self.question.is_some() && self.few_beyond {
            comparison.verdict = Some(Verdict::Unclear);
            comparison.repeats_that_would_decide = None;
            comparison.method =
                if is_rate(&self.values.metric) { TOO_FEW_IOS } else { TOO_FEW_BEYOND_PERCENTILE }
                    .to_owned();
        }
        let run = |cells: &[CellEntry], variant: &str, place: usize| {
            let (repeat, _) = *self.pairs.get(place)?;
            let is_run = |cell: &&CellEntry| cell.variant == variant && cell.repeat == repeat;
            let cell = cells.iter().find(is_run)?.index + 1;
            Some(RunApart { variant: variant.to_owned(), repeat, cell })
        };
        let new_name = &self.new.name;
        let of_base = comparison.apart.base.iter().filter_map(|place| run(old, base, *place));
        let of_new = comparison.apart.new.iter().filter_map(|place| run(new, new_name, *place));
        let apart = of_base.chain(of_new).collect();
        MetricComparison {
            metric: self.values.metric.clone(),
            scope: self.scope.clone(),
            base: base.to_owned(),
            new: self.new.name.clone(),
            statistics: comparison,
            dropped: self.dropped,
            test: self.test,
            threshold: self.question.map(|(_, question)| question.threshold),
            apart,
            few_beyond: self.few_beyond,
        }
    }
}
