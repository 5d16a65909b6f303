//! What is wrong with an experiment file, where, and what to write instead.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// One mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, one sentence that names the key and the value.
    pub message: String,
    /// Where: bytes of the file; `None` when it is about the whole file.
    pub span: Option<Range<usize>>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A mistake at `span`.
    pub fn at(span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), span: Some(span), help: Some(help.into()) }
    }

    /// What the TOML reader or serde said, with the nearest known key where one was mistyped.
    pub fn from_toml(error: &toml::de::Error) -> Self {
        let message = error.message().to_owned();
        let help = unknown_key(&message);
        Self { message: capitalised(&message), span: error.span(), help }
    }

    /// The mistake as people read it, with the line it is on.
    pub fn render(&self, file: &str, text: &str, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let title = Level::ERROR.primary_title(&self.message);
        let mut group = match &self.span {
            Some(span) => {
                let end = span.end.min(text.len()).max(span.start.min(text.len()));
                let span = span.start.min(end)..end;
                title.element(
                    Snippet::source(text).path(file).annotation(AnnotationKind::Primary.span(span)),
                )
            }
            None => Group::with_title(title),
        };
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help));
        }
        renderer.render(&[group])
    }
}

/// A table with its keys: the reader gives the span of `[[header]]` only.
pub fn table_span(text: &str, header: &Range<usize>) -> Range<usize> {
    let end = text.get(header.end..).and_then(|rest| rest.find("\n["));
    header.start..end.map_or(text.len(), |at| header.end + at)
}

/// The span of `key` inside `within`, or the first line of `within` when it is not found.
pub fn key_span(text: &str, within: &Range<usize>, key: &str) -> Range<usize> {
    let end = within.end.min(text.len());
    let Some(part) = text.get(within.start..end) else { return within.clone() };
    let first_line = within.start..within.start + part.find('\n').unwrap_or(part.len());
    part.match_indices(key)
        .map(|(at, _)| at)
        .find(|&at| {
            let boundary = |c: Option<char>| c.is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
            boundary(part[..at].chars().next_back())
                && boundary(part[at + key.len()..].chars().next())
        })
        .map_or(first_line, |at| within.start + at..within.start + at + key.len())
}

/// The known name nearest to `word`, when it is near enough to be meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|k| (strsim::damerau_levenshtein(word, k), k))
        .min()
        .filter(|(distance, k)| *distance <= k.len().max(word.len()) / 3 + 1)
        .map(|(_, k)| k)
}

/// Help for an unknown key or value, from the names that serde lists.
fn unknown_key(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let word = quoted.next()?;
    let known: Vec<&str> = quoted.collect();
    if known.is_empty() {
        return None;
    }
    let list = known.join(", ");
    Some(match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean '{near}'? Allowed here: {list}"),
        None => format!("allowed here: {list}"),
    })
}

/// The message with a capital first letter, as all of Fathom's.
fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_key_gets_the_nearest_known_one() {
        let help =
            unknown_key("unknown field `reapeat`, expected one of `name`, `repeat`").unwrap();
        assert!(help.contains("did you mean 'repeat'"), "{help}");
        assert_eq!(nearest("zzzzzz", ["name", "repeat"]), None);
    }

    #[test]
    fn a_key_is_found_as_a_whole_word_inside_its_table() {
        let text = "block_size = 1\nsize = 2";
        assert_eq!(key_span(text, &(0..text.len()), "size"), 15..19);
        assert_eq!(key_span(text, &(0..4), "nothing"), 0..4);
    }

    #[test]
    fn the_line_is_shown_and_spans_past_the_end_do_no_harm() {
        let shown =
            Diagnostic::at(7..900, "Bad", "do better").render("x.toml", "a = 1\nb = 2\n", false);
        assert!(
            shown.contains("x.toml:2") && shown.contains("b = 2") && shown.contains("do better"),
            "{shown}"
        );
    }
}
