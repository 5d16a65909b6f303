//! A chart as a plain SVG: what stands on the page before, or without, JavaScript.

use maud::{Markup, html};

use super::inline;
use crate::view::{Chart, Mark, Scale, Series, Shape};
use crate::wording::NONE;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 346.0;
/// Room for the labels on the left, the right, above and below.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;
/// About the width of a letter of a name below bars.
const LETTER: f64 = 7.0;

/// The chart with its extreme values at the axes.
pub fn sketch(chart: &Chart, marks: &[Mark]) -> Markup {
    let (Some((x_low, x_high)), Some((y_low, y_high))) = (chart.x_range(marks), chart.y_range())
    else {
        return html! { p.soft { "No samples of this kind were taken." } };
    };
    if chart.shape == Shape::Bars {
        return bars(chart, y_high);
    }
    let stacked = chart.shape == Shape::Stacked;
    let y_low = if chart.y.scale == Scale::Log {
        chart.least_above_zero().unwrap_or(1.0)
    } else {
        y_low.min(0.0)
    };
    let lines = if stacked { piled(&chart.series) } else { chart.series.clone() };
    let y_high = lines.iter().flat_map(|s| s.y.iter().flatten()).copied().fold(y_high, f64::max);
    let at = |series: &Series| path(series, chart, (x_low, x_high), (y_low, y_high));
    let span = if x_high > x_low { x_high - x_low } else { 1.0 };
    let across = |x: f64| LEFT + (x - x_low) / span * (WIDTH - LEFT - RIGHT);
    html! {
        svg.sketch viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } aria-hidden="true" {
            @for mark in marks { (marked(mark, &across)) }
            path d={ "M" (LEFT) " " (TOP) "V" (HEIGHT - BOTTOM) "H" (WIDTH - RIGHT) } fill="none" style="stroke:var(--line)" {}
            text x=(LEFT - 8.0) y=(TOP + 5.0) font-size="13" text-anchor="end" style="fill:var(--soft)" { (chart.y.unit.show(y_high)) }
            text x=(LEFT - 8.0) y=(HEIGHT - BOTTOM) font-size="13" text-anchor="end" style="fill:var(--soft)" { (chart.y.unit.show(y_low)) }
            text x=(WIDTH - RIGHT) y=(HEIGHT - 10.0) font-size="13" text-anchor="end" style="fill:var(--soft)" {
                (chart.x.label) " to " (right_end(chart, x_high)) }
            @for series in &lines {
                @let (line, all, alone) = at(series);
                path d=(line) fill="none" stroke-linejoin="round" stroke-dasharray=[dash(series)] style={ "stroke:" (colour(series)) }
                    stroke-width=(if series.bold() { 2.4 } else { 0.9 }) opacity=(if series.bold() { 1.0 } else { 0.4 }) {}
                @for (x, y) in if chart.shape == Shape::Marked { &all } else { &alone } { circle.alone cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="4" style={ "fill:" (colour(series)) } {} }
            }
        }
    }
}

/// A place as a broken line, and where it may be as a band.
fn marked(mark: &Mark, across: &dyn Fn(f64) -> f64) -> Markup {
    let (high, colour) = (HEIGHT - TOP - BOTTOM, inline::colour(mark.variant));
    html! {
        @if let (Some(from), Some(to)) = (mark.low, mark.high) {
            rect x=(format!("{:.1}", across(from))) y=(TOP) width=(format!("{:.1}", (across(to) - across(from)).max(0.0))) height=(high)
                opacity="0.12" style={ "fill:" (colour) } {}
        }
        path d={ "M" (format!("{:.1}", across(mark.x))) " " (TOP) "v" (high) } fill="none" stroke-width="1.6" stroke-dasharray="6 5"
            style={ "stroke:" (colour) } {}
    }
}

