//! What the experiment expected, with its source, and what became of it.

use analysis::ExpectationOutcome;
use maud::{Markup, html};

use super::figures::range;
use crate::view::View;
use crate::wording::{self, NONE};

/// A table of the expectations; nothing where there are none.
pub fn expected(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! { @if !view.expectations.is_empty() {
        h2 id=(id("expected")) { "Expected and found" }
        p.reading { "What the source of this experiment, or whoever wrote it, expects. From five repeats on all of the interval has to be as expected, "
            "below that the median alone decides." }
        div.scroll tabindex="0" role="region" aria-label="Expected and found" { table {
            thead { tr { th scope="col" { "Figure" } th.text scope="col" { "Expected" } th scope="col" { "Found" } th.text scope="col" { "Outcome" } } }
            tbody { @for held in &view.expectations {
                @let said = wording::expected(held);
                tr {
                    th.name.wrap scope="row" { (said.figure) @if let Some(source) = &held.expected.source { span.range { (source) } } }
                    td.text { (said.asked) }
                    td { (said.found.as_deref().unwrap_or(NONE)) @if let Some(interval) = &said.interval { (range(interval)) }
                        @if held.n == 1 { span.range { "one run" } } }
                    td.text { span.chip.(class(held.outcome)) { (mark(held.outcome)) " " (held.outcome.word()) } }
                }
            } }
        } }
    } }
}

fn class(outcome: ExpectationOutcome) -> &'static str {
    match outcome {
        ExpectationOutcome::Met => "better",
        ExpectationOutcome::Missed => "worse",
        ExpectationOutcome::Unclear | ExpectationOutcome::Unknown => "unclear",
    }
}

/// A mark that does not rest on colour.
fn mark(outcome: ExpectationOutcome) -> &'static str {
    match outcome {
        ExpectationOutcome::Met => "✓",
        ExpectationOutcome::Missed => "✗",
        ExpectationOutcome::Unclear | ExpectationOutcome::Unknown => "?",
    }
}
