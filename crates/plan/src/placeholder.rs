//! Placeholders in a command: `{mount}`, `{target}` and `{corpus.NAME}`. All other braces, and those after a `$`, are left to the program.

/// A piece of one word of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'t> {
    /// Text that stays as it is.
    Text(&'t str),
    /// The directory that the target offers.
    Mount,
    /// The path of what the target offers.
    Target,
    /// The directory of a corpus.
    Corpus(&'t str),
}

impl<'t> Part<'t> {
    /// The name of the corpus, if it is one.
    pub fn corpus(self) -> Option<&'t str> {
        match self {
            Self::Corpus(name) => Some(name),
            _ => None,
        }
    }

    /// Tells whether it stays as it is.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text(_))
    }
}

/// The pieces of `text`, in order.
pub fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, name) in braces(text) {
        let part = match name {
            "mount" => Part::Mount,
            "target" => Part::Target,
            _ => match corpus(name) {
                Some(corpus) => Part::Corpus(corpus),
                None => continue,
            },
        };
        found.extend([Part::Text(&text[from..at]), part]);
        from = at + name.len() + 2;
    }
    found.push(Part::Text(&text[from..]));
    found.into_iter()
}

/// Returns the names in braces that are not placeholders.
pub fn others(text: &str) -> impl Iterator<Item = &str> {
    let known = |name: &str| matches!(name, "mount" | "target") || corpus(name).is_some();
    braces(text).map(|(_, name)| name).filter(move |name| !known(name))
}

/// Returns the corpus that `{name}` stands for. Older commands say `tree.` instead of `corpus.`.
fn corpus(name: &str) -> Option<&str> {
    ["corpus.", "tree."].iter().find_map(|word| name.strip_prefix(word))
}

/// Every `{name}` that no `$` precedes, with its place.
fn braces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    text.match_indices('{').filter_map(move |(at, _)| {
        let (name, _) = text[at + 1..].split_once('}')?;
        let ours = !text[..at].ends_with('$') && !name.is_empty() && name.chars().all(plain);
        ours.then_some((at, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_ours_is_taken_for_a_placeholder() {
        let text = "cp {corpus.a-b} {mount}/x; echo ${mount} {print} {} {target}{tree.c}{";
        let ours: Vec<_> = parts(text).filter(|part| !part.is_text()).collect();
        assert_eq!(ours, [Part::Corpus("a-b"), Part::Mount, Part::Target, Part::Corpus("c")]);
        let kept: String = parts(text)
            .map(|part| match part {
                Part::Text(text) => text,
                _ => "#",
            })
            .collect();
        assert_eq!(kept, "cp # #/x; echo ${mount} {print} {} ##{");
        assert_eq!(others(text).collect::<Vec<_>>(), ["print"]);
    }
}
