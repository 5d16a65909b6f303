//! A chart as SVG between its axes. The drawing is stretched to the available space while lines and dots keep their width. All text is HTML next to
//! the drawing, so that it keeps its size on a screen, a telephone and paper; no script is needed.

use maud::{Markup, html};

use super::inline;
use crate::drawing::{Drawing, HEIGHT, Ink, Line, Marked, Tick, WIDTH, in_proportion};
use crate::view::{Chart, Mark, Series, Shape};

/// Most ticks of the horizontal axis on a telephone: with more, it shows only every other one.
const NARROW: usize = 5;
/// Marks beyond this share of the width have their label on the left, so that it is not cut off.
const RIGHT: f64 = 0.75;

/// Returns the box of a chart, which fills the available width. A chart with an id has a cursor, which the page's script moves.
pub fn plot(id: Option<&str>, chart: &Chart, marks: &[Mark]) -> Markup {
    let Some(drawing) = Drawing::of(chart, marks) else {
        return html! { div.plot.empty { p.soft { "No samples of this kind were taken." } } };
    };
    let widest = drawing.y.iter().map(|tick| tick.text.chars().count()).max().unwrap_or(1);
    let (from, to) = drawing.ends;
    let numbered = numbered(chart);
    let id = id.filter(|_| chart.has_cursor());
    html! {
        div.plot data-chart=[id] data-from=(from) data-to=(to) data-cut[in_proportion(chart)] role="group" aria-label=(chart.title) {
            p.yl { (chart.y.label) }
            div.ys style={ "width:" (widest) "ch" } { @for tick in &drawing.y { span style={ "bottom:" (percent(tick.at)) } { (tick.text) } } }
            div.room tabindex=[id.map(|_| "0")] role=(if id.is_some() { "application" } else { "img" }) aria-label=(label_of(chart, id.is_some())) {
                svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
                    path.across d=(drawing.y.iter().map(tick_line).collect::<String>()) {}
                    @for mark in &drawing.marks { (marked(mark)) }
                    @for line in &drawing.lines { (series(chart, line)) }
                }
                @for mark in &drawing.marks { @if let Some(row) = mark.row { (label(mark, row)) } }
            }
            div.xs.many[drawing.x.len() > NARROW].bars[matches!(chart.shape, Shape::Bars | Shape::Boxes)] style={ "--n:" (drawing.x.len()) } {
                @for (place, tick) in drawing.x.iter().enumerate() { span style={ "left:" (percent(tick.at)) } {
                    @if numbered { (place + 1) } @else { (tick.text) } } }
            }
            p.xl { (chart.x.label) @if numbered { ", by its number in the list above" } }
        }
    }
}

/// Letters of all names below a drawing that a telephone has room for.
const LETTERS: usize = 45;

/// Tells whether boxes have numbers below them, which the legend explains: cut names would say nothing.
pub fn numbered(chart: &Chart) -> bool {
    let longest = chart.names.iter().map(|name| name.chars().count() + 1).max().unwrap_or(0);
    chart.shape == Shape::Boxes && longest * chart.names.len() > LETTERS
}

fn label_of(chart: &Chart, cursor: bool) -> String {
    let hint = if cursor { ": arrow keys read it off" } else { "" };
    format!("{}{hint}", chart.title)
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

fn tick_line(tick: &Tick) -> String {
    format!("M0 {:.0}H{WIDTH}", (1.0 - tick.at) * HEIGHT)
}

/// Returns the group of a series: lines with the same name share it, and so does their entry in the legend.
pub fn group(series: &Series) -> String {
    series.variant.map_or_else(|| format!("h{}", series.hue), |v| format!("v{v}-{}", series.hue))
}

/// Returns the CSS colour of a series.
pub fn colour(series: &Series) -> String {
    series.variant.map_or_else(|| format!("var(--h{})", series.hue % 10), inline::colour)
}

/// Returns the opacity of a class of cells: the first is the weakest. A single cell of an even grid is small and has to be seen, too.
pub fn shade(chart: &Chart, series: &Series) -> &'static str {
    let shades = match chart.shape {
        Shape::Density(_) => ["0.3", "0.5", "0.75", "1"],
        _ => ["0.15", "0.35", "0.65", "1"],
    };
    shades.get(series.hue).copied().unwrap_or("1")
}

/// Returns the style of a series apart from its colour: whether it stands for all repeats or one, and the dash that separates series of one colour.
fn kind(chart: &Chart, series: &Series) -> &'static str {
    let repeats = chart.series.iter().any(|series| !series.bold());
    match (series.bold(), series.variant) {
        (false, _) => "line thin",
        (true, Some(_)) if series.hue % 2 == 1 => "line dotted",
        (true, Some(variant)) if variant >= inline::COLOURS => "line dashed",
        (true, _) if repeats => "line bold",
        (true, _) => "line",
    }
}

fn series(chart: &Chart, line: &Line) -> Markup {
    let series = line.series;
    let (group, paint) = (group(series), format!("--c:{}", colour(series)));
    html! { @match &line.ink {
        Ink::Line { line, dots } => g data-group=(group) style=(paint) {
            path class=(kind(chart, series)) d=(line) {}
            @if !dots.is_empty() { path.dots.thin[!series.bold()] d=(dots) {} }
        },
        Ink::Area(area) => path.area data-group=(group) style=(paint) d=(area) {},
        Ink::Bars(bars) => path.bar data-group=(group) style=(paint) d=(bars) {},
        Ink::Box { body, lines } => g data-group=(group) style=(paint) {
            path.box d=(body) {}
            path.line d=(lines) {}
        },
        Ink::Cells(cells) => path.bar data-group=(group) style={ (paint) ";fill-opacity:" (shade(chart, series)) } d=(cells) {},
        Ink::Rows { path, thick } => path.rows data-group=(group) style={ (paint) ";stroke-opacity:" (shade(chart, series)) ";stroke-width:" (thick) } d=(path) {},
    } }
}

/// Draws a marked moment as a broken line, and its uncertainty as a band.
fn marked(marked: &Marked) -> Markup {
    let paint = format!("--c:{}", inline::colour(marked.mark.variant));
    let group = format!("v{}-0", marked.mark.variant);
    html! { g data-group=(group) style=(paint) {
        @if let Some((from, to)) = marked.between {
            path.band d={ "M" (format!("{:.0}", from * WIDTH)) " 0H" (format!("{:.0}", to * WIDTH)) "V" (HEIGHT) "H" (format!("{:.0}", from * WIDTH)) "Z" } {}
        }
        path.mark d={ "M" (format!("{:.0}", marked.at * WIDTH)) " 0V" (HEIGHT) } {}
    } }
}

fn label(marked: &Marked, row: usize) -> Markup {
    let paint = format!(
        "--c:{};left:{};top:{}%",
        inline::colour(marked.mark.variant),
        percent(marked.at),
        row * 7
    );
    html! { span.at.left[marked.at > RIGHT] data-group={ "v" (marked.mark.variant) "-0" } style=(paint) { (marked.mark.label) } }
}
