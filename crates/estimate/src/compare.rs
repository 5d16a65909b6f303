//! The saving of file systems that compress records of 128 KiB, for comparison: btrfs and ZFS.
//!
//! Compressing a record takes as long as measuring the compressed sizes of a hundred blocks. So all records are compressed only if there is
//! little data, otherwise a sample ([`records`]). The sample shows how far records differ from the size that is predicted from that of their blocks.

mod copies;
mod draw;
mod records;

use std::ops::Range;
use std::sync::Arc;

use reduce::{BLOCK, Lz4};
use units::Seed;

pub use copies::{Copies, Named, RecordDedupe, TABLE_ENTRY_BYTES, UNNAMED, add_to_name};
pub use draw::Scatter;
use draw::{Draw, Drawn};
pub use records::RECORD;
use records::Record;
pub use records::{Comparison, Other, Records, SMALL};

/// The default level of btrfs and ZFS.
pub const ZSTD_LEVEL: i32 = 3;

/// Returns the ranges of the records within a piece that begins at `offset` of its file and has `bytes` bytes.
pub fn parts(offset: u64, bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let before = (offset % RECORD as u64) as usize / BLOCK * BLOCK;
    let starts = (0..before + bytes).step_by(RECORD);
    let part =
        move |start: usize| start.saturating_sub(before)..(start + RECORD - before).min(bytes);
    starts.map(part)
}

/// Compresses records: all of them, or those that are drawn.
pub struct Sampler {
    /// Tells whether all are compressed, if that is known.
    all: Option<bool>,
    draw: Draw,
    scatter: Arc<Scatter>,
    lz4: Lz4,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    out: Vec<u8>,
    /// Records with their lengths, and (`bytes`) their bytes, kept until it is known whether there is little data.
    held: Vec<(Record, usize)>,
    bytes: Vec<u8>,
    /// The records that it looked at.
    pub records: Records,
}

impl Sampler {
    /// Creates a sampler that compresses all records (`Some(true)`), or a sample (`Some(false)`), or decides that when it knows how much data
    /// there is (`None`).
    pub fn new(all: Option<bool>, scatter: Arc<Scatter>) -> Self {
        Self {
            all,
            draw: Draw::new(Seed(0)),
            scatter,
            lz4: Lz4::new(),
            zstd: zstd::bulk::Compressor::new(ZSTD_LEVEL).ok(),
            out: vec![0; zstd::zstd_safe::compress_bound(RECORD)],
            held: Vec::new(),
            bytes: Vec::new(),
            records: Records::default(),
        }
    }

    /// Takes a record with `place` blocks before it; by the sizes of its blocks it is predicted to take `foretold` blocks.
    pub fn look(&mut self, place: u64, bytes: &[u8], foretold: u64) {
        if bytes.is_empty() || self.zstd.is_none() {
            return;
        }
        let record = Record { place, blocks: bytes.len().div_ceil(BLOCK) as u64, foretold };
        match self.all {
            Some(all) => self.take(record, bytes, all),
            None if place < SMALL => {
                self.held.push((record, bytes.len()));
                self.bytes.extend_from_slice(bytes);
            }
            None => {
                self.settle(false);
                self.take(record, bytes, false);
            }
        }
    }

    /// Ends the sampling: all workers together saw `blocks` blocks.
    pub fn finish(&mut self, blocks: u64) {
        self.settle(blocks <= SMALL);
    }

    fn take(&mut self, record: Record, bytes: &[u8], all: bool) {
        if all { self.compress(record, bytes) } else { self.drawn(record, bytes) }
    }

    /// Takes the records that are held: all of them are compressed, or a sample.
    fn settle(&mut self, all: bool) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut rest = &bytes[..];
        for (record, length) in std::mem::take(&mut self.held) {
            let (bytes, behind) = rest.split_at(length);
            rest = behind;
            self.take(record, bytes, all);
        }
    }

    fn compress(&mut self, record: Record, bytes: &[u8]) {
        let made = self.compressed_blocks(record, bytes);
        self.records.count_compressed(record, made);
    }

    fn drawn(&mut self, record: Record, bytes: &[u8]) {
        let drawn = self.draw.take(record, &self.scatter);
        if drawn != Drawn::Whole {
            self.records.count_predicted(record);
        }
        if drawn == Drawn::Passed {
            return;
        }
        let made = self.compressed_blocks(record, bytes);
        self.draw.note(record, made, &self.scatter);
        match drawn {
            Drawn::For(blocks) => self.records.point(record, blocks, made),
            _ => self.records.count_compressed(record, made),
        }
    }

    /// Returns the blocks that LZ4 and zstd make of a record. What they cannot make smaller is stored as it is.
    fn compressed_blocks(&mut self, record: Record, bytes: &[u8]) -> [u64; 2] {
        let lz4 = self.lz4.size_of(bytes).ok();
        let zstd = self.zstd.as_mut();
        let zstd = zstd.and_then(|zstd| zstd.compress_to_buffer(bytes, &mut self.out).ok());
        let blocks = |size: usize| (size.div_ceil(BLOCK) as u64).min(record.blocks);
        [lz4, zstd].map(|size| size.map_or(record.blocks, blocks))
    }
}

#[cfg(test)]
mod tests;
