//! A result on a terminal: verdict, figures, findings; nothing that a log could not hold.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use analysis::{Expectation, ExpectationOutcome};
use results::model::{Finding, Severity, plain_and_raw};
use stats::Verdict;
use units::show::significant;
use units::{Test, is_obeyed, printable};

use crate::view::{EffectRow, Figure, FigureRow, View, told};
use crate::wording::{self, NONE};

/// The summary, lines of at most `width` characters where words allow it; colour only when asked.
pub fn text(view: &View, width: usize, colour: bool) -> String {
    let ink = Ink { colour };
    let width = width.max(40);
    let mut out = String::new();
    let verdict = view.verdicts.first().and_then(|s| s.verdict.as_deref());
    if view.seal == "none" {
        let text = "not sealed: whether its files were changed is not known";
        out.push_str(&ink.paint(Tint::Dim, &wrapped(text, width, "")));
        out.push('\n');
    }
    let tint = if view.seal == "broken" { Tint::Red } else { tint(verdict) };
    out.push_str(&ink.paint(tint, &wrapped(&view.summary, width, "")));
    out.push('\n');
    let bases: Vec<usize> = (1..view.variants.len()).collect();
    if bases.is_empty() {
        out.push_str(&table(view, width, &ink, None));
    }
    for index in bases {
        out.push_str(&table(view, width, &ink, Some(index)));
    }
    if let Some(text) = compared(view) {
        out.push_str(&ink.paint(Tint::Dim, &wrapped(&text, width, "")));
        out.push_str("\n\n");
    }
    let here = |held: &&Expectation| held.outcome != ExpectationOutcome::Elsewhere;
    for held in view.expectations.iter().filter(here) {
        let tint = match held.outcome {
            ExpectationOutcome::Met => Tint::Green,
            ExpectationOutcome::Missed => Tint::Red,
            _ => Tint::Yellow,
        };
        let said = wording::expected(held);
        let found = said.found.as_deref().unwrap_or(NONE);
        let range = said.interval.map_or_else(String::new, |interval| format!(" {interval}"));
        let text = format!("{}: expected {}, found {found}{range}", said.figure, said.asked);
        out.push_str(&ink.paint(tint, &format!("{:<8}", held.outcome.word())));
        out.push_str(&wrapped(&text, width - 8, "        "));
        if let Some(why) = wording::why_otherwise(held) {
            out.push_str("\n        ");
            out.push_str(&wrapped(&why, width - 8, "        "));
        }
        out.push('\n');
    }
    for row in &view.effects {
        effects(&mut out, row, width, &ink);
    }
    for course in &view.courses {
        let Some(text) = &course.text else { continue };
        let line = wrapped(&format!("{}, {text}", course.scope.name()), width, "    ");
        out.push_str(&line);
        out.push('\n');
    }
    for (name, text) in &view.driven {
        let line = wrapped(&format!("{name}: {text}"), width, "    ");
        out.push_str(&ink.paint(Tint::Dim, &line));
        out.push('\n');
    }
    findings(&mut out, &view.findings, width, &ink);
    out
}

/// What each factor does in one metric; of two together those that are sure.
fn effects(out: &mut String, row: &EffectRow, width: usize, ink: &Ink) {
    let _ = writeln!(out, "{}", wrapped(&format!("Effects on {}:", row.label), width, ""));
    for effect in &row.found.effects {
        if effect.with.is_some() && effect.verdict == Verdict::Unclear {
            continue;
        }
        let word = effect.verdict.word();
        let ratio = wording::ratio(effect.ratio);
        let (low, high) = (significant(effect.low, 3), significant(effect.high, 3));
        out.push_str(&ink.paint(tint(Some(word)), &format!("  {word:<8}")));
        let line = format!("{ratio} [{low}, {high}] {}", told(effect));
        out.push_str(&wrapped(&line, width.saturating_sub(10), "          "));
        out.push('\n');
    }
    out.push_str(&ink.paint(Tint::Dim, &wrapped(&format!("  {}", row.basis()), width, "  ")));
    out.push_str("\n\n");
}

/// What the doctor noticed, and what limits the layers; `fathom doctor` has more of these.
fn findings(out: &mut String, findings: &[Finding], width: usize, ink: &Ink) {
    let limits = doctor::limits(findings);
    let others = findings.iter().filter(|finding| finding.explains_percent.is_none());
    for finding in others.chain(limits.first.iter().copied()) {
        let (word, tint) = match finding.severity {
            Severity::Error => ("error".to_owned(), Tint::Red),
            Severity::Warning => ("warning".to_owned(), Tint::Yellow),
            Severity::Note => ("note".to_owned(), Tint::Dim),
        };
        let word = finding.explains_percent.map_or(word, |percent| format!("{percent:>4.0} %"));
        out.push_str(&ink.paint(tint, &format!("{word:<8}")));
        out.push_str(&wrapped(
            &format!("{} ({})", finding.message, finding.rule),
            width - 8,
            "        ",
        ));
        out.push('\n');
        let (evidence, raw) = plain_and_raw(&finding.evidence);
        let more = raw.map_or("", |_| " (the page and --json say why)");
        let evidence = format!("{evidence}{more}");
        for line in [&evidence, &finding.remedy].into_iter().filter(|l| !l.is_empty()) {
            out.push_str(
                &ink.paint(Tint::Dim, &format!("        {}", wrapped(line, width - 8, "        "))),
            );
            out.push('\n');
        }
    }
    if !limits.others.is_empty() {
        let more =
            format!("        {} more limits: fathom doctor RESULT --all\n", limits.others.len());
        out.push_str(&ink.paint(Tint::Dim, &more));
    }
}

