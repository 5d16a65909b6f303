//! The dedupe index in memory: advice, 8 bytes a record.
//!
//! A record is a mapping (40 bits), its chapter (10) and a part of the fingerprint (14), in sets of eight. A wrong part costs one
//! read, never data. Chapters are opened in turn; what is older than the window is not there. Where a volume has room for them on its
//! device, a chapter is kept there once it is full: a chapter that is lost costs saving, never data.

use reduce::Fingerprint;

use crate::format::{CHAPTERS, Geometry, MOST_RECORDS, Mapping, Record};

const WAYS: usize = 8;
const TAG_BITS: u32 = 14;

/// Records of a chapter, and the chapter's number, counted from the first there ever was.
pub(crate) type Chapter = (u64, Vec<Record>);

/// The index.
#[derive(Debug)]
pub(crate) struct Index {
    sets: Vec<[u64; WAYS]>,
    /// Chapters of the window.
    chapters: u64,
    /// Records of a chapter.
    chapter_records: u64,
    /// The number of the open chapter.
    number: u64,
    filled: u64,
    /// The next set to clear of the oldest chapter, whose number the next chapter takes over.
    sweep: usize,
    /// Chapters are kept on the device.
    kept: bool,
    /// Records of the open chapter, for the device.
    open: Vec<Record>,
    /// Chapters that are full, for the device.
    full: Vec<Chapter>,
    /// Records that it holds.
    pub records: u64,
    /// Records that were dropped because they were old.
    pub discarded: u64,
}

impl Index {
    /// Creates the index of a volume that remembers about `records` blocks; for 0 it remembers nothing.
    pub fn new(records: usize, geometry: &Geometry) -> Self {
        let room = geometry.chapters();
        let chapters = if room > 0 { room } else { CHAPTERS };
        let most =
            if room > 0 { geometry.chapter_blocks() * MOST_RECORDS as u64 } else { u64::MAX };
        let chapter_records = (records as u64 / chapters).clamp(1, most.max(1));
        let records = (records as u64).min(chapter_records * chapters) as usize;
        Self {
            sets: vec![[0; WAYS]; records.div_ceil(WAYS)],
            chapters,
            chapter_records,
            number: 0,
            filled: 0,
            sweep: 0,
            kept: room > 0 && records > 0,
            open: Vec::new(),
            full: Vec::new(),
            records: 0,
            discarded: 0,
        }
    }

    /// Takes a chapter that the device has kept. Chapters come in their order; the last one is continued if it was not full.
    pub fn load(&mut self, number: u64, records: &[Record]) {
        self.begin(number);
        records.iter().for_each(|record| _ = self.insert_at(record.print, record.mapping));
        // It is on the device.
        self.full.clear();
    }

    /// Tells if it has no room for any record.
    pub fn is_none(&self) -> bool {
        self.sets.is_empty()
    }

    /// The place that is remembered for a fingerprint. It moves to the open chapter.
    pub fn find(&mut self, print: Fingerprint) -> Option<Mapping> {
        let print = print.0 as u64;
        let (set, tag) = self.place(print)?;
        let way = self.sets[set].iter().position(|record| is(*record, tag))?;
        let mapping = mapping(self.sets[set][way]);
        self.put(set, way, Record { print, mapping });
        Some(mapping)
    }

    /// Remembers the place of a block. Returns the place that it had before.
    pub fn insert(&mut self, print: Fingerprint, mapping: Mapping) -> Option<Mapping> {
        self.insert_at(print.0 as u64, mapping)
    }

    /// The next chapter that is full and not on the device.
    pub fn next_full(&mut self) -> Option<Chapter> {
        self.full.pop()
    }

    /// The open chapter with the records that it has so far.
    pub fn open_chapter(&self) -> Option<Chapter> {
        (!self.open.is_empty()).then(|| (self.number, self.open.clone()))
    }

    fn insert_at(&mut self, print: u64, at: Mapping) -> Option<Mapping> {
        let (set, tag) = self.place(print)?;
        let (number, chapters) = (self.number, self.chapters);
        let age = |record: u64| match record {
            0 => u64::MAX,
            record => (number % chapters + chapters - chapter(record)) % chapters,
        };
        let same = self.sets[set].iter().position(|record| is(*record, tag));
        let oldest = (0..WAYS).max_by_key(|way| age(self.sets[set][*way])).unwrap_or(0);
        let before = same.map(|way| mapping(self.sets[set][way]));
        self.discarded += u64::from(same.is_none() && self.sets[set][oldest] != 0);
        self.put(set, same.unwrap_or(oldest), Record { print, mapping: at });
        before
    }

    fn place(&self, print: u64) -> Option<(usize, u64)> {
        let set = print.checked_rem(self.sets.len() as u64)?;
        Some((set as usize, print >> (u64::BITS - TAG_BITS)))
    }

