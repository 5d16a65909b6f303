//! Many variants in one table: a line for each, with what is asked of it.

use units::printable;

use super::ink::{Ink, Tint, tint};
use super::table::cut;
use crate::view::{FigureRow, View};
use crate::wording::{self, NONE};

/// One figure of all variants: two lines of heading, and a cell with its verdict for each.
struct Column {
    head: [String; 2],
    cells: Vec<(String, Option<&'static str>)>,
}

impl Column {
    fn of(row: &FigureRow, variants: usize) -> Self {
        let shown = |index: usize| {
            let figure = row.values.get(index).copied().flatten();
            wording::median(row.unit, figure.as_ref())
        };
        let compared = |index: usize| row.comparisons.get(index)?.as_ref();
        let ratio = |index: usize| {
            let c = compared(index)?;
            let interval = wording::ratio_interval(row.unit, c).map(|i| format!(" {i}"));
            Some(format!("{}{}", wording::compared(row.unit, c), interval.unwrap_or_default()))
        };
        let widest = |texts: &mut dyn Iterator<Item = String>| {
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let value = widest(&mut (0..variants).map(shown));
        let times = widest(&mut (0..variants).filter_map(ratio));
        let cell = |index: usize| {
            let verdict = compared(index).and_then(|c| c.verdict).map(|verdict| verdict.word());
            let (ratio, word) = (ratio(index).unwrap_or_default(), verdict.unwrap_or_default());
            let text = format!("{:>value$}  {ratio:>times$}  {word}", shown(index));
            (text.trim_end().to_owned(), verdict)
        };
        Self {
            head: [row.label.clone(), row.scope.name()],
            cells: (0..variants).map(cell).collect(),
        }
    }

    fn width(&self) -> usize {
        let texts = self.head.iter().chain(self.cells.iter().map(|(text, _)| text));
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    }
}

/// Returns what is asked of all variants and what their layers are there for, in as many tables as the width makes necessary. Names that
/// leave no room for a figure have lines of their own: where they are cut they are all alike.
pub(super) fn grid(view: &View, width: usize, ink: &Ink) -> String {
    let rows = view.figures.iter().filter(|row| row.headline() && row.known());
    let columns: Vec<_> = rows.map(|row| Column::of(row, view.variants.len())).collect();
    let name = |name: &str| cut(&printable(name), width);
    let names: Vec<String> = view.variants.iter().map(|variant| name(&variant.name)).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let widest = columns.iter().map(Column::width).max().unwrap_or(0);
    let apart = longest + 2 + widest > width;
    let room = if apart { 2 } else { longest };
    let mut tables: Vec<Vec<&Column>> = Vec::new();
    for column in &columns {
        let used = |table: &[&Column]| room + table.iter().map(|c| 2 + c.width()).sum::<usize>();
        match tables.last_mut() {
            Some(table) if used(table) + 2 + column.width() <= width => table.push(column),
            _ => tables.push(vec![column]),
        }
    }
    let mut out = String::from("\n");
    for table in &tables {
        drawn(&mut out, &names, (room, apart), table, ink);
    }
    let base = view.variants.first().map_or(NONE, |variant| variant.name.as_str());
    let text = format!(
        "Ratios are to {}. All figures: fathom report, or fathom show --csv.",
        printable(base)
    );
    out.push_str(&ink.paint(Tint::Dim, &super::ink::wrapped(&text, width, "")));
    out.push_str("\n\n");
    out
}

fn drawn(
    out: &mut String,
    names: &[String],
    (room, apart): (usize, bool),
    columns: &[&Column],
    ink: &Ink,
) {
    for part in 0..2 {
        let mut line = format!("{:room$}", "");
        for column in columns {
            line.push_str(&format!("  {:1$}", column.head[part], column.width()));
        }
        out.push_str(&ink.paint(Tint::Dim, line.trim_end()));
        out.push('\n');
    }
    for (index, name) in names.iter().enumerate() {
        let mut line = format!("{name:room$}");
        if apart {
            out.push_str(name);
            out.push('\n');
            line = " ".repeat(room);
        }
        for (place, column) in columns.iter().enumerate() {
            let (text, verdict) = &column.cells[index];
            let last = place + 1 == columns.len();
            let pad = if last { 0 } else { column.width() - text.chars().count() };
            line.push_str("  ");
            line.push_str(&ink.paint(tint(*verdict), text));
            line.push_str(&" ".repeat(pad));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push('\n');
}
