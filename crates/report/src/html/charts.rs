//! The charts of a page: for each a drawing and a table behind it, and all points once as JSON.

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::folds::folded;
use super::grids::COLUMNS;
use super::inline::{self, dot};
use super::plot::{colour, group, numbered, plot, shade};
use super::tables::folded_table;
use crate::view::{Chart, Mark, Part, Shape, ThreadKindRow, View, marks, of_several};
use crate::wording::NONE;
use units::Unit;

/// If a part has more charts than this, all but the [`FIRST`] are folded.
const MAX_UNFOLDED_CHARTS: usize = 8;
const FIRST: usize = 4;

/// Returns the pictures that the experiment puts first, or else the chart of its first question.
pub fn answer(id: &dyn Fn(&str) -> String, index: usize, view: &View) -> Markup {
    let find = |id: &String| view.charts.iter().find(|chart| chart.id == *id);
    let charts: Vec<_> = view.answers.iter().filter_map(find).collect();
    html! { @if !charts.is_empty() {
        h2 id=(id("answer")) { @if charts.len() == 1 { "The answer in a picture" } @else { "The answer in pictures" } }
        p.reading.hint { "Move along a chart to read it off; drag over a part to see it larger, double-click to see all. A click on a name hides its lines." }
        @for chart in charts { (figure(index, view, chart)) }
    } }
}

/// Tells whether a chart is shown on top of the page.
fn answers(view: &View, chart: &Chart) -> bool {
    view.answers.contains(&chart.id)
}

/// Returns the charts of the load over time.
pub fn load(id: &dyn Fn(&str) -> String, index: usize, view: &View) -> Markup {
    html! { @if has(view, Part::Load) {
        (folded(&id("load"), "The load over time", &part(index, view, Part::Load)))
    } }
}

/// Returns the charts of the layers over time.
pub fn layers(id: &dyn Fn(&str) -> String, index: usize, view: &View) -> Markup {
    html! { @if has(view, Part::Layers) {
        (folded(&id("layers"), "The layers over time", &part(index, view, Part::Layers)))
    } }
}

/// Returns the charts of CPUs and devices over time.
pub fn machine(id: &dyn Fn(&str) -> String, index: usize, view: &View) -> Markup {
    let body = html! { (threads(view)) (part(index, view, Part::Machine)) };
    folded(&id("cpu"), "CPU and devices over time", &body)
}

/// Tells whether a part of the page has charts other than those on top of the page.
pub fn has(view: &View, part: Part) -> bool {
    view.charts.iter().any(|chart| chart.part == part && !answers(view, chart))
}

/// Lines that can be told apart in one drawing.
const LINES: usize = 9;

/// Tells whether a chart has more lines over each other than can be told apart.
fn is_dense(chart: &Chart) -> bool {
    let lines = chart.series.iter().filter(|series| series.bold()).count();
    chart.shape == Shape::Lines && lines > LINES
}

fn part(index: usize, view: &View, part: Part) -> Markup {
    let all: Vec<_> = view.charts.iter().filter(|c| c.part == part).collect();
    let data_charts = all.iter().copied().filter(|chart| !answers(view, chart));
    // So many lines over each other show none of them.
    let (dense, charts): (Vec<&Chart>, Vec<&Chart>) =
        data_charts.partition(|chart| part == Part::Load && is_dense(chart));
    // Many charts usually belong to the points of a sweep, and look alike.
    let (first, more) =
        charts.split_at(if charts.len() > MAX_UNFOLDED_CHARTS { FIRST } else { charts.len() });
    html! {
        @if all.is_empty() { p.soft { "No samples of this kind were taken." } }
        @else if view.crowded() && part != Part::Load {
            details { summary { (all.len()) " charts, those of each variant after the other" } @for chart in &charts { (figure(index, view, chart)) } }
        }
        @else {
            @for chart in first { (figure(index, view, chart)) }
            @if !more.is_empty() { details { summary { (more.len()) " more charts" } @for chart in more { (figure(index, view, chart)) } } }
            @if !dense.is_empty() { details { summary { "All " (view.variants.len()) " variants over each other, " (dense.len()) @if dense.len() == 1 { " chart" } @else { " charts" } }
                @for chart in &dense { (figure(index, view, chart)) } } }
        }
    }
}

