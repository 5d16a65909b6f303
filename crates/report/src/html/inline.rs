//! Elements within a line: a variant's colour, a verdict, an interval below its figure.

use maud::{Markup, html};

use crate::wording;

/// Variants that have a colour of the style sheet.
pub const COLOURS: usize = 8;

/// The colour of a variant, each its own: from the ninth on hues between those of the style sheet.
pub fn colour(index: usize) -> String {
    match index {
        of if of < COLOURS => format!("var(--v{of})"),
        more => format!(
            "hsl({:.0},60%,var(--more))",
            (FIRST_HUE + (more - COLOURS) as f64 * HUE_STEP) % 360.0
        ),
    }
}

/// Hue of the first colour beyond the style sheet's, degrees: olive.
const FIRST_HUE: f64 = 85.0;
/// Degrees between hues: olive, violet, green and pink come first.
const HUE_STEP: f64 = 197.0;

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
