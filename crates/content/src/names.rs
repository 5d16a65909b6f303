//! Ids of what comes in one lane of the written scope.

use crate::written::Next;
use crate::{ContentId, Parts};

/// The first id of each kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    pub new: ContentId,
    pub again: ContentId,
    pub pool: ContentId,
}

impl Names {
    /// The id of what comes next.
    #[inline]
    pub fn of(self, next: Next) -> ContentId {
        let (first, ordinal) = match next {
            Next::Zero => return ContentId::ZERO,
            Next::New(ordinal) => (self.new, ordinal),
            Next::Again(ordinal) => (self.again, ordinal),
            Next::Pool(ordinal) => (self.pool, ordinal),
        };
        ContentId(first.0 + ordinal % Parts::ORDINALS)
    }
}
