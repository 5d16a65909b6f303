//! Tables of the experiment's expectations, with source and outcome, and of the figures that the source reported, with those found here.

use analysis::{Expectation, ExpectationOutcome, Reported, ReportedRow};
use maud::{Markup, html};

use super::inline::range;
use crate::view::View;
use crate::wording::{self, NONE, SOURCE_DIGITS};

/// Returns a table of the expectations; nothing where there are none.
pub fn expected(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let all = view.expectations.iter();
    let (elsewhere, here): (Vec<&Expectation>, Vec<&Expectation>) =
        all.partition(|held| held.outcome == ExpectationOutcome::Elsewhere);
    html! { @if !view.expectations.is_empty() {
        h2 id=(id("expected")) { "Expected and found" }
        p.reading { "What the source of this experiment, or whoever wrote it, expects. With five repeats or more the whole interval "
            "must be as expected, with fewer only the median." }
        @if !here.is_empty() { div.scroll tabindex="0" role="region" aria-label="Expected and found" { table {
            thead { tr { th scope="col" { "Figure" } th.text scope="col" { "Expected" } th scope="col" { "Found" } th.text scope="col" { "Outcome" } } }
            tbody { @for held in here { (row(held)) } }
        } } }
        @if !elsewhere.is_empty() { details {
            summary { (elsewhere.len()) " more are expected at another scale, and cannot be checked here" }
            ul { @for held in elsewhere {
                @let words = wording::expected(held);
                li { (words.figure) ": " (words.bound) @if let Some(scale) = &held.expected.scale { ", at scale " (scale) }
                    @if let Some(because) = &held.expected.because { ": " (because) }
                    @if let Some(source) = &held.expected.source { span.faint { " (" (source) ")" } } }
            } }
        } }
    } }
}

/// Returns how many figures are as expected, in a line that links to them; nothing where none is expected at this scale.
pub fn in_short(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let count = |outcome: ExpectationOutcome| {
        view.expectations.iter().filter(|held| held.outcome == outcome).count()
    };
    let (met, missed) = (count(ExpectationOutcome::Met), count(ExpectationOutcome::Missed));
    let open = count(ExpectationOutcome::Unclear)
        + count(ExpectationOutcome::Unknown)
        + count(ExpectationOutcome::NoRatio);
    let not_run = count(ExpectationOutcome::NotRun);
    let parts = [
        (met, "as expected"),
        (missed, "not as expected"),
        (open, "undecided"),
        (not_run, "not run"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<_> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    let all = met + missed + open + not_run;
    html! { @if all > 0 {
        p.soft { a href={ "#" (id("expected")) } {
            "Expected figures: " (all) } ", of which " (counts.join(", ")) "." }
    } }
}

fn row(held: &Expectation) -> Markup {
    let words = wording::expected(held);
    let why = wording::why_otherwise(held).map(|why| format!("Why it differs: {why}"));
    let why = wording::why_not_judged(held).map(|why| format!("Not judged: {why}")).or(why);
    html! { tr {
        th.name.wrap scope="row" { (words.figure) }
        td.text { (words.bound) }
        td { (words.found.as_deref().unwrap_or(NONE)) @if let Some(interval) = &words.interval { (range(interval)) }
            @if held.n == 1 { span.range { "one run" } } }
        td.text { span.chip.(class(held.outcome)) { (mark(held.outcome)) " " (held.outcome.word()) } }
    }
    @if held.expected.source.is_some() || why.is_some() { tr.more { td.text colspan="4" {
        @if let Some(source) = &held.expected.source { (wording::grounds(held.expected.grounds)) ": " (source) }
        @if let Some(why) = why { @if held.expected.source.is_some() { br; } (why) }
    } } } }
}

/// Returns the figures of a source next to those found here, a table for each of its tables; nothing where it reported none.
pub fn reported(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! { @if !view.reported.is_empty() {
        h2 id=(id("reported")) { "The source's figures, and those found here" }
        p.reading { "The source measured on another machine, often at another scale: only the ratio to the first row can be expected to be "
            "the same, not the figure itself." }
        @for table in &view.reported { (of_source(table)) }
    } }
}

fn of_source(table: &Reported) -> Markup {
    let title = wording::reported_title(table);
    html! {
        h3 { (title) }
        div.scroll.close tabindex="0" role="region" aria-label=(title) { table {
            thead { tr { th scope="col" { "Case" } th scope="col" { "Source" } th scope="col" { "over the first" } th scope="col" { "Here" } th scope="col" { "over the first" } } }
            tbody { @for row in &table.rows { tr {
                th.name scope="row" { (wording::reported(row, &table.rows)) }
                td { (units::show::significant(row.source, SOURCE_DIGITS)) " " (table.source_unit) }
                td { (row.source_ratio.map_or_else(|| NONE.to_owned(), wording::times)) }
                td { (wording::found_here(row)) }
                td { (ratio(row)) }
            } } }
        } }
        @if let Some(here) = &table.here { p.reading { "The quantity measured here differs: " (here) "." } }
        @let spreads = wording::spreads(table);
        @if !spreads.is_empty() { details {
            summary { "The same for the single I/Os of a run: quartiles, extremes, standard deviation" }
            div.scroll.close tabindex="0" role="region" aria-label={ (title) ", of each I/O" } { table {
                thead { tr { th scope="col" { "Case" } th.text scope="col" { "From" } @for column in wording::SPREAD_COLUMNS { th scope="col" { (column) } } } }
                tbody { @for (of, whose, cells) in spreads { tr {
                    th.name scope="row" { (of) } td.text { (whose) } @for cell in cells { td { (cell) } }
                } } }
            } }
        } }
    }
}

fn ratio(row: &ReportedRow) -> Markup {
    let show = wording::times;
    let found = row.ratio.as_ref().and_then(|ratio| Some((ratio.median?, ratio.low, ratio.high)));
    html! { @match found {
        None => (NONE),
        Some((median, low, high)) => { (show(median)) @if let (Some(low), Some(high)) = (low, high) {
            (range(&format!("[{}, {}]", show(low), show(high)))) } },
    } }
}

fn class(outcome: ExpectationOutcome) -> &'static str {
    match outcome {
        ExpectationOutcome::Met => "better",
        ExpectationOutcome::Missed => "worse",
        _ => "unclear",
    }
}

/// Returns a mark that can be understood without colour.
fn mark(outcome: ExpectationOutcome) -> &'static str {
    match outcome {
        ExpectationOutcome::Met => "✓",
        ExpectationOutcome::Missed => "✗",
        _ => "?",
    }
}
