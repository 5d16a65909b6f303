//! Text from outside, made safe to show.

use std::borrow::Cow;

/// Tells whether a terminal would obey `c` instead of showing it, or would show the text after it in another order than it was written.
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns `text` with such characters escaped: a line stays one line, and a terminal shows names as they really are.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if !is_obeyed(c) => shown.push(c),
            c if c.is_ascii() => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out_and_all_else_stays() {
        let hostile = "a\u{1b}[2Jb\nc\td\u{7f}\u{9b}31m\u{202e}x\u{2066}\u{200f}";
        let shown = "a\\x1b[2Jb\\nc\\td\\x7f\\u{9b}31m\\u{202e}x\\u{2066}\\u{200f}";
        assert_eq!(printable(hostile), shown);
        for usual in ["", "µs ± 3 %, 日本語 é 👩‍🔬", "C:\\new"] {
            assert!(matches!(printable(usual), Cow::Borrowed(text) if text == usual));
        }
    }
}