    fn put(&mut self, set: usize, way: usize, learned: Record) {
        let mut bytes = [0; 8];
        bytes[..Mapping::BYTES].copy_from_slice(&learned.mapping.to_bytes());
        let tag = learned.print >> (u64::BITS - TAG_BITS);
        let record = u64::from_le_bytes(bytes) | (self.number % self.chapters) << 40 | tag << 50;
        let before = std::mem::replace(&mut self.sets[set][way], record);
        self.records += u64::from(before == 0);
        if before != record {
            if self.kept {
                self.open.push(learned);
            }
            self.grow();
        }
    }

    /// Counts one more record in the open chapter. The oldest chapter is removed a few sets at a time, and is gone when its number is used
    /// again.
    fn grow(&mut self) {
        let going = (self.number + 1) % self.chapters;
        let share = (self.sets.len() as u64).div_ceil(self.chapter_records) as usize;
        for set in self.sets.iter_mut().skip(self.sweep).take(share) {
            let gone = |record: &&mut u64| **record != 0 && chapter(**record) == going;
            for record in set.iter_mut().filter(gone) {
                *record = 0;
                self.records -= 1;
                self.discarded += 1;
            }
        }
        self.sweep += share;
        self.filled += 1;
        if self.filled >= self.chapter_records {
            let records = std::mem::take(&mut self.open);
            if self.kept {
                self.full.push((self.number, records));
            }
            self.begin(self.number + 1);
        }
    }

    fn begin(&mut self, number: u64) {
        (self.number, self.filled, self.sweep) = (number, 0, 0);
        self.open.clear();
    }
}

fn mapping(record: u64) -> Mapping {
    Mapping::from_bytes(&record.to_le_bytes())
}

fn chapter(record: u64) -> u64 {
    record >> 40 & (CHAPTERS - 1)
}

fn is(record: u64, tag: u64) -> bool {
    record != 0 && record >> 50 == tag
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Sizes;

    fn print(id: u64) -> Fingerprint {
        Fingerprint::of(&id.to_le_bytes())
    }

    fn geometry(index: u64) -> Geometry {
        let sizes = Sizes { device: 5000, logical: 900, slab: 100, journal: 9, index, reserved: 0 };
        Geometry::new(sizes).unwrap()
    }

    fn empty(records: u64) -> Index {
        Index::new(records as usize, &geometry(0))
    }

    fn found(index: &mut Index, id: u64) -> bool {
        index.find(print(id)).is_some_and(|at| at == Mapping::whole(id + 1))
    }

    #[test]
    fn records_within_the_window_are_found_and_older_ones_are_not() {
        let window = 8 * CHAPTERS;
        let mut index = empty(window);
        let inserted = 3 * window;
        for id in 0..inserted {
            index.insert(print(id), Mapping::whole(id + 1));
        }
        let old = (0..window).filter(|id| found(&mut index, *id)).count();
        assert_eq!(old, 0);
        let new = (inserted - window / 4..inserted).filter(|id| found(&mut index, *id)).count();
        assert!(new as u64 > window / 4 * 95 / 100, "{new}");
        assert!(index.next_full().is_none(), "without room on the device nothing is for it");
    }

    #[test]
    fn a_later_place_replaces_the_earlier_and_no_index_finds_nothing() {
        let mut index = empty(1024);
        assert_eq!(index.insert(print(1), Mapping::whole(5)), None);
        assert_eq!(index.insert(print(1), Mapping::fragment(6, 2)), Some(Mapping::whole(5)));
        assert_eq!(index.find(print(1)), Some(Mapping::fragment(6, 2)));
        assert_eq!(index.find(print(2)), None);
        let mut none = empty(0);
        none.insert(print(1), Mapping::whole(5));
        assert_eq!(none.find(print(1)), None);
    }

    #[test]
    fn chapters_that_were_kept_make_the_same_index_and_the_open_one_goes_on() {
        // 16 chapters of at most one block, so of 128 records.
        let geometry = geometry(16);
        let window = 16 * 128;
        let loaded = |kept: &[Chapter]| {
            let mut index = Index::new(window, &geometry);
            kept.iter().skip(kept.len().saturating_sub(16)).for_each(|(n, r)| index.load(*n, r));
            index
        };
        let mut index = loaded(&[]);
        let mut kept: Vec<Chapter> = Vec::new();
        for id in 0..3000 {
            index.insert(print(id), Mapping::whole(id + 1));
            kept.extend(std::iter::from_fn(|| index.next_full()));
        }
        assert_eq!(kept.len(), 3000 / 128);
        let open = index.open_chapter().unwrap();
        assert_eq!((open.0, open.1.len()), (3000 / 128, 3000 % 128));
        kept.push(open);
        let mut again = loaded(&kept);
        assert_eq!(again.number, index.number);
        assert_eq!(again.open_chapter(), index.open_chapter());
        let same = (0..3000).filter(|id| found(&mut again, *id) == found(&mut index, *id)).count();
        assert!(same > 2990, "{same}");
        // A chapter that was lost takes its blocks with it, and nothing else.
        kept.retain(|(number, _)| *number != 15);
        let mut lacking = loaded(&kept);
        assert!(!found(&mut lacking, 15 * 128 + 5) && found(&mut lacking, 16 * 128 + 5));
    }
}
