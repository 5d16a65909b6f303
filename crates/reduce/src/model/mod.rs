//! A model of one volume: it takes blocks in the order of writing, and computes what VDO would store.
//!
//! It identifies contents by their names (64 bits of a fingerprint), stores for each when it was last written and where its last copy is, and applies
//! the index with its window, the limit of references and the packer. Its memory is bounded: when the table is full, the model continues with a
//! sample of the contents, chosen by name, in which a sampled content has all its copies; counts are then multiplied to stand for what the sample
//! leaves out (Horvitz and Thompson 1952).

mod figures;
mod place;
mod table;

pub use figures::{Figures, RECENT_SIZES, Reuse};
use place::{Places, StoredCopy};
use table::{Entry, Table, sampled};

use crate::index::{DedupeWindow, Geometry};

/// Most references to one physical block that VDO can count.
pub const REFERENCES: u32 = 254;
/// The chapter of a content that was never put into the index.
const NEVER: u32 = u32::MAX;

/// The configuration of the volume, and the memory that the model may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The dedupe index.
    pub index: Geometry,
    /// Most references that a physical block can have.
    pub references: u32,
    /// Blocks at the start that were written with deduplication off.
    pub forgotten_blocks: u64,
    /// Memory for the table of contents, bytes.
    pub memory_bytes: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            index: Geometry::DEFAULT,
            references: REFERENCES,
            forgotten_blocks: 0,
            memory_bytes: 1 << 30,
        }
    }
}

/// One non-zero block to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenBlock {
    /// Its name: 64 bits of a good fingerprint; 0 is treated as 1.
    pub name: u64,
    /// Its LZ4 size, if it was measured.
    pub lz4_bytes: Option<u16>,
    /// Shift of the sample of sizes: one content in 2^shift is measured.
    pub size_shift: u8,
}

/// The outcome of a written block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockOutcome {
    /// The sample leaves it out.
    Passed,
    /// Its content was never written before.
    New,
    /// A duplicate that is stored once.
    Duplicate,
    /// A duplicate that is stored again: the index had forgotten it, or its physical block could take no more references.
    Again,
}

/// The model.
#[derive(Debug, Clone)]
pub struct Model {
    policy: Policy,
    table: Table,
    window: DedupeWindow,
    places: Places,
    figures: Figures,
    /// Number of blocks written so far, zero blocks included.
    position: u64,
    /// Number of distinct blocks so far.
    distinct: u64,
}

impl Model {
    /// The model of an empty volume.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            table: Table::new(policy.memory_bytes),
            window: DedupeWindow::new(policy.index),
            places: Places::default(),
            figures: Figures::default(),
            position: 0,
            distinct: 0,
        }
    }

    /// The sampling shift: the sample holds one content in 2^shift, so that each counts for as many.
    pub fn shift(&self) -> u32 {
        self.table.shift()
    }

    /// Number of blocks so far that left the packer because their content was written again.
    pub fn cancelled(&self) -> u64 {
        self.figures.cancelled
    }

    /// Number of duplicates so far, and of all blocks that are not zero.
    pub fn duplicates(&self) -> [u64; 2] {
        [self.figures.duplicates, self.figures.data]
    }

    /// Counts zero blocks that were written.
    pub fn zeros(&mut self, blocks: u64) {
        self.position += blocks;
        self.figures.zeros += blocks;
    }

    /// Prefetches the table slots of the next blocks; this affects only speed.
    #[inline]
    pub fn touch(&self, names: impl Iterator<Item = u64> + Clone) {
        self.table.touch(names);
    }

    /// Writes the next block.
    #[inline]
    pub fn write(&mut self, block: WrittenBlock) -> BlockOutcome {
        let name = block.name.max(1);
        let position = self.position;
        self.position += 1;
        self.figures.data += 1;
        self.table.reserve();
        let shift = self.table.shift();
        if !sampled(name, shift) {
            return BlockOutcome::Passed;
        }
        let each = 1u64 << shift;
        let entry = self.table.entry(name);
        entry.copies += 1;
        let indexed = position >= self.policy.forgotten_blocks;
        let outcome = if entry.copies == 1 {
            self.distinct += each;
            self.figures.unique += each;
            self.figures.contents += 1;
            BlockOutcome::New
        } else {
            let distance = self.distinct - entry.last + 1;
            note_distance(entry, distance);
            self.figures.duplicates += each;
            self.figures.distances[distance.ilog2() as usize] += each;
            let age = match entry.chapter {
                NEVER => None,
                chapter => Some(self.window.open_chapter() - chapter),
            };
            if indexed && let Some(age) = age {
                self.figures.note_age(u64::from(age), self.policy.index, each);
            }
            let found = indexed && age.is_some() && self.window.finds(entry.chapter, name);
            if !found {
                self.figures.missed += each;
                BlockOutcome::Again
            } else if self.places.share(entry, self.policy.references, &mut self.figures) {
                BlockOutcome::Duplicate
            } else {
                self.figures.capped += each;
                BlockOutcome::Again
            }
        };
        entry.last = self.distinct;
        if !indexed {
            entry.chapter = NEVER;
        } else if entry.chapter != self.window.open_chapter() || entry.copies == 1 {
            entry.chapter = self.window.put(each);
        }
        if outcome != BlockOutcome::Duplicate {
            self.figures.stored += each;
            let size = block.lz4_bytes.map(|size| (size, shift as u8 + block.size_shift));
            if let (Some((size, weight)), BlockOutcome::New) = (size, outcome) {
                self.figures.note_size(size, (1u64 << weight) as f64);
            }
            entry.place = self.places.store(StoredCopy { name, size, each }, &mut self.figures);
        }
        outcome
    }

    /// Writes out what the packer still holds, and returns the final figures.
    pub fn finish(mut self) -> Figures {
        self.places.flush(&mut self.figures);
        self.figures.sum_up(self.table.entries(), self.table.shift());
        self.figures
    }
}

fn note_distance(entry: &mut Entry, distance: u64) {
    let (new, mean) = ((distance as f64).log2() * 1024.0, f64::from(entry.distance));
    entry.distance = (mean + (new - mean) / f64::from(entry.copies - 1)).round() as u16;
}

#[cfg(test)]
mod tests;
