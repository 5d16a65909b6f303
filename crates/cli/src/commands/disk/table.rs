//! Tables of figures: names to the left, figures to the right.

use crate::terminal::Text;

/// Rows under a header, indented.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> Text {
    let head: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
    let all = || std::iter::once(&head).chain(rows);
    let width = |column: usize| {
        all().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut text = Text::new();
    for row in all() {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let fill = " ".repeat(width(column).saturating_sub(cell.chars().count()));
            if column == 0 { format!("{cell}{fill}") } else { format!("{fill}{cell}") }
        });
        text.line(format!("  {}", cells.collect::<Vec<_>>().join("  ")));
    }
    text
}

/// Nanoseconds, for a cell.
pub fn time(ns: f64) -> String {
    units::show::nanos(ns)
}

/// Three digits, as whole numbers where they are above 100.
pub(super) fn significant(value: f64) -> f64 {
    if value >= 100.0 { value.round() } else { (value * 10.0).round() / 10.0 }
}
