//! Lines that are no wider than the terminal: words that do not fit continue on the next line, below the column that they are in.

use unicode_width::UnicodeWidthChar as _;

/// Wraps `line` into lines of at most `width` columns. A single wider word is broken behind a comma in it, else it stays whole, as a path does.
/// From byte `command` on the text is a shell command, and is wrapped so that a shell still reads it: a word that is broken continues at the
/// very beginning of the next line.
pub fn fit(line: &str, command: Option<usize>, width: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let indent = " ".repeat(indent(line, width));
    let mut out = String::new();
    let (mut used, mut at) = (0, 0);
    for piece in whole_words(line, command) {
        let word = piece.trim_start_matches(' ');
        let begin = at + piece.len() - word.len();
        let of_command = command.is_some_and(|command| begin >= command);
        // A command line that continues ends with a space and a backslash.
        let room = if of_command { width.saturating_sub(2) } else { width };
        let breaks = used > indent.len() && used + columns(piece) > room;
        if breaks {
            let goes_on = of_command && command < Some(begin);
            out.push_str(if goes_on { " \\\n" } else { "\n" });
            out.push_str(&indent);
            used = indent.len();
        }
        let put = if breaks { word } else { piece };
        at += piece.len();
        if used + columns(put) <= room {
            out.push_str(put);
            used += columns(put);
            continue;
        }
        // A path in a sentence stays whole, so that it can be copied.
        let mut may_break = false;
        for (atom, quote) in atoms(put) {
            let end = if quote.is_some() { "'" } else { "" };
            if may_break && used + columns(atom) + end.len() > room {
                used = if of_command { end.len() } else { indent.len() };
                let next =
                    if of_command { format!("{end}\\\n{end}") } else { format!("\n{indent}") };
                out.push_str(&next);
            }
            out.push_str(atom);
            used += columns(atom);
            may_break = of_command || atom.ends_with(',');
        }
    }
    out
}

/// Returns the words, each with the spaces before it; from byte `command` on a text in quotation marks is part of one word.
fn whole_words(line: &str, command: Option<usize>) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let (mut end, mut quote) = (0, None);
        for piece in pieces(rest) {
            end += piece.len();
            let at = line.len() - rest.len() + end;
            quote = open(quote, piece);
            if quote.is_none() || command.is_none_or(|command| at <= command) {
                break;
            }
        }
        let (whole, after) = rest.split_at(end);
        rest = after;
        (!whole.is_empty()).then_some(whole)
    })
}

/// Returns the parts between which a line may break a word, each with the quotation mark that is open before it.
fn atoms(word: &str) -> Vec<(&str, Option<char>)> {
    let begin = word.len() - word.trim_start_matches(' ').len();
    let ends = word.char_indices().filter(|(at, c)| *at >= begin && matches!(c, ' ' | ',' | '/'));
    let mut all = Vec::new();
    let (mut from, mut quote) = (0, None);
    for end in ends.map(|(at, _)| at + 1).chain([word.len()]) {
        let atom = &word[from..end];
        if !atom.is_empty() {
            all.push((atom, quote.filter(|mark| *mark == '\'')));
        }
        quote = open(quote, atom);
        from = end;
    }
    all
}

/// Returns the words, each with the spaces before it.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let begin = rest.find(|c| c != ' ').unwrap_or(rest.len());
        let end = rest[begin..].find(' ').map_or(rest.len(), |at| begin + at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns the quotation mark that is open after `word`.
fn open(mut quote: Option<char>, word: &str) -> Option<char> {
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        quote = match (quote, c) {
            // After a backslash a quotation mark is an ordinary character, except within single quotation marks.
            (None | Some('"'), '\\') => {
                chars.next();
                quote
            }
            (None, '\'' | '"') => Some(c),
            (Some(begun), mark) if begun == mark => None,
            (inside, _) => inside,
        };
    }
    quote
}

/// Returns where the last column in the left half begins (columns are separated by two spaces or more); without columns, two more than the
/// line's own indent.
fn indent(line: &str, width: usize) -> usize {
    let (mut at, mut found) = (0, None);
    let plain = without_colours(line);
    for (index, piece) in pieces(&plain).enumerate() {
        let spaces = piece.len() - piece.trim_start_matches(' ').len();
        let begin = at + spaces;
        if index == 0 {
            found = Some(begin + 2);
        } else if spaces > 1 && begin <= width / 2 {
            found = Some(begin);
        }
        at += columns(piece);
    }
    found.filter(|&column| column <= width / 2).unwrap_or(2)
}

/// Returns the columns that a terminal needs for `text`; colours need none.
fn columns(text: &str) -> usize {
    without_colours(text).chars().map(|c| c.width().unwrap_or(0)).sum()
}

fn without_colours(text: &str) -> String {
    let mut colour = false;
    let shown = |c: &char| {
        let is = colour || *c == '\x1b';
        colour = is && *c != 'm';
        !is
    };
    text.chars().filter(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_on_under_their_column_and_no_line_is_wider_than_asked() {
        for (line, width, lines) in [
            ("one two three", 8, "one two\n  three"),
            ("  one two three", 9, "  one two\n    three"),
            (
                "ok    QEMU  a long path of words",
                26,
                "ok    QEMU  a long path of\n            words",
            ),
            ("word averyveryverylongword", 10, "word\n  averyveryverylongword"),
            ("at  /sys/fs/one/two and,three", 14, "at  /sys/fs/one/two\n    and,three"),
            ("at  one,two,three,four", 14, "at  one,two,\n    three,four"),
            (
                "\x1b[2m  up      \x1b[0m one two three four",
                24,
                "\x1b[2m  up      \x1b[0m one two three\n           four",
            ),
            ("短い 短い 短い", 9, "短い 短い\n  短い"),
            ("\x1b[1;31merror:\x1b[0m one two", 10, "\x1b[1;31merror:\x1b[0m one\n  two"),
        ] {
            assert_eq!(fit(line, None, width), lines);
        }
    }

    #[test]
    fn a_command_goes_on_as_a_shell_reads_it() {
        let line = "run  lvcreate --size 3g --set 'a=1 b=2 c=3' VG/pool";
        let fitted = fit(line, Some(5), 26);
        assert_eq!(fitted, "run  lvcreate --size 3g \\\n     --set 'a=1 b=2 c=3' \\\n     VG/pool");
        assert_eq!(fitted.replace(" \\\n    ", ""), line);
        // What stands in quotation marks goes on in others, and a mark behind a backslash begins nothing.
        let long = "run  a b --set 'a=1 b=2 c=3 d=4 e=5' /dev/one/two/three/four/five";
        let fitted = fit(long, Some(5), 26);
        assert_eq!(
            fitted,
            "run  a b --set \\\n     'a=1 b=2 c=3 d=4 '\\\n'e=5' /dev/one/two/\\\nthree/four/five"
        );
        assert!(fitted.lines().all(|line| columns(line) <= 26));
        let read = fitted.replace("'\\\n'", "").replace(" \\\n    ", "").replace("\\\n", "");
        assert_eq!(read, long);
        assert_eq!(open(None, "'it'\\''s'"), None);
    }
}
