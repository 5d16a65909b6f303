//! Tables of many similar figures: points of a sweep by variants, levels of one factor by those of others, many variants by figures.

use std::ops::Range;

use maud::{Markup, html};

use super::inline::{dot, range};
use crate::view::{Grid, GridCell, View};
use crate::wording::{self, NONE};

/// Returns all such tables: those with figures asked about are open, the others are folded.
pub fn grids(view: &View) -> Markup {
    let (first, others): (Vec<&Grid>, Vec<&Grid>) =
        view.grids.iter().partition(|grid| grid.headline);
    html! { @if !view.grids.is_empty() {
        @if let Some(base) = view.variants.first().filter(|_| view.variants.len() > 1) {
            p.reading { "Below each figure is its ratio to that of " (base.name) ". " (wording::marks(view)) }
        }
        @for grid in &first { (table(view, grid)) }
        @if !others.is_empty() { details {
            summary { @match others.len() { 1 => "1 more table of this kind", n => { (n) " more tables of this kind" } } } @for grid in &others { (table(view, grid)) }
        } }
    } }
}

fn table(view: &View, grid: &Grid) -> Markup {
    html! {
        h3 { (grid.title) @if let Some(across) = &grid.across { span.soft { " by " (across) } } }
        @for from in (0..grid.columns.len()).step_by(COLUMNS) { (columns(view, grid, from..grid.columns.len().min(from + COLUMNS))) }
    }
}

/// Columns that a page has room for: more stand below each other.
pub const COLUMNS: usize = 7;

fn columns(view: &View, grid: &Grid, range_shown: Range<usize>) -> Markup {
    let keys = grid.keys.len();
    html! {
        div.scroll.grid tabindex="0" role="region" aria-label=(grid.title) { table {
            thead { tr {
                @for key in &grid.keys { th.text scope="col" { (key) } }
                @for at in range_shown.clone() { th.name scope="col" {
                    @if of_variant(view, grid, at) { (dot(at)) } (grid.columns[at]) } }
            } }
            tbody { @for (place, line) in grid.lines.iter().enumerate() {
                // A name is shown once for the lines that share it.
                @let new = |at: usize| at + 1 == keys || place == 0 || grid.lines[place - 1].names[..=at] != line.names[..=at];
                tr {
                    @for (at, name) in line.names.iter().enumerate() { th.text scope="row" { @if new(at) { (name) } @else { span.sr { (name) } } } }
                    @for at in range_shown.clone() { (figure(view, line.cells.get(at).copied().flatten())) }
                }
            } }
        } }
    }
}

/// Tells whether a column belongs to a single variant.
fn of_variant(view: &View, grid: &Grid, at: usize) -> bool {
    let cells = grid.lines.iter().filter_map(|line| *line.cells.get(at)?);
    view.variants.len() > 1
        && grid.columns.len() == view.variants.len()
        && cells.clone().all(|cell| cell.variant == at)
}

fn figure(view: &View, of: Option<GridCell>) -> Markup {
    let cell = wording::cell(view, of);
    let row = of.and_then(|of| Some((of, view.figures.get(of.row)?)));
    let Some((of, row)) = row else { return html! { td { (NONE) } } };
    let verdict = cell.verdict.filter(|_| !cell.mark.is_empty());
    let value = row.values.get(of.variant).copied().flatten();
    let comparison = row.comparisons.get(of.variant).and_then(Option::as_ref);
    let interval = comparison.and_then(|c| wording::ratio_interval(row.unit, c));
    let open = comparison.map(wording::left_open).unwrap_or_default();
    let p = comparison.and_then(|c| {
        Some(format!("p {}, {}", wording::p_value(Some(c.p?)), wording::rests_on(c)?))
    });
    let value_range = value
        .and_then(|value| wording::interval(row.unit, &value))
        .filter(|_| cell.ratio.is_empty());
    html! { td {
        (cell.value)
        @if !cell.ratio.is_empty() { span.over.(verdict.unwrap_or("open")) title=[p] { (cell.ratio) " " (cell.mark) } @if let Some(text) = interval { (range(&text)) } }
        @if let Some(text) = value_range { (range(&text)) }
        @for text in open { span.range { (text) } }
    } }
}
