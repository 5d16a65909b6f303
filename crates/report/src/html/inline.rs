//! What stands within a line: a variant's colour, a verdict, an interval below its figure.

use maud::{Markup, html};

use crate::wording;

/// The dot in a variant's colour.
pub fn dot(index: usize) -> Markup {
    html! { i.dot style={ "--c:var(--v" (index % 8) ")" } {} }
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
