//! The head of a page with several results: one table of what each found, with a link to it.

use maud::{Markup, html};
use stats::Verdict;

use super::figures::value;
use super::inline::{chip, range};
use crate::view::{FigureRow, Scope, View};
use crate::wording::{self, NONE};

/// Most rows of a result in the table, which should fit on a screen: with more, its headline is shown instead.
const MOST_ROWS: usize = 9;

/// Returns the table of all results: a row for each operation or layer of each variant with a known figure, a column for each figure that these
/// results ask about. A result with too many rows, or that is the only one of its experiment, is shown by its headline instead. A variant is compared
/// with its base; where that is not possible its own figure is shown.
pub fn overview(views: &[View]) -> Markup {
    let columns = columns(views);
    let answers = || views.iter().map(|view| answer_rows(view, views));
    let mut scopes = answers().flatten().map(|(_, scope)| scope);
    let first = scopes.next();
    // A scope that all rows share need not be shown.
    let scoped = scopes.any(|scope| Some(scope) != first);
    html! {
        header.top {
            p.kicker { b { "Fathom" } span { (views.len()) " results" } }
            h1 { (title(views)) }
            p.reading { @if !columns.is_empty() { "A ratio is that variant over the one it is compared with, its 95 % interval below it; " (wording::claims()) " " }
                "Each name leads to the whole result." }
            div.scroll tabindex="0" role="region" aria-label="All results" { table {
                thead { tr { th scope="col" { "Result" } th.text scope="col" { @if columns.is_empty() { "What it found" } @else { "Of" } }
                    @for (_, label) in &columns { th scope="col" { (label) } } } }
                tbody { @for (index, view) in views.iter().enumerate() { (rows((index, views), view, &columns, scoped)) } }
            } }
        }
    }
}

/// `10 results, each of an experiment of its own`.
fn title(views: &[View]) -> String {
    let mut names: Vec<&str> = views.iter().map(|view| view.experiment.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match names[..] {
        [one] => format!("{} results of {one}", views.len()),
        _ if names.len() == views.len() => {
            format!("{} results, each of an experiment of its own", views.len())
        }
        _ => format!("{} results of {} experiments", views.len(), names.len()),
    }
}

/// A link to a result, with its number on the page; below it when it began, where another has its name, and the doubts about its figures.
fn link(index: usize, views: &[View]) -> Markup {
    let Some(view) = views.get(index) else { return html! {} };
    let namesakes = views.iter().filter(|other| other.experiment == view.experiment).count();
    let began = view.run_fact("started").filter(|_| namesakes > 1);
    html! {
        span.faint { (index + 1) " " } a href={ "#r" (index) } { (view.experiment) }
        @if let Some(began) = began { (range(&wording::day(began))) }
        @for text in doubts(index, views) { (range(&text)) }
    }
}

/// Reasons to doubt the figures of a result on a page of several.
fn doubts(index: usize, views: &[View]) -> Vec<String> {
    let Some(view) = views.get(index) else { return Vec::new() };
    let run = view.run_fact("run");
    let first =
        views[..index].iter().position(|other| run.is_some() && other.run_fact("run") == run);
    let same = first.map(|first| format!("same run as {}", first + 1));
    let changed = (view.seal == "broken").then(|| "changed".to_owned());
    let incomplete = (!view.complete).then(|| "incomplete".to_owned());
    [changed, incomplete, same].into_iter().flatten().collect()
}

/// Returns id and label of every metric asked about in results that have rows in the table, in the order of first occurrence.
fn columns(views: &[View]) -> Vec<(&str, &str)> {
    let mut columns = Vec::new();
    let answering = views.iter().filter(|view| !answer_rows(view, views).is_empty());
    for row in answering.flat_map(|view| &view.figures).filter(|row| row.headline()) {
        let column = (row.metric.as_str(), row.label.as_str());
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

/// Returns the rows of a result, by variant and scope; none if nothing is known, or if the headline is shown instead: there would be too many
/// rows, or no other result is of the same experiment.
fn answer_rows<'a>(view: &'a View, views: &[View]) -> Vec<(usize, &'a Scope)> {
    let namesakes = views.iter().filter(|other| other.experiment == view.experiment).count();
    if namesakes < 2 && view.headline.is_some() {
        return Vec::new();
    }
    let headline_rows: Vec<_> = view.figures.iter().filter(|row| row.headline()).collect();
    let mut scopes: Vec<&Scope> = headline_rows.iter().map(|row| &row.scope).collect();
    scopes.dedup();
    // The base has a row of its own only where it is the only variant.
    let variants =
        if view.variants.len() > 1 { 1..view.variants.len() } else { 0..view.variants.len() };
    let is_known = |(variant, scope): &(usize, &Scope)| {
        let value = |row: &FigureRow| row.values.get(*variant).copied().flatten().is_some();
        headline_rows.iter().any(|row| row.scope == **scope && value(row))
    };
    let all = variants.flat_map(|variant| scopes.iter().map(move |scope| (variant, *scope)));
    let known: Vec<_> = all.filter(is_known).collect();
    if known.len() > MOST_ROWS && view.headline.is_some() { Vec::new() } else { known }
}

/// Returns the headline of a result, or the first of its sentences.
fn leading_sentence(view: &View) -> &str {
    let sentence = || view.verdicts.first().map_or(NONE, |first| first.text.as_str());
    view.headline.as_deref().unwrap_or_else(sentence)
}

fn rows(
    (index, views): (usize, &[View]),
    view: &View,
    columns: &[(&str, &str)],
    scoped: bool,
) -> Markup {
    let of = answer_rows(view, views);
    let headline_rows: Vec<_> = view.figures.iter().filter(|row| row.headline()).collect();
    html! {
        @if of.is_empty() {
            tr { th.name scope="row" { (link(index, views)) } td.wrap colspan=(columns.len() + 1) {
                (leading_sentence(view)) @if !view.trust.text.is_empty() { span.range { (view.trust.text) } } } }
        }
        @for (place, (variant, scope)) in of.iter().enumerate() { tr.close[place > 0] {
            th.name scope="row" { @if place == 0 { (link(index, views)) } }
            td.wrap { (view.variants[*variant].name) @if scoped { ", " (scope.name()) }
                @if let Some(base) = view.variants.first().filter(|_| *variant > 0) { span.range { "over " (base.name) } } }
            @for (metric, _) in columns {
                (cell(*variant, headline_rows.iter().find(|row| row.metric == *metric && row.scope == **scope)))
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
                @if let Some(text) = wording::ratio_interval(row.unit, comparison) { (range(&text)) }
                @if let Some(text) = wording::beside_medians(row, variant) { (range(&text)) } }
        },
    }
}
