//! A result, or the comparison of two results, as Markdown: for an issue, a mail, a pull request.

use analysis::{Across, AcrossRow};
use results::model::Severity;
use units::printable;

use crate::view::{FigureRow, View};
use crate::wording::{self, NONE};

/// Returns the first screen of a result: what was found, how far it may be trusted, the figures asked about (or `all`), and the doctor's findings.
pub fn result(view: &View, all: bool) -> String {
    let mut out = format!("## {}\n\n", escaped(&view.experiment));
    if let Some(headline) = &view.headline {
        out.push_str(&format!("**{}**\n\n", escaped(headline)));
    }
    out.push_str(&format!("{}\n\n", escaped(&view.summary)));
    if !view.trust.text.is_empty() {
        out.push_str(&format!("{}\n\n", escaped(&view.trust.text)));
    }
    let known = |row: &&FigureRow| row.values.iter().any(Option::is_some);
    let shown = view.figures.iter().filter(|row| all || row.headline() || row.part).filter(known);
    let shown: Vec<&FigureRow> = shown.collect();
    if view.variants.len() > BESIDE {
        shown.iter().for_each(|row| out.push_str(&of_variants(view, row)));
    } else {
        out.push_str(&of_figures(view, &shown));
    }
    let mut listed: Vec<&str> = Vec::new();
    for finding in view.findings.iter().filter(|one| all || one.severity >= Severity::Warning) {
        if !listed.contains(&finding.message.as_str()) {
            listed.push(&finding.message);
            out.push_str(&format!("* {}\n", escaped(&finding.message)));
        }
    }
    out
}

/// Most variants shown side by side; with more, each has a line.
const BESIDE: usize = 3;

/// Returns a table with a line for each figure and a column for each variant.
fn of_figures(view: &View, rows: &[&FigureRow]) -> String {
    let mut head = vec!["figure".to_owned()];
    head.extend(view.variants.iter().map(|variant| {
        let what = (variant.repeats > 1).then(|| wording::interval_name(variant.repeats));
        what.map_or(variant.name.clone(), |what| format!("{}, {what}", variant.name))
    }));
    head.extend(view.variants.iter().skip(1).map(|variant| format!("ratio of {}", variant.name)));
    table(&head, rows.iter().map(|row| line(view, row)))
}

/// Returns a table of one figure with a line for each variant.
fn of_variants(view: &View, row: &FigureRow) -> String {
    let head = ["variant", "median", "interval", "ratio", "verdict"].map(str::to_owned);
    let lines = view.variants.iter().enumerate().filter_map(|(at, variant)| {
        let figure = row.values.get(at)?.as_ref()?;
        let comparison = row.comparisons.get(at).and_then(Option::as_ref);
        let verdict = comparison.and_then(|comparison| comparison.verdict);
        Some(vec![
            variant.name.clone(),
            wording::median(row.unit, Some(figure)),
            wording::interval(row.unit, figure).unwrap_or_default(),
            comparison.map_or_else(String::new, |c| wording::compared_in_row(row, at, c)),
            verdict.map_or_else(String::new, |verdict| wording::verdict(verdict.word())),
        ])
    });
    let title = format!("{} of {}", row.label, row.scope.name());
    format!("### {}\n\n{}", escaped(&title), table(&head, lines))
}

/// Returns a figure of each variant, and its ratio to the base.
fn line(view: &View, row: &FigureRow) -> Vec<String> {
    let mut cells = vec![format!("{} of {}", row.label, row.scope.name())];
    for figure in &row.values {
        let figure = figure.as_ref();
        let interval = figure.and_then(|figure| wording::interval(row.unit, figure));
        let median = wording::median(row.unit, figure);
        cells.push(match interval {
            Some(interval) => format!("{median} {interval}"),
            None => median,
        });
    }
    for variant in 1..view.variants.len() {
        let comparison = row.comparisons.get(variant).and_then(Option::as_ref);
        cells.push(comparison.map_or(NONE.to_owned(), |comparison| {
            let ratio = wording::compared_in_row(row, variant, comparison);
            let verdict = comparison.verdict.map(|verdict| wording::verdict(verdict.word()));
            verdict.map_or(ratio.clone(), |verdict| format!("{ratio}, {verdict}"))
        }));
    }
    cells
}

/// Returns the comparison of two results: a line for each figure of each variant that is asked about, or for `all`.
pub fn across(across: &Across, all: bool) -> String {
    let head =
        ["variant", "figure", "first", "second", "ratio", "95 % interval", "verdict", "runs"]
            .map(str::to_owned);
    let shown = across.rows.iter().filter(|row| all || row.comparison.is_asked_about());
    let row = |row: &AcrossRow| {
        let c = &row.comparison;
        let label = layers::metric(&c.metric).map_or(c.metric.as_str(), |metric| metric.name);
        let figure = |figure: &stats::Figure| {
            figure.median.map_or(NONE.to_owned(), |median| wording::value(row.unit, median))
        };
        let verdict = c.verdict.map(|verdict| wording::verdict(verdict.word()).to_owned());
        vec![
            c.new.clone(),
            format!("{label} of {}", c.scope.name()),
            figure(&row.old),
            figure(&row.new),
            wording::compared_beside(row.unit, c, (row.old.median, row.new.median)),
            wording::ratio_interval(row.unit, c).unwrap_or_default(),
            verdict.unwrap_or_default(),
            format!("{} + {}", c.n, c.n),
        ]
    };
    let mut out = table(&head, shown.map(row));
    let only = [(&across.only_old, "first"), (&across.only_new, "second")];
    for (names, which) in only.into_iter().filter(|(names, _)| !names.is_empty()) {
        let names = escaped(&units::show::names(names));
        out.push_str(&format!("Only the {which} result has {names}.\n"));
    }
    let facts: Vec<String> = across.differ.iter().map(crate::across::fact).collect();
    if !facts.is_empty() {
        out.push_str(&format!("What else differs: {}.\n", escaped(&facts.join("; "))));
    }
    out
}

fn table(head: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rows: String = rows.map(|row| line(&row)).collect();
    if rows.is_empty() {
        return "No figure that is asked about is known; --all has every figure.\n\n".to_owned();
    }
    let rule = vec!["---"; head.len()].join(" | ");
    format!("{}| {rule} |\n{rows}\n", line(head))
}

/// Returns a text without anything that a terminal would execute or Markdown would interpret.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in printable(&text.replace('\n', " ")).chars() {
        if matches!(c, '|' | '*' | '_' | '`' | '<' | '[' | ']' | '\\' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_no_column_and_makes_no_markup() {
        let rows = [vec!["a|b".to_owned(), "*c*\n<img>".to_owned()]];
        let text = table(&["x".to_owned(), "y".to_owned()], rows.into_iter());
        assert_eq!(text, "| x | y |\n| --- | --- |\n| a\\|b | \\*c\\* \\<img> |\n\n");
    }
}
