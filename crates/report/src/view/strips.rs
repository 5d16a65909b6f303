//! Every repeat of what is asked, in the order in which the cells ran: drift, outliers and groups can be seen in it.

use analysis::Analysis;
use results::model::CellState;
use results::read::{CellData, ResultSet};
use units::Unit;

use super::{Axis, Cell, Chart, FigureRow, Mark, Part, Scale, Series, Shape};

/// More strips say little more.
const MOST: usize = 3;
/// Fewer repeats are in the tables.
const REPEATS: usize = 3;
/// The beginning of their ids.
const ID: &str = "strip-";
/// Text that tells how to read a strip.
const READING: &str = "Each point is one cell, in the order in which they ran. A trend is drift, two levels are a machine with two moods, one point \
                       far out is a run that met something.";

/// A strip for each of the first figures that are asked.
pub fn charts(set: &ResultSet, analysis: &Analysis, rows: &[FigureRow]) -> Vec<Chart> {
    if analysis.variants.iter().all(|variant| variant.repeats < REPEATS) {
        return Vec::new();
    }
    let asked = rows.iter().filter(|row| row.asked).take(MOST);
    asked.map(|row| chart(set, analysis, row)).filter(Chart::has_points).collect()
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
                // A gap after each: they are points, and no line joins them.
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

/// Returns what is said of the cells that were disturbed, as [`marks`] shows them.
fn of_disturbed(set: &ResultSet) -> &'static str {
    let disturbed = begun(set).filter(|cell| !results::disturbances(cell).is_empty()).count();
    match disturbed {
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

/// Returns what is marked in a chart, where it is a strip: the cells that were disturbed.
pub fn marks(cells: &[Cell], chart: &str) -> Vec<Mark> {
    if !chart.starts_with(ID) {
        return Vec::new();
    }
    // Where all are, a finding says so.
    if cells.iter().all(|cell| !cell.disturbed.is_empty()) {
        return Vec::new();
    }
    let disturbed = cells.iter().enumerate().filter(|(_, cell)| !cell.disturbed.is_empty());
    let mark = |(place, cell): (usize, &Cell)| Mark {
        variant: cell.variant.unwrap_or_default(),
        x: place as f64 + 1.0,
        low: None,
        high: None,
        label: "disturbed".to_owned(),
    };
    disturbed.map(mark).collect()
}
