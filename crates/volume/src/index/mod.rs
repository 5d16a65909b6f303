//! The dedupe index in memory: advice, 8 bytes a record.
//!
//! A record is a mapping (40 bits), its chapter (10) and a part of the fingerprint (14), in sets of eight. A wrong part costs one
//! read, never data. Chapters are opened in turn; what is older than the window is not there.

use reduce::Fingerprint;

use crate::format::Mapping;

const WAYS: usize = 8;
const CHAPTERS: u64 = 1024;
const TAG_BITS: u32 = 14;

/// The index.
#[derive(Debug)]
pub struct Index {
    sets: Vec<[u64; WAYS]>,
    /// Records of a chapter.
    chapter_records: u64,
    open: u64,
    filled: u64,
    /// The next set to be rid of the chapter that is opened next.
    sweep: usize,
    /// Records that it holds.
    pub records: u64,
}

impl Index {
    /// An index that remembers about so many blocks; none when it is 0.
    pub fn new(records: usize) -> Self {
        Self {
            sets: vec![[0; WAYS]; records.div_ceil(WAYS)],
            chapter_records: (records as u64 / CHAPTERS).max(1),
            open: 0,
            filled: 0,
            sweep: 0,
            records: 0,
        }
    }

    /// The place that is remembered for a fingerprint. It moves to the open chapter.
    pub fn find(&mut self, print: Fingerprint) -> Option<Mapping> {
        let (set, tag) = self.place(print)?;
        let record = self.sets[set].iter().position(|record| is(*record, tag))?;
        let mapping = mapping(self.sets[set][record]);
        self.put(set, record, mapping, tag);
        Some(mapping)
    }

    /// Remembers the place of a block.
    pub fn insert(&mut self, print: Fingerprint, mapping: Mapping) {
        let Some((set, tag)) = self.place(print) else { return };
        let open = self.open;
        let age = |record: u64| match record {
            0 => u64::MAX,
            record => (open + CHAPTERS - chapter(record)) % CHAPTERS,
        };
        let same = self.sets[set].iter().position(|record| is(*record, tag));
        let oldest = (0..WAYS).max_by_key(|way| age(self.sets[set][*way])).unwrap_or(0);
        self.put(set, same.unwrap_or(oldest), mapping, tag);
    }

    fn place(&self, print: Fingerprint) -> Option<(usize, u64)> {
        let set = (print.0 as u64).checked_rem(self.sets.len() as u64)?;
        Some((set as usize, (print.0 >> 64) as u64 & ((1 << TAG_BITS) - 1)))
    }

    fn put(&mut self, set: usize, way: usize, mapping: Mapping, tag: u64) {
        let mut bytes = [0; 8];
        bytes[..Mapping::BYTES].copy_from_slice(&mapping.to_bytes());
        let record = u64::from_le_bytes(bytes) | self.open << 40 | tag << 50;
        let moved = chapter(self.sets[set][way]) != self.open || !is(self.sets[set][way], tag);
        self.records += u64::from(self.sets[set][way] == 0);
        self.sets[set][way] = record;
        if moved {
            self.grow();
        }
    }

    /// One more record in the open chapter. The oldest chapter goes a few sets at a time, and is gone when its number is used again.
    fn grow(&mut self) {
        let going = (self.open + 1) % CHAPTERS;
        let share = (self.sets.len() as u64).div_ceil(self.chapter_records) as usize;
        for set in self.sets.iter_mut().skip(self.sweep).take(share) {
            let gone = |record: &&mut u64| **record != 0 && chapter(**record) == going;
            for record in set.iter_mut().filter(gone) {
                *record = 0;
                self.records -= 1;
            }
        }
        self.sweep += share;
        self.filled += 1;
        if self.filled >= self.chapter_records {
            (self.open, self.filled, self.sweep) = (going, 0, 0);
        }
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

    fn print(id: u64) -> Fingerprint {
        Fingerprint::of(&id.to_le_bytes())
    }

    #[test]
    fn records_within_the_window_are_found_and_older_ones_are_not() {
        let window = 8 * CHAPTERS;
        let mut index = Index::new(window as usize);
        let inserted = 3 * window;
        for id in 0..inserted {
            index.insert(print(id), Mapping::whole(id + 1));
        }
        let found = |index: &mut Index, id: u64| {
            index.find(print(id)).is_some_and(|at| at == Mapping::whole(id + 1))
        };
        let old = (0..window).filter(|id| found(&mut index, *id)).count();
        assert_eq!(old, 0);
        let new = (inserted - window / 4..inserted).filter(|id| found(&mut index, *id)).count();
        assert!(new as u64 > window / 4 * 95 / 100, "{new}");
    }

    #[test]
    fn a_later_place_replaces_the_earlier_and_no_index_finds_nothing() {
        let mut index = Index::new(1024);
        index.insert(print(1), Mapping::whole(5));
        index.insert(print(1), Mapping::fragment(6, 2));
        assert_eq!(index.find(print(1)), Some(Mapping::fragment(6, 2)));
        assert_eq!(index.find(print(2)), None);
        let mut none = Index::new(0);
        none.insert(print(1), Mapping::whole(5));
        assert_eq!(none.find(print(1)), None);
    }
}
