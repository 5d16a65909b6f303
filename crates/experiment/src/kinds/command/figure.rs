//! `figures` of a command: numbers that are picked from what it prints.

use std::collections::BTreeMap;

use toml::Spanned;
use units::{Better, Key, Unit, key};

use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Named, Table};
use crate::written::names::check_figure;
use plan::{FigurePlan, Output, regex};

const FIGURE: Key = key(
    "figures",
    "tables, each under the name of its figure",
    "{ files = { from = \"stdout\", pattern = '(\\d+) files' } }",
);
const FROM: Key = key("from", "stdout or stderr", "\"stdout\"");
const PATTERN: Key =
    key("pattern", "a regular expression with one group around the number", "'(\\d+) files'");
const UNIT: Key = key(
    "unit",
    "count, bytes, bytes_per_second, per_second, nanos, micros, seconds, percent or ratio",
    "\"seconds\"",
);
const BETTER: Key = key("better", "higher, lower or neither", "\"lower\"");
/// Most figures of one command.
const MAX_FIGURES: usize = 32;

/// Reads all figures of a command, by name.
pub(super) fn read(table: Table) -> Result<BTreeMap<String, FigurePlan>, Diagnostic> {
    let at = table.at();
    let figures: Vec<Named<Table>> = table.named_tables(&FIGURE, "A figure")?;
    if figures.len() > MAX_FIGURES {
        let message = format!("{} figures are picked from one command", figures.len());
        return Err(Diagnostic::at(at, message, format!("pick at most {MAX_FIGURES}")));
    }
    figures.into_iter().map(figure).collect()
}

fn figure(named: Named<Table>) -> Result<(String, FigurePlan), Diagnostic> {
    let Named { name, at, value: mut table } = named;
    check_figure(&name, &at)?;
    let from = match table.take::<String>(&FROM)? {
        None => Output::Stdout,
        Some(word) => match word.get_ref().as_str() {
            "stdout" => Output::Stdout,
            "stderr" => Output::Stderr,
            other => {
                let message = format!("from cannot be '{other}'");
                return Err(Diagnostic::of_key(word.span(), message, &FROM));
            }
        },
    };
    let pattern = table.need::<String>(&PATTERN)?;
    let unit = table.take::<Unit>(&UNIT)?.map(Spanned::into_inner);
    let better = table.take::<Better>(&BETTER)?.map(Spanned::into_inner);
    table.finish()?;
    check_pattern(&pattern)?;
    Ok((name, FigurePlan { from, pattern: pattern.into_inner(), unit, better }))
}

fn check_pattern(pattern: &Spanned<String>) -> Result<(), Diagnostic> {
    let refuse = |message: String| Err(Diagnostic::of_key(pattern.span(), message, &PATTERN));
    match regex(pattern.get_ref()).map(|regex| regex.captures_len()) {
        Err(error) => refuse(format!("'{}' is not a pattern: {error}", pattern.get_ref())),
        // A pattern sees one line at a time, whatever else is printed.
        Ok(2) if spans_lines(pattern.get_ref()) => refuse(format!(
            "'{}' has the end of a line within the match, and a figure is picked from a single line",
            pattern.get_ref()
        )),
        Ok(2) => Ok(()),
        Ok(groups) => refuse(format!(
            "'{}' has {} groups; it needs exactly one, around the number",
            pattern.get_ref(),
            groups - 1
        )),
    }
}

/// Tells whether a pattern names the end of a line itself.
fn spans_lines(pattern: &str) -> bool {
    let mut escaped = false;
    pattern.chars().any(|c| {
        let named = c == '\n' || escaped && c == 'n';
        escaped = c == '\\' && !escaped;
        named
    })
}
