//! A single load as it goes on, and its summary.

mod json;
mod live;
mod table;

use std::io::{IsTerminal, Stderr};
use std::time::{Duration, Instant};

use engine::{Event, Progress, Waiting};
use results::model::{IntervalRow, LoadSummary};
use run::OperationBrief;

use super::panel::{Panel, size_of_stderr};
use super::run::figures;
use super::{live, time_left};
use crate::terminal::{Line, Style, answer, json_line, say, say_line, say_text, width};

/// Shortest time between two plain lines.
const PLAIN_EVERY: Duration = Duration::from_millis(900);

/// Renders the events of a load.
pub struct LoadView {
    json: bool,
    style: Style,
    panel: Option<Panel<Stderr>>,
    board: live::Board,
    last_plain: Option<Instant>,
}

impl LoadView {
    pub fn new(json: bool) -> Self {
        // Lines for programs and a live view on one terminal would write over each other.
        let alone = !(json && std::io::stdout().is_terminal());
        let panel = (live() && alone).then(|| Panel::new(std::io::stderr(), size_of_stderr));
        let (style, board) = (Style::of_stderr(), live::Board::default());
        Self { json, style, panel, board, last_plain: None }
    }

    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Started(started) => {
                if self.json {
                    json_line(&json::started(started));
                }
            }
            // Nothing is shown: the intervals that follow show that the measurement has begun.
            Event::RampOver => {}
            Event::Intervals { rows, jobs, progress } => {
                if self.json {
                    rows.iter().for_each(|row| json_line(&json::interval(row)));
                    jobs.iter().for_each(|row| json_line(&json::job_interval(row)));
                    json_line(&json::progress(progress));
                }
                self.intervals(rows, progress);
            }
            Event::Waiting(waiting) => {
                if self.json {
                    json_line(&json::waiting(waiting));
                    json_line(&json::progress(&waiting.progress));
                }
                self.waiting(waiting);
            }
            Event::ReadingBack(share) => {
                if self.json {
                    json_line(&serde_json::json!({"event": "reading_back", "fraction": share}));
                }
                self.reading_back(*share);
            }
            Event::Notice(text) => {
                if self.json {
                    json_line(&serde_json::json!({"event": "notice", "text": text}));
                }
                self.say(self.style.note("note:").and(text));
            }
        }
    }

    /// A line that stays.
    fn say(&mut self, line: Line) {
        match &mut self.panel {
            Some(panel) => {
                panel.say(&line);
                let lines = self.board.lines(panel.columns());
                panel.draw(&lines);
            }
            None => say_line(line),
        }
    }

    fn intervals(&mut self, rows: &[IntervalRow], progress: &Progress) {
        self.board.update(rows, progress);
        if let Some(panel) = &mut self.panel {
            let lines = self.board.lines(panel.columns());
            return panel.draw(&lines);
        }
        if rows.is_empty() || self.last_plain.is_some_and(|at| at.elapsed() < PLAIN_EVERY) {
            return;
        }
        self.last_plain = Some(Instant::now());
        let shown: Vec<_> = rows.iter().map(|row| figures(&OperationBrief::from(row))).collect();
        let left = time_left(progress.remaining_ns, progress.elapsed_ns);
        say(&format!("{left}  {}", shown.join("  ")));
    }

    fn waiting(&mut self, waiting: &Waiting) {
        self.board.wait(waiting);
        if let Some(panel) = &mut self.panel {
            let lines = self.board.lines(panel.columns());
            return panel.draw(&lines);
        }
        let Progress { elapsed_ns, remaining_ns, .. } = waiting.progress;
        say(&format!(
            "{}  {}",
            time_left(remaining_ns, elapsed_ns),
            live::describe_waiting(waiting)
        ));
    }

    fn reading_back(&mut self, share: f64) {
        let text = format!("reading everything back: {:.0} %", 100.0 * share);
        if let Some(panel) = &mut self.panel {
            return panel.draw(&[text]);
        }
        if share == 0.0 || self.last_plain.is_none_or(|at| at.elapsed() >= PLAIN_EVERY) {
            self.last_plain = Some(Instant::now());
            say(&text);
        }
    }

    /// Takes the live view off the terminal.
    pub fn close(&mut self) {
        if let Some(panel) = &mut self.panel {
            panel.clear();
        }
    }

    /// Prints the summary: a table for people, a line for programs.
    pub fn summary(&self, summary: &LoadSummary) {
        let text = table::table(summary, width());
        if self.json {
            say_text(&text);
            json_line(&json::summary(summary));
        } else {
            answer(&text);
        }
    }
}

impl Drop for LoadView {
    /// Clears the live view, however the load ended.
    fn drop(&mut self) {
        self.close();
    }
}
