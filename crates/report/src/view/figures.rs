//! The figures of all variants side by side, from the analysis and the catalogue of metrics.

use analysis::{Analysis, MetricComparison, Scope as Of, VariantFigures};
use results::model::AskedMetric;
use units::Metric;

use super::{Figure, FigureRow, Scope, SpreadRow};

/// A row for every metric that the catalogue describes and a variant has: operations first, then the load as
/// a whole, then layers; within each in the order of the catalogue.
pub fn rows(analysis: &Analysis, questions: &[AskedMetric]) -> Vec<FigureRow> {
    let mut scopes: Vec<Of> = Vec::new();
    for variant in &analysis.variants {
        let own = variant.values.iter().map(|v| &v.scope);
        for scope in own.filter(|s| shown(s, variant)) {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
    }
    scopes.sort_by_key(|scope| match scope {
        Of::Operation(name) => (0, name.clone()),
        Of::Cpu | Of::Content => (1, String::new()),
        Of::Layer(name) => (2, name.clone()),
    });
    let mut rows = Vec::new();
    for scope in &scopes {
        rows.extend(layers::metrics().filter_map(|metric| row(analysis, questions, scope, metric)));
    }
    rows
}

/// Content has its own table; the load's CPU time stands with its operation where there is only one.
fn shown(scope: &Of, variant: &VariantFigures) -> bool {
    match scope {
        Of::Operation(_) | Of::Layer(_) => true,
        Of::Cpu => variant.operations.len() > 1,
        Of::Content => false,
    }
}

fn row(
    analysis: &Analysis,
    questions: &[AskedMetric],
    scope: &Of,
    metric: &Metric,
) -> Option<FigureRow> {
    let values: Vec<_> =
        analysis.variants.iter().map(|v| v.figure(scope, metric.id).and_then(figure)).collect();
    if analysis.variants.iter().all(|v| v.figure(scope, metric.id).is_none()) {
        return None;
    }
    let compared = |name: &str| {
        let same =
            |c: &&MetricComparison| c.new == name && c.metric == metric.id && c.scope() == *scope;
        analysis.comparisons.iter().find(same).cloned()
    };
    let own = match scope {
        Of::Operation(name) => Scope::Operation(name.clone()),
        Of::Layer(name) => Scope::Layer(name.clone()),
        Of::Cpu | Of::Content => Scope::Load,
    };
    Some(FigureRow {
        asked: questions.iter().any(|q| q.metric == metric.id && asks(q, &own)),
        scope: own,
        metric: metric.id.to_owned(),
        label: metric.name.to_owned(),
        unit: metric.unit,
        better: metric.better,
        comparisons: analysis.variants.iter().map(|v| compared(&v.name)).collect(),
        values,
    })
}

/// Whether a question is about this operation or layer.
fn asks(question: &AskedMetric, scope: &Scope) -> bool {
    match (scope, &question.operation) {
        (Scope::Operation(name), Some(operation)) => name == operation,
        (Scope::Operation(_) | Scope::Load, None) => true,
        (Scope::Load, Some(_)) => false,
        (Scope::Layer(_), operation) => operation.is_none(),
    }
}

/// A figure that has a median.
pub fn figure(figure: &stats::Figure) -> Option<Figure> {
    Some(Figure { median: figure.median?, low: figure.low, high: figure.high, n: figure.n })
}

/// The thesis table: of each run's intervals the spread, and of each of its figures the median over the runs.
pub fn spread(analysis: &Analysis) -> Vec<SpreadRow> {
    let variants = analysis.variants.iter().enumerate();
    variants
        .flat_map(|(variant, figures)| {
            figures.thesis.iter().map(move |(operation, s)| SpreadRow {
                variant,
                operation: operation.clone(),
                intervals: s.n,
                figures: [
                    Some(s.min),
                    Some(s.q1),
                    Some(s.median),
                    Some(s.q3),
                    Some(s.max),
                    s.std_dev,
                ],
            })
        })
        .collect()
}
