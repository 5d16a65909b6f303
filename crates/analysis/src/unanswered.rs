//! Unanswered questions: those for which no run has a figure.

use results::ResultSet;
use results::model::{AskedMetric, PlanFacts, counted_operations};

use crate::comparisons::{MetricComparison, QUESTIONS, asks, described, undecided};
use crate::scope::{Of, Scope};
use crate::values::MetricValues;
use crate::variant::VariantFigures;

/// Tells whether a simulation has values of a metric: it does not model CPU time.
pub fn is_simulated(metric: &str) -> bool {
    !layers::COSTS.contains(&metric)
}

/// Returns the questions that a result should answer: a simulation is not asked for what it does not model.
pub(crate) fn open_to(result: &ResultSet) -> Vec<AskedMetric> {
    let models =
        |question: &&AskedMetric| !result.manifest.simulated || is_simulated(&question.metric);
    result.manifest.plan.questions.iter().filter(models).cloned().collect()
}

/// Adds an empty figure to every variant for each question for which no variant has a value, so that it is shown; not where no run ended well.
pub(crate) fn fill(questions: &[AskedMetric], variants: &mut [VariantFigures]) {
    if variants.iter().all(|variant| variant.repeats == 0) {
        return;
    }
    let known = |question: &AskedMetric| {
        variants.iter().any(|v| v.values.iter().any(|of| asks(question, &of.scope, &of.metric)))
    };
    let lacking: Vec<_> = questions.iter().filter(|question| !known(question)).collect();
    for variant in variants {
        for question in &lacking {
            let scope = Scope { stage: question.stage.clone(), of: part(question) };
            let figures = variant.figures.entry(scope.clone()).or_default();
            figures.insert(question.metric.clone(), stats::figure(&[]));
            let metric = question.metric.clone();
            variant.values.push(MetricValues { scope, metric, points: Vec::new() });
        }
    }
}

/// Returns the part of a stage that a question is about, as far as the question tells.
fn part(question: &AskedMetric) -> Of {
    match (&question.operation, &question.layer) {
        (Some(operation), _) => Of::Operation(operation.clone()),
        (None, Some(layer)) => Of::Layer(layer.clone()),
        (None, None) if layers::owners_of_metric(&question.metric).loads => Of::Load,
        (None, None) => Of::Command,
    }
}

/// Returns undecided comparisons for the questions that have no values on both sides, or lack those of one side though it ran what is asked about.
/// `known` are the comparisons that exist already.
pub(crate) fn unanswered(
    (plan, questions): (&PlanFacts, &[AskedMetric]),
    (base, new): (&VariantFigures, &VariantFigures),
    known: &[MetricComparison],
) -> Vec<MetricComparison> {
    let mut all: Vec<MetricComparison> = Vec::new();
    for question in &questions[..questions.len().min(QUESTIONS)] {
        let of = |variant: &VariantFigures| {
            let matching = variant.values.iter().filter(|v| asks(question, &v.scope, &v.metric));
            matching.map(|v| (variant.common(&v.scope), v.points.len())).collect::<Vec<_>>()
        };
        let (old, newer) = (of(base), of(new));
        let both: Vec<&(Scope, usize)> = old.iter().chain(&newer).collect();
        for (scope, _) in &both {
            let is_compared = |c: &MetricComparison| {
                c.new == new.name && c.metric == question.metric && c.scope == *scope
            };
            let points = |side: &[(Scope, usize)]| {
                side.iter().find(|(other, _)| other == scope).map(|(_, points)| *points)
            };
            let (before, now) = (points(&old), points(&newer));
            let values = before.unwrap_or_default() + now.unwrap_or_default();
            // A part that one side's stack does not have is not asked about.
            let one_sided = values > 0 && (before.is_none() || now.is_none());
            let skip = one_sided || !is_meant(question, scope, &both, (base, new));
            if skip || known.iter().chain(&all).any(is_compared) {
                continue;
            }
            let Some((_, test)) = described(plan, scope, &question.metric) else { continue };
            let method = match values {
                0 => "not measured: no run has a value",
                _ => "not compared: no repeat in which both have a value",
            };
            let why = (values, method.to_owned());
            all.push(undecided(question, (scope, test), (base, new), why));
        }
    }
    all
}

/// Tells whether a question that matches `scope` is meant for it. One that names no part is not meant for operations that make others durable, nor
/// for layers without a value where another one has it; a question about CPU time of a mixed load is meant for the load.
fn is_meant(
    question: &AskedMetric,
    scope: &Scope,
    all: &[&(Scope, usize)],
    (base, new): (&VariantFigures, &VariantFigures),
) -> bool {
    let others = || all.iter().map(|(other, _)| other).filter(|other| other.stage == scope.stage);
    let has = all.iter().any(|(other, points)| other.stage == scope.stage && *points > 0);
    match &scope.of {
        Of::Content => false,
        Of::Load => {
            base.is_mixed(scope.stage.as_deref())
                || others().all(|other| !matches!(other.of, Of::Operation(_)))
        }
        Of::Operation(name) => {
            let names: Vec<String> =
                others().filter_map(|other| other.as_operation().map(str::to_owned)).collect();
            let did = |v: &VariantFigures| v.least_ios.get(scope).is_some_and(|ios| *ios > 0);
            // An operation that did I/Os but moves no bytes, such as a flush, has no throughput.
            let lacks = has && (did(base) || did(new));
            question.operation.is_some()
                || counted_operations(names.iter()).any(|counted| counted == name) && !lacks
        }
        Of::Layer(_) => question.layer.is_some() || !has,
        Of::Command => true,
    }
}
