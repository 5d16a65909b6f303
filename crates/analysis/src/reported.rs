//! What a source reported beside what was found here.

use results::model::{FigureName, PlanFacts, ReportedFacts, ReportedValue};
use stats::Figure;
use units::Unit;

use crate::expectations::{ran, ratio, unit_of, values};
use crate::variant::VariantFigures;

/// Figures of a source beside those found here.
#[derive(Debug, Clone, PartialEq)]
pub struct Reported {
    /// What the source calls them.
    pub what: String,
    /// Their unit, as the source writes it.
    pub source_unit: String,
    /// In the source's order; the others are compared with the first.
    pub rows: Vec<ReportedRow>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedRow {
    /// The figure here.
    pub figure: FigureName,
    /// Unit of what was found.
    pub unit: Unit,
    /// The source's number, in the source's unit.
    pub source: f64,
    /// Its ratio to the source's first number; `None` for the first, and where that is 0.
    pub source_ratio: Option<f64>,
    /// Tells whether a run of its variant has begun.
    pub ran: bool,
    /// What was found here: the median over the repeats, with its interval.
    pub found: Figure,
    /// Ratio to the first figure found here, estimated as in comparisons; `None` for the first row.
    pub ratio: Option<Figure>,
}

/// All that the source of an experiment reported.
pub(crate) fn beside(plan: &PlanFacts, variants: &[VariantFigures]) -> Vec<Reported> {
    plan.reported.iter().filter_map(|reported| table(plan, reported, variants)).collect()
}

fn table(
    plan: &PlanFacts,
    reported: &ReportedFacts,
    variants: &[VariantFigures],
) -> Option<Reported> {
    let first = reported.values.first()?;
    let row = |(place, ReportedValue { figure, value }): (usize, &ReportedValue)| {
        let other = place > 0;
        let own = values(figure, variants);
        let source_ratio = (other && first.value != 0.0).then(|| value / first.value);
        let ratio = other.then(|| ratio(figure, &first.figure, variants));
        ReportedRow {
            figure: figure.clone(),
            unit: unit_of(plan, figure).unwrap_or(Unit::Ratio),
            source: *value,
            source_ratio,
            ran: ran(&figure.variant, variants),
            found: stats::figure(&own.into_values().collect::<Vec<_>>()),
            ratio,
        }
    };
    Some(Reported {
        what: reported.what.clone(),
        source_unit: reported.unit.clone(),
        rows: reported.values.iter().enumerate().map(row).collect(),
    })
}
