//! The table of one target: what every block must hold, shared by all workers.
//!
//! A write changes the entries of its blocks before it is submitted and again after it has ended, by one compare-and-swap each. Only a block with two
//! writes in flight takes a lock: the contents that it may hold are in the list of overlaps.

use content::ContentId;

use super::computed::Computed;
use super::expectations::{Expectations, Need, Snapshot};
use super::expected_block::{DISCARDED, ExpectedBlock, FIRST, NEVER, Tag, UNCERTAIN, ZERO};
use super::expected_blocks::Width;
use super::overlap::Overlap;
use super::overlaps::Overlaps;
use crate::error::EngineError;

/// Tells whether a content that was found is one that the block may hold; better answers are larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// The block must not hold it.
    Wrong,
    /// Not known, since the block changed too often while it was read.
    Unsure,
    /// Zeros in a part of a new file that was never written: correct, but no evidence about any write.
    Untouched,
    /// The block may hold it, and may not hold just anything.
    Right,
    /// Any content is accepted, since the expected one is not known.
    Unchecked,
    /// Any content is accepted, since the block was discarded and its device promises nothing.
    Discarded,
}

impl Fit {
    /// Tells whether any content is accepted, so that this one is neither right nor wrong.
    pub(crate) fn accepts_any(self) -> bool {
        self >= Self::Unchecked
    }
}

/// Promises of a target about blocks without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Promises {
    /// Tells whether discarded blocks read as zeros.
    pub discard_zeroes: bool,
    /// Tells whether blocks that were never written read as zeros, because the file was created for this load.
    pub fresh: bool,
}

/// The table of one target.
pub(crate) struct Table {
    pub(crate) expectations: Expectations,
    pub(crate) promises: Promises,
    overlaps: Overlaps,
}

impl Table {
    /// A table of `blocks` blocks, none of them written.
    pub(crate) fn new(width: Width, blocks: u64, promises: Promises) -> Result<Self, EngineError> {
        Ok(Self {
            expectations: Expectations::new(width, blocks)?,
            promises,
            overlaps: Overlaps::ready(),
        })
    }

