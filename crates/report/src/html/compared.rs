//! Tables of figures with the variants side by side. What only some variants have stands in a table of its own.

use std::cmp::Reverse;

use maud::{Markup, html};
use stats::Verdict;
use units::show;

use super::inline::{chip, dot, range};
use crate::view::{FigureRow, Of, Scope, View, place};
use crate::wording::{self, NONE};

/// Most variants next to the base in one table, and most variants in a table without comparisons: more would not fit a page.
const MAX_VARIANTS_BESIDE_BASE: usize = 2;
const MAX_VARIANTS_ALONE: usize = 4;
/// Most rows of variants that fit on a screen.
const SCREEN: usize = 12;
/// Most rows of a table that is shown whole; of a longer one that all variants have, the headline stays in sight.
const FOLDED: usize = 24;

/// Returns the tables of all figures: first what every variant has, then what only some have.
pub fn tables(view: &View) -> Markup {
    let mut sets: Vec<Vec<usize>> = view.rows_alone().map(having).collect();
    sets.sort_by_key(|set| Reverse(set.len()));
    sets.dedup();
    // Sets of one size may alternate, so that the same set is met again.
    let mut met: Vec<&Vec<usize>> = Vec::new();
    for set in sets.iter().filter(|set| !set.is_empty()) {
        if !met.contains(&set) {
            met.push(set);
        }
    }
    let unknown: Vec<_> = view.rows_alone().filter(|row| having(row).is_empty()).collect();
    html! {
        @if met.is_empty() && view.grids.is_empty() { p.soft { "No variant has any figure yet." } }
        @for (place, set) in met.iter().enumerate() { (of_set(view, set, place > 0)) }
        @if !unknown.is_empty() {
            details { summary { "Unknown for every variant" } ul.soft { @for text in unknown_of(&unknown) { li { (text) } } } }
        }
    }
}

/// Returns a table of the figures asked about with a row for each variant; nothing if there are too many for a screen, or if they are levels
/// of factors, which have tables of their own.
pub fn asked_table(view: &View) -> Markup {
    let rows: Vec<_> =
        view.figures.iter().filter(|row| row.asked).take(MAX_VARIANTS_ALONE).collect();
    if rows.is_empty() || view.variants.len() > SCREEN || !view.effects.is_empty() {
        return html! {};
    }
    let base = name(view, 0);
    html! {
        div.scroll tabindex="0" role="region" aria-label="What is asked" { table {
            thead { tr {
                th scope="col" { "Variant" span.range { "× is over " (base) } }
                @for row in &rows { th scope="col" { (row.label) span.range { (place(row)) } } }
            } }
            tbody { @for index in 0..view.variants.len() { tr {
                th.name scope="row" { (dot(index)) (name(view, index)) }
                @for row in &rows { td {
                    (wording::median(row.unit, row.values.get(index).and_then(Option::as_ref)))
                    @if let Some(Some(compared)) = row.comparisons.get(index) {
                        span.range { (wording::compared(row.unit, compared)) @if let Some(verdict) = compared.verdict.filter(|word| *word != Verdict::Unclear) { " " (verdict.word()) } }
                        // A sentence may break, so that the column stays narrow on a small screen.
        @if let Some(text) = wording::beside_medians(row, index) { span.range { (text) } }
                    }
                } }
            } } }
        } }
    }
}

/// Returns the labels of these rows, each once with all operations and layers that have no value of it.
fn unknown_of(rows: &[&FigureRow]) -> Vec<String> {
    let mut scopes: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        match scopes.iter_mut().find(|(label, _)| *label == row.label) {
            Some((_, known)) => known.push(row.scope.name()),
            None => scopes.push((&row.label, vec![row.scope.name()])),
        }
    }
    scopes.iter().map(|(label, of)| format!("{label} of {}", of.join(", of "))).collect()
}

/// Returns the indices of the variants that have a figure in a row.
fn having(row: &FigureRow) -> Vec<usize> {
    let known = row.values.iter().enumerate().filter(|(_, value)| value.is_some());
    known.map(|(index, _)| index).collect()
}

/// Returns the table of the rows that exactly these variants have. If there are many, all are folded if `folds`, else all but the headline.
fn of_set(view: &View, set: &[usize], folds: bool) -> Markup {
    let rows: Vec<_> = view.rows_alone().filter(|row| having(row) == set).collect();
    let all = set.len() == view.variants.len();
    let names: Vec<_> = set.iter().map(|index| name(view, *index)).collect();
    let title = match &names[..] {
        [one] => format!("Figures that only {one} has"),
        few if few.len() <= MAX_VARIANTS_ALONE => {
            format!("Figures that only {} have", show::names(few))
        }
        many => format!("Figures that {} of {} variants have", many.len(), view.variants.len()),
    };
    let tables = |rows: &[&FigureRow]| {
        html! { @match set {
            [0, others @ ..] if !others.is_empty() => @for others in others.chunks(MAX_VARIANTS_BESIDE_BASE) {
                (table(view, rows, &[&[0], others].concat(), true))
            },
            _ => @for alone in set.chunks(MAX_VARIANTS_ALONE) { (table(view, rows, alone, false)) },
        } }
    };
    let (first, rest): (Vec<_>, Vec<_>) =
        rows.iter().copied().partition(|row| row.headline() || row.part);
    html! {
        @if !all { h3 { (title) } }
        @if rows.len() <= FOLDED || !folds && first.is_empty() { (tables(&rows)) }
        @else {
            @if !folds { (tables(&first)) }
            details.long { summary { (if folds { rows.len() } else { rest.len() }) @if folds { " figures" } @else { " more figures" } }
                (tables(if folds { &rows } else { &rest })) }
        }
    }
}

