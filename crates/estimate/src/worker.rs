//! The work of every thread: reads a job, finds zero blocks, computes fingerprints of the others, and takes sizes where they are wanted.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use content::SequenceCounter;
use reduce::{BLOCK, Fingerprint, Lz4, WrittenBlock, is_zero, prefetch};

use crate::compare::{self, Sampler};
use crate::ladder;
use crate::source::{JOB, Job, Piece, Tally};

/// Blocks that are named before the first of them is compressed: they stay in the cache, and their remembered sizes are
/// prefetched in that time.
const BATCH: usize = 8;
/// log2 of the number of sizes that all workers remember together (512 KiB), until there are enough duplicates for more (8 MiB).
const FEW_BITS: u32 = 16;
const MANY_BITS: u32 = 20;
/// Bits of a size in what is remembered.
const SIZE_BITS: u32 = 13;
/// One name in this many of the sizes that are taken has its sequences counted.
const COUNTED: u64 = 16;

/// Sizes of contents that came before, so that those of duplicates are not taken again. It may forget any of them, since a size can
/// be taken again. Lookups in a table that fits a core's cache are nearly free; a larger one is worth it only with many duplicates.
pub struct SizeCache {
    few: Sizes,
    many: OnceLock<Sizes>,
}

impl Default for SizeCache {
    fn default() -> Self {
        Self { few: Sizes::new(FEW_BITS), many: OnceLock::new() }
    }
}

impl SizeCache {
    /// Takes the numbers of duplicates and of all blocks so far; from one duplicate in sixteen blocks on, more sizes are remembered.
    pub fn duplicates(&self, [duplicates, blocks]: [u64; 2]) {
        if blocks >> FEW_BITS > 0 && duplicates >= blocks / 16 {
            self.many.get_or_init(|| Sizes::new(MANY_BITS));
        }
    }

    fn sizes(&self) -> &Sizes {
        self.many.get().unwrap_or(&self.few)
    }
}

/// A table of sizes, 2^n of them.
struct Sizes(Box<[AtomicU64]>);

impl Sizes {
    fn new(bits: u32) -> Self {
        // Not zeros, for which the kernel would hand out untouched memory: each page would be mapped when it is first read,
        // and once more, on all cores, when it is first written. No name is all ones.
        Self((0..1u64 << bits).map(|_| AtomicU64::new(u64::MAX)).collect())
    }

    fn slot(&self, name: u64) -> &AtomicU64 {
        &self.0[(name >> 8) as usize & (self.0.len() - 1)]
    }

    /// Prefetches the entry of a name that is about to be looked up.
    fn prefetch(&self, name: u64) {
        prefetch(self.slot(name));
    }

    fn size(&self, name: u64) -> Option<u16> {
        let held = self.slot(name).load(Ordering::Relaxed);
        (held >> SIZE_BITS == name >> SIZE_BITS).then_some((held & ((1 << SIZE_BITS) - 1)) as u16)
    }

    fn keep(&self, name: u64, size: u16) {
        let held = name >> SIZE_BITS << SIZE_BITS | u64::from(size);
        self.slot(name).store(held, Ordering::Relaxed);
    }
}

/// Blocks in a row that count for one directory.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// The directory.
    pub directory: u32,
    /// Zero blocks.
    pub zeros: u32,
    /// Blocks that are not zero, in [`Done::blocks`].
    pub data: u32,
}

/// The result of one job.
#[derive(Debug, Default)]
pub struct Done {
    /// The job's number.
    pub number: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Its pieces.
    pub runs: Vec<Run>,
    /// Blocks that are not zero, in order.
    pub blocks: Vec<WrittenBlock>,
    /// Its records that hold more than zeros.
    pub records: Vec<compare::Named>,
    /// The stretch in which the sizes of all blocks were taken, whether the sample has them or not.
    pub stretch: Option<u64>,
}

/// The parts of a piece that were never written.
#[derive(Debug, Default)]
struct Blanks {
    blocks: u32,
    bytes: u64,
}

/// The working memory and counters with which one thread reads, fingerprints and compresses.
pub struct Worker<'a> {
    exact: bool,
    remembered: &'a SizeCache,
    tally: &'a Tally,
    lz4: Lz4,
    room: Vec<u8>,
    /// Offset of the first whole page in `room`, which reading past the page cache needs.
    start: usize,
    /// The name of the record that is being read, from its blocks so far.
    record: u64,
    /// The comparison's sample.
    pub sampler: Sampler,
    /// The sizes and sequences that LZ4 made of blocks.
    pub sequences: SequenceCounter,
}

