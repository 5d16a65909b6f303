//! Questions of which no run has a figure: they are asked, and not answered.

use results::ResultSet;
use results::model::{AskedMetric, PlanFacts, counted_operations};

use crate::comparisons::{MetricComparison, QUESTIONS, asks, described, undecided};
use crate::scope::{Of, Scope};
use crate::values::MetricValues;
use crate::variant::VariantFigures;

/// Tells whether a simulation has values of a metric: it models no CPU time.
pub fn is_simulated(metric: &str) -> bool {
    !layers::COSTS.contains(&metric)
}

/// Returns the questions of a result that may be unanswered: what a simulation has no values of was not asked of it.
pub(crate) fn open_to(result: &ResultSet) -> Vec<AskedMetric> {
    let models = |asked: &&AskedMetric| !result.manifest.simulated || is_simulated(&asked.metric);
    result.manifest.plan.questions.iter().filter(models).cloned().collect()
}

/// Gives what is asked about and what no variant has any figure of a place without a value in all, so that it is shown. Nothing where no run ended well.
pub(crate) fn fill(questions: &[AskedMetric], variants: &mut [VariantFigures]) {
    if variants.iter().all(|variant| variant.repeats == 0) {
        return;
    }
    let known = |asked: &AskedMetric| {
        variants.iter().any(|v| v.values.iter().any(|of| asks(asked, &of.scope, &of.metric)))
    };
    let lacking: Vec<_> = questions.iter().filter(|asked| !known(asked)).collect();
    for variant in variants {
        for asked in &lacking {
            let scope = Scope { stage: asked.stage.clone(), of: part(asked) };
            let figures = variant.figures.entry(scope.clone()).or_default();
            figures.insert(asked.metric.clone(), stats::figure(&[]));
            let metric = asked.metric.clone();
            variant.values.push(MetricValues { scope, metric, points: Vec::new() });
        }
    }
}

/// The part of a stage that a question is about, as far as it says.
fn part(asked: &AskedMetric) -> Of {
    match (&asked.operation, &asked.layer) {
        (Some(operation), _) => Of::Operation(operation.clone()),
        (None, Some(layer)) => Of::Layer(layer.clone()),
        (None, None) if layers::owners_of_metric(&asked.metric).loads => Of::Load,
        (None, None) => Of::Command,
    }
}

/// The comparisons that are asked about and that lack the values of both sides, or those of one that did run what is asked about: nothing is
/// decided. `known` are those that there are already.
pub(crate) fn unanswered(
    (plan, questions): (&PlanFacts, &[AskedMetric]),
    (base, new): (&VariantFigures, &VariantFigures),
    known: &[MetricComparison],
) -> Vec<MetricComparison> {
    let mut all: Vec<MetricComparison> = Vec::new();
    for asked in &questions[..questions.len().min(QUESTIONS)] {
        let of = |variant: &VariantFigures| {
            let matching = variant.values.iter().filter(|v| asks(asked, &v.scope, &v.metric));
            matching.map(|v| (variant.common(&v.scope), v.points.len())).collect::<Vec<_>>()
        };
        let (old, own) = (of(base), of(new));
        let both: Vec<&(Scope, usize)> = old.iter().chain(&own).collect();
        for (scope, _) in &both {
            let is_compared = |c: &MetricComparison| {
                c.new == new.name && c.metric == asked.metric && c.scope == *scope
            };
            let points = |side: &[(Scope, usize)]| {
                side.iter().find(|(other, _)| other == scope).map(|(_, points)| *points)
            };
            let (before, now) = (points(&old), points(&own));
            let values = before.unwrap_or_default() + now.unwrap_or_default();
            // What one side's stack does not have is no question to it.
            let one_sided = values > 0 && (before.is_none() || now.is_none());
            let skip = one_sided || !is_meant(asked, scope, &both, (base, new));
            if skip || known.iter().chain(&all).any(is_compared) {
                continue;
            }
            let Some((_, test)) = described(plan, scope, &asked.metric) else { continue };
            let method = match values {
                0 => "not measured: no run has a value",
                _ => "not compared: no repeat in which both have a value",
            };
            let why = (values, method.to_owned());
            all.push(undecided(asked, (scope, test), (base, new), why));
        }
    }
    all
}

/// Tells whether a question that matches `scope` is about it: one that names no part is not about what makes others durable, nor about
/// layers that lack what another one has, and CPU time is of the load where that is mixed.
fn is_meant(
    asked: &AskedMetric,
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
            // What moves no bytes has no throughput.
            let lacks = has && (did(base) || did(new));
            asked.operation.is_some()
                || counted_operations(names.iter()).any(|own| own == name) && !lacks
        }
        Of::Layer(_) => asked.layer.is_some() || !has,
        Of::Command => true,
    }
}