/// Text that tells how to read the marks of a cache.
const CACHES: &str = " A broken line marks where a cache becomes warm (it hits as much as in the best run of the stage, and its hits no longer grow), full of junk (full, and it hits less), \
                      cold (not full, and it hits less) or stalled (it hits less, and nothing comes in or goes out for 10 s).";

fn figure(index: usize, view: &View, chart: &Chart) -> Markup {
    let courses = view.courses.iter().filter(|course| course.is_in(&chart.id));
    let notes: Vec<&str> = courses.filter_map(|course| course.text.as_deref()).collect();
    let caches: Vec<_> = view.caches.iter().filter(|cache| cache.is_in(&chart.id)).collect();
    let marks = marks(view, chart);
    html! {
        figure.chart {
            figcaption { (chart.title) }
            p.reading { (chart.reading.replace(" %", "\u{a0}%")) @if !notes.is_empty() && !marks.is_empty() { " A broken line marks where throughput changes." }
                @if !caches.is_empty() { (CACHES) }
                @if of_several(&chart.x) && !marks.is_empty() { " A broken line marks where a stage begins." } }
            @for note in notes { p.note { (note) } }
            @for cache in caches { p.note { (cache.text) } }
            (legend(chart))
            (plot(Some(&format!("r{index}-{}", chart.id)), chart, &marks))
            (folded_table(chart))
        }
    }
}

/// Returns a chart for a page without a script.
pub fn still(chart: &Chart) -> Markup {
    html! {
        figure.chart {
            figcaption { (chart.title) }
            @if !chart.reading.is_empty() { p.reading { (chart.reading.replace(" %", "\u{a0}%")) } }
            @if chart.series.len() > 1 || chart.has_classes() { (legend(chart)) }
            (plot(None, chart, &[]))
            (folded_table(chart))
        }
    }
}

/// Returns the colour and name of each line, where long names can wrap. A click on a name hides its line; the value at the cursor is shown after it.
fn legend(chart: &Chart) -> Markup {
    let numbered = numbered(chart);
    html! { ul.legend aria-live="polite" { @for (place, series) in chart.series.iter().filter(|s| s.bold()).enumerate() {
        li data-group=(group(series)) style={ "--c:" (colour(series)) @if chart.has_classes() { ";--o:" (shade(chart, series)) } } { @if numbered { (place + 1) " " } (series.name) }
    } } }
}

/// Returns CPU per thread as bars, which need no script.
fn threads(view: &View) -> Markup {
    let apart = view.variants.len() > BESIDE;
    html! { @if !view.threads.is_empty() {
        h3 { "CPU of each thread" }
        p.reading { "Percent of one CPU over the measured stages, median over the repeats. A thread near 100 % is a limit"
            @if view.single_threads.is_empty() { "." }
            @else { ". Some kinds have only one thread, which then sets the pace: the thread that " (view.single_threads.join("; that ")) "." }
            @if let Some((few, many)) = view.thread_marks {
                " ▲: busy for more than " (Unit::Percent.show(many)) ", so that one more thread of the kind may help. ▽: one of several of a kind, busy for less than "
                (Unit::Percent.show(few)) ", so that fewer of them would do." }
        }
        @if apart {
            (thread_kinds(view))
            details { summary { "Each thread by itself" } (each_thread(view)) }
        } @else { (each_thread(view)) }
    } }
}

/// Most variants for which each thread gets a bar at once; with more there is a table of the kinds of threads.
const BESIDE: usize = 2;

/// The mark of a thread's CPU. A thread that is alone of its kind is marked only when it is busy: there cannot be fewer.
fn thread_mark(view: &View, percent: f64, threads: usize) -> &'static str {
    match view.thread_marks {
        Some((_, many)) if percent > many => " ▲",
        Some((few, _)) if percent < few && threads > 1 => " ▽",
        _ => "",
    }
}

