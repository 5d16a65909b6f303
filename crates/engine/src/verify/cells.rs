//! What is known of all blocks of a target, with the changes of each.

use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use content::{ContentId, Root};

use super::known::Known;
use super::word::{Tag, Word, ZERO};
use super::words::{Width, Words};
use crate::error::{EngineError, Kind as ErrorKind};
use crate::memory;

/// Counters of changes. Blocks share them: a counter may count too much, never too little.
const COUNTERS: usize = 1 << 18;

/// A block as it was at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Seen {
    pub(crate) word: Word,
    count: u16,
}

/// One cell per block.
pub(crate) struct Cells {
    cells: Kind,
    /// Changes of blocks, modulo 65536; none where nothing is read while it is written.
    counters: Box<[AtomicU16]>,
}

enum Kind {
    Words(Words),
    /// Nothing for each block: all follows from what was written.
    Known(Box<Known>, Width),
}

impl Cells {
    pub(crate) fn new(width: Width, blocks: u64) -> Result<Self, EngineError> {
        Ok(Self { counters: zeroed(COUNTERS as u64)?, ..Self::still(width, blocks)? })
    }

    /// The same where nothing is read while it is written.
    pub(crate) fn still(width: Width, blocks: u64) -> Result<Self, EngineError> {
        let cells = Kind::Words(Words::new(width, blocks)?);
        Ok(Self { cells, counters: Box::new([]) })
    }

    /// Cells that take no memory. Contents have tags as in cells of `width`.
    pub(crate) fn known(width: Width, known: Known) -> Self {
        Self { cells: Kind::Known(Box::new(known), width), counters: Box::new([]) }
    }

    /// What was written, where all follows from that.
    #[inline]
    pub(crate) fn as_known(&self) -> Option<&Known> {
        match &self.cells {
            Kind::Known(known, _) => Some(known),
            Kind::Words(_) => None,
        }
    }

    /// What is held for each block, where anything is.
    pub(crate) fn words(&self) -> Option<&Words> {
        match &self.cells {
            Kind::Words(words) => Some(words),
            Kind::Known(..) => None,
        }
    }

    /// Bytes that they take.
    pub(crate) fn bytes(&self) -> usize {
        self.words().map_or(0, Words::bytes)
    }

    #[inline]
    pub(crate) fn width(&self) -> Width {
        match &self.cells {
            Kind::Words(words) => words.width(),
            Kind::Known(_, width) => *width,
        }
    }

    /// Blocks that there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match &self.cells {
            Kind::Words(words) => words.len(),
            Kind::Known(known, _) => known.len(),
        }
    }

    /// The tag by which `id`, which is not zero, is known here.
    #[inline]
    pub(crate) fn tag(&self, id: ContentId) -> Tag {
        self.width().tag(Root::of(id).number())
    }

    /// The word of `block`.
    #[inline]
    pub(crate) fn load(&self, block: usize) -> Word {
        match &self.cells {
            Kind::Words(words) => words.load(block),
            Kind::Known(known, _) => match known.held(block) {
                Ok((ContentId::ZERO, _)) => Word::resting(ZERO),
                Ok((id, _)) => Word::resting(self.tag(id)),
                Err(word) => word,
            },
        }
    }

    /// Has the processor fetch the word of `block`, and waits for nothing.
    #[inline]
    pub(crate) fn expect(&self, block: usize) {
        if let Kind::Words(words) = &self.cells {
            words.expect(block);
        }
    }

    /// `block` at the beginning of a read. The counter first: it may be too old, never too new.
    #[inline]
    pub(crate) fn see(&self, block: usize) -> Seen {
        let count = self.counted(block);
        Seen { word: self.load(block), count }
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

    /// Changes of `block` since `before`, now that it is `now`; `None` when there were many, or when that cannot be told.
    ///
    /// A write that had counted itself and not yet changed the cell when `before` was taken is not in the count.
    pub(crate) fn changes(&self, block: usize, before: Seen, now: Word) -> Option<u32> {
        let counted = u32::from(self.counted(block).wrapping_sub(before.count));
        match &self.cells {
            // The word counts modulo 16, and for this block alone; half of that is left to writes that are not in the count.
            Kind::Words(Words::Four(_)) => (counted < 8).then(|| now.changes_since(before.word)),
            // A byte neither counts nor remembers: only what did not move at all is known.
            Kind::Words(Words::One(_)) => (counted == 0 && now == before.word).then_some(0),
            Kind::Known(..) => Some(0),
        }
    }

    /// Puts `new`, which is a change, in place of `old`; false when something else stands there.
    #[inline]
    pub(crate) fn change(&self, block: usize, old: Word, new: Word) -> bool {
        // Before the cell, so that whoever sees the new cell sees that something changed.
        self.count(block);
        self.swap(block, old, new)
    }

    /// The same where nothing changes but that the write is no longer in flight.
    #[inline]
    pub(crate) fn swap(&self, block: usize, old: Word, new: Word) -> bool {
        // Whoever writes knows what it wrote when it has ended.
        self.words().is_none_or(|words| words.swap(block, old, new))
    }

    /// Puts `new`, which is a change, there, whatever stands there.
    pub(crate) fn store(&self, block: usize, new: Word) {
        self.count(block);
        if let Some(words) = self.words() {
            words.store(block, new);
        }
    }

    /// Blocks at rest with `tag`, at most `most`; none where each would have to be computed.
    pub(crate) fn find(&self, tag: Tag, most: usize) -> Vec<usize> {
        let Some(words) = self.words() else { return Vec::new() };
        let at = |block: &usize| {
            let word = words.load(*block);
            word.tag() == tag && !word.is_mapped()
        };
        (0..self.len()).filter(at).take(most).collect()
    }
}

#[inline]
fn counter(block: usize) -> usize {
    ((block as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % COUNTERS
}

pub(super) fn zeroed<T: memory::Zeroable>(count: u64) -> Result<Box<[T]>, EngineError> {
    memory::zeroed(count).ok_or_else(|| {
        EngineError::new(
            ErrorKind::Environment,
            format!(
                "Verification needs {} bytes of memory, which cannot be had",
                count * size_of::<T>() as u64
            ),
            "use a smaller range, or 1 byte per block",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::word::FIRST;

    #[test]
    fn both_widths_keep_contents_and_flags() {
        for width in [Width::Four, Width::One] {
            let cells = Cells::new(width, 100).unwrap();
            let tag = cells.tag(ContentId(5));
            let start = cells.load(7);
            let (seen, begun) = (cells.see(7), start.begun(tag));
            assert!(cells.change(7, start, begun));
            let busy = cells.load(7);
            assert!(busy.is_busy() && busy.tag() == tag);
            assert_eq!(cells.changes(7, seen, busy), (width == Width::Four).then_some(1));
            assert!(cells.swap(7, busy, busy.ended(tag)));
            assert_eq!(cells.find(tag, 9), [7]);
            let rest = cells.load(7);
            assert!(cells.change(7, rest, rest.mapped()) && cells.load(7).is_mapped());
        }
    }

    #[test]
    fn tags_are_spread_over_all_values() {
        for (width, values) in [(Width::Four, 65_528), (Width::One, 119)] {
            let cells = Cells::new(width, 1).unwrap();
            let tags: std::collections::HashSet<_> =
                (1..2_000_000).map(|id| cells.tag(ContentId(id))).collect();
            assert_eq!(tags.len(), values);
            assert!(tags.iter().all(|&tag| tag >= FIRST && (width == Width::Four || tag < 127)));
        }
    }
}
