//! The figures as a table, in as much detail as the terminal's width allows.

use analysis::MetricComparison;
use units::show::significant;
use units::{Unit, is_obeyed, printable};

use super::ink::{Ink, Tint, tint};
use crate::view::{Figure, FigureRow, View};
use crate::wording::{self, NONE};

/// Labels are cut to this many characters before a table is given up for a list.
const LABEL: usize = 24;

/// The detail of a line: less is written on a narrow terminal.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Detail {
    Bare,
    Spread,
    Full,
    Certain,
}

/// A line of the table: its cells, and the verdict that colours one of them.
struct Line {
    cells: Vec<String>,
    verdict: Option<String>,
}

impl Line {
    /// Tells whether it has only the name of what follows, which may extend over all columns.
    fn is_heading(&self) -> bool {
        self.cells.iter().skip(1).all(String::is_empty)
    }
}

/// Returns base and one variant side by side, in as much detail as fits; only the base when there is no other.
pub(super) fn table(
    view: &View,
    rows: &[&FigureRow],
    width: usize,
    ink: &Ink,
    new: Option<usize>,
) -> String {
    let has = |row: &FigureRow, index: usize| row.values.get(index).copied().flatten().is_some();
    let mut out = String::new();
    let Some(other) = new else {
        let base_rows: Vec<_> = rows.iter().copied().filter(|row| has(row, 0)).collect();
        return fitted(view, &base_rows, Columns::Alone(0), width, ink);
    };
    // Figures that one side lacks have no ratio, and get tables of their own without comparison; those that only the base has follow once, after
    // the last variant.
    let of = |base: bool| -> Vec<&FigureRow> {
        let wanted = |row: &&FigureRow| has(row, 0) == base && has(row, other);
        rows.iter().copied().filter(wanted).collect()
    };
    let others = 1..view.variants.len();
    let only_base = |row: &&FigureRow| has(row, 0) && !others.clone().any(|other| has(row, other));
    out.push_str(&fitted(view, &of(true), Columns::Compared(other), width, ink));
    out.push_str(&fitted(view, &of(false), Columns::Alone(other), width, ink));
    if other + 1 == others.end {
        let base_rows: Vec<_> = rows.iter().copied().filter(only_base).collect();
        out.push_str(&fitted(view, &base_rows, Columns::Alone(0), width, ink));
    }
    // Only one empty line between tables, although each has one before and after it.
    out.replace("\n\n\n", "\n\n")
}

/// The contents of a table's columns.
#[derive(Clone, Copy)]
enum Columns {
    /// One variant.
    Alone(usize),
    /// The base, this variant and how they compare.
    Compared(usize),
}

/// Returns a table of these rows in as much detail as fits; nothing if there are no rows.
fn fitted(view: &View, rows: &[&FigureRow], columns: Columns, width: usize, ink: &Ink) -> String {
    let compared = matches!(columns, Columns::Compared(_));
    for detail in [Detail::Certain, Detail::Full, Detail::Spread] {
        let lines = lines(view, rows, columns, detail, width);
        if lines.len() > 1 && total(&widths(&lines)) <= width {
            return drawn(&lines, ink, compared);
        }
    }
    let mut lines = lines(view, rows, columns, Detail::Bare, width);
    if lines.len() < 2 {
        return String::new();
    }
    let widths = widths(&lines);
    let over = total(&widths).saturating_sub(width);
    let room = widths.first().map_or(0, |labels| labels.saturating_sub(over));
    if over > 0 && room < LABEL {
        return stacked(&lines, width, ink);
    }
    for line in lines.iter_mut().filter(|line| !line.is_heading()) {
        line.cells.iter_mut().take(1).for_each(|cell| *cell = cut(cell, room));
    }
    drawn(&lines, ink, compared)
}