/// The busiest thread of each kind: a column for each variant, or with many variants a line for each, since paper and screens are not wide enough.
fn thread_kinds(view: &View) -> Markup {
    let cell = |kind: &ThreadKindRow, variant: usize| {
        html! { td { @match kind.busiest.get(variant).copied().flatten() {
            None => (NONE),
            Some((percent, threads)) => { (Unit::Percent.show(percent)) (thread_mark(view, percent, threads))
                @if threads > 1 { span.range { "of " (threads) } } },
        } } }
    };
    let (kinds, variants) = (&view.thread_kinds, &view.variants);
    let table = |body: &Markup| {
        html! { div.scroll.close tabindex="0" role="region" aria-label="CPU of each kind of thread" { table {
            caption { "The busiest thread of each kind, and how many there were" } (body)
        } } }
    };
    html! { @if variants.len() > ACROSS { @for kinds in kinds.chunks(COLUMNS) { (table(&html! {
        thead { tr { th scope="col" { "Variant" } @for kind in kinds { th scope="col" { (layers::thread(&kind.kind)) } } } }
        tbody { @for (index, variant) in variants.iter().enumerate() { tr {
            th.name scope="row" { (dot(index)) (variant.name) } @for kind in kinds { (cell(kind, index)) }
        } } }
    })) } } @else { (table(&html! {
        thead { tr { th scope="col" { "Thread that" } @for variant in variants { th scope="col" { (variant.name) } } } }
        tbody { @for kind in kinds { tr {
            th.name scope="row" { (layers::thread(&kind.kind)) } @for index in 0..variants.len() { (cell(kind, index)) }
        } } }
    })) } }
}

/// Variants that have a column each in a table of threads.
const ACROSS: usize = 6;

/// Returns a bar for each thread of each variant, with lines at the marks.
fn each_thread(view: &View) -> Markup {
    let top =
        view.threads.iter().flat_map(|t| t.percent.iter().flatten()).copied().fold(0.0, f64::max);
    let top = view.thread_marks.map_or(top, |(_, many)| top.max(many * 1.1));
    let place = |percent: f64| if top > 0.0 { percent / top * 100.0 } else { 0.0 };
    let same_kind = |thread: &str, variant: usize| {
        let kind = thread.trim_end_matches(|c: char| c.is_ascii_digit());
        let row = view.thread_kinds.iter().find(|row| row.kind == kind);
        row.and_then(|row| *row.busiest.get(variant)?).map_or(1, |(_, threads)| threads)
    };
    html! {
        div.scroll.close tabindex="0" role="region" aria-label="CPU of each thread" { table {
            thead { tr { th scope="col" { "Thread that" } th.text scope="col" style="width:50%" { span.sr { "Bar" } } th scope="col" { "CPU" } } }
            tbody { @for row in &view.threads { @for (index, percent) in row.percent.iter().enumerate() { @if let Some(percent) = percent { tr {
                th.name scope="row" { (layers::thread(&row.thread)) @if row.percent.iter().flatten().count() > 1 {
                    " " span.faint { (view.variants.get(index).map_or(NONE, |v| v.name.as_str())) } } }
                td.text { div.bars.marked style="grid-template-columns:1fr" {
                    i style={ "--c:" (inline::colour(index)) ";width:" (format!("{:.1}", place(*percent))) "%" } {}
                    @if let Some((few, many)) = view.thread_marks { @for mark in [few, many] {
                        b style={ "left:" (format!("{:.1}", place(mark))) "%" } {}
                    } }
                } }
                td { (Unit::Percent.show(*percent)) (thread_mark(view, *percent, same_kind(&row.thread, index))) }
            } } } } }
        } }
        p.soft { @for (index, variant) in view.variants.iter().enumerate() { @if view.threads.iter().any(|t| t.percent.get(index).copied().flatten().is_some()) {
            (dot(index)) (variant.name) " " } } }
    }
}

/// Returns all points of all charts as JSON, for the script and for anybody who recomputes a figure.
pub fn data(index: usize, view: &View) -> Markup {
    // Only a `<` could end the element early.
    let json = serde_json::to_string(&rounded(view)).unwrap_or_default().replace('<', "\\u003c");
    html! { script.charts type="application/json" data-result={ "r" (index) } { (PreEscaped(json)) } }
}

/// A chart as the script gets it.
#[derive(Serialize)]
struct Drawn {
    #[serde(flatten)]
    chart: Chart,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<Mark>,
}

/// Returns the charts with values rounded to seven significant digits: more than any instrument here has, and half the size.
fn rounded(view: &View) -> Vec<Drawn> {
    let read = view.charts.iter().filter(|chart| chart.has_cursor());
    let mut charts: Vec<Chart> = read.cloned().collect();
    for series in charts.iter_mut().flat_map(|c| c.series.iter_mut()) {
        series.x.iter_mut().for_each(|x| *x = seven_digits(*x));
        series.y.iter_mut().flatten().for_each(|y| *y = seven_digits(*y));
    }
    charts.into_iter().map(|chart| Drawn { marks: marks(view, &chart), chart }).collect()
}

fn seven_digits(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}
