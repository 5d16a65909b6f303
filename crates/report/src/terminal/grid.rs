//! Many figures in one table: a line for each point, level or variant, with how each compares with the base.

use units::printable;

use super::ink::{Ink, Tint, tint, wrapped};
use super::table::cut;
use crate::view::{Grid, GridLine, View};
use crate::wording::{self, NONE};

/// Most characters of a column's head beyond the width of the cells below it.
const HEAD: usize = 24;

/// One column: its head, and for each line a cell with its verdict.
struct Column {
    head: String,
    cells: Vec<(String, Option<&'static str>)>,
}

impl Column {
    fn of(view: &View, grid: &Grid, at: usize) -> Self {
        let cells: Vec<_> =
            grid.lines.iter().map(|line| wording::cell(view, line.cells[at])).collect();
        let count = |text: &String| text.chars().count();
        let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let value = widest(&mut cells.iter().map(|cell| count(&cell.value)));
        let ratio = widest(&mut cells.iter().map(|cell| count(&cell.ratio)));
        let cells: Vec<_> = cells
            .iter()
            .map(|cell| {
                let text = format!("{:>value$}  {:>ratio$} {}", cell.value, cell.ratio, cell.mark);
                (text.trim_end().to_owned(), cell.verdict)
            })
            .collect();
        let wide = cells.iter().map(|(text, _)| count(text)).max().unwrap_or(0);
        Self { head: head(grid, at, wide.max(HEAD)), cells }
    }

    fn width(&self) -> usize {
        let texts = self.cells.iter().map(|(text, _)| text).chain([&self.head]);
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    }
}

/// Returns the head of a column; heads that are the same once cut get their number in front.
fn head(grid: &Grid, at: usize, most: usize) -> String {
    let cut_to = |place: usize| cut(&printable(&grid.columns[place]), most);
    let short_name = cut_to(at);
    let alike = (0..grid.columns.len()).any(|other| other != at && cut_to(other) == short_name);
    if alike {
        cut(&format!("{} {}", at + 1, printable(&grid.columns[at])), most)
    } else {
        short_name
    }
}

/// Returns these tables, each in as many pieces as the width requires, with a note on the base of the ratios.
pub(super) fn grids(view: &View, grids: &[&Grid], width: usize, ink: &Ink) -> String {
    let mut out = String::new();
    for grid in grids {
        pieces(&mut out, view, grid, width, ink);
    }
    if let Some(base) =
        view.variants.first().filter(|_| view.variants.len() > 1 && !grids.is_empty())
    {
        let text = format!(
            "Ratios are to {}. {} All figures: fathom report, or fathom show --csv.",
            printable(&base.name),
            wording::marks(view)
        );
        out.push('\n');
        out.push_str(&ink.paint(Tint::Dim, &wrapped(&text, width, "")));
        out.push_str("\n\n");
    }
    out
}

fn pieces(out: &mut String, view: &View, grid: &Grid, width: usize, ink: &Ink) {
    let names = names(grid, width);
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let columns: Vec<_> = (0..grid.columns.len()).map(|at| Column::of(view, grid, at)).collect();
    // Names that leave no room for a figure get lines of their own: cut, they would all look the same.
    let widest = columns.iter().map(Column::width).max().unwrap_or(0);
    let apart = longest + 2 + widest > width;
    let room = if apart { 2 } else { longest };
    let mut pieces: Vec<Vec<&Column>> = Vec::new();
    for column in &columns {
        let used = |piece: &[&Column]| room + piece.iter().map(|c| 2 + c.width()).sum::<usize>();
        match pieces.last_mut() {
            Some(piece) if used(piece) + 2 + column.width() <= width => piece.push(column),
            _ => pieces.push(vec![column]),
        }
    }
    let across = grid.across.as_ref().map_or_else(String::new, |name| format!(" by {name}"));
    let title = cut(&printable(&format!("{}{across}", grid.title)), width);
    for piece in pieces {
        out.push_str(&format!("\n{title}\n"));
        drawn(out, &names, (room, apart), &piece, ink);
    }
}

/// Returns the heads of the keys and, below them, the names of each line, in columns.
fn names(grid: &Grid, most: usize) -> Vec<String> {
    let heads = GridLine { names: grid.keys.clone(), cells: Vec::new() };
    let all = || [&heads].into_iter().chain(&grid.lines);
    let clean = |line: &GridLine, at: usize| {
        line.names.get(at).map_or_else(String::new, |name| printable(name).into_owned())
    };
    let wide = |at: usize| all().map(|line| clean(line, at).chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..grid.keys.len()).map(wide).collect();
    let joined = |line: &GridLine| {
        let names =
            widths.iter().enumerate().map(|(at, width)| format!("{:width$}", clean(line, at)));
        cut(names.collect::<Vec<_>>().join("  ").trim_end(), most)
    };
    all().map(joined).collect()
}

fn drawn(
    out: &mut String,
    names: &[String],
    (room, apart): (usize, bool),
    columns: &[&Column],
    ink: &Ink,
) {
    let Some((heads, names)) = names.split_first() else { return };
    // Returns the beginning of a line; long names get a line of their own before it.
    let begun = |out: &mut String, name: &str, tint: Tint| {
        if apart && !name.is_empty() {
            out.push_str(&ink.paint(tint, name));
            out.push('\n');
        }
        if apart { " ".repeat(room) } else { format!("{name:room$}") }
    };
    let mut line = begun(out, heads, Tint::Dim);
    for column in columns {
        line.push_str(&format!("  {:1$}", column.head, column.width()));
    }
    out.push_str(&ink.paint(Tint::Dim, line.trim_end()));
    out.push('\n');
    for (index, name) in names.iter().enumerate() {
        let mut line = begun(out, name, Tint::Plain);
        for (place, column) in columns.iter().enumerate() {
            let (text, verdict) = &column.cells[index];
            let last = place + 1 == columns.len();
            let pad = if last { 0 } else { column.width() - text.chars().count() };
            line.push_str("  ");
            let verdict = tint(*verdict);
            line.push_str(&if text == NONE { text.clone() } else { ink.paint(verdict, text) });
            line.push_str(&" ".repeat(pad));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}
