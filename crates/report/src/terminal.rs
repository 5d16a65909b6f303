//! A result on a terminal: verdict, figures, findings; nothing that a log could not hold.

use results::model::Severity;
use units::show::significant;

use crate::view::{Figure, FigureRow, View};
use crate::wording::{self, NONE};

/// The summary, lines of at most `width` characters where words allow it; colour only when asked.
pub fn text(view: &View, width: usize, colour: bool) -> String {
    let ink = Ink { colour };
    let width = width.max(40);
    let mut out = String::new();
    let verdict = view.verdicts.first().and_then(|s| s.verdict.as_deref());
    out.push_str(&ink.paint(tint(verdict), &wrapped(&view.summary, width, "")));
    out.push('\n');
    let bases: Vec<usize> = (1..view.variants.len()).collect();
    if bases.is_empty() {
        out.push_str(&table(view, &ink, None));
    }
    for index in bases {
        out.push_str(&table(view, &ink, Some(index)));
    }
    for finding in &view.findings {
        let (word, tint) = match finding.severity {
            Severity::Error => ("error", Tint::Red),
            Severity::Warning => ("warning", Tint::Yellow),
            Severity::Note => ("note", Tint::Dim),
        };
        out.push_str(&ink.paint(tint, &format!("{word:<8}")));
        out.push_str(&wrapped(
            &format!("{} ({})", finding.message, finding.rule),
            width - 8,
            "        ",
        ));
        out.push('\n');
        for line in [&finding.evidence, &finding.remedy].into_iter().filter(|l| !l.is_empty()) {
            out.push_str(
                &ink.paint(Tint::Dim, &format!("        {}", wrapped(line, width - 8, "        "))),
            );
            out.push('\n');
        }
    }
    out
}

/// Base and one variant side by side; the base alone when there is no other.
fn table(view: &View, ink: &Ink, new: Option<usize>) -> String {
    let name = |index: usize| view.variants.get(index).map_or(NONE, |v| v.name.as_str()).to_owned();
    let mut head = vec![String::new(), name(0)];
    if let Some(index) = new {
        head.extend([name(index), "ratio".to_owned(), "verdict".to_owned()]);
    }
    head.push("n".to_owned());
    let mut lines: Vec<(Vec<String>, Tint)> = vec![(head, Tint::Dim)];
    for row in &view.figures {
        let columns = [Some(0), new];
        if columns.iter().flatten().all(|i| row.values.get(*i).copied().flatten().is_none()) {
            continue;
        }
        lines.push(line(row, new));
    }
    let columns = lines[0].0.len();
    let widths: Vec<_> = (0..columns)
        .map(|c| lines.iter().map(|(cells, _)| cells[c].chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::from("\n");
    for (cells, tint) in &lines {
        let mut text = String::new();
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            let verdict = new.is_some() && column == 4;
            let cell = if verdict { ink.paint(*tint, cell) } else { cell.clone() };
            text.push_str(&if column == 0 || verdict { cell + &pad } else { pad + &cell });
            text.push_str("  ");
        }
        let text = text.trim_end();
        let is_head = std::ptr::eq(cells, &lines[0].0);
        out.push_str(&if is_head { ink.paint(Tint::Dim, text) } else { text.to_owned() });
        out.push('\n');
    }
    out.push('\n');
    out
}

fn line(row: &FigureRow, new: Option<usize>) -> (Vec<String>, Tint) {
    let value = |index: usize| row.values.get(index).copied().flatten();
    let mut cells = vec![format!("{} {}", row.scope.name(), row.label), spread(row, value(0))];
    let mut tint = Tint::Plain;
    let mut counts = value(0).map_or(0, |f| f.n).to_string();
    if let Some(index) = new {
        let comparison = row.comparisons.get(index).and_then(Option::as_ref);
        let ratio = comparison.and_then(|c| Some((c.ratio?, wording::ratio_interval(c))));
        cells.push(spread(row, value(index)));
        cells.push(ratio.map_or(NONE.to_owned(), |(ratio, range)| {
            format!("{} {}", wording::ratio(ratio), range.unwrap_or_default()).trim_end().to_owned()
        }));
        let word = comparison.and_then(|c| c.verdict.as_deref());
        tint = self::tint(word);
        cells.push(word.unwrap_or_default().to_owned());
        counts = format!("{counts}+{}", value(index).map_or(0, |f| f.n));
    }
    cells.push(counts);
    (cells, tint)
}

/// `41.2k/s ± 3 %`: the farther end of the interval, as a share of the median.
fn spread(row: &FigureRow, figure: Option<Figure>) -> String {
    let Some(figure) = figure else { return NONE.to_owned() };
    let value = wording::value(row.unit, figure.median);
    match (figure.low, figure.high) {
        (Some(low), Some(high)) if figure.median != 0.0 => {
            let far = f64::max(high - figure.median, figure.median - low) / figure.median.abs();
            let digits = if far >= 0.1 { 2 } else { 1 };
            format!("{value} ± {} %", significant(far * 100.0, digits))
        }
        _ => value,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Tint {
    Plain,
    Dim,
    Red,
    Green,
    Yellow,
    Blue,
}

fn tint(verdict: Option<&str>) -> Tint {
    match verdict {
        Some("better") => Tint::Green,
        Some("worse") => Tint::Red,
        Some("same") => Tint::Blue,
        Some("unclear") => Tint::Yellow,
        _ => Tint::Plain,
    }
}

struct Ink {
    colour: bool,
}

impl Ink {
    fn paint(&self, tint: Tint, text: &str) -> String {
        let code = match tint {
            Tint::Plain => return text.to_owned(),
            _ if !self.colour => return text.to_owned(),
            Tint::Dim => "2",
            Tint::Red => "31",
            Tint::Green => "32",
            Tint::Yellow => "33",
            Tint::Blue => "34",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// `text` in lines of at most `width` characters, all but the first with `indent` before them. Control
/// characters, which names of others may hold, do not reach the terminal.
fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut lines: Vec<String> = vec![String::new()];
    for word in clean.split_whitespace() {
        let room = if lines.len() == 1 { width } else { width.saturating_sub(indent.len()) };
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join(&format!("\n{indent}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_and_control_characters_stay_out() {
        assert_eq!(wrapped("one two three", 8, "  "), "one two\n  three");
        assert_eq!(wrapped("a\u{1b}[31mb", 80, ""), "a [31mb");
    }

    #[test]
    fn colour_comes_only_when_asked() {
        assert_eq!(Ink { colour: false }.paint(Tint::Red, "x"), "x");
        assert!(Ink { colour: true }.paint(Tint::Red, "x").contains("\u{1b}[31m"));
    }
}
