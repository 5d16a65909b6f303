//! The page: one file that holds everything, opens from a disk, and asks no other machine for anything.
//!
//! Tables, verdicts, stacks and charts are HTML and SVG made here, so the page is complete without JavaScript and in print. A small script
//! adds interaction: a cursor that shows values, zooming into a part of a chart, hiding of lines.

mod bisected;
mod cells;
mod charts;
mod compared;
mod effects;
mod expected;
mod figures;
mod folds;
mod grids;
mod hero;
mod inline;
mod ladders;
mod maps;
mod overview;
mod parts;
mod plot;
mod sheet;
mod splits;
mod stack;
mod states;
mod tables;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::bisected::Bisected;
use crate::view::View;
pub use sheet::{Block, Sheet};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The content security policy: nothing may be loaded from anywhere, which browsers enforce.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

/// The kind of a page. A page names its kind at its start, so that other files are not mistaken for one and overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// Results of runs.
    Results,
    /// An estimate.
    Estimate,
    /// Advice from a trace.
    Advice,
    /// A trace.
    Trace,
}

impl Page {
    /// Returns the beginning of every page of this kind.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Results => {
                "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"Fathom report\">"
            }
            Self::Estimate => {
                "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"Fathom estimate\">"
            }
            Self::Advice => {
                "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"Fathom advice\">"
            }
            Self::Trace => {
                "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"Fathom trace\">"
            }
        }
    }
}

/// Returns the whole page for one or more results, in the order given.
pub fn page(views: &[View]) -> String {
    with_bisections(&[], views)
}

/// Returns such a page for bisections: first their lists, then the results of their steps.
pub fn with_bisections(bisections: &[Bisected], views: &[View]) -> String {
    let title = match (bisections, views) {
        ([one, ..], _) => format!("{}: {} – Fathom", one.experiment, one.outcome),
        (_, [one]) => format!("{} – Fathom", one.experiment),
        (_, many) => format!("{} results – Fathom", many.len()),
    };
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="generator" content="Fathom report";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @for one in bisections { (bisected::bisected(one)) }
                @if views.len() > 1 { (overview::overview(views)) }
                main {
                    @for (index, view) in views.iter().enumerate() {
                        (result(index, view))
                    }
                }
                footer {
                    "Made by Fathom. This file is complete: it needs no network and no other file."
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    markup.into_string()
}

/// Returns a page of an estimate, of advice or of a trace in the same style: no script, nothing loaded. `body` is HTML that is inserted unchanged.
pub fn document(kind: Page, title: &str, body: &str) -> String {
    let generator = match kind {
        Page::Results => "Fathom report",
        Page::Estimate => "Fathom estimate",
        Page::Advice => "Fathom advice",
        Page::Trace => "Fathom trace",
    };
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="generator" content=(generator);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:";
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { (PreEscaped(body)) }
                footer { "Made by Fathom. This file is complete: it needs no network and no other file." }
            }
        }
    };
    markup.into_string()
}

/// Returns the parts of one result, in the order a reader needs them: findings, pictures and figures; then, folded, the load, the layers and the
/// machine over time, the written content, and how the result was made.
fn result(index: usize, view: &View) -> Markup {
    let id = |part: &str| format!("r{index}-{part}");
    html! {
        section.result id={ "r" (index) } aria-labelledby=(id("verdict")) {
            (hero::hero(&id, view))
            (parts::navigation(&id, view))
            (charts::answer(&id, index, view))
            (maps::maps(&id, view))
            (parts::findings(&id, view))
            (expected::expected(&id, view))
            (expected::reported(&id, view))
            (splits::splits(&id, view))
            (effects::effects(&id, view))
            (figures::results(&id, view))
            (ladders::ladders(&id, view))
            (states::states(&id, view))
            (charts::load(&id, index, view))
            (stack::stacks(&id, view))
            (charts::layers(&id, index, view))
            (charts::machine(&id, index, view))
            (figures::content(&id, view))
            (parts::run(&id, view))
            (cells::cells(&id, view))
            (parts::cost(&id, view))
            (parts::glossary(&id, view))
            (parts::downloads(view))
            (charts::data(index, view))
        }
    }
}
