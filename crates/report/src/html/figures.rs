//! The tables of figures: medians with intervals, the thesis table, content asked and achieved.

use analysis::MetricComparison;
use maud::{Markup, html};
use stats::Verdict;

use super::hero::{chip, dot};
use crate::view::{Figure, FigureRow, Scope, Variant, View};
use crate::wording::{self, NONE};

/// Medians, intervals, ratios, verdicts; below, how throughput was spread within the runs.
pub fn results(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! {
        h2 id=(id("figures")) { "Figures" }
        p.reading { "Each figure is the median over the repeats, its " (wording::intervals_name(view)) " below it. A ratio is that variant over "
            @match view.variants.first() { Some(base) => (base.name), None => "the base" }
            "; " (wording::claims()) " p is of that figure alone, the adjusted p below a verdict of all that is asked together. A dash means that there is no such figure." }
        div.scroll tabindex="0" role="region" aria-label="Figures" { table {
            thead { tr {
                th scope="col" { "Figure" }
                @for (index, variant) in view.variants.iter().enumerate() {
                    th scope="col" { (dot(index)) (variant.name) }
                    @if index > 0 { th scope="col" { "Ratio" } th scope="col" { "p" } th.text scope="col" { "Verdict" } }
                }
                th scope="col" { "n" }
            } }
            tbody { @for (index, row) in view.figures.iter().enumerate() {
                @if index == 0 || view.figures[index - 1].scope != row.scope { (group(view, &row.scope)) }
                (figure_row(view, row))
            } }
        } }
        @if !view.spread.is_empty() { (spread(view)) }
    }
}

fn group(view: &View, scope: &Scope) -> Markup {
    let columns = view.variants.len() * 4;
    html! { tr.group { th colspan=(columns.max(1)) scope="rowgroup" {
        @match scope { Scope::Operation(name) => { "Operation " (name) }, Scope::Load => { "The load as a whole" }, Scope::Layer(name) => { "Layer " (name) } }
    } } }
}

fn figure_row(view: &View, row: &FigureRow) -> Markup {
    let counts: Vec<_> = row.values.iter().map(|v| v.map_or(0, |f| f.n).to_string()).collect();
    html! {
        tr.asked[row.asked] {
            th scope="row" { (row.label) }
            @for index in 0..view.variants.len() {
                (value(row, row.values.get(index).and_then(Option::as_ref)))
                @if index > 0 { (comparison(row.comparisons.get(index).and_then(Option::as_ref))) }
            }
            td { (counts.join("+")) }
        }
    }
}

/// A median with its interval below it.
pub fn value(row: &FigureRow, figure: Option<&Figure>) -> Markup {
    html! { td { (wording::median(row.unit, figure))
    @if let Some(range) = figure.and_then(|f| wording::interval(row.unit, f)) { span.range { (range) } } } }
}

fn comparison(comparison: Option<&MetricComparison>) -> Markup {
    let Some(comparison) = comparison else {
        return html! { td { (NONE) } td { (NONE) } td {} };
    };
    html! {
        td { (comparison.ratio.map_or(NONE.to_owned(), wording::ratio))
            @if let Some(range) = wording::ratio_interval(comparison) { span.range { (range) } } }
        td { (wording::p_value(comparison.p)) }
        td.text { (chip(comparison.verdict.map(Verdict::word)))
            @if let Some(p) = wording::rests_on(comparison) { span.range { (p) } }
            @if let Some(repeats) = comparison.repeats_that_would_decide {
                span.range { "about " (repeats) " repeats a side would decide" } } }
    }
}

fn spread(view: &View) -> Markup {
    let show = |v: Option<f64>| v.map_or(NONE.to_owned(), |v| units::Unit::BytesPerSecond.show(v));
    html! {
        h3 { "Throughput of the intervals" }
        p.reading { "How even the load ran: the throughput of the intervals of a run, and of each of these figures the median over the runs. \
                     A minimum of 0 is a stall. This spread is within runs; it says nothing about how sure a median is." }
        div.scroll tabindex="0" role="region" aria-label="Throughput of the intervals" { table {
            thead { tr { th scope="col" { "Variant" } th.text scope="col" { "Operation" } th scope="col" { "Intervals" } th scope="col" { "Min" }
                th scope="col" { "Lower quartile" } th scope="col" { "Median" } th scope="col" { "Upper quartile" }
                th scope="col" { "Max" } th scope="col" { "Std. dev." } } }
            tbody { @for row in &view.spread { tr {
                th scope="row" { (dot(row.variant)) (view.variants.get(row.variant).map_or(NONE, |v| v.name.as_str())) }
                td.text { (row.operation) }
                td { (row.intervals) }
                @for figure in row.figures { td { (show(figure)) } }
            } } }
        } }
    }
}

/// Half the 95 % interval of a share that rests on a sample of blocks: `± 1.6 points`; `None` where every block was looked at.
fn sampled(variant: &Variant, key: &str) -> Option<String> {
    let error = variant.achieved.get(&key.replace("_percent", "_error_points"))?.median;
    let half = results::model::half_interval(key, error);
    (error > 0.0).then(|| format!("± {} points", units::show::significant(half, 2)))
}

/// What content was asked for and what was handed to the kernel.
pub fn content(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let keys = [
        ("duplicate_percent", "Duplicates among all blocks written"),
        ("live_duplicate_percent", "Duplicates among blocks that the addresses hold at the end"),
        ("lz4_saving_percent", "Saved by LZ4 on distinct blocks"),
        ("zero_percent", "Zero blocks"),
        ("packer_saving_percent", "Saved by VDO's packer on distinct blocks"),
    ];
    html! {
        h2 id=(id("content")) { "Content: asked and achieved" }
        p.reading { "What was achieved is measured from the very bytes handed to the kernel, not from the generator's counters. "
            "Below it stands the " (wording::intervals_name(view)) " over the repeats; where there is but one, how far off the sample of blocks may be." }
        div.scroll tabindex="0" role="region" aria-label="Content asked and achieved" { table {
            thead { tr { th scope="col" { "Variant" } th.text scope="col" { "Content" } th scope="col" { "Asked" } th scope="col" { "Achieved" } } }
            tbody { @for (index, variant) in view.variants.iter().enumerate() { @for (key, name) in keys {
                @let asked = variant.asked.as_ref().and_then(|c| match key {
                    "duplicate_percent" => c.duplicate_percent,
                    "live_duplicate_percent" => c.live_duplicate_percent,
                    "lz4_saving_percent" => c.lz4_saving_percent,
                    "packer_saving_percent" => c.packer_saving_percent,
                    _ => c.zero_percent,
                });
                tr {
                    th scope="row" { (dot(index)) (variant.name) }
                    td.text { (name) }
                    td { (asked.map_or(NONE.to_owned(), |v| units::Unit::Percent.show(v))) }
                    td { (wording::median(units::Unit::Percent, variant.achieved.get(key)))
                        @let range = variant.achieved.get(key).and_then(|f| wording::interval(units::Unit::Percent, f));
                        @if let Some(range) = range.or_else(|| sampled(variant, key)) { span.range { (range) } } }
                }
            } } }
        } }
    }
}
