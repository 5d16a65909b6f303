//! The first screen: what happened, in a sentence, and the asked figures as tiles.

use maud::{Markup, html};
use stats::Verdict;

use super::inline::{chip, colour, dot};
use super::parts::{findings_of, why};
use super::{compared, expected};
use crate::view::{FigureRow, View, place};
use crate::wording;

/// Most unmeasured figures that are listed: a sweep may have many points.
const UNMEASURED: usize = 6;

/// Returns the verdict, notes that must be read first, and one tile for each question.
pub fn hero(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let first = view.verdicts.first().map(|first| first.text.as_str());
    // Without a headline the first sentence takes its place, and only the others follow.
    let also = &view.verdicts[usize::from(view.headline.is_none()).min(view.verdicts.len())..];
    html! {
        header.top style="padding-left:0;padding-right:0" {
            p.kicker {
                b { (view.experiment) }
                @if let Some(started) = view.run_fact("started") { span { (wording::day(started)) } }
                @if view.crowded() { span { (view.variants.len()) " variants" } }
                @else { @for variant in view.variants.iter().enumerate() { (key(variant.0, &variant.1.name, variant.1.repeats)) } }
            }
            @if let Some(heading) = view.headline.as_deref().or(first) { h1 id=(id("verdict")) { (heading.replace(" %", "\u{a0}%")) } }
            @if !view.about.is_empty() { p.soft { (view.about) } }
            (expected::in_short(id, view))
            @if !also.is_empty() {
                @let all = html! { ul.also { @for sentence in also { li { (sentence.text) } } } };
                details.long[!view.crowded()] { summary { @if view.crowded() { "Each variant against " (view.variants[0].name) } @else { "In sentences" } } (all) }
            }
        }
        @for banner in &view.banners {
            div.banner role="note" { b { (banner.title) ". " } (banner.text) (why(banner.raw.as_deref())) }
        }
        (trust(id, view))
        (unmeasured(view))
        // With many variants a table says more than tiles.
        @if view.crowded() { (compared::asked_table(view)) } @else {
            div.tiles { @for row in view.rows_alone().filter(|row| row.headline() && is_worth_showing(view, row)) { (tile(view, row)) } }
        }
        (reasons(id, view))
    }
}

/// Returns the line that says how far the figures may be trusted, with a link to the findings.
fn trust(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let number = match findings_of(view) {
        0 => None,
        1 => Some("1 finding".to_owned()),
        n => Some(format!("{n} findings")),
    };
    html! { p.trust.sound[view.trust.sound] {
        @if !view.trust.text.is_empty() { (view.trust.text) " " }
        @if let Some(number) = number { a href={ "#" (id("findings")) } { (number) } }
    } }
}

/// Returns the figures asked about that were not measured, with the reasons; if there are many, only the first.
fn unmeasured(view: &View) -> Markup {
    let more = view.unmeasured.len().saturating_sub(UNMEASURED);
    html! { @if !view.unmeasured.is_empty() {
        div.trust { b { "Asked, and not measured" } ul {
            @for text in view.unmeasured.iter().take(UNMEASURED) { li { (text) } }
            @if more > 0 { li { (more) " more" } }
        } }
    } }
}

/// Returns the reasons for a change that the counters show, with these counters; nothing where there are none.
fn reasons(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! { @if let Some(why) = &view.why {
        section.findings.reasons aria-labelledby=(id("why")) {
            h2 id=(id("why")) { (why.title) }
            ul { @for cause in &why.causes { li { (cause.text) " " span.faint { "(" (cause.counters) ")" } } } }
            p.reading { "Counted, not proved: " code { "fathom doctor RESULT --prove" } " tries changes that would remove a limit." }
        }
    } }
}

/// Tells whether a row is worth showing: a figure that is not asked about is left out where it is zero or missing for every variant.
fn is_worth_showing(view: &View, row: &FigureRow) -> bool {
    let nothing =
        |index: usize| row.is_zero(index) || row.values.get(index).copied().flatten().is_none();
    row.known() && (row.asked || !(0..view.variants.len()).all(nothing))
}

