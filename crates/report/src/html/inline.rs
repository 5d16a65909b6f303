//! Elements within a line: a variant's colour, a verdict, an interval below its figure.

use maud::{Markup, html};

use crate::wording;

/// Variants that have a colour of the style sheet.
const COLOURS: usize = 8;

/// The colour of a variant, each its own: from the ninth on hues a golden angle apart.
pub fn colour(index: usize) -> String {
    match index {
        of if of < COLOURS => format!("var(--v{of})"),
        more => format!("hsl({:.0},60%,var(--more))", (more as f64 * GOLDEN_ANGLE) % 360.0),
    }
}

/// Degrees between hues, of which no two come close soon.
const GOLDEN_ANGLE: f64 = 137.508;

/// The dot in a variant's colour.
pub fn dot(index: usize) -> Markup {
    html! { i.dot style={ "--c:" (colour(index)) } {} }
}

/// A verdict as a coloured word with a mark.
pub fn chip(verdict: Option<&str>) -> Markup {
    html! { @if let Some(word) = verdict { span.chip.(class(word)) { (wording::verdict(word)) } } }
}

/// Only words that are verdicts become classes.
fn class(word: &str) -> &'static str {
    match word {
        "better" => "better",
        "worse" => "worse",
        "same" => "same",
        "differs" => "differs",
        _ => "unclear",
    }
}

/// An interval below its figure, broken nowhere but between its ends.
pub fn range(text: &str) -> Markup {
    html! { span.range { (text.replace(' ', "\u{a0}").replace(",\u{a0}", ", ")) } }
}
