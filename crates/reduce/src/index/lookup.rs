//! An index that holds records: it maps fingerprints to whatever the caller uses as places of blocks.

use std::collections::{HashMap, VecDeque};

use super::{Chapter, DedupeWindow, Geometry};
use crate::{BLOCK, Fingerprint};

/// The answer of an index to a fingerprint. It is only advice: the block there may have changed since, so a caller that has both blocks at hand
/// compares them with [`Advice::confirmed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice<P> {
    /// Place of the block when the record was made.
    pub place: P,
}

impl<P> Advice<P> {
    /// Tells whether the block at the advised place is the same block, byte for byte.
    pub fn confirmed(&self, there: &[u8; BLOCK], block: &[u8; BLOCK]) -> bool {
        there == block
    }
}

/// The index of a volume, bounded by its geometry: at most `window_blocks` records of some 50 bytes.
pub struct Index<P> {
    window: DedupeWindow,
    records: HashMap<Fingerprint, (Chapter, P)>,
    /// Names that were put into each remembered chapter, the oldest chapter first; some of them have moved to a newer one since.
    chapters: VecDeque<Vec<Fingerprint>>,
    /// Number of the first chapter in `chapters`.
    first: Chapter,
}

impl<P: Copy> Index<P> {
    /// An empty index.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            window: DedupeWindow::new(geometry),
            records: HashMap::new(),
            chapters: VecDeque::from([Vec::new()]),
            first: 0,
        }
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Tells whether it holds no records.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Looks a fingerprint up. A record that is found moves to the open chapter.
    pub fn find(&mut self, print: Fingerprint) -> Option<Advice<P>> {
        let &(chapter, place) = self.records.get(&print)?;
        if !self.window.finds(chapter, name(print)) {
            return None;
        }
        if chapter != self.window.open_chapter() {
            self.put(print, place);
        }
        Some(Advice { place })
    }

    /// Records that the block with this fingerprint is at `place`, replacing any earlier record of it.
    pub fn insert(&mut self, print: Fingerprint, place: P) {
        match self.records.get_mut(&print) {
            Some(record) if record.0 == self.window.open_chapter() => record.1 = place,
            _ => self.put(print, place),
        }
    }

    fn put(&mut self, print: Fingerprint, place: P) {
        let chapter = self.window.put(1);
        self.records.insert(print, (chapter, place));
        if let Some(open) = self.chapters.back_mut() {
            open.push(print);
        }
        if self.window.open_chapter() != chapter {
            self.chapters.push_back(Vec::new());
            self.forget();
        }
    }

    fn forget(&mut self) {
        while self.first < self.window.oldest_chapter() {
            for print in self.chapters.pop_front().unwrap_or_default() {
                if self.records.get(&print).is_some_and(|record| record.0 == self.first) {
                    self.records.remove(&print);
                }
            }
            self.first += 1;
        }
    }
}

/// A number derived from the content, which decides whether its name stays in memory in the sparse part.
fn name(print: Fingerprint) -> u64 {
    (print.0 >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    fn print(id: u64) -> Fingerprint {
        Fingerprint::of(&id.to_le_bytes())
    }

    #[test]
    fn advice_is_confirmed_by_bytes_alone() {
        let mut index = Index::new(Geometry::DEFAULT);
        let block = [7; BLOCK];
        index.insert(Fingerprint::of(&block), 3u64);
        let advice = index.find(Fingerprint::of(&block)).unwrap();
        assert_eq!(advice.place, 3);
        let mut there = block;
        assert!(advice.confirmed(&there, &block));
        there[4095] = 0;
        assert!(!advice.confirmed(&there, &block));
    }

    #[test]
    fn a_later_record_replaces_the_place() {
        let mut index = Index::new(Geometry::DEFAULT);
        index.insert(print(1), 10);
        index.insert(print(1), 20);
        assert_eq!(index.find(print(1)).map(|a| a.place), Some(20));
        assert_eq!(index.find(print(2)), None);
        assert_eq!((index.len(), index.is_empty()), (1, false));
    }

    /// Chapters as plain lists that are searched from the newest to the oldest.
    struct Naive {
        chapters: Vec<Vec<u64>>,
        per_chapter: usize,
        remembered: usize,
    }

    impl Naive {
        fn post(&mut self, id: u64) -> bool {
            let from = self.chapters.len().saturating_sub(self.remembered);
            let found = self.chapters[from..].iter().any(|chapter| chapter.contains(&id));
            let open = self.chapters.last_mut().unwrap();
            if !open.contains(&id) {
                open.push(id);
                if open.len() == self.per_chapter {
                    self.chapters.push(Vec::new());
                }
            }
            found
        }
    }

    #[test]
    fn agrees_with_a_naive_index_through_many_chapters() {
        // The smallest real chapter takes 65,536 records; the naive index uses the same size and the same window.
        let geometry = Geometry::DEFAULT;
        let mut naive = Naive {
            chapters: vec![Vec::new()],
            per_chapter: 64,
            remembered: geometry.chapters() as usize,
        };
        let mut window = DedupeWindow::new(geometry);
        let scale = geometry.records_per_chapter() / 64;
        let mut last = std::collections::HashMap::new();
        let mut rng = Seed(5).generator();
        let mut missed = 0;
        for _ in 0..150_000u64 {
            let id = rng.below(120_000);
            let found = match last.get(&id) {
                Some(&chapter) => window.finds(chapter, id),
                None => false,
            };
            missed += u32::from(!found && last.contains_key(&id));
            if last.get(&id) != Some(&window.open_chapter()) {
                last.insert(id, window.put(scale));
            }
            assert_eq!(found, naive.post(id));
        }
        assert!(missed > 100, "the window was never passed: {missed}");
    }

    #[test]
    fn memory_is_bounded_by_the_window() {
        // A window of only a few chapters, reached by putting in whole chapters at once.
        let mut index = Index::new(Geometry::DEFAULT);
        let chapter = Geometry::DEFAULT.records_per_chapter();
        for id in 0..1000 {
            index.insert(print(id), id);
        }
        index.window.put(chapter * Geometry::DEFAULT.chapters());
        // Stands for the entries that other chapters would have left behind.
        while (index.first as usize + index.chapters.len()) <= index.window.open as usize {
            index.chapters.push_back(Vec::new());
        }
        index.forget();
        assert_eq!(index.len(), 0);
        assert!(index.chapters.len() as u64 <= Geometry::DEFAULT.chapters());
        assert_eq!(index.find(print(1)), None);
    }
}