    /// A table for loads that do not read what they write, without the counters that such reads need.
    pub(crate) fn still(
        width: Width,
        blocks: u64,
        promises: Promises,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            expectations: Expectations::still(width, blocks)?,
            promises,
            overlaps: Overlaps::few(),
        })
    }

    /// A table that is computed from what was written.
    pub(crate) fn computed(width: Width, promises: Promises, computed: Computed) -> Self {
        Self {
            expectations: Expectations::computed(width, computed),
            promises,
            overlaps: Overlaps::few(),
        }
    }

    /// Returns the table for the next load, on a target that now has `blocks` blocks; see [`Expectations::for_next_load`].
    pub(crate) fn for_next_load(
        self,
        blocks: u64,
        need: Need,
        loads: usize,
    ) -> Result<Self, EngineError> {
        let list = if need == Need::Anything { Overlaps::ready() } else { Overlaps::few() };
        for (block, tags) in
            self.overlaps().into_iter().filter(|(block, _)| (*block as u64) < blocks)
        {
            list.shard(block).insert(block, Overlap::at_rest(&tags));
        }
        let expectations = self.expectations.for_next_load(blocks, need, loads)?;
        Ok(Self { expectations, promises: self.promises, overlaps: list })
    }

    /// The tag of a content.
    #[inline]
    pub(crate) fn tag(&self, id: ContentId) -> Tag {
        if id == ContentId::ZERO { ZERO } else { self.expectations.tag(id) }
    }

    /// A snapshot of `block` for a read that begins.
    #[inline]
    pub(crate) fn snapshot(&self, block: usize) -> Snapshot {
        self.expectations.snapshot(block)
    }

    /// Prefetches the entry of `block`.
    #[inline]
    pub(crate) fn prefetch(&self, block: usize) {
        self.expectations.prefetch(block);
    }

    /// Tells whether `block` must hold `found`, and was not written since the read of it began at the snapshot `before`; without one, nothing is.
    #[inline]
    pub(crate) fn holds(&self, block: usize, before: Option<Snapshot>, found: Tag) -> bool {
        let now = self.expectations.load(block);
        let moved = now.is_busy() || before.is_some_and(|before| before.expected != now);
        !moved && !now.has_overlap() && self.fits(now.tag(), found) == Fit::Right
    }

    /// Begins a write of `tag` to `block`; returns the entry that [`Table::end`] needs.
    #[inline]
    pub(crate) fn begin(&self, block: usize, tag: Tag) -> ExpectedBlock {
        let expected = self.expectations.load(block);
        if !expected.is_busy() && !expected.has_overlap() {
            let begun = expected.begun(tag);
            if self.expectations.change(block, expected, begun) {
                return begun;
            }
        }
        self.begin_overlap(block, tag)
    }

    /// Ends the write of `tag` that [`Table::begin`] returned `begun` for; `done` tells whether it succeeded.
    #[inline]
    pub(crate) fn end(&self, block: usize, begun: ExpectedBlock, tag: Tag, done: bool) {
        let never = || self.promises.fresh && begun.before() == Some(NEVER);
        let left = match tag {
            _ if !done => UNCERTAIN,
            // Zeros that were there before do not prove that the discard worked.
            DISCARDED if never() => NEVER,
            tag => tag,
        };
        if begun.has_overlap() || !self.expectations.swap(block, begun, begun.ended(left)) {
            self.end_overlap(block, tag, done);
        }
    }

    #[cold]
    fn begin_overlap(&self, block: usize, tag: Tag) -> ExpectedBlock {
        let mut shard = self.overlaps.shard(block);
        loop {
            let expected = self.expectations.load(block);
            if !expected.is_busy() && !expected.has_overlap() {
                // The other write has ended in the meantime.
                let begun = expected.begun(tag);
                if self.expectations.change(block, expected, begun) {
                    return begun;
                }
                continue;
            }
            let overlapping = expected.with_overlap();
            if !self.expectations.change(block, expected, overlapping) {
                continue;
            }
            let overlap = shard.enter(block);
            if !expected.has_overlap() {
                overlap.restart(expected.tag());
            }
            overlap.begin(tag);
            return overlapping;
        }
    }

    #[cold]
    fn end_overlap(&self, block: usize, tag: Tag, done: bool) {
        let mut shard = self.overlaps.shard(block);
        let full = shard.is_full();
        let Some(overlap) = shard.get_mut(block) else { return };
        overlap.end(tag, done);
        let changed = self.expectations.load(block).with_overlap();
        let only_tag =
            overlap.only_tag().or_else(|| (full && overlap.rests()).then_some(UNCERTAIN));
        match only_tag {
            Some(tag) => {
                self.expectations
                    .store(block, ExpectedBlock::at_rest(tag).with_changes(changed.changes()));
                shard.remove(block);
            }
            None => self.expectations.store(block, changed),
        }
    }

    /// Tells whether a read that began at the snapshot `before` may have found `found` ([`ZERO`] for zeros). Where the read may have found anything,
    /// nothing is right.
    pub(crate) fn fit(&self, block: usize, before: Snapshot, found: Tag) -> Fit {
        let now = self.expectations.load(block);
        let changes = self.expectations.changes(block, before, now);
        let mut best = Fit::Wrong;
        for expected in [before.expected, now] {
            if !expected.has_overlap() {
                best = best.max(self.fits(expected.tag(), found));
            }
            if expected.is_busy() {
                best = best.max(self.fits_before(expected, found));
            }
        }
        if changes == Some(2) && !now.has_overlap() {
            best = best.max(self.fits_before(now, found));
        }
        let mut unsure = best == Fit::Unsure || changes.is_none_or(|changes| changes > 2);
        if before.expected.has_overlap() || now.has_overlap() {
            match self.overlaps.shard(block).get(block) {
                Some(overlap) => {
                    best = overlap.tags().map(|tag| self.fits(tag, found)).fold(best, Fit::max);
                    unsure |= overlap.may_be_unknown;
                }
                None => unsure = true,
            }
            // Checked again: a write that ended before the list was read has removed from it the contents that the read may have found.
            let still = self.expectations.changes(block, before, now) == Some(0);
            unsure |= !still || self.expectations.load(block) != now;
        }
        if best == Fit::Wrong && unsure { Fit::Unsure } else { best }
    }

    /// Tells how well `found` fits the content before the last write.
    fn fits_before(&self, expected: ExpectedBlock, found: Tag) -> Fit {
        match expected.before() {
            Some(before) if before < FIRST => self.fits(before, found),
            Some(_) if expected.may_have_been(found) => Fit::Right,
            Some(_) => Fit::Wrong,
            None => Fit::Unsure,
        }
    }

    /// Tells how well `found` fits a block that must hold `expected`.
    #[inline]
    fn fits(&self, expected: Tag, found: Tag) -> Fit {
        match expected {
            DISCARDED if !self.promises.discard_zeroes => Fit::Discarded,
            NEVER if !self.promises.fresh => Fit::Unchecked,
            UNCERTAIN => Fit::Unchecked,
            NEVER if found == ZERO => Fit::Untouched,
            DISCARDED if found == ZERO => Fit::Right,
            _ if expected == found => Fit::Right,
            _ => Fit::Wrong,
        }
    }

    /// Tells whether a write was in flight at any time since `before`.
    pub(crate) fn moved_since(&self, block: usize, before: Snapshot) -> bool {
        let now = self.expectations.load(block);
        let in_flight =
            || self.overlaps.shard(block).get(block).is_some_and(|overlap| !overlap.rests());
        let changed =
            now != before.expected || self.expectations.changes(block, before, now) != Some(0);
        changed || now.is_busy() || now.has_overlap() && in_flight()
    }

    /// The blocks that may hold one of several contents, with the tags of these; an unknown one where a write never ended.
    pub(crate) fn overlaps(&self) -> Vec<(usize, Vec<Tag>)> {
        self.overlaps.map(|block, overlap| {
            let tags = match overlap.rests() {
                true => overlap.tags().collect(),
                false => vec![UNCERTAIN],
            };
            self.expectations.load(block).has_overlap().then_some((block, tags))
        })
    }

    /// Makes `block` unknown. No write may be in flight.
    pub(crate) fn forget(&self, block: usize) {
        self.overlaps.shard(block).remove(block);
        self.expectations.store(block, ExpectedBlock::at_rest(UNCERTAIN));
    }

    /// Restores a block from a state file that may hold any of `tags`.
    pub(crate) fn restore_overlap(&self, block: usize, tags: &[Tag]) {
        self.expectations.store(block, ExpectedBlock(0).with_overlap());
        self.overlaps.shard(block).insert(block, Overlap::at_rest(tags));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(width: Width) -> Table {
        Table::new(width, 16, Promises::default()).unwrap()
    }

    fn ids(table: &Table, count: u64) -> Vec<Tag> {
        let mut tags: Vec<_> = (1..1000).map(|n| table.tag(ContentId(n))).collect();
        tags.sort_unstable();
        tags.dedup();
        tags.truncate(count as usize);
        tags
    }

    #[test]
    fn a_block_at_rest_holds_its_content_and_nothing_else() {
        for width in [Width::Four, Width::One] {
            let table = table(width);
            let tags = ids(&table, 3);
            assert_eq!(table.fit(3, table.snapshot(3), tags[0]), Fit::Unchecked);
            let begun = table.begin(3, tags[0]);
            table.end(3, begun, tags[0], true);
            let before = table.snapshot(3);
            assert_eq!(table.fit(3, before, tags[0]), Fit::Right);
            assert_eq!(table.fit(3, before, tags[1]), Fit::Wrong);
            assert_eq!(table.fit(3, before, ZERO), Fit::Wrong);
        }
    }

    #[test]
    fn a_read_accepts_every_write_that_was_in_flight_while_it_was() {
        let table = table(Width::Four);
        let tags = ids(&table, 5);
        let write = |tag| {
            let begun = table.begin(0, tag);
            table.end(0, begun, tag, true);
        };
        write(tags[0]);
        let before = table.snapshot(0);
        let begun = table.begin(0, tags[1]);
        assert_eq!(
            [0, 1, 2].map(|n| table.fit(0, before, tags[n])),
            [Fit::Right, Fit::Right, Fit::Wrong]
        );
        let late = table.snapshot(0);
        table.end(0, begun, tags[1], true);
        assert_eq!(
            [0, 1, 2].map(|n| table.fit(0, before, tags[n])),
            [Fit::Right, Fit::Right, Fit::Wrong]
        );
        assert_eq!(
            [0, 1, 2].map(|n| table.fit(0, late, tags[n])),
            [Fit::Right, Fit::Right, Fit::Wrong]
        );
        write(tags[2]);
        assert_eq!(
            [0, 1, 2, 3].map(|n| table.fit(0, before, tags[n])),
            [Fit::Right, Fit::Right, Fit::Right, Fit::Wrong]
        );
        write(tags[3]);
        assert_eq!(
            [0, 1, 4].map(|n| table.fit(0, before, tags[n])),
            [Fit::Right, Fit::Unsure, Fit::Unsure]
        );
        assert_eq!(
            [2, 3].map(|n| table.fit(0, table.snapshot(0), tags[n])),
            [Fit::Wrong, Fit::Right]
        );
    }

    #[test]
    fn overlapping_writes_leave_any_of_them_until_the_next_one() {
        for width in [Width::Four, Width::One] {
            let table = table(width);
            let tags = ids(&table, 5);
            for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
                let begun = [0, 1, 2].map(|n| table.begin(1, tags[n]));
                order.iter().for_each(|&n| table.end(1, begun[n], tags[n], true));
                let fits = |n: usize| table.fit(1, table.snapshot(1), tags[n]);
                assert_eq!(
                    [0, 1, 2, 3].map(fits),
                    [Fit::Right, Fit::Right, Fit::Right, Fit::Wrong]
                );
                let begun = table.begin(1, tags[3]);
                assert_eq!(
                    [0, 2, 3, 4].map(fits),
                    [Fit::Right, Fit::Right, Fit::Right, Fit::Wrong]
                );
                table.end(1, begun, tags[3], true);
                assert_eq!(
                    [0, 2, 3, 4].map(fits),
                    [Fit::Wrong, Fit::Wrong, Fit::Right, Fit::Wrong]
                );
                assert!(!table.snapshot(1).expected.has_overlap());
            }
        }
    }

    #[test]
    fn an_overlap_that_outlives_others_is_not_forgotten() {
        let table = table(Width::Four);
        let tags = ids(&table, 5);
        let long = table.begin(1, tags[0]);
        for &tag in &tags[1..4] {
            let begun = table.begin(1, tag);
            table.end(1, begun, tag, true);
        }
        table.end(1, long, tags[0], true);
        let fits = |n: usize| table.fit(1, table.snapshot(1), tags[n]);
        assert_eq!([0, 1, 3, 4].map(fits), [Fit::Right, Fit::Wrong, Fit::Right, Fit::Wrong]);
    }

    #[test]
    fn a_failed_write_leaves_anything_and_a_discard_what_the_device_promises() {
        for promised in [false, true] {
            let promises = Promises { discard_zeroes: promised, fresh: promised };
            let table = Table::new(Width::Four, 4, promises).unwrap();
            let fit = |found| table.fit(0, table.snapshot(0), found);
            let (zeros, other) = match promised {
                true => (Fit::Untouched, Fit::Wrong),
                false => (Fit::Unchecked, Fit::Unchecked),
            };
            assert_eq!((fit(ZERO), fit(77)), (zeros, other), "never written");
            let begun = table.begin(0, DISCARDED);
            table.end(0, begun, DISCARDED, true);
            // In a new file a discarded block cannot be distinguished from one that was never written.
            let discarded =
                |zeros| if promised { [zeros, Fit::Wrong] } else { [Fit::Discarded; 2] };
            assert_eq!([ZERO, 77].map(fit), discarded(Fit::Untouched), "discarded");
            for tag in [55, DISCARDED] {
                let begun = table.begin(0, tag);
                table.end(0, begun, tag, true);
            }
            assert_eq!([ZERO, 77].map(fit), discarded(Fit::Right), "written and discarded");
            let begun = table.begin(0, 99);
            table.end(0, begun, 99, false);
            assert_eq!((fit(99), fit(77)), (Fit::Unchecked, Fit::Unchecked), "failed");
        }
    }

    #[test]
    fn a_content_is_not_called_right_where_any_other_would_do() {
        let table = table(Width::Four);
        let tags = ids(&table, 2);
        let before = table.snapshot(0);
        let begun = table.begin(0, tags[0]);
        let fits = |before| tags.iter().map(|&tag| table.fit(0, before, tag)).collect::<Vec<_>>();
        // The read may find what was there before the first write, which nobody knows.
        assert_eq!(fits(table.snapshot(0)), [Fit::Unchecked; 2]);
        assert!(!table.holds(0, Some(table.snapshot(0)), tags[0]));
        table.end(0, begun, tags[0], true);
        assert_eq!(fits(before), [Fit::Unchecked; 2]);
        assert!(!table.holds(0, Some(before), tags[0]));
        assert!(table.holds(0, Some(table.snapshot(0)), tags[0]) && table.holds(0, None, tags[0]));
        // Of two overlapping writes one failed: it may have left anything.
        let begun = [0, 1].map(|n| table.begin(1, tags[n]));
        (0..2).for_each(|n| table.end(1, begun[n], tags[n], n == 0));
        assert_eq!([0, 1].map(|n| table.fit(1, table.snapshot(1), tags[n])), [Fit::Unchecked; 2]);
    }
}
