//! A trace taken apart, I/O by I/O: what it consists of, what it touches, the curve of each chunk size.

use disk::Op;
use serde::Serialize;

use crate::access::Access;
use crate::pattern::Pattern;
use crate::shards::{Shards, Touch};

/// Most windows of time for which the working set is shown.
pub const MOST_WINDOWS: u16 = 60;
/// Most chunks that are followed, of each size: the curve is then within some hundredths of a point of the one without sampling.
const MOST_FOLLOWED: usize = 1 << 18;
/// The unit in which touched and written data are counted: a block of VDO.
pub(crate) const BLOCK: u64 = reduce::BLOCK as u64;
/// Data that a leaf page of VDO's block map maps, bytes.
pub(crate) const LEAF: u64 = reduce::space::MAP_ENTRIES * BLOCK;

/// Data that a trace touches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Touched {
    /// All of it, bytes in whole blocks of 4 KiB.
    pub bytes: f64,
    /// The part that was read.
    pub read_bytes: f64,
    /// The part that was written.
    pub written_bytes: f64,
    /// The share of the written blocks that were written for the first time; `null` without writes.
    pub first_writes_percent: Option<f64>,
}

/// Takes a trace apart.
#[derive(Debug)]
pub struct Analysis {
    pattern: Pattern,
    blocks: Shards,
    leaves: Shards,
    leaf_visits: u64,
    /// Chunk sizes with their chunks.
    chunks: Vec<(u64, Shards)>,
    first_ns: u64,
    window_ns: u64,
}

impl Analysis {
    /// Creates an analysis for chunk sizes in bytes (whole blocks of 4 KiB), given the times of the first and the last I/O.
    pub fn new(chunk_sizes: &[u64], (first_ns, last_ns): (u64, u64)) -> Self {
        let shards = || Shards::new(MOST_FOLLOWED);
        Self {
            pattern: Pattern::default(),
            blocks: shards(),
            leaves: shards(),
            leaf_visits: 0,
            chunks: chunk_sizes.iter().map(|bytes| ((*bytes).max(BLOCK), shards())).collect(),
            first_ns,
            window_ns: last_ns.saturating_sub(first_ns) / u64::from(MOST_WINDOWS) + 1,
        }
    }

    /// Takes the next I/O.
    pub fn take(&mut self, access: &Access) {
        let goes_on = self.pattern.add(access);
        let write = match access.op {
            Op::Read => false,
            Op::Write => true,
            Op::Flush | Op::Discard => return,
        };
        let window = access.at_ns.saturating_sub(self.first_ns) / self.window_ns;
        self.blocks.begin_window(window.min(u64::from(MOST_WINDOWS) - 1) as u16);
        touch(&mut self.blocks, BLOCK, access, goes_on);
        for (bytes, shards) in &mut self.chunks {
            touch(shards, *bytes, access, goes_on);
        }
        // VDO looks into the map for each block.
        for leaf in access.chunks(LEAF) {
            let within = access.part_in(leaf, LEAF);
            let blocks = within.end.div_ceil(BLOCK) - within.start / BLOCK;
            let kind = if write { Touch::Part } else { Touch::Read };
            self.leaves.touch(leaf, kind, blocks);
            self.leaf_visits += 1;
        }
    }

    /// Returns what the trace consists of.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Returns what it touches.
    pub fn touched(&self) -> Touched {
        let [bytes, read_bytes, written_bytes] = self.blocks.distinct().map(|n| n * BLOCK as f64);
        let written = self.blocks.touches()[1];
        let first = 100.0 * self.blocks.first_writes() / written as f64;
        let first_writes_percent = (written > 0).then_some(first.min(100.0));
        Touched { bytes, read_bytes, written_bytes, first_writes_percent }
    }

    /// Returns the working set over time: the length of a window in nanoseconds, and for each window the bytes that were touched in it, and
    /// the part of them touched for the first time.
    pub fn working_set(&self) -> (u64, Vec<(f64, f64)>) {
        let bytes = |(all, new)| (all * BLOCK as f64, new * BLOCK as f64);
        (self.window_ns, self.blocks.windows().map(bytes).collect())
    }

    /// Returns the blocks of 4 KiB that were touched.
    pub fn blocks(&self) -> &Shards {
        &self.blocks
    }

    /// Returns the chunk sizes in bytes, each with its chunks.
    pub fn chunks(&self) -> &[(u64, Shards)] {
        &self.chunks
    }

    /// Returns the number of leaf pages that I/Os touched, summed over all I/Os.
    pub(crate) fn leaf_visits(&self) -> u64 {
        self.leaf_visits
    }

    /// Returns the leaf pages of VDO's block map, as touched by the lookups in them.
    pub fn leaves(&self) -> &Shards {
        &self.leaves
    }
}

/// Touches the chunks of an I/O. An I/O that continues a stream inside a chunk does not touch that chunk a second time: a cache need not
/// keep data that a stream passes once.
fn touch(shards: &mut Shards, bytes: u64, access: &Access, goes_on: bool) {
    let mut chunks = access.chunks(bytes);
    if goes_on && !access.offset.is_multiple_of(bytes) {
        chunks.next();
    }
    for chunk in chunks {
        let within = access.part_in(chunk, bytes);
        let kind = match access.op {
            Op::Read => Touch::Read,
            _ if within.end - within.start == bytes => Touch::Whole,
            _ => Touch::Part,
        };
        shards.touch(chunk, kind, 1);
    }
}
