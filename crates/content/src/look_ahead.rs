//! Look-ahead: the ids and roots of the next blocks of a job, found for a row of them at a time.
//!
//! Stores retire in order, so while one block's stores drain the processor can do some fifty cycles of other work; any more work delays
//! the next block's stores. Finding one id takes about that long. For a row of ids the work overlaps, and no block waits for its id.

use crate::next_block::ROW;
use crate::{ContentId, Contents, Root};

/// A position that no job reaches.
const NOWHERE: u64 = 1 << 63;

/// The contents of one row of positions.
#[derive(Debug, Clone)]
pub(crate) struct LookAhead {
    /// The first position.
    start: u64,
    ids: [ContentId; ROW],
    roots: [Root; ROW],
}

impl LookAhead {
    /// An empty row.
    pub fn none() -> Self {
        Self { start: NOWHERE, ids: [ContentId::ZERO; ROW], roots: [Root::default(); ROW] }
    }

    /// The place of `position` in the row, if it is in it.
    #[inline]
    pub fn place_of(&self, position: u64) -> Option<usize> {
        let place = position.wrapping_sub(self.start);
        (place < ROW as u64).then_some(place as usize)
    }

    /// Refills the row from position `start` on; `find` gives the ids.
    #[inline]
    pub fn refill(
        &mut self,
        start: u64,
        contents: &Contents,
        find: impl FnOnce(&mut [ContentId; ROW]),
    ) {
        self.start = start;
        find(&mut self.ids);
        contents.roots(&self.ids, &mut self.roots);
    }

    /// Holds one content that has no position, at place 0.
    #[inline]
    pub fn only(&mut self, id: ContentId, contents: &Contents) {
        self.start = NOWHERE;
        self.ids[0] = id;
        let [root, ..] = &mut self.roots;
        contents.roots(&[id], std::array::from_mut(root));
    }

    /// The content at a place, and its root.
    #[inline]
    pub fn at(&self, place: usize) -> (ContentId, &Root) {
        (self.ids[place % ROW], &self.roots[place % ROW])
    }
}