/// Bars side by side, a group for each name.
fn bars(chart: &Chart, y_high: f64) -> Markup {
    let (groups, each) = (chart.names.len().max(1) as f64, chart.series.len().max(1) as f64);
    let (wide, high) = ((WIDTH - LEFT - RIGHT) / groups, HEIGHT - TOP - BOTTOM);
    // A fifth of a group stays empty between it and the next.
    let bar = wide * 0.8 / each;
    let letters = (wide / LETTER) as usize;
    let fitting = |name: &str| match name.char_indices().nth(letters) {
        Some(_) => name.chars().take(letters.saturating_sub(1)).chain(['…']).collect(),
        None => name.to_owned(),
    };
    html! {
        svg.sketch viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } aria-hidden="true" {
            path d={ "M" (LEFT) " " (TOP) "V" (HEIGHT - BOTTOM) "H" (WIDTH - RIGHT) } fill="none" style="stroke:var(--line)" {}
            text x=(LEFT - 8.0) y=(TOP + 5.0) font-size="13" text-anchor="end" style="fill:var(--soft)" { (chart.y.unit.show(y_high)) }
            text x=(LEFT - 8.0) y=(HEIGHT - BOTTOM) font-size="13" text-anchor="end" style="fill:var(--soft)" { (chart.y.unit.show(0.0)) }
            @for (place, name) in chart.names.iter().enumerate() {
                text x=(format!("{:.1}", LEFT + wide * (place as f64 + 0.5))) y=(HEIGHT - 12.0) font-size="13" text-anchor="middle" style="fill:var(--soft)" { (fitting(name)) }
            }
            @for (number, series) in chart.series.iter().enumerate() { @for (x, y) in series.x.iter().zip(&series.y) { @if let Some(y) = y {
                @let share = if y_high > 0.0 { (y / y_high).clamp(0.0, 1.0) } else { 0.0 };
                rect x=(format!("{:.1}", LEFT + wide * (x + 0.1) + bar * number as f64)) y=(format!("{:.1}", TOP + high * (1.0 - share)))
                    width=(format!("{:.1}", bar * 0.94)) height=(format!("{:.1}", high * share)) style={ "fill:" (colour(series)) } {}
            } } }
        }
    }
}

fn right_end(chart: &Chart, x: f64) -> String {
    match chart.x.scale {
        Scale::Nines if x.is_finite() => format!("{:.4} %", 100.0 * (1.0 - 10f64.powf(-x))),
        Scale::Nines => NONE.to_owned(),
        Scale::Linear | Scale::Log => {
            chart.names.last().cloned().unwrap_or_else(|| chart.x.unit.show(x))
        }
    }
}

/// Each series raised by those below it.
fn piled(series: &[Series]) -> Vec<Series> {
    let mut base: Vec<f64> = Vec::new();
    let mut piled = Vec::new();
    for one in series {
        base.resize(base.len().max(one.y.len()), 0.0);
        let mut raised = one.clone();
        for (y, below) in raised.y.iter_mut().zip(&mut base) {
            *below += y.unwrap_or(0.0);
            *y = Some(*below);
        }
        piled.push(raised);
    }
    piled
}

/// The dash of a variant's line whose colour no style sheet chose.
fn dash(series: &Series) -> Option<&'static str> {
    series.variant.is_some_and(|variant| variant >= 8).then_some("9 4")
}

/// The CSS colour of a series, the same that the script takes.
pub fn colour(series: &Series) -> String {
    series.variant.map_or_else(|| format!("var(--h{})", series.hue % 10), inline::colour)
}

/// A line, where its points stand, and those of them that have no neighbour: a line does not show them.
type Drawn = (String, Vec<(f64, f64)>, Vec<(f64, f64)>);

fn path(series: &Series, chart: &Chart, x: (f64, f64), y: (f64, f64)) -> Drawn {
    let place = |value: f64, scale: Scale, (low, high): (f64, f64)| {
        let bend = |v: f64| if scale == Scale::Log { v.max(f64::MIN_POSITIVE).ln() } else { v };
        let span = bend(high) - bend(low);
        if span > 0.0 { (bend(value) - bend(low)) / span } else { 0.5 }
    };
    // By the logarithm, what is nothing has no place.
    let has_place = |y: &f64| chart.y.scale != Scale::Log || *y > 0.0;
    let known = |place: Option<usize>| {
        place.and_then(|at| *series.y.get(at)?).is_some_and(|y| has_place(&y))
    };
    let mut text = String::new();
    let (mut all, mut alone) = (Vec::new(), Vec::new());
    for (at, (px, py)) in series.x.iter().zip(&series.y).enumerate() {
        let Some(py) = py.as_ref().filter(|y| has_place(y)) else { continue };
        let right = LEFT + place(*px, chart.x.scale, x) * (WIDTH - LEFT - RIGHT);
        let down = HEIGHT - BOTTOM - place(*py, chart.y.scale, y) * (HEIGHT - TOP - BOTTOM);
        all.push((right, down));
        let (before, after) = (known(at.checked_sub(1)), known(Some(at + 1)));
        if !before && !after {
            alone.push((right, down));
        }
        text.push_str(&format!("{}{right:.1} {down:.1}", if before { 'L' } else { 'M' }));
    }
    (text, all, alone)
}
