//! The figures of all variants side by side, from the analysis and the catalogue of metrics.

use std::collections::BTreeMap;

use analysis::{Analysis, MetricComparison, Of, Scope, TypicalSpread, VariantFigures};
use results::model::{AskedMetric, PlanFacts};
use units::{Basis, Better, Metric, Unit};

use super::{Figure, FigureRow, SpreadRow};

/// Returns a row for every metric that a variant has and that the catalogue or the plan describes. For each stage, operations come first, then the
/// load as a whole, then layers, each in the order of the catalogue.
pub fn rows(analysis: &Analysis, plan: &PlanFacts) -> Vec<FigureRow> {
    let mut scopes: Vec<Scope> = Vec::new();
    for variant in &analysis.variants {
        for scope in variant.figures.keys().filter(|scope| has_rows(scope, variant)) {
            let scope = variant.common(scope);
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
    }
    let stage =
        |scope: &Scope| analysis.stages.iter().position(|s| Some(s) == scope.stage.as_ref());
    scopes.sort_by_key(|scope| (stage(scope), scope.of.clone()));
    let mut rows = Vec::new();
    for scope in &scopes {
        let catalogue = layers::metrics().chain(layers::counters());
        let known: Vec<Described> = catalogue.map(Described::from).collect();
        let all = known.into_iter().chain(picked(plan, scope));
        rows.extend(all.filter_map(|metric| row(analysis, plan, scope, &metric)));
    }
    let lacking = unanswered(analysis, plan, &rows);
    rows.extend(lacking);
    one_purpose(plan, &mut rows);
    rows
}

/// Keeps for each layer of a stage only one figure of the layer's purpose: those asked about, or else the one that most variants have; if several are
/// equally frequent, that of the layer's own kind. For one kind of cache the purpose is hits, for another read hits.
fn one_purpose(plan: &PlanFacts, rows: &mut [FigureRow]) {
    let is_own_headline = |row: &FigureRow| {
        let mut stacks = plan.variants.iter().flat_map(|variant| &variant.stack);
        stacks.any(|layer| {
            let kind = || layers::kind(&layer.layer)?.headline;
            row.scope.as_layer() == Some(&layer.name)
                && kind().is_some_and(|headline| headline.metric == row.metric)
        })
    };
    let rank = |row: &FigureRow| (row.values.iter().flatten().count(), is_own_headline(row));
    for at in (0..rows.len()).filter(|at| rows[*at].purpose).collect::<Vec<_>>() {
        let other = |(place, row): (usize, &FigureRow)| {
            place != at && row.purpose && row.scope == rows[at].scope && {
                let before = place < at && rank(row) == rank(&rows[at]);
                row.asked || rank(row) > rank(&rows[at]) || before
            }
        };
        let second = !rows[at].asked && rows.iter().enumerate().any(other);
        rows[at].purpose = !second;
    }
}

/// Returns an empty row for each question that has no row because no run has its figure.
fn unanswered(analysis: &Analysis, plan: &PlanFacts, rows: &[FigureRow]) -> Vec<FigureRow> {
    let values = || analysis.variants.iter().flat_map(|variant| &variant.values);
    let lacking = plan.questions.iter().filter_map(|question| {
        let is = |scope: &Scope, metric: &str| analysis::asks(question, scope, metric);
        if rows.iter().any(|row| row.asked && is(&row.scope, &row.metric)) {
            return None;
        }
        let found = values().find(|v| v.points.is_empty() && is(&v.scope, &v.metric))?;
        row(analysis, plan, &found.scope, &Described::from(layers::metric(&found.metric)?))
    });
    lacking.collect()
}

/// Tells whether a scope has rows: content has its own table, and the CPU time of a load with a single operation is shown with that operation.
fn has_rows(scope: &Scope, variant: &VariantFigures) -> bool {
    match scope.of {
        Of::Operation(_) | Of::Layer(_) | Of::Command => true,
        Of::Load => variant.is_mixed(scope.stage.as_deref()),
        Of::Content => false,
    }
}

/// The facts about a metric that a row needs.
struct Described<'a> {
    id: &'a str,
    name: &'a str,
    unit: Unit,
    better: Better,
}

