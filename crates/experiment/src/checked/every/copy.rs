//! A copy of a text in which mistakes are mended.

use std::ops::Range;

use crate::written::diagnostic::{Diagnostic, Mend};
use crate::written::document::{Part, is_written, parts};

/// A text with replacements for some of its parts.
pub(super) struct Copy<'t> {
    pub text: &'t str,
    /// Parts of the text that can be left out.
    parts: Vec<Part>,
    /// Replaced places in the text, in order, with the replacements.
    mended: Vec<(Range<usize>, String)>,
}

/// A kind of change to the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// The key has a value that is as good as the intended one.
    Value,
    /// The key's value was replaced by an example, or the table has one more key.
    Example,
    /// The key was renamed or removed, as it should be.
    Key,
    /// It is left out, as nothing better is known.
    LeftOut,
}

/// A place, the text that replaces it, and the kind of change.
type Replacement = (Range<usize>, String, Done);

impl<'t> Copy<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, parts: parts(text), mended: Vec::new() }
    }

    /// Mends the place of a mistake, or a larger part around it if that place was mended before. Returns the place and the kind of change.
    pub(super) fn mend(&mut self, mistake: &Diagnostic) -> Option<(Range<usize>, Done)> {
        let span = mistake.span.as_ref()?;
        let again = self.mended.iter().any(|(at, _)| overlap(at, span));
        let instead = mistake.instead.as_ref();
        let instead = instead.filter(|instead| !again || matches!(instead, Mend::With(_)));
        let first = instead.and_then(|instead| self.replacement(span, instead));
        let parts: Vec<Part> = self.holding(span).cloned().collect();
        let out = parts.iter().flat_map(|part| self.less(part)).collect::<Vec<_>>();
        let before = self.read();
        first.into_iter().chain(out).find_map(|(at, instead, done)| {
            let kept = self.mended.clone();
            self.put(at.clone(), instead);
            let read = self.read();
            if read != before && is_written(&read) {
                return Some((at, done));
            }
            self.mended = kept;
            None
        })
    }

    /// The parts that hold a place, the smallest first. The place of the whole file, which is empty, is in no part, not even where the first key
    /// begins at it.
    pub(super) fn holding(&self, span: &Range<usize>) -> impl Iterator<Item = &Part> {
        let holds = |part: &&Part| {
            !span.is_empty() && part.at.start <= span.start && span.end <= part.at.end
        };
        let mut parts: Vec<&Part> = self.parts.iter().filter(holds).collect();
        parts.sort_by_key(|part| part.at.len());
        parts.into_iter()
    }

    /// Returns the replacement, at `span` or around it, that a mistake suggests.
    fn replacement(&self, span: &Range<usize>, instead: &Mend) -> Option<Replacement> {
        let part = self.holding(span).next().filter(|part| !part.is_table);
        let value = |value: &str| Some((part?.value..part?.at.end, value.to_owned()));
        let table = |value: &str| {
            let header = self.text.get(span.clone()).filter(|at| at.starts_with('['))?;
            let keys = value.strip_prefix('{')?.strip_suffix('}')?.replace(", ", "\n");
            let table = self.holding(span).next()?;
            Some((table.at.clone(), format!("{header}\n{keys}\n")))
        };
        let (at, instead, done) = match instead {
            Mend::Without => (part?.at.clone(), String::new(), Done::Key),
            Mend::With(new) => {
                value(new).or_else(|| table(new)).map(|(at, new)| (at, new, Done::Value))?
            }
            // An example of another kind does not help: the other keys were written for the kind that is meant.
            Mend::Example(_) if part.is_some_and(|part| self.is_kind(part)) => return None,
            Mend::Example(new) => value(new).map(|(at, new)| (at, new, Done::Example))?,
            Mend::Named(name) => {
                let start = self.name_at(span)?;
                let old = key(&self.text[start..]);
                let inner = old.trim_matches(['"', '\'']);
                let new = match inner.rsplit_once('.') {
                    Some((around, _)) if !name.contains('.') => format!("\"{around}.{name}\""),
                    _ if name.contains('.') => format!("{name:?}"),
                    _ => name.to_string(),
                };
                (start..start + old.len(), new, Done::Key)
            }
            Mend::Add(line) => self.added(span, line)?,
        };
        Some((at, instead, done))
    }

    /// Returns the start of the first name of a key, or of the last name of a header.
    fn name_at(&self, span: &Range<usize>) -> Option<usize> {
        let text = self.text.get(span.clone())?;
        let names = text.trim_start_matches(['[', ' ', '\t']);
        let mut start = span.end - names.len();
        if !text.starts_with('[') {
            return Some(start);
        }
        loop {
            let name = key(&self.text[start..]);
            let behind = self.text[start + name.len()..].trim_start_matches([' ', '\t']);
            match behind.strip_prefix('.').map(|rest| rest.trim_start_matches([' ', '\t'])) {
                Some(rest) => start = self.text.len() - rest.len(),
                None => return Some(start),
            }
        }
    }

    /// Returns the replacement that adds a line to the table at `span`, or to the file.
    fn added(&self, span: &Range<usize>, line: &str) -> Option<Replacement> {
        let table = self.text.get(span.clone())?;
        let text = match table.strip_prefix('{') {
            Some(rest) if rest.trim() == "}" => format!("{{ {line} }}"),
            Some(rest) => format!("{{ {line}, {rest}"),
            None if table.starts_with('[') => format!("{table}\n{line}"),
            None if table.is_empty() => format!("{line}\n"),
            None => return None,
        };
        Some((span.clone(), text, Done::Example))
    }

    /// Tells whether a part is the key that names the kind of a layer, a stage or a picture.
    fn is_kind(&self, part: &Part) -> bool {
        matches!(self.key_of(part), "do" | "layer" | "show")
    }

    /// The key of a part, the last name of it; nothing where it is a table, or an entry of a list.
    pub(super) fn key_of(&self, part: &Part) -> &'t str {
        let key = self.text[part.at.start..part.value].trim_end_matches([' ', '\t', '=']);
        key.rsplit('.').next().unwrap_or(key).trim_matches(['"', '\''])
    }

    /// Returns the name of the stage at `entry`, as it is written; the name of its kind if none is written.
    pub(super) fn name_of(&self, entry: &Range<usize>) -> &'t str {
        let inside = |part: &&Part| entry.start < part.at.start && part.at.end <= entry.end;
        let keys = self.parts.iter().filter(inside);
        let named = keys.filter(|part| matches!(self.key_of(part), "name" | "do"));
        let named = named.max_by_key(|part| self.key_of(part));
        named.map_or("", |part| self.text[part.value..part.at.end].trim_matches(['"', '\'']))
    }

    /// Returns ways to leave a part out: first only the keys in it that were mended, then all of it.
    fn less(&self, part: &Part) -> Vec<Replacement> {
        let out = |part: &Part| (part.at.clone(), String::new(), Done::LeftOut);
        // A table cannot be read without its kind, and an exclusion with a level less would exclude more.
        let table = self.holding(&part.at).find(|around| around.is_table && *around != part);
        let excludes =
            table.is_some_and(|table| self.text[table.at.clone()].starts_with("[[exclude"));
        if table.is_some() && (excludes || self.is_kind(part)) {
            return Vec::new();
        }
        let inside = |at: &Range<usize>| part.at.start <= at.start && at.end <= part.at.end;
        let mended = self.mended.iter().filter(|(at, now)| inside(at) && !now.is_empty());
        let mended = mended.filter_map(|(at, _)| self.holding(at).next());
        let keys = mended.filter(|key| part.is_table && !key.is_table).map(out);
        keys.chain([out(part)]).collect()
    }

    /// Puts `instead` at `span`; if it is empty, one of the commas around it is removed too.
    fn put(&mut self, span: Range<usize>, instead: String) {
        let Range { mut start, mut end } = span;
        if instead.is_empty() {
            let behind = self.text[end..].find(|c: char| !c.is_whitespace()).map(|at| end + at);
            match behind.filter(|&at| self.text[at..].starts_with(',')) {
                Some(comma) => end = comma + 1,
                None => {
                    let before = self.text[..start].trim_end().strip_suffix(',').map(str::len);
                    let is_gone =
                        |at: &usize| self.mended.iter().any(|(gone, _)| gone.contains(at));
                    start = before.filter(|at| !is_gone(at)).unwrap_or(start);
                }
            }
        }
        self.mended.retain(|(other, _)| other.end <= start || end <= other.start);
        self.mended.push((start..end, instead));
        self.mended.sort_by_key(|(at, _)| at.start);
    }

    /// Returns the text with the replacements.
    pub(super) fn read(&self) -> String {
        let (mut read, mut from) = (String::new(), 0);
        for (at, instead) in &self.mended {
            read.push_str(&self.text[from..at.start]);
            read.push_str(instead);
            from = at.end;
        }
        read + &self.text[from..]
    }

    /// Returns a mistake found in the mended text with its place in the original text.
    pub(super) fn placed(&self, mistake: Diagnostic) -> Diagnostic {
        let place = |at: usize, begins: bool| {
            // The bytes by which the mended text is longer so far.
            let mut longer = 0_isize;
            for (mended, instead) in &self.mended {
                let start = mended.start.saturating_add_signed(longer);
                // A part that begins where something was left out came after that in the original.
                if at < start || at == start && !(begins && instead.is_empty()) {
                    break;
                }
                if at < start + instead.len() {
                    return mended.start;
                }
                longer += instead.len() as isize - mended.len() as isize;
            }
            at.saturating_add_signed(-longer)
        };
        let span = mistake
            .span
            .clone()
            .map(|span| place(span.start, !span.is_empty())..place(span.end, false));
        let whole = |span: Range<usize>| {
            let of = self.mended.iter().find(|(at, _)| at.start == span.start);
            of.map_or(span.clone(), |(at, _)| at.start..at.end.max(span.end))
        };
        // A mistake of the whole file is not about a part that was mended at the file's beginning.
        let of_file = mistake.span.as_ref().is_some_and(Range::is_empty);
        Diagnostic { span: span.map(|at| if of_file { at } else { whole(at) }), ..mistake }
    }
}