/// Returns a variant's colour with its name.
fn key(index: usize, name: &str, repeats: usize) -> Markup {
    html! { span { (dot(index)) (name) " " span.faint { (repeats) @if repeats == 1 { " repeat" } @else { " repeats" } } } }
}

fn tile(view: &View, row: &FigureRow) -> Markup {
    let compared: Vec<_> = row.comparisons.iter().flatten().collect();
    let beside = (0..row.comparisons.len()).find_map(|index| wording::beside_medians(row, index));
    html! {
        div.tile {
            h3 { span { (row.label) span.of { (place(row)) } }
                // If no figure at all is decided, one line says so instead of a mark at each.
                @if let [one] = compared[..] { @if wording::decided(view) { (chip(one.verdict.map(Verdict::word))) } } }
            @match compared[..] {
                [one] => {
                    p.big.open[is_undecided(row, one)] { (wording::compared(row.unit, one)) small { " of " (one.base) } }
                    p.sure { @if let Some(range) = wording::ratio_interval(row.unit, one) { ("95 % interval".replace(' ', "\u{a0}")) " " (range.replace(' ', "\u{a0}")) } }
                    @if let Some(text) = beside { p.sure { (text) } }
                    @if is_undecided(row, one) { p.sure { "Open: " (wording::why_open(one)) "." } }
                },
                _ => @if let Some(figure) = row.values.iter().flatten().next() {
                    @if row.values.iter().flatten().count() == 1 {
                        p.big { (wording::value(row.unit, figure.median)) }
                        p.sure { @if let Some(range) = wording::interval(row.unit, figure) { (wording::interval_name(figure.n).replace(' ', "\u{a0}")) " " (range.replace(' ', "\u{a0}")) } }
                    }
                },
            }
            (bars(view, row))
            (parts(view, row))
        }
    }
}

/// Tells whether a comparison is asked about but not decided by these runs, so that its figure is not a proven fact.
fn is_undecided(row: &FigureRow, one: &analysis::MetricComparison) -> bool {
    row.asked && one.verdict == Some(Verdict::Unclear)
}

/// Returns the parts of a figure that are known separately, variant by variant.
fn parts(view: &View, row: &FigureRow) -> Markup {
    let whole = row.metric == layers::MACHINE_CPU_PER_IO;
    let is_part = |part: &&FigureRow| whole && part.part && part.scope.stage == row.scope.stage;
    html! {
        @for part in view.figures.iter().filter(is_part) {
            p.sure.part { (part.label) ": "
                @let known = part.values.iter().zip(&view.variants).filter_map(|(value, variant)| Some((variant, value.as_ref()?)));
                @for (index, (variant, value)) in known.enumerate() {
                    @if index > 0 { ", " } (variant.name) " " (wording::value(part.unit, value.median))
                }
            }
        }
    }
}

/// Returns one bar per variant with its interval as a whisker; percentages on a scale to 100.
fn bars(view: &View, row: &FigureRow) -> Markup {
    let values = || row.values.iter().flatten();
    let least = if row.unit == units::Unit::Percent { 100.0 } else { 0.0 };
    let top = values().flat_map(|f| [f.median, f.high.unwrap_or(f.median)]).fold(least, f64::max);
    let share = |value: f64| if top > 0.0 { (100.0 * value / top).clamp(0.0, 100.0) } else { 0.0 };
    html! {
        // A bar without a figure says nothing; what is asked and nobody measured is listed above.
        @for (index, variant) in view.variants.iter().enumerate() { @if let Some(figure) = row.values.get(index).copied().flatten() {
            div.bar style={ "--c:" (colour(index)) } {
                span { (variant.name) } b { (wording::median(row.unit, Some(&figure))) }
                div.track aria-hidden="true" {
                    i style={ "width:" (format!("{:.2}", share(figure.median))) "%" } {}
                    @if let (Some(low), Some(high)) = (figure.low, figure.high) {
                        u style=(format!("left:{:.2}%;width:{:.2}%", share(low), share(high) - share(low))) {}
                    }
                }
            }
        } }
    }
}
