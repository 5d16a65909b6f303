//! The head of a page with several results: one table of what each found, with the way to it.

use maud::{Markup, html};
use stats::Verdict;

use super::figures::value;
use super::inline::{chip, range};
use crate::view::{FigureRow, Scope, View};
use crate::wording::{self, NONE};

/// A row for each operation or layer of each variant, a column for each figure that any result asks about. A variant
/// is shown against its base; what cannot be compared by its own figure.
pub fn overview(views: &[View]) -> Markup {
    let columns = columns(views);
    let mut scopes = views.iter().flat_map(|view| &view.figures).filter(|row| row.headline());
    let first = scopes.next().map(|row| &row.scope);
    // One that all share tells nobody anything.
    let scoped = scopes.any(|row| Some(&row.scope) != first);
    html! {
        header.top {
            p.kicker { b { "Fathom" } span { (views.len()) " results" } }
            @if columns.is_empty() { ul { @for (index, view) in views.iter().enumerate() { li { (link(index, view)) } } } }
            @else {
                p.reading { "A ratio is that variant over the one it is compared with, its 95 % interval below it; " (wording::claims())
                             " Each name leads to the whole result." }
                div.scroll tabindex="0" role="region" aria-label="All results" { table {
                    thead { tr { th scope="col" { "Result" } th.text scope="col" { "Of" }
                        @for (_, label) in &columns { th scope="col" { (label) } } } }
                    tbody { @for (index, view) in views.iter().enumerate() { (rows(index, view, &columns, scoped)) } }
                } }
            }
        }
    }
}

fn link(index: usize, view: &View) -> Markup {
    html! { a href={ "#r" (index) } { (view.experiment) } }
}

/// Id and label of every metric that is asked about, in the order met.
fn columns(views: &[View]) -> Vec<(&str, &str)> {
    let mut columns = Vec::new();
    for row in views.iter().flat_map(|view| &view.figures).filter(|row| row.headline()) {
        let column = (row.metric.as_str(), row.label.as_str());
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

fn rows(index: usize, view: &View, columns: &[(&str, &str)], scoped: bool) -> Markup {
    let asked: Vec<_> = view.figures.iter().filter(|row| row.headline()).collect();
    let mut scopes: Vec<&Scope> = asked.iter().map(|row| &row.scope).collect();
    scopes.dedup();
    // The base stands for itself only where there is nothing to hold against it.
    let variants =
        if view.variants.len() > 1 { 1..view.variants.len() } else { 0..view.variants.len() };
    let of: Vec<_> =
        variants.flat_map(|variant| scopes.iter().map(move |scope| (variant, *scope))).collect();
    html! {
        @if of.is_empty() {
            tr { th.name scope="row" { (link(index, view)) } td.wrap colspan=(columns.len() + 1) {
                (view.verdicts.first().map_or(NONE, |first| first.text.as_str())) } }
        }
        @for (place, (variant, scope)) in of.iter().enumerate() { tr.close[place > 0] {
            th.name scope="row" { @if place == 0 { (link(index, view)) } }
            td.wrap { (view.variants[*variant].name) @if scoped { ", " (scope.name()) }
                @if let Some(base) = view.variants.first().filter(|_| *variant > 0) { span.range { "over " (base.name) } } }
            @for (metric, _) in columns {
                (cell(*variant, asked.iter().find(|row| row.metric == *metric && row.scope == **scope)))
            }
        } }
    }
}

fn cell(variant: usize, row: Option<&&FigureRow>) -> Markup {
    let Some(row) = row else { return html! { td { (NONE) } } };
    let compared = row.comparisons.get(variant).and_then(Option::as_ref);
    match compared.filter(|c| c.ratio.is_some() || c.difference.is_some()) {
        None => value(row, row.values.get(variant).and_then(Option::as_ref)),
        Some(comparison) => html! {
            td { (chip(comparison.verdict.map(Verdict::word))) " " (wording::compared(row.unit, comparison))
                @if let Some(text) = wording::ratio_interval(row.unit, comparison) { (range(&text)) } }
        },
    }
}
