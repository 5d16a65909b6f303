//! `figures` of a command: numbers that are picked from what it prints.

use std::collections::BTreeMap;

use regex_lite::{Error, Regex, RegexBuilder};
use results::model::PickedFacts;
use toml::Spanned;
use units::{Better, Key, Unit};

use crate::diagnostic::Diagnostic;
use crate::document::{Named, Table};
use crate::names::check_figure;
use crate::plan::{FigurePlan, Output};

const FIGURE: Key = Key {
    name: "figures",
    takes: "tables, each under the name of its figure",
    example: "{ files = { from = \"stdout\", pattern = '(\\d+) files' } }",
};
const FROM: Key = Key { name: "from", takes: "stdout or stderr", example: "\"stdout\"" };
const PATTERN: Key = Key {
    name: "pattern",
    takes: "a regular expression with one group around the number",
    example: "'(\\d+) files'",
};
const UNIT: Key = Key {
    name: "unit",
    takes: "count, bytes, bytes_per_second, per_second, nanos, micros, seconds, percent or ratio",
    example: "\"seconds\"",
};
const BETTER: Key = Key { name: "better", takes: "higher, lower or neither", example: "\"lower\"" };
/// Most figures of one command.
const MOST: usize = 32;

/// Reads all figures of a command, by name.
pub(super) fn read(table: Table) -> Result<BTreeMap<String, FigurePlan>, Diagnostic> {
    let at = table.at();
    let figures: Vec<Named<Table>> = table.named_tables(&FIGURE, "A figure")?;
    if figures.len() > MOST {
        let message = format!("{} figures are picked from one command", figures.len());
        return Err(Diagnostic::at(at, message, format!("pick at most {MOST}")));
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
                return Err(Diagnostic::at(word.span(), message, FROM.help(FROM.name)));
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
    let refuse =
        |message: String| Err(Diagnostic::at(pattern.span(), message, PATTERN.help(PATTERN.name)));
    match regex(pattern.get_ref()).map(|regex| regex.captures_len()) {
        Err(error) => refuse(format!("'{}' is no pattern: {error}", pattern.get_ref())),
        Ok(2) => Ok(()),
        Ok(groups) => refuse(format!(
            "'{}' has {} groups, and the number is what the only one finds",
            pattern.get_ref(),
            groups - 1
        )),
    }
}

/// `^` and `$` stand for the ends of a line: programs speak in lines.
fn regex(pattern: &str) -> Result<Regex, Error> {
    RegexBuilder::new(pattern).multi_line(true).build()
}

impl FigurePlan {
    /// A figure that is a plain number.
    #[cfg(test)]
    fn plain(from: Output, pattern: &str) -> Self {
        Self { from, pattern: pattern.to_owned(), unit: None, better: None }
    }

    /// As results keep it.
    pub(crate) fn facts(&self) -> PickedFacts {
        PickedFacts {
            unit: self.unit.unwrap_or(Unit::Count),
            better: self.better.unwrap_or(Better::Neither),
            pattern: self.pattern.clone(),
        }
    }

    /// The number that the pattern finds last in what was printed: what a program says last is its result.
    pub fn pick(&self, stdout: &str, stderr: &str) -> Option<f64> {
        let text = match self.from {
            Output::Stdout => stdout,
            Output::Stderr => stderr,
        };
        let regex = regex(&self.pattern).ok()?;
        let number = regex.captures_iter(text).last()?.get(1)?.as_str().trim().parse::<f64>();
        number.ok().filter(|number| number.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_line_can_be_asked_for() {
        let figure = FigurePlan::plain(Output::Stdout, r"^(\d+)$");
        assert_eq!(figure.pick("12 files\n5\ndone 7\n", ""), Some(5.0));
    }

    #[test]
    fn the_last_number_counts_and_what_is_none_gives_none() {
        let figure = FigurePlan::plain(Output::Stderr, r"copied (\S+) MB");
        assert_eq!(figure.pick("copied 1 MB", "copied 2 MB\ncopied 3.5 MB\n"), Some(3.5));
        for text in ["", "copied nothing", "copied many MB", "copied inf MB"] {
            assert_eq!(figure.pick("copied 7 MB", text), None, "{text}");
        }
    }
}
