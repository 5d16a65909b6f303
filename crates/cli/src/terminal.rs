//! What goes to people: standard error or standard output, with colours only on a terminal.
//!
//! Names and paths may hold anything, also what a terminal obeys. Whatever becomes a [`Line`] is written out there, and only
//! there; the colours of Fathom come around it. What is printed is lines.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use units::{is_obeyed, printable};

/// Whether colours are wanted, and how words are coloured.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    colour: bool,
}

impl Style {
    /// For text on standard error.
    pub fn of_stderr() -> Self {
        Self { colour: wanted() && io::stderr().is_terminal() }
    }

    /// For text on standard output.
    pub fn of_stdout() -> Self {
        Self { colour: wanted() && io::stdout().is_terminal() }
    }

    /// Tells whether colours are wanted.
    pub fn colour(self) -> bool {
        self.colour
    }

    /// Something that went wrong.
    pub fn bad(self, text: &str) -> Line {
        self.paint("1;31", text)
    }

    /// Something that is well, or helps.
    pub fn good(self, text: &str) -> Line {
        self.paint("1;32", text)
    }

    /// Something to look at.
    pub fn note(self, text: &str) -> Line {
        self.paint("1;33", text)
    }

    /// Something less important.
    pub fn dim(self, text: &str) -> Line {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: &str) -> Line {
        let Line(text) = Line::from(text);
        Line(if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text })
    }
}

/// NO_COLOR and dumb terminals get none.
fn wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// A line that a terminal shows and does not obey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line(String);

impl Line {
    /// The line with more behind it, after a space.
    #[must_use]
    pub fn and(mut self, more: impl Into<Self>) -> Self {
        self.0.push(' ');
        self.0.push_str(&more.into().0);
        self
    }
}

impl From<&str> for Line {
    /// A newline at the end is the line's own.
    fn from(text: &str) -> Self {
        Self(printable(text.strip_suffix('\n').unwrap_or(text)).into_owned())
    }
}

impl From<&String> for Line {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Lines for people.
#[derive(Debug, Clone, Default)]
pub struct Text(String);

impl Text {
    pub fn new() -> Self {
        Self::default()
    }

    /// What was made line by line for a terminal elsewhere, and holds nothing of others that it would obey.
    pub fn made(text: String) -> Self {
        Self(text)
    }

    /// The lines of a text of others.
    pub fn lines_of(text: &str) -> Self {
        let mut lines = Self::new();
        text.trim_end().lines().for_each(|line| lines.line(line));
        lines
    }

    /// Adds one line.
    pub fn line(&mut self, line: impl Into<Line>) {
        self.0.push_str(&line.into().0);
        self.0.push('\n');
    }

    /// Adds the lines of another text.
    pub fn append(&mut self, text: &Self) {
        self.0.push_str(&text.0);
    }

    /// Wraps to lines of at most so many characters, where their words allow; for a text without colours.
    pub fn wrapped(&self, width: usize) -> Self {
        Self(self.0.lines().map(|line| wrapped(line, width) + "\n").collect())
    }

