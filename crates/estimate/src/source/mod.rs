//! Sources of bytes: files, devices, images, standard input.

mod blank;
mod file;
mod file_systems;
mod partitions;
mod qcow2;
mod raw_base;
mod recognise;
mod shared;
mod size_scan;
mod tally;
mod uncached_file;
mod walk;

pub use file::Source;
pub use partitions::OffBlocks;
pub use size_scan::SizeScan;
pub use tally::{Sources, Tally, Trouble};
pub use walk::Walk;

use std::sync::Arc;

use reduce::BLOCK;

/// Most bytes of a job.
pub const JOB: usize = 256 << 10;

/// Bytes of one source that lie together, in one directory.
#[derive(Debug)]
pub struct Piece {
    /// The source that they come from.
    pub source: Arc<Source>,
    /// Offset in the source.
    pub offset: u64,
    /// Number of bytes.
    pub length: usize,
    /// The directory that they count for.
    pub directory: u32,
}

impl Piece {
    /// Returns its two halves, cut where a part of the source that is lost alone may end; `None` where it is one such part.
    pub fn cut(&self) -> Option<(Self, Self)> {
        let unit = self.source.unit_bytes()?;
        let before = (self.offset % unit as u64) as usize;
        let units = (before + self.length).div_ceil(unit);
        let length = (units / 2 * unit).checked_sub(before).filter(|length| *length > 0)?;
        let part = |offset, length| Self {
            source: Arc::clone(&self.source),
            offset,
            length,
            directory: self.directory,
        };
        let rest = part(self.offset + length as u64, self.length - length);
        Some((part(self.offset, length), rest))
    }
}

/// A piece of a source that one worker reads at a time.
#[derive(Debug, Default)]
pub struct Job {
    /// Its number in the order of reading.
    pub number: u64,
    /// Blocks that come before it, at most.
    pub position: u64,
    /// Its pieces in order; together at most [`JOB`] bytes.
    pub pieces: Vec<Piece>,
}

impl Job {
    /// Returns how many blocks it has, at most.
    pub fn blocks(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.length.div_ceil(BLOCK) as u64).sum()
    }
}
