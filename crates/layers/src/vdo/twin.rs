//! The stand-in of a VDO volume: answers in dm-vdo's own syntax what follows from what was written.

mod words;

use results::model::AskedContent;

use super::geometry::{self, BLOCK, PACKED_BYTES, PACKED_SLOTS};
use super::setup::Setup;
use super::{DATA_NODE, POOL_NODE, VOLUME};
use crate::layer::Place;
use crate::lvm::{Group, GroupTwin};
use crate::probe::Source;
use crate::twin::{Twin, TwinAnswer, Writes};

/// Fragments that stay in the packer until a flush.
const PARKED: f64 = 3.0;
/// Clock ticks of CPU per written block.
const TICKS_PER_BLOCK: f64 = 0.002;

/// A simulated VDO volume.
pub(super) struct VdoTwin {
    lvm: GroupTwin,
    setup: Setup,
    node: String,
    pool_blocks: u64,
    logical_blocks: u64,
    slabs: u64,
    /// Starts so far: dm-vdo counts them in `instance`.
    starts: u64,
    /// Whether the index has been asked about: it opens in the background.
    index_open: bool,
    /// What was written since the volume was made.
    state: State,
}

/// Counters, in blocks; fractions are kept so that many small writes add up to what one large write gives.
#[derive(Default)]
struct State {
    written: f64,
    /// Logical blocks that were ever written.
    mapped: f64,
    /// Of these, blocks that a load of more than zeros wrote last.
    covered: f64,
    leaves: f64,
    data: f64,
    /// Blocks that were ever stored.
    stored: f64,
    fragments: f64,
    packed: f64,
    parked: f64,
    duplicates: f64,
    distinct: f64,
}

impl State {
    /// Blocks of content were written, `stored` of them anew; what they replace goes, whichever load wrote it: each that was ever
    /// written is as likely to be still there as any other.
    fn replace(&mut self, content: f64, stored: f64, covered: f64) {
        let all = self.covered + content;
        let left = if all > 0.0 { (covered / all).min(1.0) } else { 0.0 };
        self.data = (self.data + stored) * left;
        self.covered = covered;
    }
}

impl VdoTwin {
    pub(super) fn new(setup: Setup, at: &Place) -> Self {
        let group = Group::of(at, &["data"]);
        let (_, below_bytes) = at.block("data");
        let pool = setup.pool_bytes(below_bytes);
        let (slab, index) = (setup.slab_size, setup.index_memory);
        Self {
            node: group.node(POOL_NODE),
            pool_blocks: pool / BLOCK,
            logical_blocks: setup.volume_bytes(below_bytes) / BLOCK,
            slabs: geometry::slabs(pool, slab, index, setup.sparse_index),
            lvm: GroupTwin::new(group, &[VOLUME, POOL_NODE, DATA_NODE]),
            setup,
            starts: 0,
            index_open: false,
            state: State::default(),
        }
    }

    /// Blocks that metadata takes before anything is written.
    fn fixed(&self) -> f64 {
        geometry::empty_overhead(self.pool_blocks, self.slabs, self.setup.slab_size) as f64
    }

    /// Pages of the block map that are allocated: each leaf so far, and three pages above each of the first.
    fn map_pages(&self) -> f64 {
        let interior = geometry::interior(self.logical_blocks * BLOCK) as f64;
        self.state.leaves + (3.0 * self.state.leaves).min(interior)
    }

    /// Blocks that hold data: a twin of a pool that is full stores no more, though it lets all writes pass.
    fn data(&self) -> f64 {
        let room = self.pool_blocks as f64 - self.fixed() - self.map_pages();
        self.state.data.min(room.max(0.0))
    }

    fn value(&self, path: &str) -> String {
        let s = &self.state;
        let pages = self.map_pages();
        let (meta, journal) = (s.written * 0.2 + pages, s.written / 100.0);
        let number = match path {
            "mode" => return "normal".into(),
            "version" => 36.0,
            "dataBlocksUsed" => self.data(),
            "overheadBlocksUsed" => self.fixed() + pages,
            "logicalBlocksUsed" => s.mapped,
            "physicalBlocks" => self.pool_blocks as f64,
            "logicalBlocks" => self.logical_blocks as f64,
            "blockMapCacheSize" => self.setup.block_map_cache as f64,
            "blockSize" => BLOCK as f64,
            "recoveryPercentage" => 0.0,
            "packer.compressedFragmentsWritten" => s.fragments - s.parked,
            "packer.compressedBlocksWritten" => s.packed,
            "packer.compressedFragmentsInPacker" | "currentVIOsInProgress" => s.parked,
            "allocator.slabCount" => self.slabs as f64,
            "allocator.slabsOpened" => f64::from(u8::from(s.written > 0.0)),
            "journal.blocks.started" | "journal.blocks.written" | "journal.blocks.committed" => {
                journal
            }
            "hashLock.dedupeAdviceValid" => s.duplicates,
            "instance" => self.starts.saturating_sub(1) as f64,
            "maxVIOs" => s.written.min(32.0),
            "logicalBlockSize" => f64::from(self.setup.minimum_io_size),
            "biosIn.write" => s.written,
            "biosOut.write" | "biosOutCompleted.write" => s.stored,
            "biosMeta.write" | "biosMetaCompleted.write" => meta,
            "biosJournal.write" | "biosJournalCompleted.write" => journal,
            "blockMap.pagesLoaded" | "biosPageCache.write" | "biosPageCacheCompleted.write" => {
                pages
            }
            "index.entriesIndexed" | "index.postsNotFound" => s.distinct,
            "index.postsFound" => s.duplicates,
            _ => 0.0,
        };
        format!("{}", number.round().max(0.0))
    }

