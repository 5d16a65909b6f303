//! The tables of figures: medians with intervals, the thesis table, content asked and achieved.

use maud::{Markup, html};
use results::model::{CONTENT_SHARES, ContentFigure};

use super::folds::folded;
use super::inline::{dot, range};
use units::Metric;

use super::{compared, grids};
use crate::view::{Content, Figure, FigureRow, JobFigures, SpreadRow, View};
use crate::wording::{self, NONE};

/// Medians, intervals, ratios, verdicts; below, how throughput was spread within the runs.
pub fn results(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! {
        h2 id=(id("figures")) { "Figures" }
        p.reading { "Each figure is the median over the repeats, its " (wording::intervals_name(view)) " below it. A ratio is that variant over "
            @match view.variants.first() { Some(base) => (base.name), None => "the base" }
            "; " (wording::claims()) " p is of that figure alone, the adjusted p below a verdict of all that is asked together. " (wording::TESTS) (wording::sequential(view)) }
        (grids::grids(view))
        (compared::tables(view))
        @for table in [
            Spreads { title: "Throughput of the intervals", counted: "Intervals", about: INTERVALS, rows: &view.spread },
            Spreads { title: "Bandwidth of the I/Os", counted: "I/Os", about: IOS, rows: &view.io_bandwidth },
        ] { @if !table.rows.is_empty() { (spread(view, &table)) } }
        @if !view.jobs.is_empty() { (jobs(view)) }
    }
}

/// The figures of each job, where they were asked for.
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

/// A median with its interval below it.
pub fn value(row: &FigureRow, figure: Option<&Figure>) -> Markup {
    html! { td { (wording::median(row.unit, figure))
    @if let Some(text) = figure.and_then(|f| wording::interval(row.unit, f)) { (range(&text)) } } }
}

/// One of the thesis tables: its title, the head of the column of counts, and what it is of.
struct Spreads<'a> {
    title: &'a str,
    counted: &'a str,
    about: &'a str,
    rows: &'a [SpreadRow],
}

const INTERVALS: &str = "How even the load ran: the throughput of the intervals of a run, and of each of these figures the median over the runs. \
     A minimum of 0 is a stall. This spread is within runs; it says nothing about how sure a median is.";
const IOS: &str = "How fast each I/O was: its length over its latency, and of each of these figures the median over the runs. With several I/Os in flight \
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

/// Half the 95 % interval of a share that rests on a sample of blocks: `± 1.6 points`; `None` where every block was looked at.
fn sampled(content: &Content, share: &ContentFigure) -> Option<String> {
    let error = content.achieved.get(share.error?.id)?.median;
    let half = share.half_interval(error);
    (error > 0.0).then(|| format!("± {} points", units::show::significant(half, 2)))
}

/// Tells whether a share was asked for, or is known.
fn known(content: &Content, share: &ContentFigure) -> bool {
    content.achieved.contains_key(share.id)
        || content.asked.as_ref().and_then(share.asked).is_some()
}

/// Returns how many shares of what was written are asked for or known.
fn shares(view: &View) -> usize {
    let contents = view.variants.iter().flat_map(|variant| &variant.content);
    contents.map(|of| CONTENT_SHARES.iter().filter(|share| known(of, share)).count()).sum()
}

/// Tells whether anything is known of what was written.
pub fn has_content(view: &View) -> bool {
    shares(view) > 0
}

/// Returns what content was asked for and what was handed to the kernel; nothing where nothing was written.
pub fn content(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let table = html! {
        div.scroll tabindex="0" role="region" aria-label="Content asked and achieved" { table {
            thead { tr { th scope="col" { "Variant" } th.text scope="col" { "Content" } th scope="col" { "Asked" } th scope="col" { "Achieved" } } }
            tbody { @for (index, variant) in view.variants.iter().enumerate() { @for content in &variant.content { @for share in CONTENT_SHARES.iter().filter(|share| known(content, share)) {
                @let asked = content.asked.as_ref().and_then(share.asked);
                @let achieved = content.achieved.get(share.id);
                tr {
                    th.name scope="row" { (dot(index)) (variant.name) @if let Some(stage) = &content.stage { span.range { "in " (stage) } } }
                    td.text { (share.title) }
                    td { (asked.map_or(NONE.to_owned(), |v| units::Unit::Percent.show(v))) }
                    td { (wording::median(units::Unit::Percent, achieved))
                        @let interval = achieved.and_then(|f| wording::interval(units::Unit::Percent, f));
                        @if let Some(text) = interval.or_else(|| sampled(content, share)) { (range(&text)) } }
                }
            } } } }
        } }
    };
    let body = html! {
        p.reading { "What was achieved is measured from the very bytes handed to the kernel, not from the generator's counters. "
            "Below it stands the " (wording::intervals_name(view)) " over the repeats; where there is but one, how far off the sample of blocks may be." }
        (table)
    };
    html! { @if shares(view) > 0 { (folded(&id("content"), "Content: asked and achieved", &body)) } }
}