/// Returns every figure below its label, where the terminal is too narrow for a table.
fn stacked(lines: &[Line], width: usize, ink: &Ink) -> String {
    let mut out = String::from("\n");
    let Some((head, lines)) = lines.split_first() else { return out };
    if let Some(whose) = head.cells.first().filter(|whose| !whose.is_empty()) {
        out.push_str(&ink.paint(Tint::Dim, &cut(whose, width)));
        out.push('\n');
    }
    for line in lines {
        out.push_str(&cut(line.cells.first().map_or("", String::as_str), width));
        let mut used = width;
        let figures = head.cells.iter().zip(&line.cells).skip(1);
        for (name, value) in figures.filter(|(_, value)| !value.is_empty()) {
            let text = format!("{name} {value}").trim_start().to_owned();
            let fits = used + 2 + count(&text) <= width;
            out.push_str(if fits { "  " } else { "\n    " });
            used = if fits { used + 2 } else { 4 } + count(&text);
            let verdict = line.verdict.as_ref() == Some(value);
            let tint = if verdict { tint(line.verdict.as_deref()) } else { Tint::Plain };
            out.push_str(&ink.paint(tint, &text));
        }
        out.push('\n');
    }
    out.push('\n');
    out
}

/// Returns the head, a line for every operation or layer, and its figures below it.
fn lines(
    view: &View,
    rows: &[&FigureRow],
    columns: Columns,
    detail: Detail,
    width: usize,
) -> Vec<Line> {
    let name = |index: usize| short(view.variants.get(index).map_or(NONE, |v| v.name.as_str()));
    let what = if detail >= Detail::Spread { wording::intervals_short(view) } else { "" };
    let mut head = match columns {
        Columns::Alone(index) if view.variants.len() > 1 => {
            vec![format!("only {}", name(index)), String::new()]
        }
        Columns::Alone(index) => vec![what.to_owned(), name(index)],
        Columns::Compared(index) => {
            vec![what.to_owned(), name(0), name(index), "ratio".to_owned(), "verdict".to_owned()]
        }
    };
    head.push("n".to_owned());
    let places = head.len();
    let mut lines = vec![Line { cells: head, verdict: None }];
    let mut scope = None;
    for row in rows {
        if scope != Some(&row.scope) {
            scope = Some(&row.scope);
            let mut cells = vec![String::new(); places];
            let others = view.called_otherwise(&row.scope);
            let others = others.map_or_else(String::new, |names| format!(" ({names})"));
            cells[0] = cut(&format!("{}{others}", row.scope.name()), width);
            lines.push(Line { cells, verdict: None });
        }
        lines.push(line(row, columns, detail));
    }
    for cell in lines.iter_mut().flat_map(|line| &mut line.cells) {
        *cell = printable(cell).into_owned();
    }
    lines
}

fn line(row: &FigureRow, columns: Columns, detail: Detail) -> Line {
    let value = |index: usize| row.values.get(index).copied().flatten();
    let (first, new) = match columns {
        Columns::Alone(index) => (index, None),
        Columns::Compared(index) => (0, Some(index)),
    };
    let mut cells = vec![format!("  {}", row.label), spread(row, value(first), detail)];
    let mut counts = value(first).map_or(0, |f| f.n).to_string();
    // Two zeros have no ratio.
    let empty = |c: &&MetricComparison| {
        c.verdict.is_none() && row.is_zero(0) && new.is_some_and(|index| row.is_zero(index))
    };
    let comparison = new.and_then(|index| row.comparisons.get(index)?.as_ref());
    let comparison = comparison.filter(|c| !empty(c));
    let verdict = comparison.and_then(|c| c.verdict).map(|verdict| verdict.word().to_owned());
    if let Some(index) = new {
        let ratio = comparison.map_or(NONE.to_owned(), |c| wording::compared_in_row(row, index, c));
        let range = comparison
            .and_then(|c| wording::ratio_interval(row.unit, c))
            .filter(|_| detail >= Detail::Full);
        cells.push(spread(row, value(index), detail));
        cells.push(range.map_or(ratio.clone(), |range| format!("{ratio} {range}")));
        let p = comparison.and_then(wording::rests_on).filter(|_| detail == Detail::Certain);
        let cell = verdict.clone().unwrap_or_default();
        cells.push(p.map_or(cell.clone(), |p| format!("{cell}, {p}")));
        counts = format!("{counts}+{}", value(index).map_or(0, |f| f.n));
    }
    cells.push(counts);
    Line { cells, verdict }
}

