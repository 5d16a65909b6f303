//! Events that a load tells while it runs.

use results::model::{IntervalRow, JobRow, Population};
use units::Bytes;

/// One thing that a load tells while it runs, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The target is open, every worker is ready, the first I/O follows.
    Started(Started),
    /// The ramp is over, and the figures begin. Told of loads with a ramp alone, unless they end within it or as it ends.
    RampOver,
    /// An interval is over: one row for each operation, in the order of the load's operations.
    Intervals {
        /// The rows, empty intervals included (`ios` 0, no latency).
        rows: Vec<IntervalRow>,
        /// The same of each job, where figures per job are kept, in the order of the jobs.
        jobs: Vec<JobRow>,
        /// The progress of the load.
        progress: Progress,
    },
    /// Intervals are over whose rows have to wait: the kernel holds a worker, which has not said what it did in them. The rows
    /// follow when it is back, the empty ones too; this is what is known until then.
    Waiting(Waiting),
    /// The load is over, all its rows are out, and its targets are read back: this share of them has been, 0 as it begins. What this
    /// costs is in no figure of the load.
    ReadingBack(f64),
    /// Something a person should know; it stands in the summary too.
    Notice(String),
}

/// The beginning of a load: what hears of it is done before the first I/O.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Size of the target in bytes.
    pub target: Bytes,
    /// `io_uring` or `sim`.
    pub backend: String,
    /// Tells whether the page cache is passed by (O_DIRECT).
    pub direct: bool,
}

/// The facts that are known of intervals before their rows are there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting {
    /// Start of the first of them, nanoseconds of the clock.
    pub start_ns: u64,
    /// End of the last of them, nanoseconds of the clock.
    pub end_ns: u64,
    /// I/Os of all operations that ended meanwhile, failed ones included; to within a fraction of a second.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// I/Os in flight now.
    pub in_flight: u64,
    /// For how long none has ended, nanoseconds.
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
    /// The file tree that is loaded, as it was at the end of the last interval; `None` of other loads.
    pub tree: Option<Population>,
}

impl Progress {
    /// Progress of a load that ends after `duration_ns`, or after `total` bytes of which `done` are done, whichever is nearer.
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
