//! The geometry of a chart: ticks, lines, areas, bars and marks, each with its place in the area between the axes. Colours, fonts and sizes are not
//! known here, so that one drawing fits a screen, a telephone and paper.

mod cells;
mod path;
mod range;
mod ticks;

pub use cells::CellMap;
use range::Range;
pub use ticks::Tick;

use crate::view::{CELL, Chart, Mark, Raster, Scale, Series, Shape};

/// Width of the area between the axes, in the units of a [`Drawing`].
pub const WIDTH: f64 = 2000.0;
/// Height of the area between the axes.
pub const HEIGHT: f64 = 1000.0;

/// A chart with computed places for all its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing<'a> {
    /// Ticks of the horizontal axis.
    pub x: Vec<Tick>,
    /// Ticks of the vertical axis.
    pub y: Vec<Tick>,
    /// Numbers at the left and the right end of the horizontal axis.
    pub ends: (f64, f64),
    /// Its series in the order in which they are drawn.
    pub lines: Vec<Line<'a>>,
    /// Its marks.
    pub marks: Vec<Marked<'a>>,
}

/// A series as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Line<'a> {
    /// The series.
    pub series: &'a Series,
    /// The way in which it is drawn.
    pub ink: Ink,
}

/// SVG path data of a series, in the units of a [`Drawing`].
#[derive(Debug, Clone, PartialEq)]
pub enum Ink {
    /// A line, and the marks of some of its points.
    Line {
        /// The line, broken where nothing was measured.
        line: String,
        /// Marks, for example of points without neighbours, which no line would show.
        dots: String,
    },
    /// A closed area.
    Area(String),
    /// Bars.
    Bars(String),
    /// A box with its notch, and the lines from it to both ends.
    Box {
        /// The box.
        body: String,
        /// The median and the ends.
        lines: String,
    },
    /// Cells of a grid.
    Cells(String),
    /// Cells of an even grid: a line along the middle of each row, as thick as the row is high.
    Rows {
        /// The lines.
        path: String,
        /// Height of a row.
        thick: f64,
    },
}

/// A moment that is marked.
#[derive(Debug, Clone, PartialEq)]
pub struct Marked<'a> {
    /// The mark.
    pub mark: &'a Mark,
    /// Its place, as a share of the width.
    pub at: f64,
    /// The range of places in which it may be.
    pub between: Option<(f64, f64)>,
    /// Number of differently labelled marks before it; `None` where an earlier mark has the same label.
    pub row: Option<usize>,
}

impl<'a> Drawing<'a> {
    /// Draws a chart with its marks; `None` where there is nothing to draw.
    pub fn of(chart: &'a Chart, marks: &'a [Mark]) -> Option<Self> {
        let x = Range::horizontal(chart, marks)?;
        let y = Range::upwards(chart)?;
        let lines = match chart.shape {
            Shape::Bars => bars(chart, &y),
            Shape::Boxes => boxes(chart, &y),
            Shape::Cells => cells(chart, &x, &y),
            Shape::Density(raster) => rows(chart, raster, &x),
            Shape::Stacked => areas(chart, &x, &y),
            Shape::Lines | Shape::Marked => lines(chart, &x, &y),
        };
        Some(Self {
            x: ticks::horizontal(chart, &x),
            y: ticks::of(&chart.y, &y),
            ends: (x.low, x.high),
            lines,
            marks: placed(marks, &x),
        })
    }
}

fn lines<'a>(chart: &'a Chart, x: &Range, y: &Range) -> Vec<Line<'a>> {
    let marked = chart.shape == Shape::Marked;
    let ink = |series: &Series| {
        let all: Vec<Option<(f64, f64)>> = series
            .x
            .iter()
            .zip(&series.y)
            .map(|(px, py)| Some((x.place(*px)? * WIDTH, (1.0 - y.place((*py)?)?) * HEIGHT)))
            .collect();
        let dots = if marked { path::dots(&all) } else { path::lone_points(&all) };
        Ink::Line { line: path::line(&all, series.bold()), dots }
    };
    chart.series.iter().map(|series| Line { series, ink: ink(series) }).collect()
}

/// Returns stacked areas; a missing value of a series adds nothing.
fn areas<'a>(chart: &'a Chart, x: &Range, y: &Range) -> Vec<Line<'a>> {
    let mut below: Vec<f64> = Vec::new();
    let mut area = |series: &'a Series| {
        below.resize(below.len().max(series.y.len()), 0.0);
        let above: Vec<f64> =
            series.y.iter().zip(&below).map(|(y, below)| below + y.unwrap_or(0.0)).collect();
        let points = |heights: &[f64]| -> Vec<(f64, f64)> {
            let place = |(px, height): (&f64, &f64)| {
                Some((x.place(*px)? * WIDTH, (1.0 - y.place(*height)?) * HEIGHT))
            };
            series.x.iter().zip(heights).filter_map(place).collect()
        };
        let ink = Ink::Area(path::area(&points(&above), &points(&below)));
        below[..above.len()].copy_from_slice(&above);
        Line { series, ink }
    };
    chart.series.iter().map(&mut area).collect()
}

/// Share of a group of bars that stays empty between it and the next.
const GAP: f64 = 0.2;

