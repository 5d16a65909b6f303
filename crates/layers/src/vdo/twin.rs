//! The stand-in of a VDO volume: answers in dm-vdo's own syntax what follows from what was written.

mod changes;
mod words;

use results::model::AskedContent;

use super::by_lvm;
use super::geometry::{self, BLOCK, PACKED_BYTES, PACKED_SLOTS};
use super::names::{LVM_DATA_NODE, LVM_POOL_NODE, TABLE_DATA_NODE, VOLUME};
use super::setup::{Setup, Via};
use super::volume::Volume;
use crate::dm::{self, NodesTwin};
use crate::layer::Place;
use crate::lvm::GroupTwin;
use crate::probe::Source;
use crate::twin::{Twin, TwinAnswer, Writes};

/// Fragments that stay in the packer until a flush.
const PARKED: f64 = 3.0;

/// A simulated VDO volume.
pub(super) struct VdoTwin {
    made: Made,
    setup: Setup,
    node: String,
    pool_blocks: u64,
    logical_blocks: u64,
    slabs: u64,
    /// Starts so far: dm-vdo counts them in `instance`.
    starts: u64,
    /// Whether it has just been formatted, so that what was written is gone.
    formatted: bool,
    /// Whether the index is open: it opens in the background once it was asked about.
    index_open: bool,
    /// What the index is, where a message closed it or switched it off.
    index_off: Option<&'static str>,
    /// What was written since the volume was made.
    state: State,
    /// Whether something else was written as well: no figure follows from `state` then.
    lost_track: bool,
}

/// What made the volume, by its stand-in.
enum Made {
    ByLvm(GroupTwin),
    /// With the node of the volume among those of the layer, and the path of the one that is formatted.
    ByTable {
        nodes: NodesTwin,
        volume: String,
        pool: String,
    },
}

impl Made {
    fn of(volume: &Volume) -> Self {
        match volume.setup.via {
            Via::Lvm => {
                let nodes = [VOLUME, LVM_POOL_NODE, LVM_DATA_NODE];
                Self::ByLvm(GroupTwin::new(by_lvm::group(volume), &nodes))
            }
            Via::Table => {
                let [top, pool] = [VOLUME, TABLE_DATA_NODE].map(|what| volume.node(what));
                let nodes = NodesTwin::new(vec![top.clone(), pool.clone()]);
                Self::ByTable { nodes, volume: top, pool: dm::path(&pool) }
            }
        }
    }

    fn is_up(&self) -> bool {
        match self {
            Self::ByLvm(group) => group.is_up(),
            Self::ByTable { nodes, volume, .. } => nodes.has(volume),
        }
    }

    fn command(&mut self, argv: &[String]) -> TwinAnswer {
        match self {
            Self::ByLvm(group) => group.command(argv),
            Self::ByTable { nodes, .. } => nodes.command(argv),
        }
    }

    fn remove_nodes(&mut self, gone: &[String]) -> Vec<String> {
        match self {
            Self::ByLvm(group) => group.remove_nodes(gone),
            Self::ByTable { nodes, .. } => nodes.remove_nodes(gone),
        }
    }

    fn leftovers(&self) -> Vec<String> {
        match self {
            Self::ByLvm(group) => group.leftovers(),
            Self::ByTable { nodes, .. } => nodes.leftovers(),
        }
    }
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
        let volume = Volume { setup: &setup, at };
        let pool = setup.pool_bytes(at);
        let (slab, index) = (setup.slab_size, setup.index_memory);
        Self {
            node: volume.target(),
            pool_blocks: pool / BLOCK,
            logical_blocks: setup.volume_bytes(at) / BLOCK,
            slabs: geometry::slabs(pool, slab, index, setup.sparse_index),
            made: Made::of(&volume),
            setup,
            starts: 0,
            formatted: false,
            index_open: false,
            index_off: None,
            state: State::default(),
            lost_track: false,
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

    /// A field of the statistics; `None` for one that the twin does not model, or that it cannot know.
    fn value(&self, path: &str) -> Option<String> {
        let of_setup = [
            "mode",
            "version",
            "physicalBlocks",
            "logicalBlocks",
            "blockMapCacheSize",
            "blockSize",
            "allocator.slabCount",
            "instance",
            "logicalBlockSize",
        ];
        // What steps wait for comes true.
        let awaited = ["packer.compressedFragmentsInPacker", "currentVIOsInProgress"];
        let known = !self.lost_track || of_setup.contains(&path) || awaited.contains(&path);
        (known && !words::UNMODELLED.iter().any(|what| path.ends_with(what)))
            .then(|| self.modelled(path))
    }

    fn modelled(&self, path: &str) -> String {
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
            "biosPageCache.write" | "biosPageCacheCompleted.write" => pages,
            "index.entriesIndexed" | "index.postsNotFound" => s.distinct,
            "index.postsFound" => s.duplicates,
            _ => 0.0,
        };
        format!("{}", number.round().max(0.0))
    }

    fn status(&mut self) -> String {
        let index = match (self.setup.dedupe, self.index_off, self.index_open) {
            (false, ..) => "closed",
            (true, Some(off), _) => off,
            (true, None, false) => "opening",
            (true, None, true) => "online",
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

impl Twin for VdoTwin {
    fn command(&mut self, argv: &[String]) -> TwinAnswer {
        if let Made::ByTable { pool, .. } = &self.made
            && let [program, .., device] = argv
            && program == "vdoformat"
            && device == pool
        {
            self.formatted = true;
            return TwinAnswer::ok("");
        }
        let was_up = self.made.is_up();
        let answer = self.made.command(argv);
        if self.made.is_up() && !was_up {
            self.starts += 1;
            (self.index_open, self.index_off) = (false, None);
            // lvm formats as it makes; a table only starts what is formatted.
            if matches!(self.made, Made::ByLvm(_)) || std::mem::take(&mut self.formatted) {
                self.state = State::default();
                self.lost_track = false;
            }
        }
        if self.made.is_up() { self.change(argv, answer) } else { answer }
    }

    fn read(&mut self, source: &Source) -> Option<String> {
        if !self.made.is_up() {
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
                // Threads are there, and nobody models what they do.
                Some(String::new())
            }
            _ => None,
        }
    }

    fn flushed(&mut self, _device: &str) {
        self.state.parked = 0.0;
    }

    fn remove_nodes(&mut self, nodes: &[String]) -> Vec<String> {
        self.made.remove_nodes(nodes)
    }

    fn lost_track(&mut self) {
        self.lost_track = true;
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
        self.made.leftovers()
    }
}

#[cfg(test)]
mod tests;
