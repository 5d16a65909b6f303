//! A block with overlapping writes: the contents that it may hold.
//!
//! The beginnings and ends of its writes are numbered. A content is ruled out once a write that began after the end of that content's write has
//! itself ended.

use super::expected_block::{Tag, UNCERTAIN};

/// Most contents that are distinguished; with more, the block is unknown until no write is in flight.
const MAX_VERSIONS: usize = 256;

/// Number of contents that memory is reserved for.
const USUAL_VERSIONS: usize = 4;

/// The content of one write, or the content before all writes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    tag: Tag,
    begun: u64,
    /// Number of the write's end; `None` while it is in flight.
    ended: Option<u64>,
}

/// The contents that a block may hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Overlap {
    versions: Vec<Version>,
    /// Number of beginnings and ends of writes so far.
    moments: u64,
    in_flight: usize,
    /// Tells whether the block may still hold the content before all writes, which is not known.
    pub(crate) may_be_unknown: bool,
}

impl Overlap {
    /// A block without writes in flight that may hold any of `tags`.
    pub(crate) fn at_rest(tags: &[Tag]) -> Self {
        let version = |&tag| Version { tag, begun: 0, ended: Some(0) };
        let versions = tags.iter().map(version).collect();
        Self { versions, moments: 1, in_flight: 0, may_be_unknown: false }
    }

    /// An unused overlap with reserved memory.
    pub(crate) fn spare() -> Self {
        Self { versions: Vec::with_capacity(USUAL_VERSIONS), ..Self::default() }
    }

    /// Starts anew, with a write of `tag` in flight over an unknown content.
    pub(crate) fn restart(&mut self, tag: Tag) {
        self.versions.clear();
        (self.moments, self.in_flight, self.may_be_unknown) = (0, 0, true);
        self.begin(tag);
    }

    pub(crate) fn begin(&mut self, tag: Tag) {
        if self.versions.len() >= MAX_VERSIONS {
            // From here on the contents of ended writes are one unknown content, until no write is in flight.
            self.versions.retain(|version| version.ended.is_none());
            self.versions.push(Version { tag: UNCERTAIN, begun: u64::MAX, ended: Some(u64::MAX) });
        }
        self.versions.push(Version { tag, begun: self.moments, ended: None });
        self.moments += 1;
        self.in_flight += 1;
    }

    /// Notes that a write of `tag` has ended; `done` tells whether it succeeded.
    pub(crate) fn end(&mut self, tag: Tag, done: bool) {
        let ending = |version: &&mut Version| version.tag == tag && version.ended.is_none();
        let Some(version) = self.versions.iter_mut().find(ending) else { return };
        version.ended = Some(self.moments);
        let begun = version.begun;
        if !done {
            version.tag = UNCERTAIN;
        }
        self.moments += 1;
        self.in_flight -= 1;
        if done {
            self.may_be_unknown = false;
            // Removes contents whose write had ended when this one began: they are overwritten.
            self.versions.retain(|version| version.ended.is_none_or(|ended| ended >= begun));
        }
    }

    /// Tells whether no write is in flight.
    pub(crate) fn rests(&self) -> bool {
        self.in_flight == 0
    }

    /// The tags that the block may hold.
    pub(crate) fn tags(&self) -> impl Iterator<Item = Tag> + '_ {
        self.versions.iter().map(|version| version.tag)
    }

    /// The content that the block must hold, once no write is in flight and only one is possible.
    pub(crate) fn only_tag(&self) -> Option<Tag> {
        if self.tags().any(|tag| tag == UNCERTAIN) {
            return self.rests().then_some(UNCERTAIN);
        }
        let first = self.tags().next()?;
        (self.rests() && self.tags().all(|tag| tag == first)).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(tag: Tag) -> Overlap {
        let mut overlap = Overlap::spare();
        overlap.restart(tag);
        overlap
    }

    fn tags(overlap: &Overlap) -> Vec<Tag> {
        overlap.tags().collect()
    }

    #[test]
    fn a_write_that_begins_after_the_end_of_another_replaces_it_when_it_ends() {
        let mut overlap = busy(10);
        overlap.begin(11);
        overlap.end(11, true);
        assert_eq!(tags(&overlap), [10, 11]);
        overlap.begin(12);
        overlap.end(12, true);
        assert_eq!(tags(&overlap), [10, 12], "10 is still in flight");
        overlap.end(10, true);
        assert_eq!((tags(&overlap), overlap.only_tag()), (vec![10, 12], None));
        overlap.begin(13);
        assert_eq!(tags(&overlap), [10, 12, 13]);
        overlap.end(13, true);
        assert_eq!(overlap.only_tag(), Some(13));
    }

    #[test]
    fn a_failed_write_leaves_anything() {
        let mut overlap = busy(10);
        overlap.begin(11);
        overlap.end(10, false);
        overlap.end(11, true);
        assert_eq!(overlap.only_tag(), Some(UNCERTAIN));
    }

    #[test]
    fn a_block_that_never_rests_takes_bounded_memory() {
        let mut overlap = busy(8);
        for tag in 9..5000 {
            overlap.begin(tag);
            overlap.end(tag - 1, true);
            assert!(overlap.versions.len() < 4);
        }
        (0..1000).for_each(|tag| overlap.begin(tag + 6000));
        (0..1000).for_each(|tag| overlap.end(tag + 6000, true));
        overlap.end(4999, true);
        assert_eq!(overlap.only_tag(), Some(UNCERTAIN));
    }
}
