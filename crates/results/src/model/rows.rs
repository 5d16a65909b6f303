//! The rows of a cell's `rows.log`: interval rows of the load and of its jobs, samples of the layers, edges of stages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::latency::LatencySummary;
use super::tree::{Outcomes, Population};

/// The fields of one sample: name to value; `None` where the source had no such figure.
pub type Fields = BTreeMap<String, Option<f64>>;

/// One frame of `rows.log`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "row")]
pub enum Row {
    /// The work of one operation in one interval.
    Interval(IntervalRow),
    /// The work of one job at one operation in one interval, where that was asked for.
    Job(JobRow),
    /// The figures that one source gave at one moment.
    Sample(SampleRow),
    /// A stage began or ended.
    Stage(StageEdge),
}

/// The work of one operation in one interval of a load stage, summed over its jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntervalRow {
    /// Index of the stage in the cell.
    pub stage: usize,
    /// Operation name as given (`randwrite`).
    pub operation: String,
    /// Start, in nanoseconds since the run's epoch.
    pub start_ns: u64,
    /// End, in nanoseconds since the run's epoch.
    pub end_ns: u64,
    /// I/Os that completed without error.
    pub ios: u64,
    /// Bytes that these I/Os moved.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// The outcomes that only operations on a tree have; `None` for other loads, and in results from before 2026-11-27.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Outcomes>,
    /// Latency of the completed I/Os; `None` when there were none.
    pub latency: Option<LatencySummary>,
    /// The HDR histogram of their latencies in nanoseconds: V2 with deflate, base64.
    pub histogram: Option<String>,
}

/// The work of one job at one operation in one interval: a part of the [`IntervalRow`] of the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    /// The job, from 0.
    pub job: u32,
    /// The job's part of the interval.
    #[serde(flatten)]
    pub part: IntervalRow,
}

/// The figures that one source gave at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleRow {
    /// Time at which reading began, nanoseconds since the run's epoch.
    pub at_ns: u64,
    /// Id of the probe (`vdo.stats`, `machine.diskstats`, `vdo.threads`, ...).
    pub source: String,
    /// Wall time that reading and parsing took, nanoseconds.
    pub cost_ns: u64,
    /// CPU time that reading and parsing took, nanoseconds.
    pub cost_cpu_ns: u64,
    /// The defined state in which the sample was taken, if any: `allocated`, `settled`, `stage_start`, `stage_end`, `stage_settled`.
    pub mark: Option<String>,
    /// The figures; nested names are joined with dots (`packer.compressedBlocksWritten`).
    pub fields: Fields,
    /// The reason why there are no figures, when reading failed.
    pub error: Option<String>,
}

/// The source of the samples of a tree while a load works on it.
pub const TREE_SOURCE: &str = "load.tree";

impl Population {
    /// Returns it as a sample that was read at `at_ns`, nanoseconds since the run's epoch.
    pub fn sample(self, at_ns: u64) -> SampleRow {
        let fields = [("files", self.files), ("bytes", self.bytes)];
        SampleRow {
            at_ns,
            source: TREE_SOURCE.to_owned(),
            cost_ns: 0,
            cost_cpu_ns: 0,
            mark: None,
            fields: fields.map(|(name, n)| (name.to_owned(), Some(n as f64))).into(),
            error: None,
        }
    }
}

/// A stage began or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageEdge {
    /// Index of the stage in the cell.
    pub stage: usize,
    /// Name of the stage.
    pub name: String,
    /// Tells whether its figures are the measured ones.
    pub measured: bool,
    /// Tells whether it ended; false at its start.
    pub ended: bool,
    /// Time, nanoseconds since the run's epoch.
    pub at_ns: u64,
}
