//! Records that come again: what a file system saves that dedupes whole records, by reflinks or in a table, and how large the table is.
//!
//! Records are known by a name made of the names of their blocks. Of many, a sample by name is followed, in which each has all its copies.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Half the width of an interval of 95 %, in standard errors.
const SURE: f64 = 1.96;

/// Records that a worker follows at most: 8 MiB.
const MOST: usize = 1 << 17;
/// Memory for an entry of ZFS' dedup table, bytes: one for each record that differs, however often it comes. (Oracle, "How to Determine
/// Memory Requirements for ZFS Deduplication", 2014: about 320 bytes in core. OpenZFS shows 140 to 165 in `zpool status -D`, before what the
/// cache that holds the table takes for its own order.)
pub const TABLE_ENTRY_BYTES: u64 = 320;

/// The saving by whole records that are stored once, without compression.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RecordDedupe {
    /// Blocks in records that came before, of all blocks, percent.
    pub saving_percent: Option<f64>,
    /// Half the width of its 95 % interval, points; 0 where all records were followed.
    pub error_points: Option<f64>,
    /// Records that differ.
    pub distinct_records: u64,
    /// Memory that the table of ZFS takes for them, bytes.
    pub table_bytes: u64,
}

/// Copies of each record.
#[derive(Debug, Clone, Default)]
pub struct Copies {
    /// One name in 2^this is followed.
    shift: u32,
    /// By name: how often, and how many blocks a record has.
    seen: HashMap<u64, [u64; 2]>,
}

/// Adds a block to the name of the record that it is in; 0 is the name of a zero block.
#[inline]
pub fn named(record: u64, block: u64) -> u64 {
    (record.rotate_left(5) ^ block).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Copies {
    /// Counts a record of so many blocks.
    pub fn note(&mut self, name: u64, blocks: u64) {
        self.count(name, [1, blocks]);
    }

    /// Adds what another worker counted.
    pub fn add(&mut self, other: Self) {
        self.tighten(other.shift);
        other.seen.into_iter().for_each(|(name, counts)| self.count(name, counts));
    }

    fn count(&mut self, name: u64, [copies, blocks]: [u64; 2]) {
        if !passes(name, self.shift) {
            return;
        }
        let seen = self.seen.entry(name).or_insert([0, blocks]);
        seen[0] += copies;
        while self.seen.len() > MOST {
            self.tighten(self.shift + 1);
        }
    }

    fn tighten(&mut self, shift: u32) {
        if shift > self.shift {
            self.shift = shift;
            self.seen.retain(|&name, _| passes(name, shift));
        }
    }

    /// Returns what they say.
    pub fn dedupe(&self) -> RecordDedupe {
        let each = (1u64 << self.shift) as f64;
        let sum = |part: fn(&[u64; 2]) -> u64| self.seen.values().map(part).sum::<u64>() as f64;
        let (all, again) = (
            sum(|[copies, blocks]| copies * blocks),
            sum(|[copies, blocks]| (copies - 1) * blocks),
        );
        let share = again / all.max(1.0);
        // Records that differ are clusters of their copies, the share a ratio of sums over them (Cochran, Sampling Techniques, 6.4).
        let square = |[copies, blocks]: &[u64; 2]| {
            ((copies - 1) as f64 - share * *copies as f64).powi(2) * (*blocks as f64).powi(2)
        };
        let squares: f64 = self.seen.values().map(square).sum();
        let error = SURE * ((1.0 - 1.0 / each) * squares).sqrt() / all.max(1.0);
        let distinct_records = (self.seen.len() as f64 * each) as u64;
        let known = all > 0.0;
        RecordDedupe {
            saving_percent: known.then_some(100.0 * share),
            error_points: known.then_some(100.0 * error),
            distinct_records,
            table_bytes: distinct_records * TABLE_ENTRY_BYTES,
        }
    }
}

/// Tells whether a sample has this name.
fn passes(name: u64, shift: u32) -> bool {
    name >> 8 & ((1 << shift) - 1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    #[test]
    fn records_that_come_again_are_counted_and_of_many_a_sample_tells_as_much() {
        let name = |id: u64| named(named(0, Seed(id).derive("block").0), 0);
        assert_eq!(Copies::default().dedupe().saving_percent, None);
        assert_ne!(named(named(0, 1), 0), named(named(0, 0), 1));
        for records in [1000, 1 << 19] {
            let mut workers = [Copies::default(), Copies::default()];
            for id in 0..records {
                // A quarter comes three times, a tail of one block as often as a whole record.
                let copies = if id % 4 == 0 { 3 } else { 1 };
                let blocks = if id % 8 < 4 { 32 } else { 1 };
                (0..copies).for_each(|at| workers[at % 2].note(name(id), blocks));
            }
            let [mut all, other] = workers;
            all.add(other);
            let found = all.dedupe();
            let (saving, error) = (found.saving_percent.unwrap(), found.error_points.unwrap());
            assert!((saving - 100.0 / 3.0).abs() <= error + 1e-9, "{saving} ± {error}");
            assert_eq!(error == 0.0, records == 1000);
            assert!(error < 1.0, "{error}");
            let off = found.distinct_records as f64 / records as f64 - 1.0;
            assert!(off.abs() < 0.02, "{off}");
            assert_eq!(found.table_bytes, 320 * found.distinct_records);
        }
    }
}