impl<'a> Worker<'a> {
    /// A worker with its memory taken.
    pub fn new(exact: bool, remembered: &'a SizeCache, tally: &'a Tally, sampler: Sampler) -> Self {
        let room = vec![0u8; JOB + BLOCK + Lz4::WINDOW];
        let start = room.as_ptr().align_offset(BLOCK).min(BLOCK);
        Self {
            exact,
            remembered,
            tally,
            lz4: Lz4::new(),
            room,
            start,
            record: compare::UNNAMED,
            sampler,
            sequences: SequenceCounter::default(),
        }
    }

    /// Does a job. Each file is closed when it is done: a job may have many.
    pub fn work(&mut self, job: Job) -> Done {
        let mut done = Done { number: job.number, ..Done::default() };
        done.blocks.reserve(JOB / BLOCK);
        let shift = ladder::shift(job.position, self.exact);
        done.stretch = ladder::stretch(job.number, shift);
        let taken = if done.stretch.is_some() { 0 } else { shift };
        let mut place = job.position;
        let mut pieces = VecDeque::from(job.pieces);
        while let Some(piece) = pieces.pop_front() {
            let here = place;
            let read = match self.read(&piece) {
                Ok(read) => read,
                Err(_) if let Some((first, rest)) = piece.cut() => {
                    pieces.push_front(rest);
                    pieces.push_front(first);
                    continue;
                }
                Err(error) => {
                    self.tally.unreadable(piece.source.path(), &error);
                    place += piece.length.div_ceil(BLOCK) as u64;
                    continue;
                }
            };
            place += piece.length.div_ceil(BLOCK) as u64;
            let padded = read.next_multiple_of(BLOCK);
            self.room[self.start + read..self.start + padded].fill(0);
            let before = done.blocks.len();
            let mut zeros = 0;
            for record in compare::parts(piece.offset, padded) {
                let first = done.blocks.len();
                self.record = compare::UNNAMED;
                zeros += self.batches(record.clone(), [shift, taken], &mut done.blocks);
                let foretold = self.foretold(record.clone(), &done.blocks[first..]);
                let bytes = &self.room[self.start..][record.start..record.end.min(read)];
                // A record of zeros alone takes no space.
                if done.blocks.len() > first {
                    done.records.push((self.record, (record.len() / BLOCK) as u8));
                }
                self.sampler.look(here + (record.start / BLOCK) as u64, bytes, foretold);
            }
            let blank = if zeros > 0 { self.blank(&piece, read) } else { Blanks::default() };
            zeros -= blank.blocks;
            done.bytes += read as u64 - blank.bytes;
            let data = (done.blocks.len() - before) as u32;
            done.runs.push(Run { directory: piece.directory, zeros, data });
        }
        done
    }

    /// Processes the blocks in a part of the room, [`BATCH`] at a time. Returns how many were zero.
    fn batches(
        &mut self,
        part: Range<usize>,
        shifts: [u8; 2],
        blocks: &mut Vec<WrittenBlock>,
    ) -> u32 {
        let starts = part.clone().step_by(BATCH * BLOCK);
        starts
            .map(|start| {
                let end = part.end.min(start + BATCH * BLOCK);
                self.batch(start..end, shifts, blocks)
            })
            .sum()
    }

    /// Predicts how many blocks a record takes, from the LZ4 sizes of its blocks: those that were taken, or else that of the middle one.
    fn foretold(&mut self, record: Range<usize>, data: &[WrittenBlock]) -> u64 {
        let sizes = data.iter().filter_map(|block| block.lz4_bytes);
        let (mut known, mut sum) =
            sizes.fold((0, 0), |(known, sum), size| (known + 1, sum + usize::from(size)));
        let blocks = record.len() / BLOCK;
        let amid = self.start + record.start + blocks / 2 * BLOCK;
        if known == 0
            && !data.is_empty()
            && let Some(window) = self.room[amid..].first_chunk()
        {
            (known, sum) = (1, self.lz4.size_in(window));
        }
        (sum * data.len()).div_ceil(known.max(1) * BLOCK).clamp(1, blocks.max(1)) as u64
    }

