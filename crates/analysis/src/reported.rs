//! Compares the figures that a source reported with those of this result.

use results::model::{FigureName, PlanFacts, ReportedFacts, ReportedSpread, ReportedValue};
use stats::{Figure, Spread};
use units::Unit;

use crate::comparisons::asks;
use crate::expectations::{as_question, ran, ratio, unit_of, values};
use crate::variant::VariantFigures;

/// A table of figures of a source, each with the one measured here.
#[derive(Debug, Clone, PartialEq)]
pub struct Reported {
    /// Name that the source gives the figures.
    pub what: String,
    /// Unit of the figures, as the source writes it.
    pub source_unit: String,
    /// The quantity measured here, where it differs from the source's.
    pub here: Option<String>,
    /// Rows in the source's order; ratios are to the first row.
    pub rows: Vec<ReportedRow>,
}

/// One figure of the source, and the one measured here.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedRow {
    /// The figure here.
    pub figure: FigureName,
    /// Unit of `found`.
    pub unit: Unit,
    /// The source's number, in the source's unit.
    pub source: f64,
    /// Its ratio to the source's first number; `None` for the first, and where that is 0.
    pub source_ratio: Option<f64>,
    /// Tells whether a run of its variant has begun.
    pub ran: bool,
    /// The figure that was found here: the median over the repeats, with its interval.
    pub found: Figure,
    /// The source's spread within its run, in the source's unit.
    pub source_spread: Option<ReportedSpread>,
    /// Spread of the bandwidth of each I/O within a run here; `None` where the source states none.
    pub spread: Option<Spread>,
    /// Ratio to the first figure found here, estimated as in comparisons; `None` for the first row.
    pub ratio: Option<Figure>,
}

/// Returns a table for each `[[reported]]` of the plan.
pub(crate) fn reported_tables(plan: &PlanFacts, variants: &[VariantFigures]) -> Vec<Reported> {
    plan.reported.iter().filter_map(|reported| table(plan, reported, variants)).collect()
}

fn table(
    plan: &PlanFacts,
    reported: &ReportedFacts,
    variants: &[VariantFigures],
) -> Option<Reported> {
    let first = reported.values.first()?;
    let row = |(place, ReportedValue { figure, value, spread }): (usize, &ReportedValue)| {
        let other = place > 0;
        let by_repeat = values(figure, variants);
        let source_ratio = (other && first.value != 0.0).then(|| value / first.value);
        let ratio = other.then(|| ratio(figure, &first.figure, variants));
        ReportedRow {
            figure: figure.clone(),
            unit: unit_of(plan, figure).unwrap_or(Unit::Ratio),
            source: *value,
            source_ratio,
            ran: ran(&figure.variant, variants),
            found: stats::figure(&by_repeat.into_values().collect::<Vec<_>>()),
            source_spread: *spread,
            spread: spread.and(of_each_io(figure, variants)),
            ratio,
        }
    };
    Some(Reported {
        what: reported.what.clone(),
        source_unit: reported.unit.clone(),
        here: reported.here.clone(),
        rows: reported.values.iter().enumerate().map(row).collect(),
    })
}

/// Returns the spread of the bandwidth of each I/O behind a figure, bytes per second.
fn of_each_io(figure: &FigureName, variants: &[VariantFigures]) -> Option<Spread> {
    let variant = variants.iter().find(|variant| variant.name == figure.variant)?;
    let question = as_question(figure);
    let bandwidth =
        variant.io_bandwidth.iter().find(|(scope, _)| asks(&question, scope, &figure.metric));
    bandwidth.map(|(_, typical)| typical.spread)
}
