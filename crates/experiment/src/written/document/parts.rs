//! The parts of a text that can be left out of it.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::places::place;

/// A key with its value, an entry of a list, or a table with all that is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its place, which begins with the first name of a dotted key.
    pub at: Range<usize>,
    /// The start of its value; that of a table is all of it.
    pub value: usize,
    /// Tells whether it is a table with a header.
    pub is_table: bool,
}

/// All parts of `text`; none if it is not TOML.
pub(crate) fn parts(text: &str) -> Vec<Part> {
    let Ok(root) = DeTable::parse(text) else { return Vec::new() };
    let mut headers = Vec::new();
    super::places::walk("", root.get_ref(), &mut |_, _, value| {
        note_headers(value, text, &mut headers);
    });
    headers.sort_by_key(|header| header.start);
    let mut parts = Vec::new();
    of_table(root.get_ref(), text, &headers, &mut parts);
    parts
}

/// Tells whether a value is a table that stands under a header.
fn has_header(value: &Spanned<DeValue>, text: &str) -> bool {
    matches!(value.get_ref(), DeValue::Table(_))
        && text.get(value.span()).is_some_and(|at| at.starts_with('['))
}

fn note_headers(value: &Spanned<DeValue>, text: &str, headers: &mut Vec<Range<usize>>) {
    if has_header(value, text) {
        headers.push(value.span());
    }
    if let DeValue::Array(list) = value.get_ref() {
        for entry in list.iter() {
            note_headers(entry, text, headers);
            if let DeValue::Table(inner) = entry.get_ref() {
                super::places::walk("", inner, &mut |_, _, value| {
                    note_headers(value, text, headers);
                });
            }
        }
    }
}

fn of_table(table: &DeTable, text: &str, headers: &[Range<usize>], parts: &mut Vec<Part>) {
    for (key, value) in table {
        let at = place(&key.span(), &value.span());
        // A table that only a dotted key implies has the key's own place.
        let is_named = value.span().start >= key.span().end;
        if is_named && !is_under_headers(value, text) {
            let (start, value) = (statement(text, at.start), value.span().start);
            parts.push(Part { at: start..at.end, value, is_table: false });
        }
        of_value(value, text, headers, parts);
    }
}

/// Tells whether a value is a list of tables with headers, or such a table.
fn is_under_headers(value: &Spanned<DeValue>, text: &str) -> bool {
    match value.get_ref() {
        DeValue::Array(list) => list.iter().any(|entry| has_header(entry, text)),
        _ => has_header(value, text),
    }
}

fn of_value(value: &Spanned<DeValue>, text: &str, headers: &[Range<usize>], parts: &mut Vec<Part>) {
    if has_header(value, text) {
        let start = value.span().start;
        parts.push(Part { at: start..end(text, headers, start), value: start, is_table: true });
    }
    match value.get_ref() {
        DeValue::Table(inner) => of_table(inner, text, headers, parts),
        DeValue::Array(list) => {
            for entry in list.iter() {
                if !has_header(entry, text) {
                    let at = entry.span();
                    parts.push(Part { value: at.start, at, is_table: false });
                }
                of_value(entry, text, headers, parts);
            }
        }
        _ => {}
    }
}

/// Returns the end of the table whose header begins at `start`: the next header that is not of a table inside it.
fn end(text: &str, headers: &[Range<usize>], start: usize) -> usize {
    let name =
        |header: &Range<usize>| text[header.clone()].trim_matches(['[', ']', ' ']).to_owned();
    let mut later = headers.iter().filter(|header| header.start >= start);
    let Some(table) = later.next().map(name) else { return text.len() };
    let inside = format!("{table}.");
    later.find(|header| !name(header).starts_with(&inside)).map_or(text.len(), |next| next.start)
}

/// Returns the start of the statement whose last name begins at `key`: in `set."vdo.dedupe" = false` that of `set`.
fn statement(text: &str, key: usize) -> usize {
    let mut start = key;
    while let Some(before) = text[..start].trim_end_matches([' ', '\t']).strip_suffix('.') {
        let before = before.trim_end_matches([' ', '\t']);
        let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let quoted = before.strip_suffix(['"', '\'']);
        start = match quoted {
            Some(inner) => inner.rfind(&before[inner.len()..]).unwrap_or(inner.len()),
            None => before.trim_end_matches(bare).len(),
        };
        if start == before.len() {
            break;
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn a_part_is_all_that_has_to_go_with_a_key_a_table_or_an_entry() {
        let text =
            "a = 1\n[[s]]\nb.\"c.d\".e = [ 2, { f = 3 } ]\n[s.by]\ng = 4\n[[s]]\n[t.u]\nh = 5\n";
        let found: Vec<&str> = parts(text).iter().map(|part| &text[part.at.clone()]).collect();
        let first = "[[s]]\nb.\"c.d\".e = [ 2, { f = 3 } ]\n[s.by]\ng = 4\n";
        for part in [
            "a = 1",
            first,
            "b.\"c.d\".e = [ 2, { f = 3 } ]",
            "2",
            "f = 3",
            "[s.by]\ng = 4\n",
            "[[s]]\n",
        ] {
            assert!(found.contains(&part), "{part:?} in {found:#?}");
        }
        assert!(!found.contains(&"[t.u]\nh = 5\n[[s]]"));
        assert!(found.contains(&"[t.u]\nh = 5\n") && found.contains(&"h = 5"), "{found:#?}");
        assert!(parts("a = ").is_empty());
    }
}