    /// For `writeln!`: adds one line.
    pub fn write_fmt(&mut self, line: fmt::Arguments) -> fmt::Result {
        self.line(line.to_string());
        Ok(())
    }
}

impl std::ops::AddAssign<&str> for Text {
    fn add_assign(&mut self, line: &str) {
        self.line(line);
    }
}

impl<T: Into<Line>> From<T> for Text {
    fn from(line: T) -> Self {
        let mut text = Self::new();
        text.line(line);
        text
    }
}

/// A line in as many as its words need, the later ones under its text.
fn wrapped(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let indent = line.chars().take_while(|c| *c == ' ').count().max(2);
    let mut lines = vec![line[..line.len() - line.trim_start().len()].to_owned()];
    for word in line.split_whitespace() {
        let Some(last) = lines.last_mut() else { continue };
        let empty = last.trim().is_empty();
        if empty || last.chars().count() + 1 + word.chars().count() <= width {
            last.push_str(if empty { "" } else { " " });
            last.push_str(word);
        } else {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        }
    }
    lines.join("\n")
}

/// A line for people, on standard error. A closed standard error is no reason to stop.
pub fn say(line: &str) {
    say_line(line);
}

/// Says a line with colours.
pub fn say_line(line: impl Into<Line>) {
    say_text(&Text::from(line));
}

/// Lines for people, on standard error.
pub fn say_text(text: &Text) {
    let _ = io::stderr().lock().write_all(text.0.as_bytes());
}

/// The answer in words, on standard output.
pub fn answer(text: &Text) {
    put(&text.0);
}

/// JSON on standard output: to programs as it is. What a terminal would obey is escaped on one as JSON may be; control characters
/// below 20 hex always are.
pub fn json(text: &str) {
    if !io::stdout().is_terminal() || !text.contains(is_obeyed) {
        return put(text);
    }
    let shown = text.chars().map(|c| match c {
        c if is_obeyed(c) && c != '\n' => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    put(&shown.collect::<String>());
}

/// One JSON value as one line on standard output.
pub fn json_line(value: &serde_json::Value) {
    json(&value.to_string());
}

/// CSV on standard output: to programs as it is, on a terminal as lines.
pub fn csv(text: &str) {
    if io::stdout().is_terminal() { answer(&Text::lines_of(text)) } else { put(text) }
}

/// Why standard output could not be written; nothing more is written then, as there would be a gap in it.
static LOST: OnceLock<io::Error> = OnceLock::new();
/// Whether the reader of standard output went away, which is no reason to complain.
static GONE: AtomicBool = AtomicBool::new(false);

/// Standard output. The one of the standard library takes a descriptor that cannot be written for one that swallows everything.
#[derive(Debug)]
pub struct Out;

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::io::write(io::stdout(), bytes))?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn put(text: &str) {
    // Lines of other threads come before or after.
    let _alone = io::stdout().lock();
    let newline: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    if LOST.get().is_none()
        && !GONE.load(Ordering::Relaxed)
        && let Err(error) = Out.write_all(text.as_bytes()).and_then(|()| Out.write_all(newline))
    {
        lost(error);
    }
}

/// Notes that standard output could not be written: the program goes on, and says so at its end.
pub fn lost(error: io::Error) {
    match error.kind() {
        io::ErrorKind::BrokenPipe => GONE.store(true, Ordering::Relaxed),
        // Only the first counts.
        _ => drop(LOST.set(error)),
    }
}

/// Returns why standard output could not be written, if it could not.
pub fn write_error() -> Option<&'static io::Error> {
    LOST.get()
}

/// Columns of the terminal on standard output, 100 where there is none.
pub fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let asked = rustix::termios::tcgetwinsize(io::stdout()).ok();
    asked.map(|size| usize::from(size.ws_col)).filter(|&c| c > 0).or(columns).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_colours_nothing_and_adds_no_line_while_own_colours_stay() {
        let name = "x\u{1b}[31m\nhelp: rm -rf /\u{202e}";
        let shown = "x\\x1b[31m\\nhelp: rm -rf /\\u{202e}";
        for (colour, label) in [(true, "\u{1b}[1;33mnote:\u{1b}[0m"), (false, "note:")] {
            let line = Style { colour }.note("note:").and(name);
            assert_eq!(line, Line(format!("{label} {shown}")));
            let mut text = Text::from(line);
            text += name;
            let _ = writeln!(text, "on {name}");
            assert_eq!(text.0, format!("{label} {shown}\n{shown}\non {shown}\n"));
        }
        // Also what is painted may have been named by others.
        let painted = Style { colour: true }.bad(name);
        assert_eq!(painted, Line(format!("\u{1b}[1;31m{shown}\u{1b}[0m")));
    }

    #[test]
    fn a_text_of_others_keeps_its_lines_and_nothing_else() {
        assert_eq!(Text::lines_of("a\r\nb\u{1b}c\n\n").0, "a\nb\\x1bc\n");
    }
}