    fn status(&mut self) -> String {
        let index = match (self.setup.dedupe, self.index_open) {
            (false, _) => "closed",
            (true, false) => "opening",
            (true, true) => "online",
        };
        self.index_open = true;
        let compression = if self.setup.compression { "online" } else { "offline" };
        let used = self.data() + self.fixed() + self.map_pages();
        format!(
            "0 {} vdo /dev/dm-0 normal - {index} {compression} {} {}",
            self.logical_blocks * 8,
            used.round(),
            self.pool_blocks
        )
    }

    fn config(&self) -> String {
        format!(
            "{{ version : 1, physicalSize : {}, logicalSize : {}, slabSize : {}, index :  {{ memorySize : {}, \
             isSparse : {}, }}, }}",
            self.pool_blocks * BLOCK,
            self.logical_blocks * BLOCK,
            self.setup.slab_size / BLOCK,
            self.setup.index_memory as f64 / (1u64 << 30) as f64,
            u8::from(self.setup.sparse_index)
        )
    }
}

impl VdoTwin {
    /// Follows `lvchange --deduplication n` and the like.
    fn switch(&mut self, argv: &[String]) {
        for pair in argv.windows(2) {
            let on = pair[1] == "y";
            match pair[0].as_str() {
                "--deduplication" => self.setup.dedupe = on,
                "--compression" => self.setup.compression = on,
                _ => {}
            }
        }
    }
}

impl Twin for VdoTwin {
    fn command(&mut self, argv: &[String]) -> TwinAnswer {
        let was_up = self.lvm.is_up();
        let answer = self.lvm.command(argv);
        if self.lvm.is_up() && !was_up {
            self.starts += 1;
            self.index_open = false;
            self.state = State::default();
        }
        if argv.get(1).is_some_and(|verb| verb == "lvchange") && self.lvm.is_up() {
            self.switch(argv);
        }
        answer
    }

    fn read(&mut self, source: &Source) -> Option<String> {
        if !self.lvm.is_up() {
            return None;
        }
        match source {
            Source::DmMessage { node, message } if *node == self.node => match message.as_str() {
                "stats" => Some(words::stats(|field| self.value(field))),
                "config" => Some(self.config()),
                _ => None,
            },
            Source::DmStatus { node } if *node == self.node => Some(self.status()),
            Source::DmTable { node } if *node == self.node => Some(format!(
                "0 {} vdo V4 /dev/dm-0 {} {} {} {}",
                self.logical_blocks * 8,
                self.pool_blocks,
                self.setup.minimum_io_size,
                self.setup.block_map_cache / BLOCK,
                self.setup.block_map_period
            )),
            Source::Threads { prefix }
                if *prefix == format!("vdo{}:", self.starts.saturating_sub(1)) =>
            {
                Some(words::threads(&self.setup, prefix, self.state.written * TICKS_PER_BLOCK))
            }
            _ => None,
        }
    }

    fn flushed(&mut self, _device: &str) {
        self.state.parked = 0.0;
    }

    fn remove_nodes(&mut self, nodes: &[String]) -> Vec<String> {
        self.lvm.remove_nodes(nodes)
    }

    fn wrote(&mut self, writes: &Writes, content: &AskedContent) {
        let share = |percent: Option<f64>| percent.unwrap_or(0.0) / 100.0;
        let (blocks, fresh) = (writes.blocks as f64, writes.fresh as f64);
        let over_zeros = writes.over_zeros as f64;
        let zero = blocks * share(content.zero_percent);
        let duplicates =
            if self.setup.dedupe { blocks * share(content.duplicate_percent) } else { 0.0 };
        let distinct = (blocks - zero - duplicates).max(0.0);
        let saved = 4096.0 * (1.0 - share(content.lz4_saving_percent));
        let size = content.lz4_size_mean_bytes.unwrap_or(saved).max(1.0);
        let slots = (PACKED_BYTES / size).floor().min(PACKED_SLOTS);
        let s = &mut self.state;
        s.written += blocks;
        s.mapped += fresh;
        s.leaves = (s.leaves + fresh).min(geometry::leaves(self.logical_blocks * BLOCK) as f64);
        s.duplicates += duplicates;
        s.distinct += distinct;
        let packs = self.setup.compression && slots >= 2.0 && distinct > 0.0;
        let stored = if packs { distinct / slots } else { distinct };
        if packs {
            s.fragments += distinct;
            s.packed += stored;
            s.parked = PARKED.min(s.fragments);
        }
        s.stored += stored;
        if zero < blocks {
            s.replace(blocks, stored, s.covered + fresh + over_zeros);
        } else {
            s.replace(0.0, 0.0, s.covered - (blocks - fresh - over_zeros));
        }
    }

    fn leftovers(&self) -> Vec<String> {
        self.lvm.leftovers()
    }
}

#[cfg(test)]
mod tests;
