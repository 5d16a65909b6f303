//! The stand-in of a VDO volume: it answers in dm-vdo's own syntax, with figures computed from what was written.

mod follow;
mod made;
mod words;

use results::model::AskedContent;
use units::Bytes;

use self::made::Made;
use super::by_table;
use super::geometry::{self, BLOCK, PACKED_BYTES, PACKED_SLOTS};
use super::setup::Setup;
use super::volume::Volume;
use crate::dm;
use crate::layer::Place;
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
    /// Tells whether it has just been formatted, so that what was written is gone.
    formatted: bool,
    index: Index,
    /// Counters of what was written since the volume was made.
    state: State,
    /// Tells whether something else was written as well: no figure follows from `state` then.
    lost_track: bool,
}

/// The state of the deduplication index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Index {
    /// It opens in the background; once it has been asked about it is online.
    Opening,
    Online,
    /// Open, and nothing is looked up.
    Offline,
    Closed,
}

/// Counters, in blocks; fractions are kept so that many small writes add up to what one large write gives.
#[derive(Default)]
struct State {
    written: f64,
    /// Logical blocks that were ever written.
    mapped: f64,
    /// Logical blocks among them that a load of more than zeros wrote last.
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
    /// Accounts for `content` written blocks; `stored` of them took new space. The blocks that they replace are gone, whichever load wrote those:
    /// each block that was ever written is equally likely to be still there.
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
            index: Index::Opening,
            state: State::default(),
            lost_track: false,
        }
    }

    /// Blocks that metadata takes before anything is written.
    fn fixed(&self) -> f64 {
        geometry::empty_overhead(self.pool_blocks, self.slabs, self.setup.slab_size) as f64
    }

    /// Pages of the block map that are allocated: each leaf so far, and three pages above each of the first leaves, until all such pages are there.
    fn map_pages(&self) -> f64 {
        let interior = geometry::interior(self.logical_blocks * BLOCK) as f64;
        self.state.leaves + (3.0 * self.state.leaves).min(interior)
    }

    /// Blocks that hold data: the twin of a full pool stores no more, although it lets all writes succeed.
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
        // These two are always answered, so that steps that wait for them come to an end.
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
        let index = match self.index {
            _ if !self.setup.dedupe => "closed",
            Index::Opening => "opening",
            Index::Online => "online",
            Index::Offline => "offline",
            Index::Closed => "closed",
        };
        if self.index == Index::Opening {
            self.index = Index::Online;
        }
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
    /// Follows commands that change a volume that is up: another table, options of lvm, messages to the index. Returns whether the command is
    /// for this volume: growth and messages are answered by nothing else.
    fn follow(&mut self, argv: &[String], answered: bool) -> bool {
        if let [program, verb, node, _, message] = argv
            && (program.as_str(), verb.as_str()) == ("dmsetup", "message")
            && *node == self.node
        {
            self.index = match message.as_str() {
                "index-close" => Index::Closed,
                "index-disable" => Index::Offline,
                _ => Index::Online,
            };
            return true;
        }
        // The node of a volume of lvm is called after its group: `group-volume`.
        let group = self.node.split('-').next();
        let of_group = |argv: &[String]| {
            argv.last()
                .and_then(|last| last.split_once('/'))
                .is_some_and(|(of, _)| Some(of) == group)
        };
        let grows = argv.get(1).is_some_and(|verb| verb == "lvextend") && of_group(argv);
        if !answered && !grows {
            return false;
        }
        for (key, value) in follow::changes(argv) {
            let blocks = || value.parse::<Bytes>().map_or(0, |bytes| bytes.0 / BLOCK);
            match key.as_str() {
                "logical_size" => self.logical_blocks = blocks(),
                "physical_size" => {
                    self.pool_blocks = blocks();
                    let s = &self.setup;
                    let pool = self.pool_blocks * BLOCK;
                    self.slabs = geometry::slabs(pool, s.slab_size, s.index_memory, s.sparse_index);
                }
                key => follow::change_setting(&mut self.setup, key, &value),
            }
        }
        true
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
            self.index = Index::Opening;
            // lvm formats what it makes; a table only starts what is formatted already.
            if matches!(self.made, Made::ByLvm(_)) || std::mem::take(&mut self.formatted) {
                self.state = State::default();
                self.lost_track = false;
            }
        }
        let accepted = !matches!(answer, TwinAnswer::Ran { exit: 1.., .. });
        let answered = answer != TwinAnswer::NotMine;
        let followed = accepted && self.made.is_up() && self.follow(argv, answered);
        if followed && !answered { TwinAnswer::ok("") } else { answer }
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
            Source::DmTable { node } if *node == self.node => {
                let beside = self.setup.via.beside_volume();
                let volume = self.logical_blocks * BLOCK + beside;
                let pool = self.pool_blocks * BLOCK;
                Some(by_table::line(&self.setup, "/dev/dm-0", volume, pool))
            }
            Source::Queue { device, attribute }
                if *device == dm::path(&self.node) && attribute == "discard_max_bytes" =>
            {
                Some(self.setup.max_discard.to_string())
            }
            Source::Threads { prefix }
                if *prefix == format!("vdo{}:", self.starts.saturating_sub(1)) =>
            {
                // There are threads, but their work is not modelled.
                Some(String::new())
            }
            _ => None,
        }
    }

    fn flushed(&mut self, _device: &str) {
        self.state.parked = 0.0;
    }

    fn power_off(&mut self) {
        self.made.power_off();
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
