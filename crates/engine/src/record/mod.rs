//! Recording: what a worker does with every I/O that has ended.
//!
//! A worker hands each one to its [`Recorder`], which counts it in a few nanoseconds, without a lock, an allocation
//! or a system call. The collecting thread reads the counts interval by interval.

mod buckets;
mod completion;
mod errors;
mod log;
mod recorder;
mod recorders;
mod rehearsal;
mod steady_detector;
mod worst;

use std::path::PathBuf;

pub(crate) use buckets::Buckets;
#[cfg(test)]
pub(crate) use buckets::LONGEST_NS;
pub(crate) use completion::{Completion, SHORT};
pub(crate) use errors::Errors;
pub(crate) use log::{IoLog, LogSender};
pub(crate) use recorder::Recorder;
pub(crate) use recorders::Recorders;
pub use rehearsal::Rehearsal;
pub(crate) use steady_detector::SteadyDetector;
pub(crate) use worst::{SlowIo, Worst};

/// What is to be recorded beyond counts and latencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// A log of every I/O is written to this file.
    pub io_log: Option<PathBuf>,
    /// Submission and completion latency are kept apart, at the cost of one more reading of the clock per call.
    pub split_latency: bool,
    /// How many of the I/Os that took longest are kept.
    pub worst: usize,
}

impl Default for Recording {
    /// The worst 10 I/Os, nothing else.
    fn default() -> Self {
        Self { io_log: None, split_latency: false, worst: 10 }
    }
}
