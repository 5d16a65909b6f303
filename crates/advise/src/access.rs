//! One I/O of a trace.

use std::ops::Range;

use disk::Op;

/// One I/O to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// When it came, nanoseconds since some instant of its trace.
    pub at_ns: u64,
    /// The operation that it asked for.
    pub op: Op,
    /// Its first byte on the device.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Access {
    /// Returns the first byte behind it.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    /// Returns the chunks of `chunk` bytes that it touches: the first, and the one after the last.
    pub(crate) fn chunks(&self, chunk: u64) -> Range<u64> {
        self.offset / chunk..self.end().div_ceil(chunk)
    }

    /// Returns the part of a chunk that it touches, in bytes of the device.
    pub(crate) fn part_in(&self, chunk: u64, bytes: u64) -> Range<u64> {
        let (first, end) = (chunk * bytes, (chunk + 1).saturating_mul(bytes));
        self.offset.max(first)..self.end().min(end)
    }
}
