//! A recorder without a load.

use crate::interval_recorder::{self, IntervalReader};
use crate::record::{Completion, Recorder};
use crate::tally::Shape;

/// Records I/Os that never happened, so that benchmarks can time the recording.
pub struct Rehearsal {
    recorder: Recorder,
    _reader: IntervalReader,
}

impl Rehearsal {
    /// A recorder of two operations on one target that keeps the 10 slowest I/Os; `split` keeps submission and completion latency apart.
    pub fn new(split: bool) -> Self {
        let shape = Shape { operations: 2, targets: 1, split, worst: 10, ..Shape::default() };
        let (writer, reader) = interval_recorder::pair(shape);
        Self { recorder: Recorder::new(writer, shape, 0, None), _reader: reader }
    }

    /// Records an I/O of 4 KiB that took `latency_ns`; `operation` is 0 or 1.
    #[inline]
    pub fn record(&mut self, operation: usize, latency_ns: u64) {
        self.recorder.record(&Completion {
            operation: operation & 1,
            length: 4096,
            reaped_ns: latency_ns,
            ..Completion::default()
        });
    }
}
