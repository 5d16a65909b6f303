//! The worker's side of recording.

use crate::interval_recorder::IntervalRecorder;
use crate::record::{Completion, LogSender, Worst};
use crate::tally::Shape;

/// The recorder of one worker.
pub(crate) struct Recorder {
    intervals: IntervalRecorder,
    worst: Worst,
    job: u16,
    log: Option<LogSender>,
    /// Tells whether more than counts and latencies are kept.
    extras: bool,
}

impl Recorder {
    /// The recorder of a worker of job number `job`, which writes into `intervals`, and into `log` if there is one.
    pub(crate) fn new(
        intervals: IntervalRecorder,
        shape: Shape,
        job: u16,
        log: Option<LogSender>,
    ) -> Self {
        let extras = shape.split || shape.open || shape.mixed || log.is_some();
        Self { intervals, worst: Worst::new(shape.worst), job, log, extras }
    }

    /// Counts one I/O that has ended.
    #[inline]
    pub(crate) fn record(&mut self, io: &Completion) {
        if io.error != 0 {
            return self.failed(io);
        }
        self.intervals.tally().completed(io);
        if self.worst.concerns(io.latency_ns()) {
            self.worst.add(io, self.job);
        }
        if self.extras {
            self.extras(io);
        }
    }

    #[inline(never)]
    fn extras(&mut self, io: &Completion) {
        self.intervals.tally().extras(io);
        if let Some(log) = &mut self.log {
            log.put(io);
        }
    }

    #[cold]
    fn failed(&mut self, io: &Completion) {
        self.intervals.tally().failed(io);
        if let Some(log) = &mut self.log {
            log.put(io);
        }
    }

    /// Notes that the worker's clock has reached `interval`; what follows counts for it if the other buffer is free.
    pub(crate) fn enter(&mut self, interval: u64) {
        self.intervals.tally().worst.copy_from(&self.worst);
        self.intervals.enter(interval);
    }

    /// Ends recording. Returns false while the reader is not ready, and then must be called again.
    pub(crate) fn close(&mut self) -> bool {
        self.intervals.tally().worst.copy_from(&self.worst);
        self.intervals.close()
    }
}