/// Tells whether two places have something in common.
pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The key with which a text begins, as it is written.
fn key(text: &str) -> &str {
    let quoted = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.find(quote));
    let bare = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_';
    let end = quoted('"').or(quoted('\'')).map(|end| end + 2).or_else(|| text.find(bare));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mended_leaves_everything_else_at_its_place() {
        let text = "# ä\na = { b = 1, \"ä\" = 2 }\nc = [ 3 ]\n";
        for (wrong, instead, left) in [
            ("b = 1", Mend::Without, "# ä\na = {  \"ä\" = 2 }\nc = [ 3 ]\n"),
            (
                "b = 1",
                Mend::With("\"long enough\"".into()),
                "# ä\na = { b = \"long enough\", \"ä\" = 2 }\nc = [ 3 ]\n",
            ),
            ("\"ä\" = 2", Mend::With("7".into()), "# ä\na = { b = 1, \"ä\" = 7 }\nc = [ 3 ]\n"),
        ] {
            let span = |of: &str, word: &str| of.find(word).map(|at| at..at + word.len());
            let (at, instead) = (span(text, wrong), Some(instead));
            let mut copy = Copy::of(text);
            let mistake = Diagnostic { span: at, instead, ..Diagnostic::default() };
            assert!(copy.mend(&mistake).is_some());
            assert_eq!(copy.read(), left);
            let later = Diagnostic { span: span(left, "c = [ 3 ]"), ..Diagnostic::default() };
            assert_eq!(copy.placed(later).span, span(text, "c = [ 3 ]"));
        }
    }
}
