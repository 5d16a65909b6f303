//! Recording: what a worker does with every I/O that has ended.
//!
//! A worker passes each I/O to its [`Recorder`], which counts it in a few nanoseconds, without a lock, an allocation or a system call. The collecting
//! thread reads the counts interval by interval.

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

/// Records that are kept in addition to counts and latencies.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The destination of the log of every I/O, if there is to be one.
    pub io_log: Option<IoLogTarget>,
    /// Tells whether submission and completion latency are kept apart, at the cost of one more clock reading per call.
    pub split_latency: bool,
    /// Number of I/Os with the longest latencies that are kept.
    pub worst: usize,
}

impl Default for Recording {
    /// The 10 slowest I/Os, nothing else.
    fn default() -> Self {
        Self { io_log: None, split_latency: false, worst: 10 }
    }
}

/// The file or sink that the log of every I/O goes to.
#[derive(Debug, Clone)]
pub enum IoLogTarget {
    /// A file, however long it becomes.
    File(PathBuf),
    /// A receiver that keeps the beginning of the log.
    Keeper(IoLogKeeper),
}

/// A function that receives each further part of a log.
type Add = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// A receiver of a growing log, up to a bound.
#[derive(Clone)]
pub struct IoLogKeeper {
    /// The name under which the receiver keeps the log.
    pub name: String,
    /// Receives each further part. It may block: I/Os that find no room in that time are counted but not logged.
    pub add: Add,
    /// Most bytes of records that are logged; I/Os after them are only counted.
    pub most: u64,
}

impl Debug for IoLogKeeper {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.debug_struct("IoLogKeeper").field("name", &self.name).field("most", &self.most).finish()
    }
}
