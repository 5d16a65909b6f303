//! The tables of figures: medians with intervals, the thesis table, content asked and achieved.

use maud::{Markup, html};
use results::model::{CONTENT_SHARES, ContentFigure};

use super::folds::folded;
use super::inline::{dot, range};
use units::Metric;

use super::{compared, grids};
use crate::view::{Content, Figure, FigureRow, JobFigures, SpreadRow, View};
use crate::wording::{self, NONE};

/// Returns medians, intervals, ratios and verdicts, and below them the spread of throughput within the runs.
pub fn results(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! {
        h2 id=(id("figures")) { "Figures" }
        p.reading { "Each figure is the median over the repeats, its " (wording::intervals_name(view)) " below it. A ratio is that variant over "
            @match view.variants.first() { Some(base) => (base.name), None => "the base" } "." (wording::sequential(view)) }
        details.long { summary { "How verdicts are given" }
            p.reading { (wording::capital(&wording::claims())) " p is for that figure alone; the adjusted p below a verdict is for all questions together. "
            (wording::TESTS) } }
        (grids::grids(view))
        (compared::tables(view))
        @for table in [
            Spreads { title: "Throughput of the intervals", counted: "Intervals", about: INTERVALS, rows: &view.spread },
            Spreads { title: "Bandwidth of the I/Os", counted: "I/Os", about: IOS, rows: &view.io_bandwidth },
        ] { @if !table.rows.is_empty() { (spread(view, &table)) } }
        @if !view.jobs.is_empty() { (jobs(view)) }
    }
}

/// Returns the figures of each job, where they were asked for.
fn jobs(view: &View) -> Markup {
    let metrics: Vec<_> = wording::JOB_METRICS.into_iter().filter_map(layers::metric).collect();
    let show = |row: &JobFigures, metric: &Metric| {
        let figure = row.figures.get(metric.id);
        html! { td { (wording::median(metric.unit, figure)) @if let Some(figure) = figure {
            @if let (Some(low), Some(high)) = (figure.low, figure.high) {
                (range(&format!("[{}, {}]", wording::value(metric.unit, low), wording::value(metric.unit, high))))
            }
        } } }
    };
    html! {
        h3 { "Each job by itself" }
        p.reading { (wording::JOBS) }
        div.scroll tabindex="0" role="region" aria-label="Each job by itself" { table {
            thead { tr { th.name scope="col" { "Variant" } th.text scope="col" { "Operation" } th scope="col" { "Job" }
                @for metric in &metrics { th scope="col" { (metric.name) } } } }
            tbody { @for row in &view.jobs { tr {
                th.name scope="row" { (dot(row.variant)) (view.variants.get(row.variant).map_or(NONE, |v| v.name.as_str())) }
                td.text { (row.scope.name()) }
                td { (row.job) }
                @for metric in &metrics { (show(row, metric)) }
            } } }
        } }
    }
}

/// Returns a median with its interval below it.
pub fn value(row: &FigureRow, figure: Option<&Figure>) -> Markup {
    html! { td { (wording::median(row.unit, figure))
    @if let Some(text) = figure.and_then(|f| wording::interval(row.unit, f)) { (range(&text)) } } }
}

/// One of the tables in the form of the thesis: its title, the head of the column of counts, an explanation, and its rows.
struct Spreads<'a> {
    title: &'a str,
    counted: &'a str,
    about: &'a str,
    rows: &'a [SpreadRow],
}

const INTERVALS: &str = "How evenly the load ran: the spread of throughput over the intervals of a run; each figure is its median over the runs. \
     A minimum of 0 is a stall. This spread is within runs; it says nothing about how sure a median is.";
const IOS: &str = "How fast each I/O was: the spread of length over latency; each figure is its median over the runs. With several I/Os in flight \
     the throughput is a multiple of it.";

fn spread(view: &View, table: &Spreads) -> Markup {
    let show = |v: Option<f64>| v.map_or(NONE.to_owned(), |v| units::Unit::BytesPerSecond.show(v));
    html! { details.long {
        summary { (table.title) }
        p.reading { (table.about) }
        div.scroll tabindex="0" role="region" aria-label=(table.title) { table {
            thead { tr { th.name scope="col" { "Variant" } th.text scope="col" { "Operation" } th scope="col" { (table.counted) } th scope="col" { "Min" }
                th scope="col" { "Lower quartile" } th scope="col" { "Median" } th scope="col" { "Upper quartile" }
                th scope="col" { "Max" } th scope="col" { "Std. dev." } } }
            tbody { @for row in table.rows { tr {
                th.name scope="row" { (dot(row.variant)) (view.variants.get(row.variant).map_or(NONE, |v| v.name.as_str())) }
                td.text { (row.operation) }
                td { (counts(row.values)) }
                @for figure in row.figures { td { (show(figure)) } }
            } } }
        } }
    } }
}

