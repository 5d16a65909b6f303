//! The contents that all blocks of a target must hold, stored in memory or computed, with counters of changes.

use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use content::{ContentId, Root};

use super::computed::Computed;
use super::expected_block::{ExpectedBlock, Tag, ZERO};
use super::expected_blocks::{ExpectedBlocks, Width, zeroed};
use crate::error::EngineError;

/// Number of change counters. Several blocks share one, so a counter may be too high, but never too low.
const COUNTERS: usize = 1 << 18;

/// The content that a block had to hold at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Snapshot {
    pub(crate) expected: ExpectedBlock,
    count: u16,
}

/// The kind of access for which a load needs expectations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It changes nothing.
    Reads,
    /// It writes each block at most once, and its counts determine what it wrote.
    OnePass,
    /// It may read what it writes, in any order.
    Anything,
}

/// The content that each block must hold.
pub(crate) struct Expectations {
    source: Source,
    /// Counters of changes, modulo 65536; empty where nothing is read while it is written.
    counters: Box<[AtomicU16]>,
}

enum Source {
    /// An expected block for each block, in memory.
    Stored(ExpectedBlocks),
    /// No memory per block: everything is computed from what was written.
    Computed(Box<Computed>, Width),
}

impl Expectations {
    pub(crate) fn new(width: Width, blocks: u64) -> Result<Self, EngineError> {
        Ok(Self { counters: zeroed(COUNTERS as u64)?, ..Self::still(width, blocks)? })
    }

    /// Expectations for loads that do not read what they write: without change counters.
    pub(crate) fn still(width: Width, blocks: u64) -> Result<Self, EngineError> {
        let source = Source::Stored(ExpectedBlocks::new(width, blocks)?);
        Ok(Self { source, counters: Box::new([]) })
    }

    /// Expectations that are computed, without memory per block. Tags are those of `width`.
    pub(crate) fn computed(width: Width, computed: Computed) -> Self {
        Self { source: Source::Computed(Box::new(computed), width), counters: Box::new([]) }
    }

    /// Converts the expectations for the next load, on a target that now has `blocks` blocks, using the last `loads` earlier loads. Only a load that
    /// may read what it writes needs counters and stored blocks.
    pub(crate) fn for_next_load(
        self,
        blocks: u64,
        need: Need,
        loads: usize,
    ) -> Result<Self, EngineError> {
        let source = match self.source {
            Source::Computed(computed, width) if need != Need::Anything => {
                Source::Computed(Box::new(computed.for_next_load(blocks as usize, loads)), width)
            }
            Source::Stored(stored) if stored.len() as u64 == blocks => Source::Stored(stored),
            source => {
                let old = Self { source, counters: Box::new([]) };
                let stored = ExpectedBlocks::new(old.width(), blocks)?;
                let both = (0..old.len().min(stored.len())).map(|block| (block, old.load(block)));
                let written = both.filter(|(_, expected)| *expected != ExpectedBlock::default());
                written.for_each(|(block, expected)| stored.store(block, expected));
                Source::Stored(stored)
            }
        };
        let counters =
            if need == Need::Anything { zeroed(COUNTERS as u64)? } else { Box::default() };
        Ok(Self { source, counters })
    }

    /// The computation, if nothing is stored.
    #[inline]
    pub(crate) fn as_computed(&self) -> Option<&Computed> {
        match &self.source {
            Source::Computed(computed, _) => Some(computed),
            Source::Stored(_) => None,
        }
    }

    /// The stored blocks, if any.
    pub(crate) fn stored(&self) -> Option<&ExpectedBlocks> {
        match &self.source {
            Source::Stored(stored) => Some(stored),
            Source::Computed(..) => None,
        }
    }

    /// Bytes of memory for all blocks.
    pub(crate) fn bytes(&self) -> usize {
        self.stored().map_or(0, ExpectedBlocks::bytes)
    }

    #[inline]
    pub(crate) fn width(&self) -> Width {
        match &self.source {
            Source::Stored(stored) => stored.width(),
            Source::Computed(_, width) => *width,
        }
    }

