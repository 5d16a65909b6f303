//! Rules for the names in an experiment.

use std::ops::Range;

use crate::written::diagnostic::Diagnostic;

/// The most characters of a name: it stands in tables, legends and names of files.
const MAX_NAME_CHARACTERS: usize = 64;
/// The most characters of a device's role.
const LONGEST_ROLE: usize = 20;
/// The most bytes of the name of a file.
pub(crate) const LONGEST_FILE: usize = 255;
/// The most characters of a sentence.
const LONGEST_TEXT: usize = 1000;

/// Checks a name that people read: a variant's, a stage's.
pub(crate) fn check(what: &str, name: &str, at: &Range<usize>) -> Option<Diagnostic> {
    let refuse = |why: String| {
        let help = format!("give it a name of 1 to {MAX_NAME_CHARACTERS} characters");
        Some(Diagnostic::at(at.clone(), format!("The name of {what} {why}"), help))
    };
    let length = name.chars().count();
    if name.trim().is_empty() {
        return refuse("is empty".into());
    }
    if length > MAX_NAME_CHARACTERS {
        return refuse(format!(
            "has {length} characters; at most {MAX_NAME_CHARACTERS} are possible"
        ));
    }
    match name.chars().find(|c| c.is_control()) {
        Some(c) => refuse(format!("holds the control character {}", c.escape_unicode())),
        None => None,
    }
}

/// Returns a name for a file or a folder, different for different names: letters, digits, `-` and `_` stand for themselves, and every other
/// byte as `%2F`.
pub(crate) fn as_file(name: &str) -> String {
    let byte = |byte: u8| match byte {
        b'-' | b'_' => char::from(byte).to_string(),
        plain if plain.is_ascii_alphanumeric() => char::from(plain).to_string(),
        other => format!("%{other:02X}"),
    };
    name.bytes().map(byte).collect()
}

/// Checks a name that becomes part of a path, of a command line or of a device's name.
pub(crate) fn check_plain(what: &str, name: &str, at: &Range<usize>) -> Option<Diagnostic> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let wrong = check(what, name, at);
    if wrong.is_none() && (name.starts_with(['.', '-']) || !name.chars().all(plain)) {
        return Some(Diagnostic::at(
            at.clone(),
            format!("'{name}' cannot be the name of {what}"),
            "use letters, digits, '-', '_' and '.', and begin with a letter or digit",
        ));
    }
    wrong
}

/// Checks a device's role: it is the serial number by which the lab's guest recognises the disk, and serial numbers are short.
pub(crate) fn check_role(name: &str, at: &Range<usize>) -> Option<Diagnostic> {
    let fits = name.len() <= LONGEST_ROLE && !name.contains('.');
    check_plain("a device", name, at).or_else(|| {
        (!fits).then(|| {
            let help = format!("use at most {LONGEST_ROLE} letters, digits, '-' and '_'");
            Diagnostic::at(at.clone(), format!("'{name}' cannot be the name of a device"), help)
        })
    })
}

/// Checks a sentence about the experiment.
pub(crate) fn check_text(key: &str, text: &str, at: &Range<usize>) -> Option<Diagnostic> {
    let length = text.chars().count();
    (length > LONGEST_TEXT).then(|| {
        let message = format!("{key} has {length} characters; at most {LONGEST_TEXT} are possible");
        Diagnostic::at(at.clone(), message, "say it in a sentence or two")
    })
}

/// Refuses a name that no Debian package can have: it becomes an argument of apt.
pub(crate) fn check_package(name: &str, at: Range<usize>) -> Result<(), Diagnostic> {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
    let first = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if name.len() >= 2 && name.starts_with(first) && !name.ends_with('-') && name.chars().all(fine)
    {
        return Ok(());
    }
    let message = format!("'{name}' is not the name of a Debian package");
    Err(Diagnostic::at(at, message, "name one as apt does, as in \"coreutils\""))
}

/// Checks the name of a figure that is picked from output.
pub(crate) fn check_figure(name: &str, at: &Range<usize>) -> Result<(), Diagnostic> {
    if layers::metric(name).is_some() {
        let message = format!("'{name}' is a figure of Fathom's own");
        return Err(Diagnostic::at(at.clone(), message, "give what is picked another name"));
    }
    check_plain("a figure", name, at).map_or(Ok(()), Err)
}
