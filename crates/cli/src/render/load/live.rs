//! Content of the live view of a load.

use std::collections::BTreeMap;

use engine::{Progress, Waiting};
use results::model::IntervalRow;
use run::OperationBrief;
use units::{Unit, show};

use crate::render::{per_second, time_left};

/// Columns of the bar.
const BAR: usize = 24;

/// The newest figures of a load.
#[derive(Debug, Default)]
pub struct Board {
    rows: Vec<OperationBrief>,
    /// Failed I/Os since the load began, by operation.
    errors: BTreeMap<String, u64>,
    progress: Option<Progress>,
    /// Set while rows have to wait.
    waiting: Option<String>,
}

/// A column of the table: its name, its width, and the width of the terminal from which on it is shown.
struct Column {
    name: &'static str,
    width: usize,
    from: usize,
    show: fn(&OperationBrief) -> String,
}

const COLUMNS: [Column; 5] = [
    Column { name: "IOPS", width: 10, from: 0, show: |r| per_second(r.iops) },
    Column {
        name: "throughput",
        width: 13,
        from: 64,
        show: |r| Unit::BytesPerSecond.show(r.throughput_bytes_per_s),
    },
    Column { name: "p50", width: 10, from: 54, show: |r| latency(r.p50_ns) },
    Column { name: "p99", width: 10, from: 32, show: |r| latency(r.p99_ns) },
    Column { name: "errors", width: 9, from: 44, show: |r| show::count(r.errors as f64) },
];

fn latency(ns: Option<u64>) -> String {
    ns.map_or_else(|| "–".into(), |ns| show::nanos(ns as f64))
}

impl Board {
    /// Takes over the rows of the newest interval.
    pub fn update(&mut self, rows: &[IntervalRow], progress: &Progress) {
        self.progress = Some(*progress);
        self.waiting = None;
        for row in rows {
            *self.errors.entry(row.operation.clone()).or_default() += row.errors;
            let errors = self.errors.get(&row.operation).copied().unwrap_or_default();
            let brief = OperationBrief { errors, ..OperationBrief::from(row) };
            match self.rows.iter_mut().find(|r| r.operation == row.operation) {
                Some(old) => *old = brief,
                None => self.rows.push(brief),
            }
        }
    }

    /// Takes over what is known while rows have to wait. If no I/O ended, the operations show that they did nothing.
    pub fn wait(&mut self, waiting: &Waiting) {
        self.progress = Some(Progress { cpu_per_io_us: None, ..waiting.progress });
        self.waiting = Some(describe_waiting(waiting));
        for row in self.rows.iter_mut().filter(|_| waiting.ios == 0) {
            (row.iops, row.throughput_bytes_per_s) = (0.0, 0.0);
            (row.p50_ns, row.p99_ns) = (None, None);
        }
    }

    /// The view for a terminal of `columns` columns.
    pub fn lines(&self, columns: usize) -> Vec<String> {
        let Some(progress) = self.progress else { return Vec::new() };
        let mut lines = vec![headline(&progress)];
        let shown = || COLUMNS.iter().filter(|c| columns >= c.from);
        let name = self.rows.iter().map(|r| r.operation.len()).max().unwrap_or(0).max(9);
        let head: String = shown().map(|c| format!("{:>1$}", c.name, c.width)).collect();
        lines.push(format!("{:name$}{head}", "operation"));
        for row in &self.rows {
            let figures: String =
                shown().map(|c| format!("{:>1$}", (c.show)(row), c.width)).collect();
            lines.push(format!("{:name$}{figures}", row.operation));
        }
        lines.extend(self.waiting.clone());
        if let Some(us) = progress.cpu_per_io_us {
            lines.push(format!("CPU {} per I/O", Unit::Micros.show(us)));
        }
        lines
    }
}

/// Returns a line about intervals whose rows have to wait.
pub fn describe_waiting(waiting: &Waiting) -> String {
    let seconds = waiting.end_ns.saturating_sub(waiting.start_ns).max(1) as f64 / 1e9;
    let iops = per_second(waiting.ios as f64 / seconds);
    let silent = show::nanos(waiting.silent_ns as f64);
    format!("waiting: {iops}, {} in flight, the last one ended {silent} ago", waiting.in_flight)
}

