//! Expectations compared with what was found.

use std::collections::BTreeMap;

use results::model::{AskedMetric, Bound, ExpectedFigure, FigureName, PlanFacts};
use stats::{Figure, RANGE_BELOW};
use units::{Test, Unit};

use crate::comparisons::{asks, few_ios};
use crate::scope::Scope;
use crate::values::MetricValues;
use crate::variant::VariantFigures;

/// One expectation and its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// The figure that was expected, with its bound.
    pub expected: ExpectedFigure,
    /// Unit of what was expected and found.
    pub unit: Unit,
    /// The figure found: the median over the repeats, or its ratio to another figure, estimated as in comparisons.
    pub found: Option<f64>,
    /// Lower end of its 95 % interval; with fewer than five repeats, of its range.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Number of repeats behind it.
    pub n: usize,
    /// Outcome of the expectation.
    pub outcome: ExpectationOutcome,
    /// The fewest I/Os of a run, if they are too few for the percentile or rate that is expected, so that no number of repeats decides it.
    pub few_ios: Option<u64>,
    /// Figures that may explain a deviation, each the median over the repeats.
    pub evidence: Vec<Evidence>,
}

/// A figure that may explain why another one differs from its expectation.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The figure.
    pub figure: FigureName,
    /// Its unit.
    pub unit: Unit,
    /// Median over the repeats; `None` where there is no such figure.
    pub median: Option<f64>,
}

/// Outcome of an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExpectationOutcome {
    /// The whole interval lies within the bound; with fewer than five repeats, the median.
    Met,
    /// The whole interval lies outside the bound (with fewer than five repeats, the median), or an expected change of level did not occur.
    Missed,
    /// Only a part of the interval lies within the bound, or the figure rests on too few I/Os of a run.
    Unclear,
    /// There is no such figure.
    Unknown,
    /// Both figures exist but have no ratio: the divisor is 0.
    NoRatio,
    /// It concerns a variant that did not run.
    NotRun,
    /// The expectation holds for another scale than that of the run.
    Elsewhere,
}

impl ExpectationOutcome {
    /// The outcome in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Unclear => "unclear",
            Self::Unknown => "unknown",
            Self::NoRatio => "no ratio",
            Self::NotRun => "not run",
            Self::Elsewhere => "elsewhere",
        }
    }
}

/// Checks each expectation against the figures of its variants.
pub(crate) fn check_expectations(
    plan: &PlanFacts,
    variants: &[VariantFigures],
) -> Vec<Expectation> {
    plan.expectations.iter().map(|expected| check_expectation(plan, expected, variants)).collect()
}

fn check_expectation(
    plan: &PlanFacts,
    expected: &ExpectedFigure,
    variants: &[VariantFigures],
) -> Expectation {
    let figure = match &expected.of {
        None => {
            stats::figure(&values(&expected.figure, variants).into_values().collect::<Vec<_>>())
        }
        Some(other) => ratio(&expected.figure, other, variants),
    };
    // The expected change of level did not occur: then the expectation is missed, though there is no figure.
    let level = figure.median.is_none().then(|| level_runs(expected, variants)).flatten();
    let shown = |figure: &FigureName| Evidence {
        unit: unit_of(plan, figure).unwrap_or(Unit::Ratio),
        median: stats::figure(&values(figure, variants).into_values().collect::<Vec<_>>()).median,
        figure: figure.clone(),
    };
    let mut figures = std::iter::once(&expected.figure).chain(&expected.of);
    let all_ran = figures.all(|figure| ran(&figure.variant, variants));
    let outcome = match expected.scale {
        Some(_) => ExpectationOutcome::Elsewhere,
        None if !all_ran => ExpectationOutcome::NotRun,
        None if level.is_some() => ExpectationOutcome::Missed,
        None if figure.median.is_none() && has_both(expected, variants) => {
            ExpectationOutcome::NoRatio
        }
        None => outcome(expected.bound, &figure),
    };
    let decided = matches!(
        outcome,
        ExpectationOutcome::Met | ExpectationOutcome::Missed | ExpectationOutcome::Unclear
    );
    let few_ios = few_ios_of(expected, variants).filter(|_| decided);
    Expectation {
        expected: expected.clone(),
        unit: unit(plan, expected),
        found: figure.median,
        low: figure.low,
        high: figure.high,
        n: level.unwrap_or(figure.n),
        outcome: if few_ios.is_some() { ExpectationOutcome::Unclear } else { outcome },
        few_ios,
        evidence: expected.evidence.iter().map(shown).collect(),
    }
}

/// The unit of an expected figure; a ratio of two figures has none.
fn unit(plan: &PlanFacts, ExpectedFigure { figure, of, .. }: &ExpectedFigure) -> Unit {
    let unit = if of.is_some() { None } else { unit_of(plan, figure) };
    unit.unwrap_or(Unit::Ratio)
}