fn bars<'a>(chart: &'a Chart, y: &Range) -> Vec<Line<'a>> {
    let group = WIDTH / chart.names.len().max(1) as f64;
    let each = group * (1.0 - GAP) / chart.series.len().max(1) as f64;
    let ground = (1.0 - y.place(0.0).unwrap_or(0.0)) * HEIGHT;
    let ink = |(number, series): (usize, &'a Series)| {
        let bar = |(place, value): (&f64, &Option<f64>)| {
            let top = (1.0 - y.place((*value)?)?) * HEIGHT;
            let left = group * (place + GAP / 2.0) + each * number as f64;
            Some(path::bar(left, each * 0.94, top, ground))
        };
        let all = series.x.iter().zip(&series.y).filter_map(bar).collect();
        Line { series, ink: Ink::Bars(all) }
    };
    chart.series.iter().enumerate().map(ink).collect()
}

/// Width of a box, as a share of the space for it, and depth of its notch on either side, as a share of its width.
const BOX: (f64, f64) = (0.5, 0.2);

fn boxes<'a>(chart: &'a Chart, y: &Range) -> Vec<Line<'a>> {
    let group = WIDTH / chart.names.len().max(1) as f64;
    let ink = |series: &'a Series| {
        let centre = group * (series.x.first()? + 0.5);
        let height = |value: &Option<f64>| Some((1.0 - y.place((*value)?)?) * HEIGHT);
        let heights: Option<Vec<f64>> = series.y.iter().map(height).collect();
        let heights: [f64; 7] = heights?.try_into().ok()?;
        let half = group * BOX.0 / 2.0;
        let (body, lines) = path::notched((centre, half, half * BOX.1 * 2.0), heights);
        Some(Line { series, ink: Ink::Box { body, lines } })
    };
    chart.series.iter().filter_map(ink).collect()
}

fn cells<'a>(chart: &'a Chart, x: &Range, y: &Range) -> Vec<Line<'a>> {
    let mut columns: Vec<f64> = chart.series.iter().flat_map(|one| one.x.iter().copied()).collect();
    columns.sort_by(f64::total_cmp);
    let gaps = columns.windows(2).map(|two| two[1] - two[0]).filter(|gap| *gap > 0.0);
    let width = gaps.fold(f64::INFINITY, f64::min).min(x.high - x.low);
    let cell = |(left, low): (&f64, &Option<f64>)| {
        let (left, right) = (x.place(*left)? * WIDTH, x.place(left + width)? * WIDTH);
        let at = |height: f64| Some((1.0 - y.place(height)?) * HEIGHT);
        let (ground, top) = (at((*low)?)?, at((*low)? * CELL)?);
        Some(path::bar(left, right - left, top, ground))
    };
    let ink = |series: &'a Series| {
        let all = series.x.iter().zip(&series.y).filter_map(cell).collect();
        Line { series, ink: Ink::Cells(all) }
    };
    chart.series.iter().map(ink).collect()
}

/// Draws neighbours of a row as one line, which is much shorter than a bar for each cell.
fn rows<'a>(chart: &'a Chart, raster: Raster, x: &Range) -> Vec<Line<'a>> {
    let thick = raster.height / (raster.top - raster.low) * HEIGHT;
    let width = x.place(raster.width).unwrap_or(0.0) * WIDTH;
    let number = |distance: f64, length: f64| (distance / length).round() as i64;
    let ink = |series: &'a Series| {
        let cell = |(left, low): (&f64, &Option<f64>)| {
            Some((number((*low)? - raster.low, raster.height), number(*left, raster.width)))
        };
        let mut all: Vec<_> = series.x.iter().zip(&series.y).filter_map(cell).collect();
        all.sort_unstable();
        let neighbours = all.chunk_by(|a, b| a.0 == b.0 && a.1 + 1 == b.1);
        let line = |cells: &[(i64, i64)]| {
            let (row, column) = *cells.first()?;
            let middle = HEIGHT - (row as f64 + 0.5) * thick;
            Some(path::row(column as f64 * width, cells.len() as f64 * width, middle))
        };
        Line { series, ink: Ink::Rows { path: neighbours.filter_map(line).collect(), thick } }
    };
    chart.series.iter().map(ink).collect()
}

fn placed<'a>(marks: &'a [Mark], x: &Range) -> Vec<Marked<'a>> {
    let mut labels: Vec<(&str, usize)> = Vec::new();
    let place = |mark: &'a Mark| {
        let label = (mark.label.as_str(), mark.variant);
        let row = (!labels.contains(&label)).then_some(labels.len());
        labels.extend(row.map(|_| label));
        let between = mark.low.zip(mark.high);
        let between = between.and_then(|(low, high)| Some((x.place(low)?, x.place(high)?)));
        Some(Marked { mark, at: x.place(mark.x)?, between, row })
    };
    marks.iter().filter_map(place).collect()
}

/// Tells whether the horizontal axis is proportional, so that a part of it can be shown.
pub fn in_proportion(chart: &Chart) -> bool {
    matches!(chart.shape, Shape::Lines | Shape::Stacked) && chart.x.scale == Scale::Linear
}

#[cfg(test)]
mod tests;