/// How what is asked was compared: `IOPS and CPU per I/O are paired, repeat by repeat; p99 latency is compared by ranks.`
fn compared(view: &View) -> Option<String> {
    let asked = || view.figures.iter().filter(|row| row.asked);
    let by = |test: Test| {
        let of = |row: &&FigureRow| row.comparisons.iter().flatten().any(|c| c.test == test);
        let labels: BTreeSet<_> = asked().filter(of).map(|row| short(&row.label)).collect();
        let be = if labels.len() == 1 { "is" } else { "are" };
        let labels = labels.into_iter().collect::<Vec<_>>().join(", ");
        (!labels.is_empty()).then(|| format!("{labels} {be}"))
    };
    let paired = by(Test::Paired).map(|labels| format!("{labels} paired, repeat by repeat"));
    let ranked = by(Test::Ranked).map(|labels| format!("{labels} compared by ranks"));
    let parts: Vec<_> = [paired, ranked].into_iter().flatten().collect();
    let dropped =
        asked().flat_map(|row| row.comparisons.iter().flatten()).map(|c| c.dropped).max()?;
    let left_out = match dropped {
        0 => String::new(),
        n => format!(" Left out, as one side has no value: up to {n} of the repeats."),
    };
    let sequential = view.sequential.as_ref().map_or_else(String::new, |s| format!(" {}", s.text));
    Some(format!("{}.{left_out}{sequential}", parts.join("; ")))
}

/// Labels of a table are cut to so many characters before the table is given up, columns.
const LABEL: usize = 24;

/// How much of a line is written when the terminal is narrow.
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
    /// Whether nothing stands in it but the name of what follows: it may run over all columns.
    fn is_heading(&self) -> bool {
        self.cells.iter().skip(1).all(String::is_empty)
    }
}

/// Base and one variant side by side, in as much detail as fits; the base alone when there is no other.
fn table(view: &View, width: usize, ink: &Ink, new: Option<usize>) -> String {
    let has = |row: &FigureRow, index: usize| row.values.get(index).copied().flatten().is_some();
    let mut out = String::new();
    let Some(other) = new else {
        let own: Vec<_> = view.figures.iter().filter(|row| has(row, 0)).collect();
        return fitted(view, &own, Columns::Alone(0), width, ink);
    };
    // What one side lacks has no ratio: it stands apart, without columns of dashes.
    let of = |base: bool, new: bool| -> Vec<&FigureRow> {
        let wanted = |row: &&FigureRow| has(row, 0) == base && has(row, other) == new;
        view.figures.iter().filter(wanted).collect()
    };
    out.push_str(&fitted(view, &of(true, true), Columns::Compared(other), width, ink));
    out.push_str(&fitted(view, &of(false, true), Columns::Alone(other), width, ink));
    out.push_str(&fitted(view, &of(true, false), Columns::Alone(0), width, ink));
    // One empty line between tables, not one after the first and one before the second.
    out.replace("\n\n\n", "\n\n")
}

/// What stands in the columns of a table.
#[derive(Clone, Copy)]
enum Columns {
    /// One variant.
    Alone(usize),
    /// The base, this variant and how they compare.
    Compared(usize),
}

/// A table of these rows in as much detail as fits; nothing of no rows.
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

/// Every figure under its label, where no table of so few columns says what they are.
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

/// The head, a line for every operation or layer, and its figures below it.
fn lines(
    view: &View,
    rows: &[&FigureRow],
    columns: Columns,
    detail: Detail,
    width: usize,
) -> Vec<Line> {
    let name = |index: usize| short(view.variants.get(index).map_or(NONE, |v| v.name.as_str()));
    let mut head = match columns {
        Columns::Alone(index) if view.variants.len() > 1 => {
            vec![format!("only {}", name(index)), String::new()]
        }
        Columns::Alone(index) => vec![String::new(), name(index)],
        Columns::Compared(index) => {
            vec![String::new(), name(0), name(index), "ratio".to_owned(), "verdict".to_owned()]
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
            cells[0] = cut(&row.scope.name(), width);
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
    let comparison = new.and_then(|index| row.comparisons.get(index)?.as_ref());
    let verdict = comparison.and_then(|c| c.verdict).map(|verdict| verdict.word().to_owned());
    if let Some(index) = new {
        let ratio = comparison.map_or(NONE.to_owned(), |c| wording::compared(row.unit, c));
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

/// Width of a line with two spaces between its columns.
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

/// A name of others in a column: no control characters, and not so long that it takes the table's room.
fn short(name: &str) -> String {
    const MOST: usize = 24;
    let clean: String = name.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).collect();
    cut(&clean, MOST)
}

/// A text of at most so many characters.
fn cut(text: &str, most: usize) -> String {
    if count(text) <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// `41.2k/s ± 3 %`: the farther end of the interval, as a share of the median.
fn spread(row: &FigureRow, figure: Option<Figure>, detail: Detail) -> String {
    let Some(figure) = figure else { return NONE.to_owned() };
    let value = wording::value(row.unit, figure.median);
    match (figure.low, figure.high) {
        (Some(low), Some(high)) if figure.median != 0.0 && detail >= Detail::Spread => {
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
    let clean: String = text.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).collect();
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
