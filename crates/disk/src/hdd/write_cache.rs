//! The volatile write cache: extents by their place, which go to the medium in the order that suits the head.

use std::collections::BTreeMap;

/// A range without gaps that is written and not yet on the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub begin: u64,
    pub end: u64,
    /// The oldest write in it.
    pub oldest: u64,
}

/// Number of extents that are looked at on each side of the head.
const EACH_WAY: usize = 32;
/// The most that goes to the medium at once, so that a read does not wait for long.
const AT_ONCE: u64 = 2 << 20;

/// Dirty extents, bounded in bytes and in number.
#[derive(Debug, Clone)]
pub(crate) struct WriteCache {
    /// The end and the oldest write of each extent, by its beginning; no two extents touch.
    extents: BTreeMap<u64, (u64, u64)>,
    bytes: u64,
    most_bytes: u64,
    most_extents: usize,
}

impl WriteCache {
    pub(crate) fn new(most_bytes: u64, most_extents: usize) -> Self {
        Self { extents: BTreeMap::new(), bytes: 0, most_bytes, most_extents }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// Tells whether a write finds room while `leaving` bytes on their way to the medium still take some.
    pub(crate) fn has_room(&self, begin: u64, end: u64, leaving: u64) -> bool {
        let used = self.bytes + leaving;
        let touches =
            self.extents.range(..=end).next_back().is_some_and(|(_, &(to, _))| begin <= to);
        (used + (end - begin) <= self.most_bytes || used == 0)
            && (touches || self.extents.len() < self.most_extents)
    }

    /// Tells whether all of a range is here.
    pub(crate) fn holds(&self, begin: u64, end: u64) -> bool {
        self.extents.range(..=begin).next_back().is_some_and(|(_, &(to, _))| end <= to)
    }

    /// Takes the write numbered `write`.
    pub(crate) fn insert(&mut self, begin: u64, end: u64, write: u64) {
        let (mut from, mut to, mut oldest) = (begin, end, write);
        while let Some((&start, &(stop, first))) = self.extents.range(..=to).next_back() {
            if stop < from {
                break;
            }
            self.take(start);
            from = from.min(start);
            to = to.max(stop);
            oldest = oldest.min(first);
        }
        self.put(from, to, oldest);
    }

    /// Drops a range, whose bytes are on the medium or not wanted any more.
    pub(crate) fn remove(&mut self, begin: u64, end: u64) {
        let mut behind = end;
        while let Some((&start, &(stop, oldest))) = self.extents.range(..behind).next_back() {
            if stop <= begin {
                break;
            }
            behind = start;
            self.take(start);
            if start < begin {
                self.put(start, begin, oldest);
            }
            if stop > end {
                self.put(end, stop, oldest);
            }
        }
    }

    /// The extents nearest to `byte`, on both sides, that hold writes up to `upto`.
    pub(crate) fn near(&self, byte: u64, upto: u64) -> impl Iterator<Item = Extent> {
        let old = move |e: &Extent| e.oldest <= upto;
        let below = self.extents.range(..byte).rev().map(extent).filter(old).take(EACH_WAY);
        below.chain(self.extents.range(byte..).map(extent).filter(old).take(EACH_WAY))
    }

    /// Takes the beginning of an extent away, to be written.
    pub(crate) fn pull(&mut self, extent: Extent) -> Extent {
        let end = extent.end.min(extent.begin + AT_ONCE);
        self.take(extent.begin);
        if end < extent.end {
            self.put(end, extent.end, extent.oldest);
        }
        Extent { end, ..extent }
    }

    /// The oldest write that is here.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.extents.values().map(|&(_, oldest)| oldest).min()
    }

    fn put(&mut self, begin: u64, end: u64, oldest: u64) {
        self.bytes += end - begin;
        self.extents.insert(begin, (end, oldest));
    }

    fn take(&mut self, begin: u64) {
        if let Some((end, _)) = self.extents.remove(&begin) {
            self.bytes -= end - begin;
        }
    }
}

fn extent((&begin, &(end, oldest)): (&u64, &(u64, u64))) -> Extent {
    Extent { begin, end, oldest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(cache: &WriteCache) -> Vec<(u64, u64, u64)> {
        cache.near(0, u64::MAX).map(|e| (e.begin, e.end, e.oldest)).collect()
    }

    #[test]
    fn writes_that_touch_become_one_extent_with_the_age_of_the_oldest() {
        let mut cache = WriteCache::new(1 << 20, 8);
        cache.insert(10, 20, 1);
        cache.insert(30, 40, 2);
        cache.insert(20, 30, 3);
        cache.insert(50, 60, 4);
        assert_eq!(all(&cache), [(10, 40, 1), (50, 60, 4)]);
        assert_eq!(cache.bytes, 40);
        cache.remove(15, 55);
        assert_eq!(all(&cache), [(10, 15, 1), (55, 60, 4)]);
        assert_eq!(cache.bytes, 10);
        assert!(cache.holds(11, 15) && !cache.holds(11, 16));
    }

    #[test]
    fn only_so_many_extents_and_bytes_find_room() {
        let mut cache = WriteCache::new(100, 2);
        cache.insert(0, 10, 1);
        assert!(
            cache.has_room(20, 30, 0)
                && !cache.has_room(20, 111, 0)
                && !cache.has_room(20, 100, 20)
        );
        cache.insert(50, 60, 2);
        assert!(!cache.has_room(70, 80, 0), "two extents are all");
        assert!(cache.has_room(60, 70, 0), "what touches one makes no third");
    }
}
