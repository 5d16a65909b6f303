//! Events that a load reports while it runs.

use results::model::{IntervalRow, JobRow, Population};
use units::Bytes;

/// One event of a running load; events come in the order in which things happen.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The target is open, every worker is ready, the first I/O follows.
    Started(Started),
    /// The ramp is over, and the figures begin. Reported only for loads with a ramp that go on after it.
    RampOver,
    /// An interval is over: one row for each operation, in the order of the load's operations.
    Intervals {
        /// The rows, empty intervals included (`ios` 0, no latency).
        rows: Vec<IntervalRow>,
        /// The same rows for each job, where figures per job are kept, in the order of the jobs.
        jobs: Vec<JobRow>,
        /// The progress of the load.
        progress: Progress,
    },
    /// Intervals are over whose rows have to wait: the kernel holds a worker, so that nobody knows yet what it did in them. The rows, empty ones
    /// included, follow when it is back; this is what is known until then.
    Waiting(Waiting),
    /// The load is over, all its rows are out, and its targets are being read back: the share of them that has been read, from 0. The load's figures
    /// do not include this.
    ReadingBack(f64),
    /// Something that the user should know; it is in the summary too.
    Notice(String),
}

/// The facts of a load that is about to begin; the first I/O waits until this event has been handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Size of the target in bytes.
    pub target: Bytes,
    /// Name of the driver, such as `io_uring` or `sim`.
    pub backend: String,
    /// Tells whether the page cache is bypassed (O_DIRECT).
    pub direct: bool,
}

/// The facts about intervals that are known before their rows are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting {
    /// Start of the first of them, nanoseconds of the clock.
    pub start_ns: u64,
    /// End of the last of them, nanoseconds of the clock.
    pub end_ns: u64,
    /// I/Os of all operations that ended in that time, failed ones included; the time is exact to a fraction of a second.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// I/Os in flight now.
    pub in_flight: u64,
    /// Time since the last I/O ended, nanoseconds.
    pub silent_ns: u64,
    /// The progress of the load.
    pub progress: Progress,
}

/// The progress of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Time since the common start, nanoseconds.
    pub elapsed_ns: u64,
    /// Share that is done, 0 to 1; `None` when the end cannot be known.
    pub fraction: Option<f64>,
    /// Estimate of the time left, nanoseconds; `None` when it cannot be known.
    pub remaining_ns: Option<u64>,
    /// CPU time per I/O since the last rows, microseconds; `None` where it cannot be known.
    pub cpu_per_io_us: Option<f64>,
    /// The file tree of the load, as it was at the end of the last interval; `None` for other loads.
    pub tree: Option<Population>,
}

impl Progress {
    /// Progress of a load that ends after `duration_ns`, or after `total` bytes, whichever is nearer; `done` bytes are done.
    pub(crate) fn of(
        elapsed_ns: u64,
        duration_ns: Option<u64>,
        done: u64,
        total: Option<u64>,
    ) -> Self {
        let share = |part: u64, whole: u64| (part as f64 / whole.max(1) as f64).min(1.0);
        let by_time = duration_ns.map(|whole| share(elapsed_ns, whole));
        let by_bytes = total.map(|whole| share(done, whole));
        let fraction = by_time.into_iter().chain(by_bytes).reduce(f64::max);
        let remaining_ns =
            fraction.filter(|&f| f > 0.0).map(|f| (elapsed_ns as f64 * (1.0 - f) / f) as u64);
        Self { elapsed_ns, fraction, remaining_ns, cpu_per_io_us: None, tree: None }
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn the_end_that_is_nearer_decides_what_is_left() {
        let p = Progress::of(10, Some(100), 50, Some(100));
        assert_eq!((p.fraction, p.remaining_ns), (Some(0.5), Some(10)));
        let p = Progress::of(25, Some(100), 0, None);
        assert_eq!((p.fraction, p.remaining_ns), (Some(0.25), Some(75)));
    }

    #[test]
    fn nothing_is_guessed_before_anything_is_done() {
        let p = Progress::of(10, None, 0, Some(100));
        assert_eq!((p.fraction, p.remaining_ns), (Some(0.0), None));
        assert_eq!(Progress::of(10, None, 5, None).fraction, None);
    }
}
