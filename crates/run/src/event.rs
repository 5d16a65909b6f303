//! Events of a run while it goes on; the program renders them, the guest sends them to the host.

use results::model::{CellState, IntervalRow};
use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// A cell began.
    CellStarted {
        /// Its position in the order of running, from 0.
        cell: usize,
        /// Number of cells of the run.
        of: usize,
        /// Its variant.
        variant: String,
        /// Its repeat, from 1.
        repeat: u32,
    },
    /// A step of the cell began.
    Step {
        /// The cell.
        cell: usize,
        /// Purpose of the step.
        about: String,
        /// Tells whether it takes something down.
        undo: bool,
    },
    /// A stage of the cell began.
    StageStarted {
        /// The cell.
        cell: usize,
        /// Name of the stage.
        name: String,
        /// Tells whether its figures are the measured ones.
        measured: bool,
    },
    /// An interval of a load went by.
    Progress {
        /// The cell.
        cell: usize,
        /// Name of the stage.
        stage: String,
        /// Time since the load began, nanoseconds.
        elapsed_ns: u64,
        /// Time left, nanoseconds, when it can be known.
        remaining_ns: Option<u64>,
        /// Share of the load that is done, 0 to 1, when it can be known.
        fraction: Option<f64>,
        /// Figures of each operation in the interval.
        operations: Vec<OperationBrief>,
    },
    /// A cell ended.
    CellEnded {
        /// The cell.
        cell: usize,
        /// State in which it ended.
        state: CellState,
        /// Why, when it is not done.
        reason: Option<String>,
    },
    /// A run that takes as many repeats as are needed was looked at.
    Looked {
        /// The repeat after which it was.
        after: u32,
        /// Questions, and how each stands.
        claims: Vec<QuestionState>,
        /// The repeat after which the next look is; `None` where the run stops.
        next: Option<u32>,
        /// Repeat after which the run stops, and the reason, if it stops.
        stopped: Option<String>,
    },
    /// Every cell has ended; the guest ends now, and its disks are given back, which takes its time where they hold gigabytes.
    GivingBack,
    /// Something a person should know.
    Notice {
        /// The cell it is about.
        cell: Option<usize>,
        /// The text, in sentences.
        text: String,
    },
}

/// A question to one variant, and how it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionState {
    /// The question: `IOPS of randwrite`.
    pub question: String,
    /// The variant that is compared with the base.
    pub variant: String,
    /// Tells whether it is decided.
    pub decided: bool,
    /// The verdict.
    pub verdict: Option<String>,
    /// The fewest repeats that may decide it, where it is open.
    #[serde(default)]
    pub repeats_that_might_decide: Option<u32>,
    /// The number of repeats that is likely to decide it.
    pub repeats_that_would_decide: Option<u32>,
}

/// One operation in one interval, as a live view shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationBrief {
    /// Its name.
    pub operation: String,
    /// I/Os per second in the interval.
    pub iops: f64,
    /// Bytes per second in the interval.
    pub throughput_bytes_per_s: f64,
    /// Median latency, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile of latency, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Failed I/Os.
    pub errors: u64,
}

impl OperationBrief {
    /// Returns the newest interval of each operation. After a stall the rows of many intervals come at once.
    pub fn newest(rows: &[IntervalRow]) -> Vec<Self> {
        let mut newest: Vec<Self> = Vec::new();
        for brief in rows.iter().map(Self::from) {
            match newest.iter_mut().find(|known| known.operation == brief.operation) {
                Some(known) => *known = brief,
                None => newest.push(brief),
            }
        }
        newest
    }
}

impl From<&IntervalRow> for OperationBrief {
    fn from(row: &IntervalRow) -> Self {
        let seconds = row.end_ns.saturating_sub(row.start_ns).max(1) as f64 / 1e9;
        Self {
            operation: row.operation.clone(),
            iops: row.ios as f64 / seconds,
            throughput_bytes_per_s: row.bytes as f64 / seconds,
            p50_ns: row.latency.map(|l| l.p50_ns),
            p99_ns: row.latency.map(|l| l.p99_ns),
            errors: row.errors,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_rows_that_come_at_once_after_a_stall_the_newest_of_each_operation_is_shown() {
        let row = |operation: &str, second: u64, ios: u64| IntervalRow {
            stage: 0,
            operation: operation.into(),
            start_ns: second * 1_000_000_000,
            end_ns: (second + 1) * 1_000_000_000,
            ios,
            bytes: ios * 4096,
            errors: 0,
            outcomes: None,
            latency: None,
            histogram: None,
        };
        let rows = [row("read", 1, 0), row("write", 1, 5), row("read", 2, 0), row("read", 3, 7)];
        let shown: Vec<_> =
            OperationBrief::newest(&rows).into_iter().map(|b| (b.operation, b.iops)).collect();
        assert_eq!(shown, [("read".to_owned(), 7.0), ("write".to_owned(), 5.0)]);
    }
}
