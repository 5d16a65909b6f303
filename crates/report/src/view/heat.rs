//! Latency over time as a density: how many I/Os of each moment took how long. Bands, stalls and two kinds of I/O are visible here, but not in
//! percentiles.

use std::collections::BTreeMap;

use results::histogram;
use results::model::CellState;
use results::read::ResultSet;
use units::Unit;

use super::clock::{seconds, stage_axis};
use super::throughput::{Key, intervals, keys, operation_name};
use super::{Axis, Chart, Part, Scale, Series, Shape};

/// Columns of a chart.
const COLUMNS: f64 = 60.0;
/// Most variants that get charts of their own: with more there would be too many charts.
const VARIANTS: usize = 4;
/// The classes, weakest first: the least share of a moment's I/Os, percent, and the name.
const CLASSES: [(f64, &str); 4] = [
    (0.0, "less than 0.1 % of the I/Os of that time"),
    (0.1, "0.1 to 1 %"),
    (1.0, "1 to 10 %"),
    (10.0, "more than 10 %"),
];

/// Returns one chart for each variant, measured stage and operation, from the first finished repeat.
pub fn charts(set: &ResultSet) -> Vec<Chart> {
    let variants = &set.manifest.plan.variants;
    if variants.len() > VARIANTS {
        return Vec::new();
    }
    let keys = keys(set);
    let several = keys.iter().any(|key| keys.iter().any(|other| other.stage != key.stage));
    let mut charts = Vec::new();
    // A load of a tree has up to 21 operations: too many for charts.
    for key in keys.iter().filter(|key| !key.on_tree) {
        for (index, variant) in variants.iter().enumerate() {
            charts.extend(chart(set, key, (index, &variant.name), several));
        }
    }
    charts
}

fn chart(
    set: &ResultSet,
    key: &Key,
    (index, variant): (usize, &str),
    several: bool,
) -> Option<Chart> {
    let cell = set.cells_of(variant).find(|cell| cell.state() == CellState::Done)?;
    let rows: Vec<_> = intervals(cell)
        .filter(|(window, row)| window.name == key.stage && row.operation == key.operation)
        .collect();
    let ends = rows.iter().map(|(window, row)| seconds(window.start_ns, row.end_ns));
    let last = ends.fold(0.0, f64::max);
    let lengths = rows.iter().map(|(_, row)| seconds(row.start_ns, row.end_ns));
    let longest = lengths.fold(0.0, f64::max);
    // The width of a column is a multiple of the longest interval.
    let width = longest * (last / COLUMNS / longest).ceil().max(1.0);
    if !(width > 0.0 && last / width >= 3.0) {
        return None;
    }
    let mut counts: BTreeMap<(u64, i32), u64> = BTreeMap::new();
    let mut totals: BTreeMap<u64, u64> = BTreeMap::new();
    for (window, row) in rows {
        let Ok(Some(all)) = histogram::merge(row.histogram.as_deref()) else { continue };
        let middle = seconds(window.start_ns, row.start_ns.midpoint(row.end_ns));
        let column = (middle / width) as u64;
        *totals.entry(column).or_default() += all.len();
        for one in all.iter_recorded() {
            let bin = (one.value_iterated_to().max(1) as f64).log2() * 2.0;
            *counts.entry((column, bin.floor() as i32)).or_default() += one.count_at_value();
        }
    }
    let series = classes(&counts, &totals, index, width);
    let of = operation_name(key, several);
    Some(Chart {
        id: format!("heat-{index}-{}-{}", key.stage, key.operation),
        title: format!("Latency of {of} over time, {variant}: how many I/Os took how long"),
        part: Part::Load,
        reading: format!(
            "Of repeat {}. The stronger the colour of a cell, the more of the I/Os of that time took as long as stands at the left. Two strong bands \
             are two kinds of I/O; a gap is a stall.",
            cell.entry.repeat
        ),
        shape: Shape::Cells,
        names: Vec::new(),
        x: stage_axis(),
        y: Axis { label: "Latency".to_owned(), scale: Scale::Log, unit: Unit::Nanos },
        series,
    })
    .filter(Chart::has_points)
}

/// Sorts the cells of the grid into classes by their share of the I/Os of their column.
fn classes(
    counts: &BTreeMap<(u64, i32), u64>,
    totals: &BTreeMap<u64, u64>,
    variant: usize,
    width: f64,
) -> Vec<Series> {
    let class = |hue: usize, name: &str| Series {
        name: name.to_owned(),
        variant: Some(variant),
        hue,
        repeat: None,
        x: Vec::new(),
        y: Vec::new(),
    };
    let mut all: Vec<Series> =
        CLASSES.iter().enumerate().map(|(hue, (_, name))| class(hue, name)).collect();
    for ((column, bin), count) in counts {
        let total = totals.get(column).copied().unwrap_or(0).max(1);
        let percent = 100.0 * *count as f64 / total as f64;
        let hue = CLASSES.iter().rposition(|(least, _)| percent >= *least).unwrap_or(0);
        all[hue].x.push(*column as f64 * width);
        all[hue].y.push(Some(2f64.powf(f64::from(*bin) / 2.0)));
    }
    all.retain(|one| !one.x.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_colour_of_a_cell_is_as_strong_as_its_share_of_the_ios_of_its_time() {
        let counts = [((0, 10), 95), ((0, 20), 5), ((1, 10), 1)].into();
        let totals = [(0, 100), (1, 1)].into();
        let series = classes(&counts, &totals, 1, 2.0);
        assert_eq!(series.len(), 2, "{series:?}");
        assert_eq!((series[0].hue, &series[0].x, series[0].y[0]), (2, &vec![0.0], Some(1024.0)));
        assert_eq!((series[1].hue, &series[1].x), (3, &vec![0.0, 2.0]));
        let charts = charts(&fixture::result());
        assert!(charts.len() >= 2 && charts.iter().all(|chart| chart.shape == Shape::Cells));
        let one = &charts[0];
        assert!(one.title.ends_with("plain: how many I/Os took how long"), "{}", one.title);
        // On a dark page what is much is bright.
        assert!(!one.reading.contains("dark"), "{}", one.reading);
        assert!(one.series.iter().flat_map(|s| s.y.iter().flatten()).all(|low| *low > 0.0));
    }
}
