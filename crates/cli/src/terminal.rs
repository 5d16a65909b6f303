//! What goes to people: standard error or standard output, with colours only on a terminal.

use std::io::{IsTerminal, Write};

/// Whether colours are wanted, and how words are coloured.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    colour: bool,
}

impl Style {
    /// For text on standard error.
    pub fn of_stderr() -> Self {
        Self { colour: wanted() && std::io::stderr().is_terminal() }
    }

    /// For text on standard output.
    pub fn of_stdout() -> Self {
        Self { colour: wanted() && std::io::stdout().is_terminal() }
    }

    /// Whether colours are wanted.
    pub fn colour(self) -> bool {
        self.colour
    }

    /// Something that went wrong.
    pub fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Something that is well, or helps.
    pub fn good(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    /// Something to look at.
    pub fn note(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    /// Something less important.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// NO_COLOR and dumb terminals get none.
fn wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// One line (or more) for people, on standard error. A closed standard error is no reason to stop.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// One line (or more) of the answer, on standard output. A reader that went away is no reason to complain.
pub fn answer(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}

/// One JSON value as one line on standard output.
pub fn json_line(value: &serde_json::Value) {
    answer(&value.to_string());
}

/// Columns of the terminal on standard output, 100 where there is none.
pub fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let asked = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    asked.map(|size| usize::from(size.ws_col)).filter(|&c| c > 0).or(columns).unwrap_or(100)
}
