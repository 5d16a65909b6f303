//! Strips: the figures asked about in every cell, in the order in which the cells ran, which shows drift, outliers and groups.

use analysis::Analysis;
use results::model::CellState;
use results::read::{CellData, ResultSet};
use units::Unit;

use super::{Axis, Cell, Chart, FigureRow, Mark, Part, Scale, Series, Shape};

/// The most strips: more would add little.
const MAX_STRIPS: usize = 3;
/// Fewest repeats for a strip: with fewer the tables suffice.
const REPEATS: usize = 3;
/// The beginning of the ids of strips.
const ID: &str = "strip-";
/// Text that explains how to read a strip.
const READING: &str = "Each point is one cell, in the order in which they ran. A trend means drift, two levels mean that the machine was in two \
                       different conditions, and a single far point is a run that something disturbed.";

/// Returns a strip for each of the first figures asked about.
pub fn charts(set: &ResultSet, analysis: &Analysis, rows: &[FigureRow]) -> Vec<Chart> {
    if analysis.variants.iter().all(|variant| variant.repeats < REPEATS) {
        return Vec::new();
    }
    let asked_rows = rows.iter().filter(|row| row.asked).take(MAX_STRIPS);
    asked_rows.map(|row| chart(set, analysis, row)).filter(Chart::has_points).collect()
}

fn chart(set: &ResultSet, analysis: &Analysis, row: &FigureRow) -> Chart {
    let of = row.scope.name();
    let series = analysis.variants.iter().enumerate().map(|(index, variant)| {
        let values = variant.values_of(&row.scope, &row.metric);
        let value = |cell: &CellData| {
            let mut points = values.into_iter().flat_map(|values| &values.points);
            points.find(|point| point.repeat == cell.entry.repeat).map(|point| point.value)
        };
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for (place, cell) in begun(set).enumerate() {
            if cell.entry.variant == variant.name && cell.done() {
                // A gap after each point, so that no line joins them.
                x.extend([place as f64 + 1.0, place as f64 + 1.5]);
                y.extend([value(cell), None]);
            }
        }
        Series { name: variant.name.clone(), variant: Some(index), hue: 0, repeat: None, x, y }
    });
    Chart {
        id: format!("{ID}{}-{of}", row.metric),
        title: format!("{} of {of}, cell by cell", row.label),
        part: Part::Load,
        reading: format!("{READING}{}", of_disturbed(set)),
        shape: Shape::Lines,
        names: Vec::new(),
        x: Axis {
            label: "Cells in the order they ran".to_owned(),
            scale: Scale::Linear,
            unit: Unit::Count,
        },
        y: Axis { label: row.label.clone(), scale: Scale::Linear, unit: row.unit },
        series: series.collect(),
    }
}

/// Returns the sentence about disturbed cells that explains the [`marks`].
fn of_disturbed(set: &ResultSet) -> &'static str {
    let is_disturbed =
        |cell: &&CellData| results::disturbances(cell).is_some_and(|all| !all.is_empty());
    match begun(set).filter(is_disturbed).count() {
        0 => "",
        n if n == begun(set).count() => {
            " Something else on the machine disturbed all of them, so that none is marked."
        }
        _ => " A broken line marks a cell that something else on the machine disturbed.",
    }
}

fn begun(set: &ResultSet) -> impl Iterator<Item = &CellData> {
    set.cells.iter().filter(|cell| cell.state() != CellState::Skipped)
}

/// Returns the marks of a strip: the cells that were disturbed; none for other charts.
pub fn marks(cells: &[Cell], chart: &str) -> Vec<Mark> {
    if !chart.starts_with(ID) {
        return Vec::new();
    }
    // If all cells were disturbed, a finding says so instead.
    let is_disturbed = |cell: &Cell| cell.disturbed.as_ref().is_some_and(|all| !all.is_empty());
    if cells.iter().all(is_disturbed) {
        return Vec::new();
    }
    let disturbed = cells.iter().enumerate().filter(|(_, cell)| is_disturbed(cell));
    let mark = |(place, cell): (usize, &Cell)| Mark {
        variant: cell.variant.unwrap_or_default(),
        x: place as f64 + 1.0,
        low: None,
        high: None,
        label: "disturbed".to_owned(),
    };
    disturbed.map(mark).collect()
}