    /// Names the blocks in a part of the room, and takes the sizes of one in 2^`taken` of them; one in 2^`shift` is in the sample.
    /// Returns how many were zero.
    fn batch(
        &mut self,
        part: Range<usize>,
        [shift, taken]: [u8; 2],
        blocks: &mut Vec<WrittenBlock>,
    ) -> u32 {
        let room = &self.room[self.start..];
        let mut zeros = 0;
        let mut wanted = [(0, 0); BATCH];
        let mut count = 0;
        let sizes = self.remembered.sizes();
        for (at, block) in part.clone().step_by(BLOCK).zip(room[part].chunks_exact(BLOCK)) {
            if is_zero(block) {
                zeros += 1;
                self.record = compare::add_to_name(self.record, 0);
                continue;
            }
            let name = Fingerprint::of(block).0 as u64;
            self.record = compare::add_to_name(self.record, name);
            if ladder::is_sized(name, taken) && count < BATCH {
                wanted[count] = (blocks.len(), at);
                count += 1;
                sizes.prefetch(name);
            }
            blocks.push(WrittenBlock { name, lz4_bytes: None, size_shift: shift });
        }
        for &(index, at) in &wanted[..count] {
            let block = &mut blocks[index];
            if block.name >> 20 & (COUNTED - 1) == 0
                && ladder::is_sized(block.name, shift)
                && let Some(bytes) = room[at..].first_chunk()
                && let Ok(packed) = self.lz4.compressed(bytes)
            {
                self.sequences.add(packed, 1 << shift);
            }
            block.lz4_bytes = sizes.size(block.name).or_else(|| {
                let window = room[at..].first_chunk()?;
                let size = self.lz4.size_in(window) as u16;
                sizes.keep(block.name, size);
                Some(size)
            });
        }
        zeros
    }

    /// Finds and counts the zero blocks of a piece that were never written.
    fn blank(&self, piece: &Piece, read: usize) -> Blanks {
        let mut all = Blanks::default();
        let part = piece.offset..piece.offset + read as u64;
        // Where this is not known, everything counts as written.
        let known = piece.source.blanks(part.clone()).unwrap_or_default();
        if known.is_empty() {
            return all;
        }
        let room = self.room[self.start..].chunks_exact(BLOCK);
        let (mut holes, mut set_aside) = (0, 0);
        for (at, block) in part.clone().step_by(BLOCK).zip(room) {
            let end = (at + BLOCK as u64).min(part.end);
            let of = |preallocated| {
                let near = known.iter().filter(|blank| blank.preallocated == preallocated);
                let bytes =
                    near.map(|b| b.range.end.min(end).saturating_sub(b.range.start.max(at)));
                bytes.sum::<u64>()
            };
            let (hole, aside) = (of(false), of(true));
            if hole + aside == end - at && is_zero(block) {
                (holes, set_aside) = (holes + hole, set_aside + aside);
                all.blocks += 1;
            }
        }
        all.bytes = holes + set_aside;
        self.tally.note(|sources| {
            sources.hole_bytes += holes;
            sources.preallocated_bytes += set_aside;
        });
        all
    }

    /// Reads a piece into the room; returns how many bytes there were.
    fn read(&mut self, piece: &Piece) -> io::Result<usize> {
        let wanted = piece.source.request_bytes(piece.length);
        let room = &mut self.room[self.start..self.start + wanted];
        Ok(piece.source.read(room, piece.offset)?.min(piece.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_sizes_are_remembered_once_duplicates_are_many() {
        let remembered = SizeCache::default();
        let name = |id: u64| units::Seed(id).derive("name").0;
        let held = || {
            (0..300_000).for_each(|id| remembered.sizes().keep(name(id), (id % 4097) as u16));
            let sizes = (0..300_000).map(|id| (id, remembered.sizes().size(name(id))));
            sizes.fold(0, |held, (id, size)| {
                assert!(size.is_none_or(|size| u64::from(size) == id % 4097), "{id}: {size:?}");
                held + u64::from(size.is_some())
            })
        };
        let few = held();
        assert!((60_000..=65_536).contains(&few), "{few}");
        // Few duplicates, or not yet blocks enough to say so.
        remembered.duplicates([60_000, 1_000_000]);
        remembered.duplicates([60_000, 60_000]);
        assert_eq!(held(), few);
        remembered.duplicates([70_000, 1_000_000]);
        assert!(held() > 250_000);
    }
}
