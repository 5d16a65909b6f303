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

use std::fmt::{self, Debug, Formatter};
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use buckets::Buckets;
#[cfg(test)]
pub(crate) use buckets::LONGEST_NS;
pub(crate) use completion::{Completion, NOT_OURS, SHORT, UNFORESEEN};
pub(crate) use errors::Errors;
pub(crate) use log::{IoLog, LogSender, start as start_log};
pub(crate) use recorder::Recorder;
pub(crate) use recorders::Recorders;
pub use rehearsal::Rehearsal;
pub(crate) use steady_detector::SteadyDetector;
pub(crate) use worst::{SlowIo, Worst};

/// The records that are to be kept beyond counts and latencies.
#[derive(Debug, Clone)]
pub struct Recording {
    /// A log of every I/O goes there.
    pub io_log: Option<IoLogTarget>,
    /// Submission and completion latency are kept apart, at the cost of one more reading of the clock per call.
    pub split_latency: bool,
    /// Number of I/Os that are kept because they took longest.
    pub worst: usize,
}

impl Default for Recording {
    /// The worst 10 I/Os, nothing else.
    fn default() -> Self {
        Self { io_log: None, split_latency: false, worst: 10 }
    }
}

/// The file or sink that the log of every I/O goes to.
#[derive(Debug, Clone)]
pub enum IoLogTarget {
    /// To a file, however long it becomes.
    File(PathBuf),
    /// To somebody who keeps what it begins with.
    Keeper(IoLogKeeper),
}

/// Takes what is added to a log.
type Add = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Takes a log in as it grows, up to a bound.
#[derive(Clone)]
pub struct IoLogKeeper {
    /// The name that the log has there.
    pub name: String,
    /// Takes what is added. It may wait: I/Os that find no room meanwhile are counted, and not in the log.
    pub add: Add,
    /// The most bytes of records that are added; I/Os after them are counted, and not in the log.
    pub most: u64,
}

impl Debug for IoLogKeeper {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.debug_struct("IoLogKeeper").field("name", &self.name).field("most", &self.most).finish()
    }
}
