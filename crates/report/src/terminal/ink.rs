//! Colours and lines of a terminal.

use units::is_obeyed;

/// A colour, or none.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Tint {
    Plain,
    Dim,
    Red,
    Green,
    Yellow,
    Blue,
}

/// Returns the colour of a verdict.
pub(crate) fn tint(verdict: Option<&str>) -> Tint {
    match verdict {
        Some("better") => Tint::Green,
        Some("worse") => Tint::Red,
        Some("same" | "differs") => Tint::Blue,
        Some("unclear") => Tint::Yellow,
        _ => Tint::Plain,
    }
}

/// Paints text in colour, or leaves it plain.
pub(crate) struct Ink {
    pub colour: bool,
}

impl Ink {
    pub fn paint(&self, tint: Tint, text: &str) -> String {
        let code = match tint {
            Tint::Plain => return text.to_owned(),
            _ if !self.colour => return text.to_owned(),
            Tint::Dim => "2",
            Tint::Red => "31",
            Tint::Green => "32",
            Tint::Yellow => "33",
            Tint::Blue => "34",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Wraps `text` into lines of at most `width` characters, all but the first with `indent` before them. Control
/// characters, which may occur in names that Fathom did not choose, do not reach the terminal.
pub(crate) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let clean: String = text.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).collect();
    let mut lines: Vec<String> = vec![String::new()];
    for word in clean.split_whitespace() {
        let room = if lines.len() == 1 { width } else { width.saturating_sub(indent.len()) };
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join(&format!("\n{indent}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_and_control_characters_stay_out() {
        assert_eq!(wrapped("one two three", 8, "  "), "one two\n  three");
        assert_eq!(wrapped("a\u{1b}[31mb", 80, ""), "a [31mb");
    }

    #[test]
    fn colour_comes_only_when_asked() {
        assert_eq!(Ink { colour: false }.paint(Tint::Red, "x"), "x");
        assert!(Ink { colour: true }.paint(Tint::Red, "x").contains("\u{1b}[31m"));
    }
}