fn name(view: &View, index: usize) -> &str {
    view.variants.get(index).map_or(NONE, |variant| variant.name.as_str())
}

/// Returns a table of rows with these variants; if `compared`, each but the first also with its comparison with the first.
fn table(view: &View, rows: &[&FigureRow], shown: &[usize], compared: bool) -> Markup {
    let columns = 1 + shown.len() + if compared { shown.len() - 1 } else { 0 };
    let repeats = |index: usize| view.variants.get(index).map_or(0, |variant| variant.repeats);
    html! {
        div.scroll.narrow[shown.len() == 1] tabindex="0" role="region" aria-label="Figures" { table {
            thead { tr {
                th scope="col" { "Figure" }
                @for (place, index) in shown.iter().enumerate() {
                    th.name scope="col" { (dot(*index)) (name(view, *index)) span.range { (runs(repeats(*index))) } }
                    @if compared && place > 0 { th.name scope="col" { "over " (name(view, shown[0])) } }
                }
            } }
            tbody { @for (place, row) in rows.iter().enumerate() {
                @if place == 0 || rows[place - 1].scope != row.scope { (group(view, columns, &row.scope)) }
                tr.asked[row.asked] {
                    th scope="row" { (row.label) }
                    @for (place, index) in shown.iter().enumerate() {
                        (value(row, *index, repeats(*index)))
                        @if compared && place > 0 { (comparison(row, *index)) }
                    }
                }
            } }
        } }
    }
}

fn runs(n: usize) -> String {
    if n == 1 { "1 repeat".to_owned() } else { format!("{n} repeats") }
}

fn group(view: &View, columns: usize, scope: &Scope) -> Markup {
    let stacks = view.variants.iter().flat_map(|variant| &variant.stack);
    let devices: Vec<_> = stacks.filter(|facts| facts.layer == "device").map(|d| &d.name).collect();
    html! { tr.group { th.name colspan=(columns) scope="rowgroup" {
        @match &scope.of { Of::Operation(name) => { "Operation " (name) }, Of::Load => { "The load as a whole" }, Of::Command => { "Command" }, Of::Layer(name) => { @if devices.contains(&name) { "Device " } @else { "Layer " } (name) }, Of::Content => { "Content" } }
        @if let Some(stage) = &scope.stage { " in stage " (stage) }
        @if let Some(names) = view.called_otherwise(scope) { span.range { (names) } }
    } } }
}

/// Returns a median with its interval below it, and the number of repeats behind it if some have no value.
fn value(row: &FigureRow, index: usize, repeats: usize) -> Markup {
    let figure = row.values.get(index).and_then(Option::as_ref);
    html! { td {
        (wording::median(row.unit, figure))
        @if let Some(figure) = figure {
            @if let Some(text) = wording::interval(row.unit, figure) { (range(&text)) }
            @if figure.n != repeats { span.range { "of " (runs(figure.n)) } }
        }
    } }
}

/// Returns ratio and verdict, the ratio's interval, and the p-values.
fn comparison(row: &FigureRow, index: usize) -> Markup {
    let unit = row.unit;
    let Some(comparison) = row.comparisons.get(index).and_then(Option::as_ref) else {
        return html! { td {} };
    };
    // Zero over zero has no ratio.
    if row.is_zero(0) && row.is_zero(index) && comparison.verdict.is_none() {
        return html! { td {} };
    }
    let p = comparison.p.filter(|_| !wording::wants_repeats(comparison));
    let p = p.map(|p| format!("p {}", wording::p_value(Some(p))));
    html! { td {
        @if let verdict @ Some(_) = comparison.verdict { (chip(verdict.map(Verdict::word))) " " }
        (wording::compared(unit, comparison))
        @if let Some(text) = wording::ratio_interval(unit, comparison) { (range(&text)) }
        // A sentence may break, so that the column stays narrow on a small screen.
        @if let Some(text) = wording::beside_medians(row, index) { span.range { (text) } }
        @if let Some(p) = p { span.range { (p) @if let Some(adjusted) = wording::rests_on(comparison) { ", " (adjusted) } ", " (wording::tested(comparison)) } }
        @for text in wording::left_open(comparison) { span.range { (text) } }
    } }
}
