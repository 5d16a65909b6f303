//! Messages between workers and the collecting thread while a load runs: plain numbers, no lock.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use results::model::Population;

/// The reason why a load ends before its duration, bytes or passes are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// No reason: the load goes on.
    None,
    /// The user interrupted it.
    Interrupted,
    /// The target gives nothing but errors, or a worker cannot go on.
    Errors,
    /// The figures have settled, and the load was to run until then.
    Steady,
    /// More I/Os failed than the load allows.
    MaxErrors,
}

/// The progress of one worker; on a separate cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct WorkerProgress {
    /// I/Os that ended, failed ones included.
    pub ended: AtomicU64,
    /// Bytes that were moved, or should have been where the I/O failed.
    pub bytes: AtomicU64,
    /// I/Os in flight.
    pub in_flight: AtomicU64,
    /// Ended operations on a tree that count in CPU time per operation: all except syncs.
    pub costly: AtomicU64,
    /// Files in its part of a tree, and their bytes, at the end of an interval.
    pub tree: (AtomicU64, AtomicU64),
}

/// Start and stop signals, and the progress of every worker.
#[derive(Debug)]
pub(crate) struct LoadStatus {
    start: AtomicU64,
    halt: AtomicU8,
    /// I/Os that failed, and the number that is tolerated.
    failed: AtomicU64,
    most_failed: u64,
    pub gauges: Box<[WorkerProgress]>,
}

const NOT_YET: u64 = u64::MAX;

impl LoadStatus {
    /// The status of so many workers, whose load ends when more than `most_failed` I/Os have failed.
    pub(crate) fn new(workers: usize, most_failed: Option<u64>) -> Self {
        let gauges = (0..workers).map(|_| WorkerProgress::default()).collect();
        Self {
            start: AtomicU64::new(NOT_YET),
            halt: AtomicU8::new(0),
            failed: AtomicU64::new(0),
            most_failed: most_failed.unwrap_or(u64::MAX),
            gauges,
        }
    }

    /// Lets all workers begin; `at_ns` is the common start. The caller unparks them afterwards.
    pub(crate) fn begin(&self, at_ns: u64) {
        self.start.store(at_ns, Ordering::Release);
    }

    /// Waits, parked, for the common start in nanoseconds; `None` when the load is halted before it begins.
    pub(crate) fn wait(&self) -> Option<u64> {
        loop {
            if self.halted() != StopReason::None {
                return None;
            }
            match self.start.load(Ordering::Acquire) {
                NOT_YET => std::thread::park_timeout(std::time::Duration::from_millis(100)),
                at_ns => return Some(at_ns),
            }
        }
    }

    /// Asks all workers to end; the first reason given counts.
    pub(crate) fn halt(&self, why: StopReason) {
        let _ = self.halt.compare_exchange(0, why as u8, Ordering::AcqRel, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn halted(&self) -> StopReason {
        match self.halt.load(Ordering::Relaxed) {
            0 => StopReason::None,
            1 => StopReason::Interrupted,
            2 => StopReason::Errors,
            3 => StopReason::Steady,
            _ => StopReason::MaxErrors,
        }
    }

    /// Counts an I/O that failed.
    #[cold]
    pub(crate) fn failed(&self) {
        if self.failed.fetch_add(1, Ordering::Relaxed) >= self.most_failed {
            self.halt(StopReason::MaxErrors);
        }
    }

    /// I/Os that ended, over all workers.
    pub(crate) fn ended(&self) -> u64 {
        self.gauges.iter().map(|g| g.ended.load(Ordering::Relaxed)).sum()
    }

    /// Bytes over all workers.
    pub(crate) fn bytes(&self) -> u64 {
        self.gauges.iter().map(|g| g.bytes.load(Ordering::Relaxed)).sum()
    }

    /// Operations on a tree that count in CPU time per operation, over all workers.
    pub(crate) fn costly(&self) -> u64 {
        self.gauges.iter().map(|g| g.costly.load(Ordering::Relaxed)).sum()
    }

    /// Files and bytes in the trees of all workers together.
    pub(crate) fn population(&self) -> Population {
        let sum = |of: fn(&WorkerProgress) -> &AtomicU64| {
            self.gauges.iter().map(|g| of(g).load(Ordering::Relaxed)).sum()
        };
        Population { files: sum(|g| &g.tree.0), bytes: sum(|g| &g.tree.1) }
    }

    /// I/Os in flight over all workers.
    pub(crate) fn in_flight(&self) -> u64 {
        self.gauges.iter().map(|g| g.in_flight.load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_to_halt_stays_and_ends_the_wait_for_the_start() {
        let status = LoadStatus::new(1, None);
        status.halt(StopReason::Errors);
        status.halt(StopReason::Interrupted);
        assert_eq!(status.halted(), StopReason::Errors);
        assert_eq!(status.wait(), None);
    }

    #[test]
    fn all_workers_get_the_same_start() {
        let status = LoadStatus::new(2, None);
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..2).map(|_| scope.spawn(|| status.wait())).collect();
            status.begin(0);
            assert!(waiting.into_iter().all(|w| w.join().unwrap() == Some(0)));
        });
    }
}