/// The unit of a figure, from the catalogue or from what the experiment says about a command's output.
pub(crate) fn unit_of(plan: &PlanFacts, figure: &FigureName) -> Option<Unit> {
    let known = layers::metric(&figure.metric).map(|metric| metric.unit);
    let picked =
        || plan.picked_figure(figure.stage.as_deref(), &figure.metric).map(|picked| picked.unit);
    known.or_else(picked)
}

/// Returns the ratio of one figure to another, from the repeats that have both: estimated as in every other comparison; where there are too few
/// repeats for that, or some values are zero, the median of the ratios within each repeat, with their range.
pub(crate) fn ratio(figure: &FigureName, base: &FigureName, variants: &[VariantFigures]) -> Figure {
    let base = values(base, variants);
    let by_repeat = values(figure, variants).into_iter();
    let pairs: Vec<(f64, f64)> =
        by_repeat.filter_map(|(repeat, value)| Some((*base.get(&repeat)?, value))).collect();
    let ratios = pairs.iter().map(|(base, value)| value / base);
    let plain = stats::figure(&ratios.filter(|ratio| ratio.is_finite()).collect::<Vec<_>>());
    let test = layers::metric(&figure.metric).map_or(Test::Paired, |metric| metric.test);
    let compared = stats::compare(&pairs, test, None);
    match (compared.ratio, compared.low, compared.high) {
        (Some(ratio), Some(low), Some(high)) if plain.n >= RANGE_BELOW => {
            Figure { median: Some(ratio), low: Some(low), high: Some(high), n: compared.n }
        }
        _ => plain,
    }
}

/// Returns the number of runs in which throughput keeps its level though it was expected to change; `None` if it changes, if the runs are too
/// short to tell, and for all other figures.
fn level_runs(expected: &ExpectedFigure, variants: &[VariantFigures]) -> Option<usize> {
    let FigureName { metric, stage, operation, variant, .. } = &expected.figure;
    let variant = variants.iter().find(|one| one.name == *variant)?;
    let is_meant = |scope: &Scope| {
        let is_stage = stage.is_none() || scope.stage.is_none() || scope.stage == *stage;
        is_stage && operation.as_deref().is_none_or(|name| scope.as_operation() == Some(name))
    };
    let mut courses =
        variant.courses.iter().filter(|(scope, _)| is_meant(scope)).map(|(_, course)| course);
    let first = courses.next().filter(|first| first.change.is_none())?;
    (layers::is_turn(metric) && courses.all(|course| course.change.is_none())).then_some(first.runs)
}

/// Tells whether some repeat has both figures of a ratio.
fn has_both(expected: &ExpectedFigure, variants: &[VariantFigures]) -> bool {
    let Some(base) = &expected.of else { return false };
    let base = values(base, variants);
    values(&expected.figure, variants).keys().any(|repeat| base.contains_key(repeat))
}

/// Tells whether a run of the variant has begun.
pub(crate) fn ran(variant: &str, variants: &[VariantFigures]) -> bool {
    variants.iter().any(|one| one.name == variant && one.repeats + one.failed > 0)
}

/// Converts the name of a figure into the form of a question.
pub(crate) fn as_question(name: &FigureName) -> AskedMetric {
    let FigureName { metric, stage, operation, layer, .. } = name.clone();
    AskedMetric { metric, stage, operation, layer, threshold: 0.0 }
}

/// Returns the value of a figure in each repeat.
pub(crate) fn values(name: &FigureName, variants: &[VariantFigures]) -> BTreeMap<u32, f64> {
    let points = held(name, variants).into_iter().flat_map(|(_, values)| &values.points);
    points.map(|point| (point.repeat, point.value)).collect()
}

/// Finds the values of a figure, with their variant.
fn held<'a>(
    name: &FigureName,
    variants: &'a [VariantFigures],
) -> Option<(&'a VariantFigures, &'a MetricValues)> {
    let question = as_question(name);
    let variant = variants.iter().find(|v| v.name == name.variant)?;
    let mut values = variant.values.iter();
    values.find(|of| asks(&question, &of.scope, &of.metric)).map(|values| (variant, values))
}

/// Returns the fewest I/Os of a run behind an expected figure and its divisor, if they are too few for it.
fn few_ios_of(expected: &ExpectedFigure, variants: &[VariantFigures]) -> Option<u64> {
    let figures = std::iter::once(&expected.figure).chain(&expected.of);
    few_ios(figures.filter_map(|figure| {
        let (variant, values) = held(figure, variants)?;
        Some((values.metric.as_str(), *variant.least_ios.get(&values.scope)?))
    }))
}

fn outcome(bound: Bound, figure: &Figure) -> ExpectationOutcome {
    let Some(median) = figure.median else { return ExpectationOutcome::Unknown };
    let (low, high) = match (figure.low, figure.high) {
        (Some(low), Some(high)) if figure.n >= RANGE_BELOW => (low, high),
        _ => (median, median),
    };
    if bound.contains(low) && bound.contains(high) {
        ExpectationOutcome::Met
    } else if bound.excludes(low, high) {
        ExpectationOutcome::Missed
    } else {
        ExpectationOutcome::Unclear
    }
}