impl<'a> From<&'a Metric> for Described<'a> {
    fn from(metric: &'a Metric) -> Self {
        Self { id: metric.id, name: metric.name, unit: metric.unit, better: metric.better }
    }
}

/// Returns the figures picked from the output of a stage's command, under the experiment's names.
fn picked<'a>(plan: &'a PlanFacts, scope: &'a Scope) -> Vec<Described<'a>> {
    let mut all: Vec<Described> = Vec::new();
    if scope.of == Of::Command {
        for (_, name, facts) in plan.picked(scope.stage.as_deref()) {
            if !all.iter().any(|known| known.id == name) {
                all.push(Described { id: name, name, unit: facts.unit, better: facts.better });
            }
        }
    }
    all
}

fn row(
    analysis: &Analysis,
    plan: &PlanFacts,
    scope: &Scope,
    metric: &Described,
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
    // A question may use any variant's name of a device.
    let named = || analysis.variants.iter().filter_map(|variant| variant.own_scope(scope));
    let asks = |question: &AskedMetric| {
        let is_asked = |scope: Scope| analysis::asks(question, &scope, metric.id);
        analysis::asks(question, scope, metric.id) || named().any(is_asked)
    };
    Some(FigureRow {
        asked: plan.questions.iter().any(asks),
        purpose: scope.as_layer().is_some()
            && layers::is_headline(metric.id)
            && asked_about(plan, scope),
        part: is_part(metric.id) && {
            let whole = |question: &AskedMetric| question.metric == layers::MACHINE_CPU_PER_IO;
            plan.questions.iter().any(whole) && asked_about(plan, scope)
        },
        scope: scope.clone(),
        metric: metric.id.to_owned(),
        // The label tells it apart from figures that cover only the stage.
        label: match layers::metric(metric.id).map(|known| known.basis) {
            Some(Basis::Cell) => format!("{} since allocation", metric.name),
            _ => metric.name.to_owned(),
        },
        unit: metric.unit,
        better: metric.better,
        comparisons: analysis.variants.iter().map(|v| compared(&v.name)).collect(),
        values,
    })
}

/// Tells whether a metric is a part of the CPU per I/O: that of the load, or of a layer.
fn is_part(metric: &str) -> bool {
    metric != layers::MACHINE_CPU_PER_IO && metric.ends_with("cpu_per_io_us")
}

/// Tells whether a question is about this stage, or about all.
fn asked_about(plan: &PlanFacts, scope: &Scope) -> bool {
    let all = plan.questions.iter().all(|question| question.stage.is_none());
    all || plan.questions.iter().any(|question| {
        question.stage.is_none() || scope.stage.is_none() || question.stage == scope.stage
    })
}

/// Converts a figure; `None` if it has no median.
pub fn figure(figure: &stats::Figure) -> Option<Figure> {
    Some(Figure { median: figure.median?, low: figure.low, high: figure.high, n: figure.n })
}

/// Returns the tables in the form of the thesis: the spread within runs of the throughput of intervals, or of the bandwidth of I/Os, where each
/// figure is the median over the runs.
pub fn spread(
    analysis: &Analysis,
    of: fn(&VariantFigures) -> &BTreeMap<Scope, TypicalSpread>,
) -> Vec<SpreadRow> {
    let variants = analysis.variants.iter().enumerate();
    let stage =
        |scope: &Scope| analysis.stages.iter().position(|s| Some(s) == scope.stage.as_ref());
    variants
        .flat_map(|(variant, figures)| {
            let mut scopes: Vec<_> = of(figures).iter().collect();
            scopes.sort_by_key(|(scope, _)| stage(scope));
            scopes.into_iter().map(move |(scope, typical)| SpreadRow {
                variant,
                operation: scope.name(),
                values: typical.counts,
                figures: [
                    Some(typical.spread.min),
                    Some(typical.spread.q1),
                    Some(typical.spread.median),
                    Some(typical.spread.q3),
                    Some(typical.spread.max),
                    typical.spread.std_dev,
                ],
            })
        })
        .collect()
}
