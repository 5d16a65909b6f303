//! The answer: what was found, as it is printed for programs.

use serde::{Deserialize, Serialize};

use crate::sizing::Sizing;
use crate::{Comparison, Sources};

/// Version of [`Answer`] as JSON.
pub const SCHEMA: u32 = 1;

/// The result of an estimate. No data is `null`, never 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Version of this schema, [`SCHEMA`].
    pub schema: u32,
    /// True when everything was read; false after an interrupt, or if something could not be read: all figures cover only what was read.
    pub complete: bool,
    /// Tells whether the LZ4 size of every content was taken.
    pub exact: bool,
    /// The paths that were named.
    pub paths: Vec<String>,
    /// Bytes that were read.
    pub bytes: u64,
    /// Time it took, nanoseconds.
    pub elapsed_ns: u64,
    /// Files, links, holes and troubles that were met on the way.
    pub sources: Sources,
    /// Blocks of 4 KiB.
    pub blocks: Blocks,
    /// The samples that were taken, and the errors that follow from sampling.
    pub sampled: Sampled,
    /// Saving of LZ4 on distinct blocks that are not zero, percent.
    pub lz4_saving_percent: Option<f64>,
    /// The saving of VDO, with its parts.
    pub vdo: VdoAnswer,
    /// The saving of compressing file systems.
    pub comparison: Comparison,
    /// A volume for this data.
    pub sizing: Option<Sizing>,
    /// Histograms of sizes, distances and references.
    pub spread: Spread,
    /// The blocks of each directory, which tell where the savings lie.
    pub directories: Vec<Directory>,
    /// A partition that does not begin at a multiple of 4 KiB, so that its contents are cut in other places than its file system cuts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_blocks: Option<PartitionOffBlocks>,
}

impl Answer {
    /// Returns a sentence on whether VDO pays by `sizing`; it leaves the question open where a part of the data was not read.
    pub fn verdict(&self, sizing: &Sizing) -> String {
        if self.complete { sizing.verdict() } else { sizing.verdict_of_part() }
    }
}

/// A partition that does not begin at a multiple of 4 KiB, and the saving on its disk: as the blocks lie, and cut from the partition's start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartitionOffBlocks {
    /// The disk.
    pub path: String,
    /// Its number.
    pub partition: u32,
    /// Its beginning, bytes.
    pub start_bytes: u64,
    /// The share that VDO saves on the disk as it lies, percent.
    pub saving_percent: Option<f64>,
    /// The share that it would save if the partition began at a multiple of 4 KiB, percent.
    pub aligned_saving_percent: Option<f64>,
}

/// Blocks of 4 KiB; short tails are filled up, holes left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Blocks {
    /// All.
    pub total: u64,
    /// Zero blocks.
    pub zero: u64,
    /// Blocks with a content that came before.
    pub duplicate: u64,
    /// All others.
    pub unique: u64,
}

/// The samples that were taken. Errors are half the width of the 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// One content in this many was followed; 1 when all were.
    pub contents_one_in: u64,
    /// Contents whose LZ4 size was taken.
    pub sizes: u64,
    /// Error of the share of duplicates among all blocks, points.
    pub duplicate_error_points: f64,
    /// Error of `vdo.saving_percent`, points.
    pub saving_error_points: f64,
}

/// The saving of VDO on the data, with its parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VdoAnswer {
    /// Blocks saved, of all blocks, zeros among them, percent.
    pub saving_percent: Option<f64>,
    /// Blocks saved, of those that are not zero, percent.
    pub saving_without_zeros_percent: Option<f64>,
    /// Physical blocks for data, bytes; what else the volume takes is in `sizing`.
    pub physical_bytes: u64,
    /// The index.
    pub index: IndexAnswer,
    /// Duplicates stored again because a physical block takes 254 references at most.
    pub references_capped: u64,
    /// The packer.
    pub packer: PackerAnswer,
}

/// The dedupe index that was modelled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexAnswer {
    /// Its memory.
    pub memory_bytes: u64,
    /// Tells whether it is sparse.
    pub sparse: bool,
    /// Data that it remembers.
    pub window_bytes: u64,
    /// Duplicates that it had forgotten, or never knew.
    pub duplicates_missed: u64,
}

/// The effect of the packer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PackerAnswer {
    /// Stored blocks that share a physical block.
    pub fragments: u64,
    /// Physical blocks with fragments.
    pub compressed_blocks: u64,
    /// Saving of packing on stored blocks, percent.
    pub saving_percent: Option<f64>,
    /// Blocks that could have been packed, but whose content was written again while they waited for that.
    pub cancelled: u64,
}

/// A bar of a histogram: reaches from `from` up to the next bar.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// From here on.
    pub from: u64,
    /// Number of blocks or contents in the bar.
    pub count: u64,
}

/// Histograms.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Spread {
    /// Distinct blocks by LZ4 size in steps of 128 bytes; from 4096 on: not made smaller.
    pub lz4_bytes: Vec<Count>,
    /// Duplicates by distinct blocks since their content was last written, in powers of two.
    pub distance_blocks: Vec<Count>,
    /// Contents by how often they were written, in powers of two.
    pub references: Vec<Count>,
}

/// One directory, without those below it that have an entry of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Directory {
    /// Its name.
    pub path: String,
    /// All blocks.
    pub total: u64,
    /// Zero blocks.
    pub zero: u64,
    /// Duplicates of blocks anywhere before.
    pub duplicate: u64,
    /// All others.
    pub unique: u64,
    /// Saving of LZ4 on the unique blocks, percent.
    pub lz4_saving_percent: Option<f64>,
}
