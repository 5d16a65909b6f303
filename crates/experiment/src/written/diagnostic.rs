//! Mistakes in an experiment file: their place in it, and what to write instead.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use layers::{Kind, SettingError};
use units::{Key, printable};

use crate::written::given::option;

/// Beginning of stand-in names, which replace names that are not allowed.
pub(crate) const STAND_IN: &str = "unnamed-";

/// One mistake in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// Message of one sentence that names the wrong key and the value.
    pub message: String,
    /// Bytes of the file that it is about; `None` when it is about the whole file.
    pub span: Option<Range<usize>>,
    /// The remedy: what to do about it.
    pub help: Option<String>,
    /// The mend with which reading can go on; `None` where the part can only be left out.
    pub instead: Option<Mend>,
    /// The part of the rest of the file on which it depends whether this is a mistake.
    pub rests_on: RestsOn,
}

/// A way to read the rest of a file in spite of a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mend {
    /// The key is removed.
    Without,
    /// The key gets this value, which is as good as the intended one.
    With(Box<str>),
    /// The key gets a valid value, though another one may be meant.
    Example(Box<str>),
    /// The key gets this name.
    Named(Box<str>),
    /// The table gets one more key.
    Add(Box<str>),
}

/// The part of the rest of the file that decides whether a mistake really is a mistake.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RestsOn {
    /// Nothing: it is a mistake whatever the rest says.
    #[default]
    Nothing,
    /// The thing that has, or should have, this name: it is a mistake if that thing is right.
    Name(Box<str>),
    /// The stage, or the part of a stage, of this name, which no device and no layer can have.
    Stages(Box<str>),
    /// All uses of the thing of this name: it is a mistake if there are none.
    UseOf(Box<str>),
    /// Any part of the rest.
    File,
}

impl Diagnostic {
    /// A mistake at `span`.
    pub fn at(span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        let (message, help) = (message.into(), Some(help.into()));
        Self { message, span: Some(span), help, ..Self::default() }
    }

    /// A value that the key does not take.
    pub(crate) fn of_key(span: Range<usize>, message: impl Into<String>, key: &Key) -> Self {
        let instead = Some(Mend::Example(key.example.into()));
        Self { instead, ..Self::at(span, message, key.help(key.name)) }
    }

    /// A word that is none of the `known`, or a name that none of them has.
    pub(crate) fn unknown<'a>(
        span: Range<usize>,
        message: impl Into<String>,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let mistake = Self::at(span, message, among(word, known.iter().copied()));
        mistake.near(word, known)
    }

    /// A mistake in a setting of a layer of this kind.
    pub(crate) fn of_setting(span: Range<usize>, error: &SettingError, kind: &Kind) -> Self {
        let known = kind.keys.iter().find(|key| key.name == error.key);
        let near = error.nearest.as_deref().map(|near| Mend::Named(near.into()));
        let instead = near.or_else(|| known.map(|key| Mend::Example(key.example().into())));
        let instead = instead.or(Some(Mend::Without));
        Self { instead, ..Self::at(span, error.to_string(), error.help.clone()) }
    }

    /// Marks the mistake as one about the unknown name `word`, mended by the nearest of the known names, or by the only one.
    pub(crate) fn near<'a>(
        self,
        word: &str,
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        let mut all = known.clone().into_iter();
        let only = all.next().filter(|_| all.next().is_none());
        let mistake = self.if_name_is_right(word);
        match nearest(word, known).or(only) {
            Some(near) => mistake.with(format!("{near:?}")),
            None => mistake,
        }
    }

    /// Sets the mend: the key, which alone is at fault, is removed.
    pub(crate) fn fix_by_removing(self) -> Self {
        Self { instead: Some(Mend::Without), ..self }
    }

    /// Sets the mend: the key, which alone is at fault, gets this value.
    pub(crate) fn with(self, value: String) -> Self {
        Self { instead: Some(Mend::With(value.into())), ..self }
    }

    /// Sets the mend: the value becomes a stand-in name that nothing else has.
    pub(crate) fn renamed(self) -> Self {
        let name = self.stand_in();
        self.with(format!("{name:?}"))
    }

    /// Sets the mend: the key, or the last name of a header, becomes a stand-in name that nothing else has.
    pub(crate) fn with_other_key(self) -> Self {
        let instead = Some(Mend::Named(self.stand_in().into()));
        Self { instead, ..self }
    }

    fn stand_in(&self) -> String {
        format!("{STAND_IN}{}-", self.span.as_ref().map_or(0, |span| span.start))
    }

    /// Sets the mend: the table gets one more key.
    pub(crate) fn add(self, key: &Key) -> Self {
        let instead = Some(Mend::Add(format!("{} = {}", key.name, key.example).into()));
        Self { instead, ..self }
    }

    /// Marks the mistake as one only if the thing of this name is right.
    pub(crate) fn if_name_is_right(self, name: &str) -> Self {
        Self { rests_on: RestsOn::Name(name.into()), ..self }
    }

    /// Marks the mistake as one only if nothing else is meant to use the thing of this name.
    pub(crate) fn unless_used(self, name: &str) -> Self {
        Self { rests_on: RestsOn::UseOf(name.into()), ..self }
    }

    /// Marks the mistake as one about a name that only stages can have.
    pub(crate) fn of_stages(self) -> Self {
        let rests_on = match self.rests_on {
            RestsOn::Name(name) => RestsOn::Stages(name),
            other => other,
        };
        Self { rests_on, ..self }
    }

    /// Marks the mistake as one only if the rest of the file is right.
    pub(crate) fn if_rest_is_right(self) -> Self {
        Self { rests_on: RestsOn::File, ..self }
    }

    /// The mistake as people read it, with the line it is on.
    pub fn render(&self, file: &str, text: &str, colour: bool) -> String {
        // The file may hold control characters that a terminal obeys; they are replaced, in the text without moving other bytes.
        let (file, text) = (&*printable(file), &*without_orders(text));
        let (message, help) = (printable(&self.message), self.help.as_deref().map(printable));
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let title = Level::ERROR.primary_title(&*message);
        let option = self.span.as_ref().and_then(|span| option(text, span.start));
        let option = option.as_deref().map(printable);
        let mut group = match (&self.span, &option) {
            (_, Some(option)) => title.element(Origin::path(&**option)),
            (Some(span), None) => {
                let end = span.end.min(text.len()).max(span.start.min(text.len()));
                let span = span.start.min(end)..end;
                title.element(
                    Snippet::source(text).path(file).annotation(AnnotationKind::Primary.span(span)),
                )
            }
            (None, None) => Group::with_title(title),
        };
        if let Some(help) = &help {
            group = group.element(Level::HELP.message(&**help));
        }
        renderer.render(&[group])
    }
}