    /// Number of blocks.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match &self.source {
            Source::Stored(stored) => stored.len(),
            Source::Computed(computed, _) => computed.len(),
        }
    }

    /// The tag of `id`, which is not zero.
    #[inline]
    pub(crate) fn tag(&self, id: ContentId) -> Tag {
        self.width().tag(Root::of(id).number())
    }

    /// Returns what `block` must hold.
    #[inline]
    pub(crate) fn load(&self, block: usize) -> ExpectedBlock {
        match &self.source {
            Source::Stored(stored) => stored.load(block),
            Source::Computed(computed, _) => match computed.held(block) {
                Ok((ContentId::ZERO, _)) => ExpectedBlock::at_rest(ZERO),
                Ok((id, _)) => ExpectedBlock::at_rest(self.tag(id)),
                Err(expected) => expected,
            },
        }
    }

    /// Prefetches the entry of `block`.
    #[inline]
    pub(crate) fn prefetch(&self, block: usize) {
        if let Source::Stored(stored) = &self.source {
            stored.prefetch(block);
        }
    }

    /// Takes a snapshot of `block` before a read. The counter is read first: it may be too old, but never too new.
    #[inline]
    pub(crate) fn snapshot(&self, block: usize) -> Snapshot {
        let count = self.counted(block);
        Snapshot { expected: self.load(block), count }
    }

    #[inline]
    fn counted(&self, block: usize) -> u16 {
        self.counters.get(counter(block)).map_or(0, |counter| counter.load(Acquire))
    }

    fn count(&self, block: usize) {
        if let Some(counter) = self.counters.get(counter(block)) {
            counter.fetch_add(1, AcqRel);
        }
    }

    /// Number of changes of `block` from `before` to `now`; `None` if there were many or their number is not known.
    ///
    /// The number misses a write that had incremented the counter but not yet changed the entry when the snapshot was taken.
    pub(crate) fn changes(
        &self,
        block: usize,
        before: Snapshot,
        now: ExpectedBlock,
    ) -> Option<u32> {
        let counted = u32::from(self.counted(block).wrapping_sub(before.count));
        match &self.source {
            // The entry counts modulo 16, for this block alone; half of that range is a reserve for writes that the counter misses.
            Source::Stored(ExpectedBlocks::Four(_)) => {
                (counted < 8).then(|| now.changes_since(before.expected))
            }
            // A byte has no count: only "unchanged" is known.
            Source::Stored(ExpectedBlocks::One(_)) => {
                (counted == 0 && now == before.expected).then_some(0)
            }
            Source::Computed(..) => Some(0),
        }
    }

    /// Replaces `old` by `new` and counts a change; returns false if the entry is no longer `old`.
    #[inline]
    pub(crate) fn change(&self, block: usize, old: ExpectedBlock, new: ExpectedBlock) -> bool {
        // Counted before the entry changes, so that a reader of the new entry also sees the count.
        self.count(block);
        self.swap(block, old, new)
    }

    /// Replaces an expected block without counting a change, for a write in flight that has ended.
    #[inline]
    pub(crate) fn swap(&self, block: usize, old: ExpectedBlock, new: ExpectedBlock) -> bool {
        // Computed expectations need no change: what a load wrote follows from its counts when it has ended.
        self.stored().is_none_or(|stored| stored.swap(block, old, new))
    }

    /// Stores `new` and counts a change, whatever was there.
    pub(crate) fn store(&self, block: usize, new: ExpectedBlock) {
        self.count(block);
        if let Some(stored) = self.stored() {
            stored.store(block, new);
        }
    }

    /// At most `most` blocks with `tag`; none where contents are computed rather than stored.
    pub(crate) fn find(&self, tag: Tag, most: usize) -> Vec<usize> {
        let Some(stored) = self.stored() else { return Vec::new() };
        let at = |block: &usize| {
            let expected = stored.load(*block);
            expected.tag() == tag && !expected.has_overlap()
        };
        (0..self.len()).filter(at).take(most).collect()
    }
}

#[inline]
fn counter(block: usize) -> usize {
    ((block as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % COUNTERS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::expected_block::FIRST;

    #[test]
    fn both_widths_keep_contents_and_flags() {
        for width in [Width::Four, Width::One] {
            let source = Expectations::new(width, 100).unwrap();
            let tag = source.tag(ContentId(5));
            let start = source.load(7);
            let (seen, begun) = (source.snapshot(7), start.begun(tag));
            assert!(source.change(7, start, begun));
            let busy = source.load(7);
            assert!(busy.is_busy() && busy.tag() == tag);
            assert_eq!(source.changes(7, seen, busy), (width == Width::Four).then_some(1));
            assert!(source.swap(7, busy, busy.ended(tag)));
            assert_eq!(source.find(tag, 9), [7]);
            let rest = source.load(7);
            assert!(source.change(7, rest, rest.with_overlap()) && source.load(7).has_overlap());
        }
    }

    #[test]
    fn tags_are_spread_over_all_values() {
        for (width, values) in [(Width::Four, 65_528), (Width::One, 119)] {
            let source = Expectations::new(width, 1).unwrap();
            let tags: std::collections::HashSet<_> =
                (1..2_000_000).map(|id| source.tag(ContentId(id))).collect();
            assert_eq!(tags.len(), values);
            assert!(tags.iter().all(|&tag| tag >= FIRST && (width == Width::Four || tag < 127)));
        }
    }
}
