//! What the table knows of one block, in 32 bits.
//!
//! From the top: a write is in flight (1), see the list of overlaps (1), changes modulo 16 (4), tag of the content (16), the
//! lower part of the tag before it (10).

/// A short hash of a content id, or one of the reserved states below 8.
pub(crate) type Tag = u16;

/// Nothing is known: nobody wrote here.
pub(crate) const NEVER: Tag = 0;
/// Zeros: written as such.
pub(crate) const ZERO: Tag = 1;
/// Discarded: zeros where the device promises them, anything where not.
pub(crate) const DISCARDED: Tag = 2;
/// A write failed or never ended, or covered only a part: anything.
pub(crate) const UNCERTAIN: Tag = 3;
/// First tag that stands for a content.
pub(crate) const FIRST: Tag = 8;

const BUSY: u32 = 1 << 31;
const MAPPED: u32 = 1 << 30;
const CHANGES: u32 = 26;
const TAG: u32 = 10;
const BEFORE: u32 = (1 << TAG) - 1;
/// What stands for "unknown" in the place of the tag before.
const UNKNOWN: u16 = BEFORE as u16;

/// The part of a tag that is kept after the next write: 10 bits. States stay what they are, and contents stay apart from them.
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

/// What the table knows of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Word(pub u32);

impl Word {
    /// A block at rest with this content, and nothing known before it.
    pub(crate) fn resting(tag: Tag) -> Self {
        Self(u32::from(tag) << TAG | BEFORE)
    }

    /// A write is in flight.
    #[inline]
    pub(crate) fn is_busy(self) -> bool {
        self.0 & BUSY != 0
    }

    /// Writes overlapped: the list of overlaps knows more.
    #[inline]
    pub(crate) fn is_mapped(self) -> bool {
        self.0 & MAPPED != 0
    }

    /// The content, or that of the write in flight.
    #[inline]
    pub(crate) fn tag(self) -> Tag {
        (self.0 >> TAG) as Tag
    }

    /// Part of the tag of what was there before; `None` when that is not known.
    #[inline]
    pub(crate) fn before(self) -> Option<u16> {
        let before = (self.0 & BEFORE) as u16;
        (before != UNKNOWN).then_some(before)
    }

    /// Whether what was there before may have been the content of `tag`, or is not known.
    #[inline]
    pub(crate) fn may_have_been(self, tag: Tag) -> bool {
        self.before().is_none_or(|before| before == lower(tag))
    }

    /// Changes so far, modulo 16.
    #[inline]
    pub(crate) fn changes(self) -> u32 {
        self.0 >> CHANGES & 15
    }

    /// Changes from `earlier` to this one, modulo 16.
    #[inline]
    pub(crate) fn changes_since(self, earlier: Self) -> u32 {
        self.changes().wrapping_sub(earlier.changes()) & 15
    }

    /// This block with a write of `tag` in flight.
    #[inline]
    pub(crate) fn begun(self, tag: Tag) -> Self {
        let changes = ((self.changes() + 1) & 15) << CHANGES;
        Self(BUSY | changes | u32::from(tag) << TAG | u32::from(lower(self.tag())))
    }

    /// The write in flight is there; `tag` is what it left.
    #[inline]
    pub(crate) fn ended(self, tag: Tag) -> Self {
        Self(self.0 & !BUSY & !(0xffff << TAG) | u32::from(tag) << TAG)
    }

    /// Overlapping writes: the tag says nothing any more.
    pub(crate) fn mapped(self) -> Self {
        Self(MAPPED | ((self.changes() + 1) & 15) << CHANGES | BEFORE)
    }

    /// The same with other changes.
    pub(crate) fn with_changes(self, changes: u32) -> Self {
        Self(self.0 & !(15 << CHANGES) | (changes & 15) << CHANGES)
    }

    /// What is to be kept of it: what is in flight for ever is uncertain, what overlaps stand elsewhere.
    pub(crate) fn settled(self) -> Self {
        if self.is_mapped() || self.is_busy() { Self::resting(UNCERTAIN) } else { self }
    }

    /// The same with nothing known before it.
    pub(crate) fn forgetful(self) -> Self {
        Self(self.0 | BEFORE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_keeps_what_it_replaces_and_counts() {
        let start = Word(0);
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