/// `53`, or `36 to 70` where runs differ.
fn counts((least, most): (usize, usize)) -> String {
    let [least, most] = [least, most].map(|n| units::show::grouped(n as u64));
    if least == most { least } else { format!("{least} to {most}") }
}

/// Returns half of the 95 % interval of a share that rests on a sample of blocks: `± 1.6 points`; `None` where every block was examined.
fn sampled(content: &Content, share: &ContentFigure) -> Option<String> {
    let error = content.achieved.get(share.error?.id)?.median;
    let half = share.half_interval(error);
    (error > 0.0).then(|| format!("± {} points", units::show::significant(half, 2)))
}

/// Tells whether a share was asked for, or is known.
fn has_share(content: &Content, share: &ContentFigure) -> bool {
    content.achieved.contains_key(share.id)
        || content.asked.as_ref().and_then(share.asked).is_some()
}

/// Tells whether anything is known of what was written.
pub fn has_content(view: &View) -> bool {
    !content_rows(view).is_empty()
}

/// A share of what was written, as it is shown, and all for which it is the same: index of the variant, and stage.
struct ContentRow<'a> {
    title: &'a str,
    requested: String,
    achieved: String,
    range: Option<String>,
    places: Vec<(usize, Option<&'a str>)>,
}

/// The shares of what was written, in their order; a share that several variants or stages have in common comes once.
fn content_rows(view: &View) -> Vec<ContentRow<'_>> {
    let percent = units::Unit::Percent;
    let mut rows: Vec<ContentRow> = Vec::new();
    for share in &CONTENT_SHARES {
        let from = rows.len();
        for (index, variant) in view.variants.iter().enumerate() {
            for content in variant.content.iter().filter(|content| has_share(content, share)) {
                let requested = content.asked.as_ref().and_then(share.asked);
                let achieved = content.achieved.get(share.id);
                let interval = achieved.and_then(|f| wording::interval(percent, f));
                let row = ContentRow {
                    title: share.title,
                    requested: requested.map_or(NONE.to_owned(), |v| percent.show(v)),
                    achieved: wording::median(percent, achieved),
                    range: interval.or_else(|| sampled(content, share)),
                    places: vec![(index, content.stage.as_deref())],
                };
                let same = |other: &&mut ContentRow| {
                    (&other.requested, &other.achieved, &other.range)
                        == (&row.requested, &row.achieved, &row.range)
                };
                match rows[from..].iter_mut().find(same) {
                    Some(known) => known.places.extend(row.places),
                    None => rows.push(row),
                }
            }
        }
    }
    rows
}

/// Returns the variants that a row is about, each with its stages; or that it is about all.
fn content_of(view: &View, row: &ContentRow) -> Markup {
    let mut variants: Vec<(usize, Vec<&str>)> = Vec::new();
    for (variant, stage) in &row.places {
        match variants.iter_mut().find(|(known, _)| known == variant) {
            Some((_, stages)) => stages.extend(*stage),
            None => variants.push((*variant, stage.iter().copied().collect())),
        }
    }
    let alike = variants.windows(2).all(|two| two[0].1 == two[1].1);
    let all = alike && variants.len() == view.variants.len() && variants.len() > NAMED;
    let stages = |stages: &[&str]| {
        html! { @if !stages.is_empty() { span.range { "in " (units::show::names(stages)) } } }
    };
    html! {
        @if all { "all " (variants.len()) " variants" } @else { @for (place, (index, variant_stages)) in variants.iter().enumerate() {
            @if place > 0 { @if alike { ", " } @else { br; } }
            (dot(*index)) (view.variants.get(*index).map_or(NONE, |v| v.name.as_str())) @if !alike { (stages(variant_stages)) }
        } }
        @if alike { @if let Some((_, common)) = variants.first() { (stages(common)) } }
    }
}

/// Most variants that are named if a row is about all of them.
const NAMED: usize = 4;

/// Returns what content was asked for and what was handed to the kernel; nothing where nothing was written.
pub fn content(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let rows = content_rows(view);
    let table = html! {
        div.scroll tabindex="0" role="region" aria-label="Content asked and achieved" { table {
            thead { tr { th scope="col" { "Content" } th.text scope="col" { "Written by" } th scope="col" { "Asked" } th scope="col" { "Achieved" } } }
            tbody { @for (place, row) in rows.iter().enumerate() { tr {
                th.name scope="row" { @if place > 0 && rows[place - 1].title == row.title { span.sr { (row.title) } } @else { (row.title) } }
                td.text { (content_of(view, row)) }
                td { (row.requested) }
                td { (row.achieved) @if let Some(text) = &row.range { (range(text)) } }
            } } }
        } }
    };
    let body = html! {
        p.reading { "What was achieved is measured from the bytes handed to the kernel, not from the generator's counters. "
            "Below it is the " (wording::intervals_name(view)) " over the repeats; with a single repeat, the uncertainty from the sample of blocks." }
        (table)
    };
    html! { @if !rows.is_empty() { (folded(&id("content"), "Content: asked and achieved", &body)) } }
}
