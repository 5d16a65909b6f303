//! Mistakes in a key or a value, as diagnostics.

use std::ops::Range;

use toml::de::{DeTable, DeValue, Error};
use units::Key;

use super::places;
use crate::written::diagnostic::{Diagnostic, Mend, nearest};

/// The most characters of a value that are shown.
const SHOWN: usize = 40;

/// A text that is not TOML.
pub(super) fn of_syntax(error: &Error) -> Diagnostic {
    Diagnostic {
        message: capitalised(error.message()),
        span: error.span(),
        ..Diagnostic::default()
    }
}

/// A key that the table does not have.
pub(super) fn unknown(
    what: &str,
    at: Range<usize>,
    path: &str,
    known: &[impl AsRef<str>],
) -> Diagnostic {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let name = path.rsplit('.').next().unwrap_or(path);
    let near = nearest(name, known.iter().copied());
    let message = format!("{what} has no key '{}'", cut(path));
    // Only loads have a key 'depth', so this is a load, which may have a key of fio's.
    if let Some(here) = workload::fio_option(name).filter(|_| known.contains(&"depth")) {
        let help = format!("fio's '{name}' is here {here}");
        return Diagnostic { instead: Some(Mend::Without), ..Diagnostic::at(at, message, help) };
    }
    let instead = near.map_or(Mend::Without, |near| Mend::Named(near.into()));
    let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
    let help = format!("{near}Allowed here: {}", known.join(", "));
    Diagnostic { instead: Some(instead), ..Diagnostic::at(at, message, help) }
}

/// A value that `path` does not take.
pub(super) fn of_value(
    at: Range<usize>,
    path: &str,
    shown: &str,
    error: &Error,
    key: Option<&Key>,
) -> Diagnostic {
    let message = error.message();
    // Messages of serde itself name Rust's types; messages of the value's own reader are meant for people.
    let is_plain = !["invalid ", "unknown "].iter().any(|start| message.starts_with(start));
    let message =
        if is_plain { format!("{path}: {message}") } else { format!("{path} cannot be {shown}") };
    match key {
        Some(key) => {
            Diagnostic { help: Some(key.help(path)), ..Diagnostic::of_key(at, message, key) }
        }
        None => Diagnostic { message, span: Some(at), ..Diagnostic::default() },
    }
}

/// Returns what serde found wrong inside of a table, at the place where it found it; `taken` are keys that were taken out before.
pub(super) fn inside(
    (what, at): (&str, &Range<usize>),
    (entries, taken): (&DeTable, &[&str]),
    error: &Error,
    key: fn(&str) -> Option<&'static Key>,
) -> Diagnostic {
    let Some(found) = error.span().and_then(|span| find(entries, &span, error)) else {
        let help = "see docs/experiments.md for what stands here";
        return Diagnostic::at(at.clone(), capitalised(error.message()), help);
    };
    if found.is_key {
        let quoted = error.message().split('`').skip(3).step_by(2).map(str::to_owned);
        // Keys that were taken out before belong to the same table as those that serde reads at the top.
        let taken = taken.iter().map(|&name| name.to_owned());
        let beside = if found.path.contains('.') { Vec::new() } else { taken.collect() };
        let known: Vec<String> = beside.into_iter().chain(quoted).collect();
        return unknown(what, found.at, &found.path, &known);
    }
    of_value(found.at, &found.path, &found.shown, error, key(&found.path))
}

/// A key that an error is about.
struct Found {
    path: String,
    at: Range<usize>,
    /// Its value.
    shown: String,
    /// Tells whether the error is about the key itself.
    is_key: bool,
}

/// The key whose place, or whose value's place, is `span`.
fn find(entries: &DeTable, span: &Range<usize>, error: &Error) -> Option<Found> {
    let mut found: Option<Found> = None;
    // All keys of a dotted path have the same place: the error is about the one that it names, else about the first.
    let named = error.message().strip_prefix("unknown ").and_then(|m| m.split('`').nth(1));
    places::walk("", entries, &mut |path, key, value| {
        let settled = found.as_ref().is_some_and(|f| named.is_none_or(|n| f.path.ends_with(n)));
        if (value.span() == *span || key == span) && !settled {
            // A table that only a dotted key implies has the key's own place.
            let both = value.span() == *key;
            let is_key = if both { error.message().starts_with("unknown ") } else { key == span };
            let at = places::place(key, &value.span());
            found =
                Some(Found { path: path.to_owned(), at, shown: shown(value.get_ref()), is_key });
        }
    });
    found
}

/// Returns the mistake for the first list, where none is allowed.
pub(super) fn list(entries: &DeTable, key: fn(&str) -> Option<&'static Key>) -> Option<Diagnostic> {
    let mut found = None;
    places::walk("", entries, &mut |path, name, value| {
        if let (None, DeValue::Array(_), Some(key)) = (&found, value.get_ref(), key(path)) {
            let at = places::place(name, &value.span());
            let message = format!("{path} cannot be {}", shown(value.get_ref()));
            let wrong = Diagnostic::of_key(at, message, key);
            found = Some(Diagnostic { help: Some(key.help(path)), ..wrong });
        }
    });
    found
}

/// A value as it could be written, cut where it is long.
pub(super) fn shown(value: &DeValue) -> String {
    match value {
        DeValue::String(text) => cut(&format!("{text:?}")),
        DeValue::Integer(number) => cut(number.as_str()),
        DeValue::Float(number) => cut(number.as_str()),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(time) => cut(&time.to_string()),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

/// A key as it is written: in quotes where it is not one word.
pub(super) fn written(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) { cut(name) } else { cut(&format!("{name:?}")) }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The message with a capital first letter, as all of Fathom's.
fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}
