//! What comes next, found for a row of blocks at a time.
//!
//! Stores leave the processor in order, and only after all that was asked for before them is done. So while one block's stores drain,
//! there is time for some fifty cycles of other work and no more: what takes longer holds up the stores of the next block. An id takes
//! that long by itself. Found in a row, ids wait for each other no more than they must, and the bytes of a block for none.

use crate::{ContentId, Contents, Root};

/// Positions of a row. Blocks take longer with rows of 8 and of 32.
pub(crate) const ROW: usize = 16;

/// Where nobody gets to.
const NOWHERE: u64 = 1 << 63;

/// The contents at some positions in a row.
#[derive(Debug, Clone)]
pub(crate) struct Ahead {
    /// The first position.
    start: u64,
    ids: [ContentId; ROW],
    roots: [Root; ROW],
}

impl Ahead {
    /// Of no position.
    pub fn none() -> Self {
        Self { start: NOWHERE, ids: [ContentId::ZERO; ROW], roots: [Root::default(); ROW] }
    }

    /// The place of `position` in the row, where it is in there.
    #[inline]
    pub fn place_of(&self, position: u64) -> Option<usize> {
        let place = position.wrapping_sub(self.start);
        (place < ROW as u64).then_some(place as usize)
    }

    /// The contents from position `start` on, which `find` tells.
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

    /// One content that has no position, at place 0.
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
