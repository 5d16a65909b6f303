//! The content of the next block in the order of writing, and its content id.

use crate::{ContentId, Parts};

/// Positions that are looked up together. Blocks take longer with rows of 8 and of 32.
pub(crate) const ROW: usize = 16;

/// The content that one written block is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextBlock {
    /// Zeros.
    Zero,
    /// A new content, with this ordinal.
    New(u64),
    /// A duplicate of the content with this ordinal.
    Again(u64),
    /// A content of the pool: one of the few that come very often.
    Pool(u64),
}

/// The first id of each kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstIds {
    pub new: ContentId,
    pub again: ContentId,
    pub pool: ContentId,
}

impl FirstIds {
    /// The id of a block: the first of its kind, plus the ordinal.
    #[inline]
    pub fn id_of(self, next: NextBlock) -> ContentId {
        let (first, ordinal) = match next {
            NextBlock::Zero => return ContentId::ZERO,
            NextBlock::New(ordinal) => (self.new, ordinal),
            NextBlock::Again(ordinal) => (self.again, ordinal),
            NextBlock::Pool(ordinal) => (self.pool, ordinal),
        };
        ContentId(first.0 + ordinal % Parts::ORDINALS)
    }
}
