//! Figures that are picked from what a command prints.

use std::collections::BTreeMap;

use regex_lite::{Error, Regex, RegexBuilder};
use results::model::PickedFacts;
use units::{Better, Unit};

use crate::task::{FigurePlan, Output};

/// Compiles the pattern of a figure. `^` and `$` match at the ends of a line, since programs print lines.
///
/// # Errors
/// When it is not a regular expression.
pub fn regex(pattern: &str) -> Result<Regex, Error> {
    RegexBuilder::new(pattern).multi_line(true).build()
}

impl FigurePlan {
    /// Returns the form in which results keep it.
    pub(crate) fn facts(&self) -> PickedFacts {
        PickedFacts {
            unit: self.unit.unwrap_or(Unit::Count),
            better: self.better.unwrap_or(Better::Neither),
            pattern: self.pattern.clone(),
        }
    }
}

/// Picks figures from what a command prints, line by line as it comes.
///
/// The last number that a figure's pattern finds counts: what a program prints last is its result.
pub struct FigurePicker<'a> {
    figures: Vec<Sought<'a>>,
}

/// A figure that is looked for.
struct Sought<'a> {
    name: &'a str,
    from: Output,
    regex: Regex,
    /// The number found last, or the text found last if it is not a number.
    found: Option<Result<f64, String>>,
    /// Lines that were too long to be looked at.
    too_long: usize,
}

impl<'a> FigurePicker<'a> {
    /// Creates a picker for these figures.
    pub fn of(figures: &'a BTreeMap<String, FigurePlan>) -> Self {
        let sought = |(name, figure): (&'a String, &'a FigurePlan)| {
            // A plan with an invalid pattern has been refused before.
            let regex = regex(&figure.pattern).ok()?;
            Some(Sought { name, from: figure.from, regex, found: None, too_long: 0 })
        };
        Self { figures: figures.iter().filter_map(sought).collect() }
    }

    /// Looks at one whole line; `None` stands for a line that was too long to be kept.
    pub fn add_line(&mut self, from: Output, line: Option<&str>) {
        for figure in self.figures.iter_mut().filter(|figure| figure.from == from) {
            let Some(line) = line else {
                figure.too_long += 1;
                continue;
            };
            let number = |text: &str| {
                let number = text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
                number.ok_or_else(|| text.to_owned())
            };
            if let Some(last) = figure.regex.captures_iter(line).last() {
                figure.found = last.get(1).map(|group| number(group.as_str()));
            }
        }
    }

    /// Returns the figures for which lines were skipped because they were too long, with the number of those lines.
    pub fn too_long(&self) -> impl Iterator<Item = (&str, usize)> {
        self.figures.iter().filter(|f| f.too_long > 0).map(|f| (f.name, f.too_long))
    }

    /// Returns the numbers that were found, by name.
    pub fn found(&self) -> BTreeMap<String, f64> {
        let number = |figure: &Sought| figure.found.as_ref()?.as_ref().ok().copied();
        self.figures.iter().filter_map(|f| Some((f.name.to_owned(), number(f)?))).collect()
    }

    /// Names of figures whose pattern found a text that is not a number, and that text.
    pub fn no_numbers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.figures
            .iter()
            .filter_map(|f| Some((f.name, f.found.as_ref()?.as_ref().err()?.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Picks a figure with this pattern, of standard error, from what was printed.
    fn picked(pattern: &str, stdout: &str, stderr: &str) -> Option<f64> {
        let (from, pattern) = (Output::Stderr, pattern.to_owned());
        let plan = FigurePlan { from, pattern, unit: None, better: None };
        let figures = [("n".to_owned(), plan)].into();
        let mut picker = FigurePicker::of(&figures);
        stdout.lines().for_each(|line| picker.add_line(Output::Stdout, Some(line)));
        stderr.lines().for_each(|line| picker.add_line(Output::Stderr, Some(line)));
        picker.found().get("n").copied()
    }

    #[test]
    fn the_ends_of_a_line_can_be_asked_for() {
        assert_eq!(picked(r"^(\d+)$", "", "12 files\n5\ndone 7\n"), Some(5.0));
    }

    #[test]
    fn the_last_number_counts_and_what_is_none_gives_none() {
        let copied = r"copied (\S+) MB";
        assert_eq!(picked(copied, "copied 1 MB", "copied 2 MB, copied 3.5 MB\ndone\n"), Some(3.5));
        let none = ["", "copied nothing", "copied many MB", "copied 7 MB\ncopied inf MB"];
        for text in none {
            assert_eq!(picked(copied, "copied 7 MB", text), None, "{text}");
        }
    }

    #[test]
    fn what_a_pattern_found_and_is_no_number_is_known() {
        let plan = FigurePlan {
            from: Output::Stdout,
            pattern: r"v (\S+)".into(),
            unit: None,
            better: None,
        };
        for text in ["1,5", "0x10", "NaN", "1e400"] {
            let figures = [("n".to_owned(), plan.clone())].into();
            let mut picker = FigurePicker::of(&figures);
            picker.add_line(Output::Stdout, Some(&format!("v {text}")));
            assert!(picker.no_numbers().eq([("n", text)]));
            picker.add_line(Output::Stdout, Some("v 7"));
            assert_eq!((picker.no_numbers().count(), picker.found()["n"]), (0, 7.0));
        }
    }

    #[test]
    fn lines_that_are_too_long_are_counted_for_the_figures_of_their_output() {
        let plan = |from| FigurePlan { from, pattern: "(1)".into(), unit: None, better: None };
        let figures = [("out", plan(Output::Stdout)), ("err", plan(Output::Stderr))]
            .map(|(n, p)| (n.into(), p))
            .into();
        let mut picker = FigurePicker::of(&figures);
        picker.add_line(Output::Stdout, None);
        picker.add_line(Output::Stdout, Some("1"));
        assert!(picker.too_long().eq([("out", 1)]));
        assert_eq!(picker.found(), [("out".to_owned(), 1.0)].into());
    }
}
