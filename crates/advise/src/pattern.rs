//! Parts of a trace: operations, sizes, runs.

use disk::Op;
use serde::Serialize;

use crate::access::Access;
use crate::streams::Streams;

/// Block of VDO, bytes: a write that is not made of whole blocks costs a read before it.
const BLOCK: u64 = reduce::BLOCK as u64;

/// The I/Os of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct OpCounts {
    /// I/Os.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// I/Os that begin where one of the last 32 of the operation ended.
    pub sequential: u64,
    /// I/Os that begin or end within a block of 4 KiB.
    pub unaligned: u64,
}

impl OpCounts {
    /// Returns the share of the I/Os that go on where an earlier one ended, in percent; `None` without I/Os.
    pub fn sequential_percent(&self) -> Option<f64> {
        (self.ios > 0).then(|| 100.0 * self.sequential as f64 / self.ios as f64)
    }
}

/// Counts the I/Os of a trace.
#[derive(Debug, Clone, Default)]
pub struct Pattern {
    ops: [OpCounts; Op::ALL.len()],
    streams: [Streams; Op::ALL.len()],
    end: u64,
}

impl Pattern {
    /// Counts an I/O; returns whether it goes on where one of the last of its operation ended.
    pub fn add(&mut self, access: &Access) -> bool {
        let at = Op::ALL.iter().position(|op| *op == access.op).unwrap_or(0);
        let counts = &mut self.ops[at];
        counts.ios += 1;
        counts.bytes = counts.bytes.saturating_add(access.bytes);
        let whole = access.offset.is_multiple_of(BLOCK) && access.bytes.is_multiple_of(BLOCK);
        counts.unaligned += u64::from(!whole);
        if access.bytes == 0 {
            return false;
        }
        let goes_on = self.streams[at].take(access.offset, access.bytes).goes_on;
        counts.sequential += u64::from(goes_on);
        self.end = self.end.max(access.end());
        goes_on
    }

    /// Returns the counts of an operation.
    pub fn counts_of(&self, op: Op) -> &OpCounts {
        &self.ops[Op::ALL.iter().position(|one| *one == op).unwrap_or(0)]
    }

    /// Returns the first byte behind all I/Os; the device is at least this large.
    pub fn end(&self) -> u64 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_among_jumps_is_sequential() {
        let mut pattern = Pattern::default();
        let mut add =
            |offset| _ = pattern.add(&Access { at_ns: 0, op: Op::Write, offset, bytes: 4096 });
        for step in 0..100u64 {
            add(step * 4096);
            (0..25).for_each(|jump| add((step * 25 + jump + 1) << 30));
        }
        assert_eq!(pattern.counts_of(Op::Write).sequential, 99);
    }

    #[test]
    fn streams_side_by_side_are_sequential_and_jumps_are_not() {
        let mut pattern = Pattern::default();
        let mut add = |op, offset, bytes| _ = pattern.add(&Access { at_ns: 0, op, offset, bytes });
        for step in 0..10u64 {
            (0..4u64).for_each(|job| add(Op::Read, (job << 30) + step * 4096, 4096));
            add(Op::Write, (step * 7919) << 20, 512);
        }
        add(Op::Flush, 0, 0);
        let reads = pattern.counts_of(Op::Read);
        assert_eq!((reads.ios, reads.sequential, reads.unaligned), (40, 36, 0));
        let writes = pattern.counts_of(Op::Write);
        assert_eq!((writes.ios, writes.bytes, writes.sequential), (10, 5120, 0));
        assert_eq!((writes.unaligned, pattern.counts_of(Op::Flush).ios), (10, 1));
        assert_eq!(pattern.end(), ((9 * 7919) << 20) + 512);
    }
}
