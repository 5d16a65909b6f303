//! Elements within a line: a variant's colour, a verdict, an interval below its figure.

use maud::{Markup, html};

use crate::wording;

/// Number of variants that have a colour in the style sheet.
pub const COLOURS: usize = 8;

/// Returns the colour of a variant, which no other has: from the ninth on a hue between those of the style sheet.
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

/// Returns a dot in a variant's colour.
pub fn dot(index: usize) -> Markup {
    html! { i.dot style={ "--c:" (colour(index)) } {} }
}

/// Returns a verdict as a coloured word with a mark.
pub fn chip(verdict: Option<&str>) -> Markup {
    html! { @if let Some(word) = verdict { span.chip.(class(word)) { (wording::verdict(word)) } } }
}

/// Returns the class for a verdict; other words do not become classes.
fn class(word: &str) -> &'static str {
    match word {
        "better" => "better",
        "worse" => "worse",
        "same" => "same",
        "differs" => "differs",
        _ => "unclear",
    }
}

/// Returns an interval below its figure, which may wrap only between its two ends.
pub fn range(text: &str) -> Markup {
    html! { span.range { (text.replace(' ', "\u{a0}").replace(",\u{a0}", ", ")) } }
}
