//! Lines at the bottom of a terminal that are redrawn again and again, and removed without a trace.

use std::io::Write;

use crate::terminal::Line;

/// Function that reads the present size of the terminal: columns and rows.
pub type Size = fn() -> Option<(usize, usize)>;

/// Lines that are drawn again and again.
#[derive(Debug)]
pub struct Panel<W> {
    out: W,
    size: Size,
    /// Width in columns of each line that stands on the terminal; the cursor is on the last line.
    drawn: Vec<usize>,
}

/// The size of the terminal on standard error.
pub fn size_of_stderr() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    (size.ws_col > 0).then_some((size.ws_col.into(), size.ws_row.into()))
}

impl<W: Write> Panel<W> {
    /// A panel with nothing in it yet.
    pub fn new(out: W, size: Size) -> Self {
        Self { out, size, drawn: Vec::new() }
    }

    /// Columns that a line may have now.
    pub fn columns(&self) -> usize {
        (self.size)().map_or(80, |(columns, _)| columns)
    }

    /// Draws `lines` over those drawn before. They are cut to the terminal's width and height.
    pub fn draw(&mut self, lines: &[String]) {
        let (columns, rows) = (self.size)().unwrap_or((80, 24));
        let mut text = self.erased(columns);
        let shown = lines.len().min(rows.saturating_sub(1).max(1));
        self.drawn.clear();
        for (i, line) in lines[..shown].iter().enumerate() {
            // A line that fills the last column would leave some terminals on the next row.
            let line = cut(&Line::from(line).to_string(), columns.saturating_sub(1));
            self.drawn.push(line.chars().count());
            if i > 0 {
                text.push_str("\r\n");
            }
            text.push_str(&line);
        }
        self.write(&text);
    }

    /// Prints a line that stays, above the panel; what was drawn is drawn again below by the next [`Panel::draw`].
    pub fn say(&mut self, line: &Line) {
        let mut text = self.erased(self.columns());
        self.drawn.clear();
        text.push_str(&line.to_string());
        text.push_str("\r\n");
        self.write(&text);
    }

    /// Takes everything off the terminal.
    pub fn clear(&mut self) {
        if !self.drawn.is_empty() {
            let text = self.erased(self.columns());
            self.drawn.clear();
            self.write(&text);
        }
    }

    /// Returns the control characters that move the cursor to the start of the panel and erase from there. Where the terminal has become
    /// narrower than a line, the line takes several rows.
    fn erased(&self, columns: usize) -> String {
        if self.drawn.is_empty() {
            return String::new();
        }
        let rows: usize = self.drawn.iter().map(|&w| w.div_ceil(columns.max(1)).max(1)).sum();
        match rows - 1 {
            0 => "\r\x1b[J".to_owned(),
            up => format!("\r\x1b[{up}A\x1b[J"),
        }
    }

    /// A terminal that went away is no reason to stop.
    fn write(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes());
        let _ = self.out.flush();
    }
}

/// The first `columns` characters.
fn cut(line: &str, columns: usize) -> String {
    line.chars().take(columns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static SIZE: Cell<(usize, usize)> = const { Cell::new((80, 24)) };
    }

    fn size() -> Option<(usize, usize)> {
        Some(SIZE.get())
    }

    /// A terminal of the plainest kind, which folds its rows when it becomes narrower, as most do.
    struct Screen {
        rows: Vec<String>,
        at: usize,
    }

    impl Screen {
        fn new() -> Self {
            Self { rows: vec![String::new()], at: 0 }
        }

        fn feed(&mut self, bytes: &[u8]) {
            let text = std::str::from_utf8(bytes).unwrap();
            let mut rest = text;
            while let Some(c) = rest.chars().next() {
                if let Some(after) = rest.strip_prefix("\x1b[J") {
                    self.rows.truncate(self.at + 1);
                    self.rows[self.at].clear();
                    rest = after;
                } else if let Some(after) = rest.strip_prefix("\x1b[") {
                    let (up, after) = after.split_once('A').unwrap();
                    self.at -= up.parse::<usize>().unwrap();
                    rest = after;
                } else {
                    rest = &rest[c.len_utf8()..];
                    match c {
                        '\r' => {}
                        '\n' => {
                            self.at += 1;
                            self.rows.resize(self.rows.len().max(self.at + 1), String::new());
                        }
                        c => self.rows[self.at].push(c),
                    }
                    assert!(self.rows[self.at].chars().count() < SIZE.get().0, "a row overflows");
                }
            }
        }

        fn fold(&mut self, columns: usize) {
            SIZE.set((columns, SIZE.get().1));
            let fold = |row: &String| -> Vec<String> {
                let chars: Vec<char> = row.chars().collect();
                match chars.is_empty() {
                    true => vec![String::new()],
                    false => chars.chunks(columns).map(|c| c.iter().collect()).collect(),
                }
            };
            self.rows = self.rows.iter().flat_map(fold).collect();
            self.at = self.rows.len() - 1;
        }
    }

    fn lines(n: usize, width: usize) -> Vec<String> {
        (0..n).map(|i| char::from(b'a' + i as u8).to_string().repeat(width)).collect()
    }

    #[test]
    fn what_is_drawn_replaces_what_was_and_nothing_is_left_at_the_end() {
        SIZE.set((80, 24));
        let (mut screen, mut panel) = (Screen::new(), Panel::new(Vec::new(), size));
        screen.feed(b"before\r\n");
        panel.draw(&lines(4, 60));
        panel.draw(&lines(2, 30));
        panel.say(&"note: stays".into());
        panel.draw(&lines(3, 60));
        screen.feed(&std::mem::take(&mut panel.out));
        assert_eq!(screen.rows.len(), 5, "{:?}", screen.rows);
        // The user makes the window narrower, so that every row of the panel is folded into three.
        screen.fold(25);
        panel.draw(&lines(3, 60));
        screen.feed(&std::mem::take(&mut panel.out));
        assert_eq!(screen.rows[..2], ["before", "note: stays"]);
        assert_eq!(screen.rows[2], "a".repeat(24));
        assert_eq!(screen.rows.len(), 5);
        panel.clear();
        panel.clear();
        screen.feed(&panel.out);
        assert_eq!(screen.rows, ["before", "note: stays", ""]);
    }

    #[test]
    fn a_terminal_with_few_rows_gets_few_lines() {
        SIZE.set((80, 3));
        let mut panel = Panel::new(Vec::new(), size);
        panel.draw(&lines(9, 5));
        assert_eq!(panel.drawn.len(), 2);
        SIZE.set((1, 1));
        panel.draw(&lines(2, 5));
        assert_eq!(panel.drawn, [0]);
    }
}