/// Bar, share and time left.
fn headline(progress: &Progress) -> String {
    let left = time_left(progress.remaining_ns, progress.elapsed_ns);
    let Some(fraction) = progress.fraction else { return left };
    let full = (fraction.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    let percent = (fraction * 100.0).floor();
    format!("[{}{}] {percent:>3} %  {left}", "█".repeat(full), "░".repeat(BAR - full))
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::model::LatencySummary;

    fn row(operation: &str, errors: u64) -> IntervalRow {
        let latency = LatencySummary {
            mean_ns: 1.0,
            min_ns: 1,
            p50_ns: 610_000,
            p99_ns: 1_400_000,
            p999_ns: 1,
            max_ns: 1,
        };
        IntervalRow {
            stage: 0,
            operation: operation.into(),
            start_ns: 0,
            end_ns: 1_000_000_000,
            ios: 8_123,
            bytes: 8_123 * 4096,
            errors,
            outcomes: None,
            latency: Some(latency),
            histogram: None,
        }
    }

    fn board() -> Board {
        let mut board = Board::default();
        let progress = Progress {
            elapsed_ns: 1,
            fraction: Some(0.42),
            remaining_ns: Some(38_000_000_000),
            cpu_per_io_us: Some(2.31),
            tree: None,
        };
        board.update(&[row("randread", 0), row("randwritezeroes", 3)], &progress);
        board.update(&[row("randread", 0), row("randwritezeroes", 4)], &progress);
        board
    }

    #[test]
    fn while_rows_wait_it_shows_that_nothing_ends_and_what_is_in_flight() {
        let mut board = board();
        let progress = board.progress.unwrap();
        let waiting = Waiting {
            start_ns: 0,
            end_ns: 1_000_000_000,
            ios: 0,
            bytes: 0,
            in_flight: 32,
            silent_ns: 12_000_000_000,
            progress,
        };
        board.wait(&waiting);
        let lines = board.lines(80);
        assert!(lines[2].contains(" 0") && !lines[2].contains("8,123"), "{lines:#?}");
        assert!(lines[4].contains("32 in flight") && lines[4].contains("12 s ago"), "{lines:#?}");
        board.update(&[row("randread", 0)], &progress);
        assert!(!board.lines(80).iter().any(|line| line.contains("in flight")));
        // Where others go on, what the operations did is not known: the figures stay, and the line tells.
        board.wait(&Waiting { ios: 500, ..waiting });
        let lines = board.lines(80);
        assert!(lines[2].contains("8,123") && lines[4].contains("waiting: 500/s"), "{lines:#?}");
    }

    #[test]
    fn a_wide_terminal_shows_progress_and_every_figure_of_every_operation() {
        let lines = board().lines(80);
        assert_eq!(lines.len(), 5, "{lines:#?}");
        assert!(lines[0].contains("42 %") && lines[0].contains("38 s left"), "{lines:#?}");
        for part in ["randwritezeroes", "8,123", "31.7 MiB", "610 µs", "1.4 ms"] {
            assert!(lines[3].contains(part), "{part}: {lines:#?}");
        }
        assert!(lines[3].ends_with(" 7") && lines[2].ends_with(" 0"), "errors add up: {lines:#?}");
        assert!(lines[4].contains("2.31 µs per I/O"), "{lines:#?}");
        assert!(lines.iter().all(|l| l.chars().count() < 80), "{lines:#?}");
    }

    #[test]
    fn a_narrow_terminal_shows_the_figures_that_matter_most() {
        let narrow = board().lines(40);
        assert!(narrow[1].contains("IOPS") && narrow[1].contains("p99"), "{narrow:#?}");
        assert!(!narrow[1].contains("throughput") && !narrow[1].contains("errors"));
        assert!(narrow.iter().skip(1).all(|l| l.chars().count() < 40), "{narrow:#?}");
    }

    #[test]
    fn without_a_known_end_the_time_so_far_is_shown() {
        let mut board = Board::default();
        assert!(board.lines(80).is_empty());
        let progress = Progress {
            elapsed_ns: 5_000_000_000,
            fraction: None,
            remaining_ns: None,
            cpu_per_io_us: None,
            tree: None,
        };
        board.update(&[], &progress);
        assert_eq!(board.lines(80)[0], "5 s so far");
    }
}
