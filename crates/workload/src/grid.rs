//! The places of a range at which I/Os can start.

use units::Seed;

use crate::pieces::Pieces;
use crate::{LoadSpec, OpName, Pattern, Range};

/// The places on the target where I/Os of one pattern can start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// Offset of the first place on the target, bytes.
    pub(crate) start: u64,
    /// Distance from one place to the next, bytes.
    pub(crate) cell: u64,
    /// Number of places, over all jobs together, or in this job's part of the range if jobs have parts.
    pub(crate) places: u64,
    /// Alignment of the starts, bytes, counted from `start`.
    pub(crate) align: u64,
    /// Bytes of the range, or of this job's part of it.
    pub(crate) bytes: u64,
    /// Tells whether sizes differ and there are passes, so that the places are [`Pieces`].
    pub(crate) cut: bool,
}

impl Grid {
    /// The places of `op` for job `job` of `jobs` on `range`; `None` if not even one I/O fits.
    pub(crate) fn of(spec: &LoadSpec, op: OpName, range: &Range, job: (u64, u64)) -> Option<Self> {
        let size = spec.block_size_of(op);
        let (smallest, largest) = (size.smallest().0.max(1), size.largest().0.max(1));
        let align = spec.align_of(op).max(1);
        let pattern = spec.pattern_of(op);
        let cut = pattern.has_passes() && size.fixed().is_none();
        let ordered = pattern.has_passes() && pattern != Pattern::Permutation;
        let grid = largest.div_ceil(align) * align;
        let unit = if cut { Pieces::unit(size, align) } else { grid };
        let part = range.part(spec.share, job, unit);
        let room = |size: u64| part.bytes.checked_sub(size);
        room(largest)?;
        let (cell, places) = match (cut, ordered) {
            // The number of pieces does not depend on the seed.
            (true, _) => (align, Pieces::new(size, align, part.bytes, Seed(0)).count()),
            (_, true) => (grid, room(largest)? / grid + 1),
            _ => (align, room(smallest)? / align + 1),
        };
        Some(Self { start: part.start, cell, places, align, bytes: part.bytes, cut })
    }

    /// Returns the offset of an I/O of `length` bytes at `place`, or an earlier offset if the I/O would reach beyond the end.
    #[inline]
    pub(crate) fn offset(&self, place: u64, length: u64) -> u64 {
        let at = place * self.cell;
        if at + length <= self.bytes {
            return self.start + at;
        }
        self.start + (self.bytes - length) / self.align * self.align
    }
}
