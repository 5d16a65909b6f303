//! A trace on a terminal: tables, and a small picture of addresses over time for each operation.

use advise::{Figures, Grid};
use disk::Op;
use disk::trace::Trace as DiskTrace;
use units::show::{bytes, grouped, nanos};

use super::shown::Shown;
use super::words;
use crate::commands::disk::{table, trace as disk_trace};
use crate::commands::recorded;
use crate::terminal::{Style, Text};

/// Characters of a picture; both divide those of a grid.
const COLUMNS: usize = 50;
const ROWS: usize = 10;
/// Classes of cells, weakest first.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
/// Levels of a row of small bars.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns all of it: first what only the trace of a modelled disk has.
pub(super) fn text(shown: Option<&Shown>, modelled: Option<&DiskTrace>) -> Text {
    let mut text = modelled.map(disk_trace::text).unwrap_or_default();
    if let Some(shown) = shown {
        if modelled.is_some() {
            text.line("");
        }
        text.append(&figures(shown));
    }
    text
}

fn figures(shown: &Shown) -> Text {
    let (Shown { trace, figures }, style) = (shown, Style::of_stdout());
    let ops = figures.ops();
    let mut text = Text::from(format!("{} ({})", recorded::what(trace), words::format(trace)));
    text.append(&rows(&words::operations(&ops)));
    words::sizes(&ops).into_iter().for_each(|line| text.line(format!("  {line}")));
    text.line("");
    text.line(
        style
            .good("Sequential runs:")
            .and("length, and the share of the bytes in runs of at least 64 KiB and 1 MiB"),
    );
    text.append(&rows(&words::runs(&ops)));
    if let Some(seeks) = words::seeks(figures) {
        text.line(style.good("Seeks:").and(seeks));
    }
    if figures.analysis().touched().bytes > 0.0 {
        text.line(style.good("Touched:").and(words::touched(figures)));
        text.append(&growth(figures));
        for line in words::reuse(figures) {
            text.line(style.good("Again:").and(line));
        }
    }
    for op in Op::ALL {
        if let Some(grid) = figures.grid(op) {
            text.line("");
            text.append(&picture(figures, op, grid));
        }
    }
    let not_known = words::not_known(trace, figures);
    if !not_known.is_empty() {
        text.line("");
        text.line("Not known from this:");
        not_known.iter().for_each(|line| text.line(format!("  {line}")));
    }
    text
}

fn rows((heads, rows): &words::Table) -> Text {
    table::table(&heads.iter().map(String::as_str).collect::<Vec<_>>(), rows)
}

/// A row of small bars: how much had been touched by then.
fn growth(figures: &Figures) -> Text {
    let growth = figures.growth();
    let most = growth.last().map_or(0.0, |(_, bytes)| *bytes);
    if growth.len() < 2 || most <= 0.0 {
        return Text::new();
    }
    let level = |bytes: f64| ((bytes / most * LEVELS.len() as f64).ceil() as usize).clamp(1, 8);
    let bars: String = growth.iter().map(|(_, bytes)| LEVELS[level(*bytes) - 1]).collect();
    Text::as_it_is(&format!("  {bars} over the time"))
}

fn span(figures: &Figures, parts: u64) -> String {
    let part = figures.extent().span() as f64 / parts as f64;
    if figures.timed() { nanos(part) } else { format!("{} I/Os", grouped(part.ceil() as u64)) }
}

/// Draws addresses upwards and time to the right.
fn picture(figures: &Figures, op: Op, grid: &Grid) -> Text {
    let cells = grid.coarse(COLUMNS, ROWS);
    let most = cells.iter().flatten().copied().max().unwrap_or(0);
    let classes = words::classes(most);
    let extent = figures.extent();
    let high = extent.row_bytes() * (advise::ROWS / ROWS) as u64;
    let shade = |bytes: u64| match classes.iter().rposition(|least| bytes >= *least) {
        Some(class) => SHADES[class],
        None => ' ',
    };
    let [low, top] = [extent.low(), extent.low() + high * ROWS as u64].map(|n| bytes(n as f64));
    let wide = low.chars().count().max(top.chars().count());
    let mut lines = Vec::new();
    for (row, cells) in cells.iter().enumerate().rev() {
        let label = match row {
            0 => low.as_str(),
            row if row == ROWS - 1 => top.as_str(),
            _ => "",
        };
        let drawn: String = cells.iter().copied().map(shade).collect();
        lines.push(format!("  {label:>wide$} │{drawn}│"));
    }
    let end = span(figures, 1);
    lines.push(format!("  {:wide$} └{}┘", "", "─".repeat(COLUMNS)));
    lines.push(format!("  {:wide$}  0{end:>1$}", "", COLUMNS - 1));
    let mut text = Text::new();
    text.line(Style::of_stdout().good(&format!("{}s:", op.name())).and(format!(
        "addresses upwards, time to the right; a character is {} and {}, █ stands for {} to {}, each weaker one for a quarter",
        span(figures, COLUMNS as u64),
        bytes(high as f64),
        bytes(classes[3] as f64),
        bytes(most as f64),
    )));
    text.append(&Text::as_it_is(&lines.join("\n")));
    text
}
