//! All mistakes of a file at once. The reader of a table stops at its first mistake, and checks of the whole come after those of its
//! parts: so what is wrong is mended in a copy of the text, by the example that its help gives, and the copy is read again.

use std::ops::Range;

use crate::ExperimentError;
use crate::compose::PlanOptions;
use crate::diagnostic::Diagnostic;
use crate::document::is_written;
use crate::plan::Plan;
use crate::whole;

/// Times that a file is read again; each mends at least one key.
const ROUNDS: usize = 64;

/// Reads, checks and plans the experiment in `text`; `file` names it in errors. Wrong keys and values are told together, those of other
/// scales too; what depends on them is told once they are right.
pub fn compose(file: &str, text: &str, choices: &PlanOptions) -> Result<Plan, ExperimentError> {
    let mut error = match whole::compose(file, text, choices) {
        Ok(plan) => return Ok(plan),
        Err(error) => error,
    };
    let mut copy = Copy { text, mended: Vec::new() };
    let mut found = error.mistakes.clone();
    for _ in 0..ROUNDS {
        if !copy.mend(&found) {
            break;
        }
        let Err(again) = whole::compose(file, &copy.read(), choices) else { break };
        found = again.mistakes.into_iter().map(|mistake| copy.placed(mistake)).collect();
        for mistake in found.iter().filter(|mistake| mistake.instead.is_some()) {
            let told = |other: &Diagnostic| overlap(other, mistake);
            if !error.mistakes.iter().any(told) {
                error.mistakes.push(mistake.clone());
            }
        }
    }
    error.mistakes.sort_by_key(|mistake| mistake.span.as_ref().map(|span| span.start));
    Err(error)
}

/// Tells whether two mistakes are at one place.
fn overlap(a: &Diagnostic, b: &Diagnostic) -> bool {
    let (Some(a), Some(b)) = (&a.span, &b.span) else { return false };
    a.start < b.end && b.start < a.end
}

/// A text with other lines in place of some of its own.
struct Copy<'t> {
    text: &'t str,
    /// Places in the text, in order, with what stands there instead.
    mended: Vec<(Range<usize>, String)>,
}

impl Copy<'_> {
    /// Mends the keys that the mistakes are at; tells whether any could be.
    fn mend(&mut self, mistakes: &[Diagnostic]) -> bool {
        let before = self.read();
        for mistake in mistakes {
            let (Some(span), Some(value)) = (&mistake.span, &mistake.instead) else { continue };
            let Some((key, _)) = self.text.get(span.clone()).and_then(|at| at.split_once('='))
            else {
                continue;
            };
            let again = self.mended.iter().any(|(mended, _)| mended == span);
            let line = if again { String::new() } else { format!("{key}= {value}") };
            let without = [String::new()].into_iter();
            let with = (!value.is_empty()).then_some(line);
            for instead in with.into_iter().chain(without) {
                let kept = self.mended.clone();
                self.put(span.clone(), instead);
                if is_written(&self.read()) {
                    break;
                }
                self.mended = kept;
            }
        }
        self.read() != before
    }

    /// Has `instead` stand at `span`, and nothing at the comma behind it where nothing is to stand there.
    fn put(&mut self, span: Range<usize>, instead: String) {
        let behind = self.text[span.end..].find(|c: char| !c.is_whitespace());
        let comma = behind.map(|at| span.end + at).filter(|&at| self.text[at..].starts_with(','));
        let end = comma.filter(|_| instead.is_empty()).map_or(span.end, |at| at + 1);
        self.mended.retain(|(other, _)| other.end <= span.start || end <= other.start);
        self.mended.push((span.start..end, instead));
        self.mended.sort_by_key(|(at, _)| at.start);
    }

    /// Returns the text as it is read.
    fn read(&self) -> String {
        let (mut read, mut from) = (String::new(), 0);
        for (at, instead) in &self.mended {
            read.push_str(&self.text[from..at.start]);
            read.push_str(instead);
            from = at.end;
        }
        read + &self.text[from..]
    }

    /// Returns the mistake at its place in the text.
    fn placed(&self, mistake: Diagnostic) -> Diagnostic {
        let place = |at: usize| {
            // How far what was read so far is longer than its own text.
            let mut longer = 0_isize;
            for (mended, instead) in &self.mended {
                let start = mended.start.saturating_add_signed(longer);
                if at <= start {
                    break;
                }
                if at < start + instead.len() {
                    return mended.start;
                }
                longer += instead.len() as isize - mended.len() as isize;
            }
            at.saturating_add_signed(-longer)
        };
        let span = mistake.span.clone().map(|span| place(span.start)..place(span.end));
        let whole = |span: Range<usize>| {
            let of = self.mended.iter().find(|(at, _)| at.start == span.start);
            of.map_or(span.clone(), |(at, _)| at.start..at.end.max(span.end))
        };
        Diagnostic { span: span.map(whole), ..mistake }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mended_leaves_everything_else_at_its_place() {
        let text = "# ä\na = { b = 1, \"ä\" = 2 }\nc = [ 3 ]\n";
        for (wrong, instead, left) in [
            ("b = 1", "", "# ä\na = {  \"ä\" = 2 }\nc = [ 3 ]\n"),
            (
                "b = 1",
                "\"long enough\"",
                "# ä\na = { b = \"long enough\", \"ä\" = 2 }\nc = [ 3 ]\n",
            ),
            ("\"ä\" = 2", "7", "# ä\na = { b = 1, \"ä\" = 7 }\nc = [ 3 ]\n"),
        ] {
            let span = |of: &str, word: &str| of.find(word).map(|at| at..at + word.len());
            let (at, instead) = (span(text, wrong), Some(instead.to_owned()));
            let mut copy = Copy { text, mended: Vec::new() };
            let mistake = Diagnostic { span: at, instead, ..Diagnostic::default() };
            assert!(copy.mend(&[mistake]));
            assert_eq!(copy.read(), left);
            let later = Diagnostic { span: span(left, "c = [ 3 ]"), ..Diagnostic::default() };
            assert_eq!(copy.placed(later).span, span(text, "c = [ 3 ]"));
        }
    }
}
