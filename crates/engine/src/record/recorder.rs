//! The worker's side of recording.

use crate::banks::Writer;
use crate::record::{Completion, Input, Worst};
use crate::tally::Shape;

/// Counts what one worker does.
pub(crate) struct Recorder {
    banks: Writer,
    worst: Worst,
    job: u16,
    log: Option<Input>,
    /// Whether anything is kept but counts and latencies.
    extras: bool,
}

impl Recorder {
    /// The recorder of worker number `job`, which writes into `banks`, and into `log` if there is one.
    pub(crate) fn new(banks: Writer, shape: Shape, job: u16, log: Option<Input>) -> Self {
        let extras = shape.split || shape.open || log.is_some();
        Self { banks, worst: Worst::new(shape.worst), job, log, extras }
    }

    /// Counts one I/O that has ended.
    #[inline]
    pub(crate) fn record(&mut self, io: &Completion) {
        if io.error != 0 {
            return self.failed(io);
        }
        self.banks.tally().completed(io);
        if self.worst.concerns(io.latency_ns()) {
            self.worst.add(io, self.job);
        }
        if self.extras {
            self.extras(io);
        }
    }

    #[inline(never)]
    fn extras(&mut self, io: &Completion) {
        self.banks.tally().extras(io);
        if let Some(log) = &mut self.log {
            log.put(io);
        }
    }

    #[cold]
    fn failed(&mut self, io: &Completion) {
        self.banks.tally().failed(io);
        if let Some(log) = &mut self.log {
            log.put(io);
        }
    }

    /// The worker's clock has reached `interval`: what follows counts for it, if the other bank is free.
    pub(crate) fn enter(&mut self, interval: u64) {
        self.banks.tally().worst.copy_from(&self.worst);
        self.banks.enter(interval);
    }

    /// Nothing more will be recorded. Gives false while it must be tried again.
    pub(crate) fn close(&mut self) -> bool {
        self.banks.tally().worst.copy_from(&self.worst);
        self.banks.close()
    }
}
