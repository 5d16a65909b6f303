//! The dedupe window: the open chapter, and whether a record of an older chapter can still be found.

use super::Geometry;

/// The number of a chapter, counted from the first chapter ever opened.
pub type Chapter = u32;

/// In the sparse part of an index one name in this many stays in memory (UDS, `config.c`).
const SAMPLE_RATE: u64 = 32;
/// Number of sparse chapters whose names are all in memory at a time (UDS, `config.c`).
const CACHED_CHAPTERS: usize = 7;

/// The position of an index's window. It holds no records: whoever holds the records stores the chapter of each.
#[derive(Debug, Clone)]
pub struct DedupeWindow {
    geometry: Geometry,
    pub(super) open: Chapter,
    /// Number of records in the open chapter.
    filled: u64,
    /// Sparse chapters in memory, the most recently used last.
    cached: Vec<Chapter>,
}

impl DedupeWindow {
    /// The window of an empty index.
    pub fn new(geometry: Geometry) -> Self {
        Self { geometry, open: 0, filled: 0, cached: Vec::new() }
    }

    /// The shape of the index.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The chapter that takes new records.
    pub fn open_chapter(&self) -> Chapter {
        self.open
    }

    /// The oldest chapter that is remembered.
    pub fn oldest_chapter(&self) -> Chapter {
        let chapters = Chapter::try_from(self.geometry.chapters()).unwrap_or(Chapter::MAX);
        (self.open + 1).saturating_sub(chapters)
    }

    /// Tells whether a record of this chapter is found. `name` is any evenly distributed number derived from the content: in the sparse part, names
    /// that are multiples of 32 are found at once, and bring the other names of their chapter into memory.
    pub fn finds(&mut self, chapter: Chapter, name: u64) -> bool {
        let age = u64::from(self.open.saturating_sub(chapter));
        if age < self.geometry.dense_chapters() {
            return true;
        }
        if age >= self.geometry.chapters() {
            return false;
        }
        let cached = self.cached.iter().position(|&c| c == chapter);
        if cached.is_none() && !name.is_multiple_of(SAMPLE_RATE) {
            return false;
        }
        match cached {
            Some(at) => _ = self.cached.remove(at),
            None if self.cached.len() == CACHED_CHAPTERS => _ = self.cached.remove(0),
            None => {}
        }
        self.cached.push(chapter);
        true
    }

    /// Adds `records` to the open chapter, both new ones and those that move there from an older chapter; returns the chapter that holds them (if
    /// they fill the open chapter, the one that was open before).
    pub fn put(&mut self, records: u64) -> Chapter {
        let into = self.open;
        self.filled += records;
        let full = self.filled / self.geometry.records_per_chapter();
        self.filled %= self.geometry.records_per_chapter();
        self.open = self.open.saturating_add(Chapter::try_from(full).unwrap_or(Chapter::MAX));
        into
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::IndexMemory;

    #[test]
    fn a_dense_index_forgets_a_whole_chapter_when_it_opens_one_too_many() {
        let mut window = DedupeWindow::new(Geometry::DEFAULT);
        assert_eq!(window.put(1), 0);
        window.put(Geometry::DEFAULT.window_blocks() - 2);
        assert_eq!(window.open_chapter(), 1023);
        assert!(window.finds(0, 1));
        window.put(1);
        assert_eq!((window.open_chapter(), window.oldest_chapter()), (1024, 1));
        assert!(!window.finds(0, 1) && window.finds(1, 1));
    }

    #[test]
    fn the_sparse_part_finds_one_name_in_32_and_then_its_neighbours() {
        let geometry = Geometry { memory: IndexMemory::SMALLEST, sparse: true };
        let mut window = DedupeWindow::new(geometry);
        window.put(600 * geometry.records_per_chapter());
        assert!(window.finds(100, 7), "dense part");
        assert!(!window.finds(5, 7), "no hook yet");
        assert!(window.finds(5, 64));
        assert!(window.finds(5, 7));
        (10..17).for_each(|chapter| assert!(window.finds(chapter, 0)));
        assert!(!window.finds(5, 7), "seven others were used since");
        assert!(window.finds(12, 9));
    }
}
