//! A recorder without a load.

use crate::interval_recorder::{self, IntervalReader};
use crate::record::{Completion, Recorder};
use crate::tally::Shape;

/// Records I/Os that never were: benches time it.
pub struct Rehearsal {
    recorder: Recorder,
    _reader: IntervalReader,
}

impl Rehearsal {
    /// With two operations on one target, the worst 10 kept; `split` keeps submission and completion latency apart.
    pub fn new(split: bool) -> Self {
        let shape = Shape { operations: 2, targets: 1, split, worst: 10, ..Shape::default() };
        let (writer, reader) = interval_recorder::pair(shape);
        Self { recorder: Recorder::new(writer, shape, 0, None), _reader: reader }
    }

    /// Records an I/O of 4 KiB that took so many nanoseconds; `operation` is 0 or 1.
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