fn widths(lines: &[Line]) -> Vec<usize> {
    let columns = lines.iter().map(|line| line.cells.len()).max().unwrap_or(0);
    let of = |column: usize| {
        let figures = lines.iter().filter(|line| !line.is_heading());
        figures.map(move |l| l.cells.get(column).map_or(0, |cell| count(cell))).max()
    };
    (0..columns).map(|column| of(column).unwrap_or(0)).collect()
}

fn count(cell: &str) -> usize {
    cell.chars().count()
}

/// Returns the width of a line with two spaces between its columns.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)
}

fn drawn(lines: &[Line], ink: &Ink, compared: bool) -> String {
    let widths = widths(lines);
    let mut out = String::from("\n");
    for (place, line) in lines.iter().enumerate() {
        let mut text = String::new();
        for (column, (cell, width)) in line.cells.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width.saturating_sub(count(cell)));
            let verdict = compared && column == 4;
            let cell =
                if verdict { ink.paint(tint(line.verdict.as_deref()), cell) } else { cell.clone() };
            text.push_str(&if column == 0 || verdict { cell + &pad } else { pad + &cell });
            text.push_str("  ");
        }
        let text = text.trim_end();
        out.push_str(&if place == 0 { ink.paint(Tint::Dim, text) } else { text.to_owned() });
        out.push('\n');
    }
    out.push('\n');
    out
}

/// Returns a name for a column: without control characters, and not too long for the table.
pub(super) fn short(name: &str) -> String {
    const MAX_SHORT_NAME: usize = 24;
    let clean: String = name.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).collect();
    cut(&clean, MAX_SHORT_NAME)
}

/// Cuts a text to at most so many characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    if count(text) <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Returns `41.2k/s ± 3 %` where both ends of the interval are equally far from the median; else both ends, `[38k/s, 42k/s]`, or `−8/+2 %` where
/// there is no room for that. If an end is 100 % or more from the median, the ends are shown as values: nobody understands ± 129 %.
fn spread(row: &FigureRow, figure: Option<Figure>, detail: Detail) -> String {
    let Some(figure) = figure else { return NONE.to_owned() };
    let value = wording::median(row.unit, Some(&figure));
    let Some((low, high)) = figure.low.zip(figure.high) else { return value };
    if figure.median == 0.0 || detail < Detail::Spread {
        return value;
    }
    let (up, down) = (high - figure.median, figure.median - low);
    let ends = || format!("{value} {}", wording::interval(row.unit, &figure).unwrap_or_default());
    let points = row.unit == Unit::Percent;
    let part = |part: f64| if points { part } else { 100.0 * part / figure.median.abs() };
    let two = |of: f64| significant(part(of), 2);
    match (points, f64::max(part(up), part(down))) {
        (true, 0.0) => value,
        (true, _) if detail == Detail::Spread => {
            format!("{value} −{}/+{} points", two(down), two(up))
        }
        (true, _) => ends(),
        (false, far) if far >= 100.0 => ends(),
        (false, far) => {
            let digits = if far >= 10.0 { 2 } else { 1 };
            let [up_seen, down_seen] = [up, down].map(|of| significant(part(of), digits));
            match up_seen == down_seen {
                true => format!("{value} ± {up_seen} %"),
                false if detail == Detail::Spread => {
                    format!("{value} −{}/+{} %", two(down), two(up))
                }
                false => ends(),
            }
        }
    }
}
