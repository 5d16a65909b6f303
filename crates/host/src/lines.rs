//! All lines that a command prints, whole and as they come, however little of its output is kept.

/// Longest line that is passed on, bytes. Longer ones are not cut, since a part would look like another line.
pub const LONGEST_LINE: usize = 1 << 20;

/// One of the outputs of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One line that a command printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrintedLine<'a> {
    /// The stream that it was printed on.
    pub from: Stream,
    /// The line without its end; `None` for one that is longer than [`LONGEST_LINE`].
    pub text: Option<&'a str>,
}

/// The receiver of each line.
pub type Listener<'a> = dyn FnMut(PrintedLine) + 'a;

/// Puts the lines of one output together.
pub(crate) struct Lines {
    from: Stream,
    begun: Vec<u8>,
    too_long: bool,
}

impl Lines {
    pub(crate) fn new(from: Stream) -> Self {
        Self { from, begun: Vec::new(), too_long: false }
    }

    /// Takes the next bytes, and passes on the lines that end in them.
    pub(crate) fn take(&mut self, bytes: &[u8], listener: &mut Listener) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ended = part.strip_suffix(b"\n");
            self.add(ended.unwrap_or(part));
            if ended.is_some() {
                self.tell(listener);
            }
        }
    }

    /// Passes on the last line, where no newline follows it.
    pub(crate) fn end(&mut self, listener: &mut Listener) {
        if self.too_long || !self.begun.is_empty() {
            self.tell(listener);
        }
    }

    fn add(&mut self, part: &[u8]) {
        self.too_long |= self.begun.len() + part.len() > LONGEST_LINE;
        if self.too_long {
            self.begun = Vec::new();
        } else {
            self.begun.extend(part);
        }
    }

    fn tell(&mut self, listener: &mut Listener) {
        // Programs that write for other systems end a line with two characters.
        let line = self.begun.strip_suffix(b"\r").unwrap_or(&self.begun);
        let text = String::from_utf8_lossy(line);
        listener(PrintedLine { from: self.from, text: (!self.too_long).then_some(&*text) });
        self.begun.clear();
        self.too_long = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(parts: &[&[u8]]) -> Vec<Option<String>> {
        let (mut lines, mut seen) = (Lines::new(Stream::Stderr), Vec::new());
        let mut listener = |line: PrintedLine| {
            assert_eq!(line.from, Stream::Stderr);
            seen.push(line.text.map(str::to_owned));
        };
        parts.iter().for_each(|part| lines.take(part, &mut listener));
        lines.end(&mut listener);
        seen
    }

    #[test]
    fn lines_are_whole_wherever_they_are_cut_on_their_way() {
        let text = "eins\n\nzwölf 12\nthe end".as_bytes();
        let whole = ["eins", "", "zwölf 12", "the end"].map(|line| Some(line.to_owned()));
        for cut in 0..text.len() {
            assert_eq!(lines_of(&[&text[..cut], &text[cut..]]), whole, "{cut}");
        }
        assert_eq!(lines_of(&[b"a\n"]), [Some("a".to_owned())]);
        assert_eq!(lines_of(&[b"a\r\nb\r"]), [Some("a".to_owned()), Some("b".to_owned())]);
        assert!(lines_of(&[b""]).is_empty());
    }

    #[test]
    fn a_line_that_is_too_long_is_told_as_such_and_the_next_one_is_whole() {
        let most = vec![b'x'; LONGEST_LINE];
        assert_eq!(lines_of(&[&most, b"\n"])[0].as_ref().unwrap().len(), LONGEST_LINE);
        assert_eq!(lines_of(&[&most, b"1", &most, b"\nnext\n"]), [None, Some("next".to_owned())]);
        assert_eq!(lines_of(&[&most, b"1"]), [None]);
    }
}
