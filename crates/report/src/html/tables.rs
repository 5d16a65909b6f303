//! Tables behind charts: the same points as numbers.

use maud::{Markup, html};

use super::grids::COLUMNS;
use crate::view::{Axis, Chart, Scale, Series, Shape};
use crate::wording::{self, NONE};

/// Rows of a table; all points of a result's charts are in the page's JSON.
const ROWS: usize = 40;

/// Returns the table of a chart, folded.
pub fn folded_table(chart: &Chart) -> Markup {
    html! { details { summary { "Table" } @match chart.shape {
        Shape::Cells => (cells(chart, ["Fastest from", "Most between", "Slowest up to"])),
        Shape::Density(_) => (cells(chart, ["Lowest from", "Most between", "Highest up to"])),
        Shape::Boxes => (boxes(chart)),
        _ => (table(chart)),
    } } }
}

/// Returns a table of the lowest, the fullest and the highest cell at up to [`ROWS`] times, with these heads.
fn cells(chart: &Chart, heads: [&str; 3]) -> Markup {
    let mut rows: Vec<(f64, f64, usize)> = Vec::new();
    for series in &chart.series {
        let points = series.x.iter().zip(&series.y);
        rows.extend(points.filter_map(|(x, y)| Some((*x, (*y)?, series.hue))));
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let columns: Vec<_> = rows.chunk_by(|a, b| a.0 == b.0).collect();
    let step = columns.len().div_ceil(ROWS).max(1);
    let from = |low: f64| wording::value(chart.y.unit, low);
    let to = |low: f64| wording::value(chart.y.unit, chart.cell_top(low));
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Table of " (chart.title) } { table {
            thead { tr { th scope="col" { (chart.x.label) } @for head in heads { th scope="col" { (head) } } } }
            tbody { @for column in columns.iter().step_by(step) { @if let (Some(first), Some(last)) = (column.first(), column.last()) { tr {
                th scope="row" { (position(&chart.x, first.0)) }
                td { (from(first.1)) }
                td { @if let Some(most) = column.iter().max_by_key(|cell| cell.2) { (from(most.1)) " and " (to(most.1)) } }
                td { (to(last.1)) }
            } } } }
        } }
    }
}

/// Returns the figures of a box plot, a row for each box.
fn boxes(chart: &Chart) -> Markup {
    let heads =
        ["Slowest", "First quartile", "Median", "Its 95 % range", "Third quartile", "Fastest"];
    let value = |series: &Series, place: usize| {
        let value = series.y.get(place).copied().flatten();
        value.map_or(NONE.to_owned(), |value| wording::value(chart.y.unit, value))
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Table of " (chart.title) } { table {
            thead { tr { th scope="col" { (chart.x.label) } @for head in heads { th scope="col" { (head) } } } }
            tbody { @for series in &chart.series { tr {
                th.name scope="row" { (series.name) }
                td { (value(series, 0)) } td { (value(series, 1)) } td { (value(series, 3)) }
                td { (value(series, 2)) " to " (value(series, 4)) } td { (value(series, 5)) } td { (value(series, 6)) }
            } } }
        } }
    }
}

/// Returns a table of the series that summarise the repeats, at up to [`ROWS`] places.
fn table(chart: &Chart) -> Markup {
    let bold: Vec<_> = chart.series.iter().filter(|s| s.bold()).collect();
    let mut places: Vec<f64> = bold.iter().flat_map(|s| s.x.iter().copied()).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    // On an axis of counts a place without values is left out; on an axis of time the gap itself is a finding.
    if chart.x.unit == units::Unit::Count {
        let known = |place: &f64| {
            let at = |s: &&&Series| s.x.iter().zip(&s.y).any(|(x, y)| x == place && y.is_some());
            bold.iter().any(|series| at(&series))
        };
        places.retain(known);
    }
    let rows = rows(&places, &bold);
    let place =
        |row: &[f64]| chart.place(row[0]).map_or_else(|| position(&chart.x, row[0]), str::to_owned);
    html! { @for columns in bold.chunks(COLUMNS) {
        div.scroll tabindex="0" role="region" aria-label={ "Table of " (chart.title) } { table {
            thead { tr { th scope="col" { (chart.x.label) } @for series in columns { th.name scope="col" { (series.name) } } } }
            tbody { @for row in &rows { tr {
                th scope="row" { (place(row)) }
                @for series in columns { td {
                    (first_of(series, row).map_or(NONE.to_owned(), |v| wording::value(chart.y.unit, v)))
                } }
            } } }
        } }
    } }
}

/// Distributes places over at most [`ROWS`] rows. If the moments of the series differ slightly, a row covers a period of time in which each series
/// has one of its moments.
fn rows<'p>(places: &'p [f64], series: &[&Series]) -> Vec<&'p [f64]> {
    let alike = series.windows(2).all(|two| two[0].x == two[1].x);
    let most = series.iter().map(|series| series.x.len()).max().unwrap_or(0).min(ROWS);
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return Vec::new() };
    if alike || most == 0 || first == last {
        return places.chunks(places.len().div_ceil(ROWS).max(1)).collect();
    }
    let width = (last - first) / most as f64;
    let row = |place: &f64| (((place - first) / width) as usize).min(most - 1);
    places.chunk_by(|a, b| row(a) == row(b)).collect()
}

/// Returns the first value of a series at the places of a row.
fn first_of(series: &Series, row: &[f64]) -> Option<f64> {
    let (from, to) = (row.first()?, row.last()?);
    let mut points = series.x.iter().zip(&series.y);
    points.find_map(|(x, y)| y.filter(|_| (from..=to).contains(&x)))
}

fn position(axis: &Axis, place: f64) -> String {
    match axis.scale {
        Scale::Nines => {
            let digits = (place.ceil().max(2.0) - 1.0) as usize;
            format!("{:.*} %", digits, 100.0 * (1.0 - 10f64.powf(-place)))
        }
        Scale::Linear | Scale::Log => axis.unit.show(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(x: &[f64]) -> Series {
        Series {
            name: String::new(),
            variant: None,
            hue: 0,
            repeat: None,
            x: x.to_vec(),
            y: x.iter().copied().map(Some).collect(),
        }
    }

    #[test]
    fn rows_of_a_table_have_a_value_of_each_series_though_their_moments_differ() {
        let (one, two) = (series(&[0.0, 1.0, 2.0, 3.0]), series(&[0.1, 1.1, 2.1, 3.1]));
        let places = [0.0, 0.1, 1.0, 1.1, 2.0, 2.1, 3.0, 3.1];
        let table_rows = rows(&places, &[&one, &two]);
        assert_eq!(table_rows.len(), 4);
        for row in &table_rows {
            assert!(first_of(&one, row).is_some() && first_of(&two, row).is_some(), "{row:?}");
        }
        assert_eq!(rows(&places[..1], &[&one]).len(), 1);
        assert_eq!(rows(&[], &[&one]), Vec::<&[f64]>::new());
        // Sizes and variants are places of their own.
        assert_eq!(rows(&[1.0, 4.0, 64.0], &[&series(&[1.0, 4.0, 64.0]); 2]).len(), 3);
    }
}