/// `text` with control characters that a terminal obeys replaced by marks of the same length; line breaks and tabs stay.
fn without_orders(text: &str) -> String {
    let shown = text.chars().map(|c| match (units::is_obeyed(c), c.len_utf8()) {
        _ if c == '\n' || c == '\t' || c == '\r' => c,
        (false, _) => c,
        (true, 1) => '?',
        (true, 2) => '¿',
        (true, _) => '\u{fffd}',
    });
    shown.collect()
}

/// The known name nearest to `word`, when it is near enough to be meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    // The part before a dot may be missing or wrong: `dirtyPages` or `vdo.dirtyPages` for `stats.dirtyPages`.
    let behind = |name: &'a str, end: &str| {
        name.strip_suffix(end).is_some_and(|before| before.ends_with('.'))
    };
    let end = word.split_once('.').map_or(word, |(_, end)| end);
    if let Some(so) = known.iter().find(|k| **k == end || behind(k, word) || behind(k, end)) {
        return Some(so);
    }
    // A longer form of a name, or a shorter one: `expectation` for `expect`.
    let begins =
        |k: &&&str| k.len() >= 4 && word.starts_with(**k) || word.len() >= 4 && k.starts_with(word);
    let longest = known.iter().filter(begins).max_by_key(|k| k.len()).copied();
    known
        .into_iter()
        .map(|k| (strsim::damerau_levenshtein(word, k), k))
        .min()
        .filter(|(distance, k)| *distance <= k.len().max(word.len()) / 3 + 1)
        .map(|(_, k)| k)
        .or(longest)
}

/// The known names in words, and before them the one that `word` was meant to be, if one is near.
pub fn among<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = nearest(word, known.iter().copied()).filter(|_| !word.is_empty());
    let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
    match known[..] {
        [] => "there are none".to_owned(),
        // Names of variants have commas.
        _ if known.iter().any(|name| name.contains(',')) => {
            format!("{near}There are: {}", known.join("; "))
        }
        _ => format!("{near}There are: {}", known.join(", ")),
    }
}

/// A word with its article: an lvmcache, a vdo.
pub fn with_article(word: &str) -> String {
    // Names that are spelt out may begin with a vowel sound: an x-f-s, an l-v-m; but a linear.
    let vowel = |c: Option<char>| c.is_some_and(|c| "aeiou".contains(c.to_ascii_lowercase()));
    let mut letters = word.chars();
    let (first, second) = (letters.next(), letters.next());
    let spelt =
        first.is_some_and(|c| "fhlmnrsx".contains(c.to_ascii_lowercase())) && !vowel(second);
    format!("{} {word}", if vowel(first) || spelt { "an" } else { "a" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_that_is_near_enough_is_proposed() {
        assert_eq!(nearest("reapeat", ["name", "repeat"]), Some("repeat"));
        assert_eq!(nearest("zzzzzz", ["name", "repeat"]), None);
        assert_eq!(among("naem", ["name", "size"]), "did you mean 'name'? There are: name, size");
        assert_eq!(among("x", []), "there are none");
    }

    #[test]
    fn a_word_has_the_article_that_it_is_spoken_with() {
        let words = ["linear", "lvmcache", "vdo", "xfs", "bcache", "ext4", "raid1"];
        let spoken =
            ["a linear", "an lvmcache", "a vdo", "an xfs", "a bcache", "an ext4", "a raid1"];
        assert_eq!(words.map(with_article), spoken);
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_in_no_part_of_a_mistake_and_the_place_stays_right() {
        let hostile = "\u{1b}[2J\u{9b}31m\u{202e}";
        let text = format!("a = \"{hostile}\"\nb = 2 # {hostile}\n");
        let at = text.find("b =").unwrap();
        let name = format!("x{hostile}.toml");
        let shown = Diagnostic::at(at..at + 1, format!("Bad {hostile}\nhelp: x"), hostile)
            .render(&name, &text, false);
        assert!(!shown.contains(|c| c != '\n' && units::is_obeyed(c)), "{shown:?}");
        assert!(shown.contains(":2") && shown.contains("b = 2"), "{shown}");
        assert!(!shown.lines().any(|line| line.starts_with("help: x")), "{shown}");
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
