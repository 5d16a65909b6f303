//! The expected block: the table's entry for one block, in 32 bits.
//!
//! From the highest bit: a write is in flight (1 bit), several writes overlap (1; details are in the list of overlaps), number of changes modulo 16
//! (4), tag of the content (16), the lower part of the previous tag (10).

/// A short hash of a content id, or one of the reserved states below [`FIRST`].
pub(crate) type Tag = u16;

/// Never written.
pub(crate) const NEVER: Tag = 0;
/// Zeros were written.
pub(crate) const ZERO: Tag = 1;
/// Discarded: zeros if the device promises them, otherwise anything.
pub(crate) const DISCARDED: Tag = 2;
/// Unknown: a write failed, never ended, or covered only a part.
pub(crate) const UNCERTAIN: Tag = 3;
/// The first tag of contents.
pub(crate) const FIRST: Tag = 8;

const BUSY: u32 = 1 << 31;
const OVERLAP: u32 = 1 << 30;
const CHANGES: u32 = 26;
const TAG: u32 = 10;
const BEFORE: u32 = (1 << TAG) - 1;
/// The value for an unknown previous tag.
const UNKNOWN: u16 = BEFORE as u16;

/// The 10 bits of a tag that are kept after the next write. Reserved states keep their value; no content maps to one of these.
#[inline]
pub(crate) fn lower(tag: Tag) -> u16 {
    let part = tag & UNKNOWN;
    if tag < FIRST {
        tag
    } else if part < FIRST || part == UNKNOWN {
        part ^ 0x200
    } else {
        part
    }
}

/// The content that one block must hold, as far as the table knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ExpectedBlock(pub u32);

impl ExpectedBlock {
    /// An entry without a write in flight, with this content, and an unknown previous content.
    pub(crate) fn at_rest(tag: Tag) -> Self {
        Self(u32::from(tag) << TAG | BEFORE)
    }

    /// Tells whether a write is in flight.
    #[inline]
    pub(crate) fn is_busy(self) -> bool {
        self.0 & BUSY != 0
    }

    /// Tells whether writes overlap or overlapped: then the list of overlaps says what the block may hold.
    #[inline]
    pub(crate) fn has_overlap(self) -> bool {
        self.0 & OVERLAP != 0
    }

    /// Tag of the content, or of the write in flight.
    #[inline]
    pub(crate) fn tag(self) -> Tag {
        (self.0 >> TAG) as Tag
    }

    /// The kept part of the previous tag; `None` when unknown.
    #[inline]
    pub(crate) fn before(self) -> Option<u16> {
        let before = (self.0 & BEFORE) as u16;
        (before != UNKNOWN).then_some(before)
    }

    /// Tells whether the previous content may have been that of `tag`.
    #[inline]
    pub(crate) fn may_have_been(self, tag: Tag) -> bool {
        self.before().is_none_or(|before| before == lower(tag))
    }

    /// Number of changes so far, modulo 16.
    #[inline]
    pub(crate) fn changes(self) -> u32 {
        self.0 >> CHANGES & 15
    }

    /// Number of changes from `earlier` to this entry, modulo 16.
    #[inline]
    pub(crate) fn changes_since(self, earlier: Self) -> u32 {
        self.changes().wrapping_sub(earlier.changes()) & 15
    }

    /// Marks a write of `tag` as in flight.
    #[inline]
    pub(crate) fn begun(self, tag: Tag) -> Self {
        let changes = ((self.changes() + 1) & 15) << CHANGES;
        Self(BUSY | changes | u32::from(tag) << TAG | u32::from(lower(self.tag())))
    }

    /// Marks the write in flight as ended; the block holds `tag`.
    #[inline]
    pub(crate) fn ended(self, tag: Tag) -> Self {
        Self(self.0 & !BUSY & !(0xffff << TAG) | u32::from(tag) << TAG)
    }

    /// Marks overlapping writes: the tag then has no meaning, and the list of overlaps applies.
    pub(crate) fn with_overlap(self) -> Self {
        Self(OVERLAP | ((self.changes() + 1) & 15) << CHANGES | BEFORE)
    }

    /// Sets the number of changes, modulo 16.
    pub(crate) fn with_changes(self, changes: u32) -> Self {
        Self(self.0 & !(15 << CHANGES) | (changes & 15) << CHANGES)
    }

    /// Returns the part of it that a state file keeps. A write still in flight never ended, so its block becomes unknown. Overlaps are stored
    /// separately.
    pub(crate) fn for_state_file(self) -> Self {
        if self.has_overlap() || self.is_busy() { Self::at_rest(UNCERTAIN) } else { self }
    }

    /// Marks the previous content as unknown.
    pub(crate) fn without_previous(self) -> Self {
        Self(self.0 | BEFORE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_keeps_what_it_replaces_and_counts() {
        let start = ExpectedBlock(0);
        assert_eq!((start.tag(), start.before(), start.is_busy()), (NEVER, Some(NEVER), false));
        let first = start.begun(0xabcd);
        assert!(first.is_busy() && first.tag() == 0xabcd && first.may_have_been(NEVER));
        let rest = first.ended(0xabcd);
        let second = rest.begun(999).ended(999);
        assert!(!second.is_busy() && second.may_have_been(0xabcd) && !second.may_have_been(0xabce));
        assert_eq!(second.changes_since(start), 2);
        let many = (0..17).fold(start, |word, _| word.begun(9));
        assert_eq!(many.changes_since(start), 1);
    }

    #[test]
    fn the_kept_part_of_a_content_is_never_that_of_a_state_or_of_the_unknown() {
        for tag in FIRST..=u16::MAX {
            let part = lower(tag);
            assert!((FIRST..UNKNOWN).contains(&part), "{tag}: {part}");
        }
        for state in 0..FIRST {
            assert_eq!(lower(state), state);
        }
    }
}
