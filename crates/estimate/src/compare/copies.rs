//! Repeated records: the saving of a file system that dedupes whole records, by reflinks or in a table, and the size of that table.
//!
//! Records are known by a name made of the names of their blocks. All blocks are counted; the distinct records are counted by name, or
//! estimated from a sample of the names where there are many. Frequent records do no harm to the sample: each counts once.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Half the width of an interval of 95 %, in standard errors.
const SURE: f64 = 1.96;

/// Most distinct records that are followed: they fill a table of 36 MiB, and are 224 GiB of whole records.
const MAX_RECORDS: usize = 7 << 18;
/// Memory for an entry of ZFS' dedup table, bytes: one for each record that differs, however often it comes. (Oracle, "How to Determine
/// Memory Requirements for ZFS Deduplication", 2014: about 320 bytes in core. OpenZFS shows 140 to 165 in `zpool status -D`, before what the
/// cache that holds the table takes for its own order.)
pub const TABLE_ENTRY_BYTES: u64 = 320;

/// The saving by whole records that are stored once, without compression.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RecordDedupe {
    /// Blocks in records that came before, of all blocks in records that hold more than zeros, percent.
    pub saving_percent: Option<f64>,
    /// Half the width of its 95 % interval, points; 0 where all records were followed.
    pub error_points: Option<f64>,
    /// Distinct records.
    pub distinct_records: u64,
    /// Memory that the table of ZFS takes for them, bytes.
    pub table_bytes: u64,
}

/// A record: its name, and its blocks.
pub type Named = (u64, u8);

/// The distinct records.
#[derive(Debug, Clone)]
pub struct Copies {
    /// Blocks of all records.
    blocks: u64,
    /// Most records that are followed; one name in 2^`shift` is.
    most: usize,
    shift: u32,
    /// Blocks of each record that is followed, by its name.
    seen: HashMap<u64, u8>,
}

impl Default for Copies {
    fn default() -> Self {
        Self { blocks: 0, most: MAX_RECORDS, shift: 0, seen: HashMap::new() }
    }
}

/// The name of a record without blocks. It is not 0, so that zero blocks at the beginning change it.
pub const UNNAMED: u64 = 0x243f_6a88_85a3_08d3;

/// Adds a block to the name of the record that it is in; 0 is the name of a zero block.
#[inline]
pub fn add_to_name(record: u64, block: u64) -> u64 {
    (record.rotate_left(5) ^ block).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Copies {
    /// Counts a record.
    pub fn note(&mut self, (name, blocks): Named) {
        self.blocks += u64::from(blocks);
        // A shorter record at the end never equals a whole one, whatever its blocks are.
        let name = add_to_name(name, u64::from(blocks));
        if !passes(name, self.shift) || self.seen.contains_key(&name) {
            return;
        }
        while self.seen.len() >= self.most {
            self.shift += 1;
            let shift = self.shift;
            self.seen.retain(|&name, _| passes(name, shift));
        }
        if passes(name, self.shift) {
            self.seen.insert(name, blocks);
        }
    }

    /// Returns the saving by storing each distinct record once.
    pub fn dedupe(&self) -> RecordDedupe {
        let each = (1u64 << self.shift) as f64;
        let sum = |power| self.seen.values().map(|&blocks| u64::from(blocks).pow(power)).sum();
        let (stored, squares): (u64, u64) = (sum(1), sum(2));
        let all = self.blocks.max(1) as f64;
        let share = (1.0 - each * stored as f64 / all).clamp(0.0, 1.0);
        // Each distinct record is in the sample or not, by chance alone (Cochran, Sampling Techniques, 5A.2).
        let error = SURE * (each * (each - 1.0) * squares as f64).sqrt() / all;
        let distinct_records = (self.seen.len() as f64 * each) as u64;
        let known = self.blocks > 0;
        RecordDedupe {
            saving_percent: known.then_some(100.0 * share),
            error_points: known.then_some(100.0 * error),
            distinct_records,
            table_bytes: distinct_records * TABLE_ENTRY_BYTES,
        }
    }
}

/// Tells whether a name is in the sample.
fn passes(name: u64, shift: u32) -> bool {
    name >> 8 & ((1 << shift) - 1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    fn name(id: u64) -> u64 {
        add_to_name(UNNAMED, Seed(id).derive("block").0)
    }

    fn of(most: usize, records: impl Iterator<Item = Named>) -> RecordDedupe {
        let mut copies = Copies { most, ..Copies::default() };
        records.for_each(|record| copies.note(record));
        copies.dedupe()
    }

    #[test]
    fn records_that_come_again_are_counted_and_of_many_a_sample_tells_as_much() {
        assert_eq!(Copies::default().dedupe().saving_percent, None);
        for records in [1000, 1 << 19] {
            // A quarter comes three times, a tail of one block as often as a whole record.
            let times = |id: u64| if id.is_multiple_of(4) { 3 } else { 1 };
            let blocks = |id: u64| if id % 8 < 4 { 32 } else { 1 };
            let all = (0..3).flat_map(|copy| (0..records).filter(move |&id| copy < times(id)));
            let found = of(1 << 17, all.map(|id| (name(id), blocks(id))));
            let (saving, error) = (found.saving_percent.unwrap(), found.error_points.unwrap());
            assert!((saving - 100.0 / 3.0).abs() <= error + 1e-9, "{saving} ± {error}");
            assert_eq!(error == 0.0, records == 1000);
            assert!(error < 1.0, "{error}");
            let off = found.distinct_records as f64 / records as f64 - 1.0;
            assert!(off.abs() < 0.02, "{off}");
            assert_eq!(found.table_bytes, 320 * found.distinct_records);
        }
    }

    #[test]
    fn one_record_that_comes_very_often_is_within_the_error_whether_the_sample_has_it_or_not() {
        let (once, often) = (40_000, 100_000);
        let truth = 100.0 * (often - 1) as f64 / (once + often) as f64;
        let outside = (0..20).filter(|seed| {
            let ids = (1..=once).chain(std::iter::repeat_n(0, often));
            let found = of(1 << 13, ids.map(|id| (name(seed << 32 | id as u64), 32)));
            let error = found.error_points.unwrap();
            assert!(error > 0.0 && error < 1.0, "{error}");
            (found.saving_percent.unwrap() - truth).abs() > error
        });
        assert!(outside.count() <= 3);
    }

    #[test]
    fn zero_blocks_change_the_name_of_a_record_wherever_they_are() {
        let record =
            |blocks: &[u64]| blocks.iter().fold(UNNAMED, |name, &block| add_to_name(name, block));
        let names = [&[1][..], &[0, 1], &[0, 0, 1], &[1, 0], &[1, 0, 0], &[0, 0], &[0]];
        let names: std::collections::HashSet<_> = names.map(record).into_iter().collect();
        assert_eq!(names.len(), 7);
        // A tail is not a whole record, even if it has the name of one.
        let found = of(MAX_RECORDS, [(name(1), 1), (name(1), 32)].into_iter());
        assert_eq!((found.saving_percent, found.distinct_records), (Some(0.0), 2));
    }
}
