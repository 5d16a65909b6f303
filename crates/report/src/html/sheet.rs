//! A page without a script that is not of a result: a headline, then texts, tables and charts in the order given.

use maud::{Markup, PreEscaped, html};

use super::charts;
use crate::view::Chart;

/// Without a script a legend is not for clicking. Drawings over the same time begin at the same place.
const STYLE: &str = ".legend li{cursor:auto}.plot .ys{min-width:8ch}";

/// The content of such a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// The kind of the page, one word before the headline.
    pub kicker: String,
    /// The thing that the page describes.
    pub what: String,
    /// The answer, at most 25 words.
    pub headline: String,
    /// All that follows.
    pub blocks: Vec<Block>,
}

/// A part of such a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A title above the next parts.
    Title(String),
    /// A paragraph.
    Text(String),
    /// Sentences, one below the other.
    List(Vec<String>),
    /// A table; the first cell of a row names it.
    Table {
        /// Names of the columns.
        heads: Vec<String>,
        /// The rows, each as long as `heads`.
        rows: Vec<Vec<String>>,
    },
    /// A chart.
    Chart(Chart),
}

impl Sheet {
    /// Returns the body of the page, without the HTML frame.
    pub fn body(&self) -> String {
        let markup = html! {
            style { (PreEscaped(STYLE)) }
            header.top style="padding-left:0;padding-right:0" {
                p.kicker { b { (self.kicker) } span { (self.what) } }
                h1 { (self.headline) }
            }
            @for block in &self.blocks { (part(block)) }
        };
        markup.into_string()
    }
}

/// Puts no-break spaces before percent signs, so that a line never ends between a number and its sign.
fn unbroken(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

fn part(block: &Block) -> Markup {
    html! { @match block {
        Block::Title(title) => h2 { (title) },
        Block::Text(text) => p.reading { (unbroken(text)) },
        Block::List(lines) => ul { @for line in lines { li { (unbroken(line)) } } },
        Block::Table { heads, rows } => div.scroll tabindex="0" role="region" aria-label="table" { table {
            thead { tr { @for head in heads { th scope="col" { (unbroken(head)) } } } }
            tbody { @for row in rows { tr { @for (at, cell) in row.iter().enumerate() {
                @if at == 0 { th scope="row" { (unbroken(cell)) } } @else { td { (unbroken(cell)) } }
            } } } }
        } },
        Block::Chart(chart) => (charts::still(chart)),
    } }
}
