//! The figures of all variants side by side, from the analysis and the catalogue of metrics.

use analysis::{Analysis, MetricComparison, Of, Scope, VariantFigures};
use results::model::AskedMetric;
use units::Metric;

use super::{Figure, FigureRow, SpreadRow};

/// A row for every metric that the catalogue describes and a variant has: stage by stage operations first, then the load as
/// a whole, then layers; within each in the order of the catalogue.
pub fn rows(analysis: &Analysis, questions: &[AskedMetric]) -> Vec<FigureRow> {
    let mut scopes: Vec<&Scope> = Vec::new();
    for variant in &analysis.variants {
        for scope in variant.figures.keys().filter(|scope| shown(scope, variant)) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
    }
    let stage =
        |scope: &Scope| analysis.stages.iter().position(|s| Some(s) == scope.stage.as_ref());
    scopes.sort_by_key(|scope| (stage(scope), scope.of.clone()));
    let mut rows = Vec::new();
    for scope in scopes {
        rows.extend(layers::metrics().filter_map(|metric| row(analysis, questions, scope, metric)));
    }
    rows
}

/// Content has its own table; the load's CPU time stands with its operation where there is only one.
fn shown(scope: &Scope, variant: &VariantFigures) -> bool {
    match scope.of {
        Of::Operation(_) | Of::Layer(_) | Of::Command => true,
        Of::Load => variant.operations(scope.stage.as_deref()) > 1,
        Of::Content => false,
    }
}

fn row(
    analysis: &Analysis,
    questions: &[AskedMetric],
    scope: &Scope,
    metric: &Metric,
) -> Option<FigureRow> {
    let values: Vec<_> =
        analysis.variants.iter().map(|v| v.figure(scope, metric.id).and_then(figure)).collect();
    if analysis.variants.iter().all(|v| v.figure(scope, metric.id).is_none()) {
        return None;
    }
    let compared = |name: &str| {
        let same =
            |c: &&MetricComparison| c.new == name && c.metric == metric.id && c.scope == *scope;
        analysis.comparisons.iter().find(same).cloned()
    };
    Some(FigureRow {
        asked: questions.iter().any(|asked| analysis::asks(asked, scope, metric.id)),
        purpose: scope.as_layer().is_some() && layers::is_headline(metric.id),
        scope: scope.clone(),
        metric: metric.id.to_owned(),
        label: metric.name.to_owned(),
        unit: metric.unit,
        better: metric.better,
        comparisons: analysis.variants.iter().map(|v| compared(&v.name)).collect(),
        values,
    })
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
            figures.thesis.iter().map(move |(scope, s)| SpreadRow {
                variant,
                operation: scope.name(),
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
