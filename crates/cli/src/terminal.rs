//! Output for people: standard error or standard output, with colours only on a terminal.
//!
//! Names and paths may hold anything, including control characters that a terminal obeys. Those are escaped when the text becomes a [`Line`], and
//! only then; the colours of Fathom are added around it. Everything is printed in lines.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use units::{is_obeyed, printable};

use crate::fit::fit;

/// Colours for words, where colours are wanted.
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
        let Line { text, kind } = Line::from(text);
        Line { text: if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text }, kind }
    }
}

/// Tells whether colours are wanted: not with NO_COLOR, nor on a dumb terminal.
fn wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// A line without characters that a terminal would obey instead of showing them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    text: String,
    kind: Kind,
}

/// The way in which a line is wrapped where the terminal is narrower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Words; the line may be broken between any two of them.
    Words,
    /// From this byte on a shell command, which must stay one that can be copied.
    Command(usize),
    /// Not wrapped: its form matters, or it was made for this terminal's width.
    AsItIs,
}

impl Line {
    /// Creates a line that ends with a command for a shell: `lead`, a space, the command.
    pub fn command(lead: impl Into<Self>, command: &str) -> Self {
        let lead = lead.into();
        let at = lead.text.len() + 1;
        Self { kind: Kind::Command(at), ..lead.and(command) }
    }

    /// Returns the line with more text at its end, after a space.
    #[must_use]
    pub fn and(mut self, more: impl Into<Self>) -> Self {
        self.text.push(' ');
        self.text.push_str(&more.into().text);
        self
    }

    fn written(&self, width: Option<usize>) -> String {
        let fitted = |command| width.map(|width| fit(&self.text, command, width));
        let text = match self.kind {
            Kind::Words => fitted(None),
            Kind::Command(at) => fitted(Some(at)),
            Kind::AsItIs => None,
        };
        text.unwrap_or_else(|| self.text.clone()) + "\n"
    }
}

impl From<&str> for Line {
    /// Makes a line of a text, without the newline at its end.
    fn from(text: &str) -> Self {
        let text = printable(text.strip_suffix('\n').unwrap_or(text)).into_owned();
        Self { text, kind: Kind::Words }
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
        f.pad(&self.text)
    }
}

/// Lines for people.
#[derive(Debug, Clone, Default)]
pub struct Text(Vec<Line>);

impl Text {
    /// Creates a text without lines.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a text that other code made line by line for this terminal; names in it must be escaped already.
    pub fn preformatted(text: &str) -> Self {
        let line = |line: &str| Line { text: line.to_owned(), kind: Kind::AsItIs };
        Self(text.lines().map(line).collect())
    }

    /// Takes the lines of a text from another program.
    pub fn lines_of(text: &str) -> Self {
        Self(text.trim_end().lines().map(Line::from).collect())
    }

    /// Takes the lines of a text from another program unwrapped, because they are copied or form columns.
    pub fn as_it_is(text: &str) -> Self {
        let line = |line: &str| Line { kind: Kind::AsItIs, ..Line::from(line) };
        Self(text.trim_end().lines().map(line).collect())
    }

    /// Adds one line.
    pub fn line(&mut self, line: impl Into<Line>) {
        self.0.push(line.into());
    }

    /// Adds the lines of another text.
    pub fn append(&mut self, text: &Self) {
        self.0.extend_from_slice(&text.0);
    }

    /// For `writeln!`: adds one line.
    pub fn write_fmt(&mut self, line: fmt::Arguments) -> fmt::Result {
        self.line(line.to_string());
        Ok(())
    }

    /// Returns the text in lines of at most `width` columns, or unwrapped.
    fn written(&self, width: Option<usize>) -> String {
        self.0.iter().map(|line| line.written(width)).collect()
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
    let text = text.written(columns(io::stderr()));
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The answer in words, on standard output.
pub fn answer(text: &Text) {
    put(&text.written(columns(io::stdout())));
}

/// Prints JSON on standard output, to programs as it is. On a terminal, characters that it would obey are escaped as JSON allows; control
/// characters below 20 hex always are.
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
    if io::stdout().is_terminal() { answer(&Text::as_it_is(text)) } else { put(text) }
}

/// The error of writing standard output; nothing more is written after it, since there would be a gap.
static LOST: OnceLock<io::Error> = OnceLock::new();
/// Set when the reader of standard output went away, which is no reason to complain.
static GONE: AtomicBool = AtomicBool::new(false);

/// Standard output. Unlike that of the standard library, it reports an error where the descriptor cannot be written.
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
        note_lost_output(error);
    }
}

/// Notes that standard output could not be written: the program goes on, and says so at its end.
pub fn note_lost_output(error: io::Error) {
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

/// Returns the columns of the terminal on standard output, 100 where there is none.
pub fn width() -> usize {
    columns(io::stdout()).unwrap_or(100)
}

/// Returns the columns of a terminal, or those that the environment asks for; none where a file or a program reads.
fn columns(of: impl AsFd) -> Option<usize> {
    let from_environment =
        || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let size = rustix::termios::tcgetwinsize(of).ok().map(|size| usize::from(size.ws_col));
    size.filter(|&columns| columns > 0).or_else(from_environment)
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
            assert_eq!(line.text, format!("{label} {shown}"));
            let mut text = Text::from(line);
            text += name;
            let _ = writeln!(text, "on {name}");
            assert_eq!(text.written(None), format!("{label} {shown}\n{shown}\non {shown}\n"));
        }
        // Coloured text may contain names chosen by others, too.
        let painted = Style { colour: true }.bad(name);
        assert_eq!(painted.text, format!("\u{1b}[1;31m{shown}\u{1b}[0m"));
    }

    #[test]
    fn a_text_of_others_keeps_its_lines_and_nothing_else() {
        assert_eq!(Text::lines_of("a\r\nb\u{1b}c\n\n").written(None), "a\nb\\x1bc\n");
    }
}
