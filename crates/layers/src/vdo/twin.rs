//! The stand-in of a VDO volume: answers in dm-vdo's own syntax what follows from what was written.

use std::fmt::Write;

use results::model::ContentFigures;

use super::geometry::{self, BLOCK, PACKED_BYTES, PACKED_SLOTS};
use super::setup::Setup;
use super::{DATA_NODE, POOL_NODE, VOLUME};
use crate::layer::Place;
use crate::lvm::{Group, GroupTwin};
use crate::probe::Source;
use crate::twin::{Twin, TwinAnswer};

/// The statistics that dm-vdo prints (STATISTICS_VERSION 36), groups in braces, in its order; `#` is a group of
/// counts of I/O, which all have the fields [`BIOS`].
const TREE: &str = "version dataBlocksUsed overheadBlocksUsed logicalBlocksUsed physicalBlocks \
    logicalBlocks blockMapCacheSize blockSize completeRecoveries readOnlyRecoveries mode inRecoveryMode \
    recoveryPercentage packer{ compressedFragmentsWritten compressedBlocksWritten \
    compressedFragmentsInPacker } allocator{ slabCount slabsOpened slabsReopened } journal{ diskFull \
    slabJournalCommitsRequested entries{ started written committed } blocks{ started written committed } } \
    slabJournal{ diskFullCount flushCount blockedCount blocksWritten tailBusyCount } \
    slabSummary{ blocksWritten } refCounts{ blocksWritten } blockMap{ dirtyPages cleanPages freePages \
    failedPages incomingPages outgoingPages cachePressure readCount writeCount failedReads failedWrites \
    reclaimed readOutgoing foundInCache discardRequired waitForPage fetchRequired pagesLoaded pagesSaved \
    flushCount } hashLock{ dedupeAdviceValid dedupeAdviceStale concurrentDataMatches \
    concurrentHashCollisions currDedupeQueries } errors{ invalidAdvicePBNCount noSpaceErrorCount \
    readOnlyErrorCount } instance currentVIOsInProgress maxVIOs dedupeAdviceTimeouts flushOut \
    logicalBlockSize biosIn# biosInPartial# biosOut# biosMeta# biosJournal# biosPageCache# biosOutCompleted# \
    biosMetaCompleted# biosJournalCompleted# biosPageCacheCompleted# biosAcknowledged# \
    biosAcknowledgedPartial# biosInProgress# memoryUsage{ bytesUsed peakBytesUsed } index{ entriesIndexed postsFound postsNotFound queriesFound \
    queriesNotFound updatesFound updatesNotFound entriesDiscarded }";

/// Fields of a group of counts of I/O.
const BIOS: &str = "{ read write emptyFlush discard flush fua }";

/// Families of threads with their share of a volume's CPU time.
const THREADS: [(&str, f64); 13] = [
    ("journalQ", 0.15),
    ("packerQ", 0.03),
    ("bioQ", 0.1),
    ("ackQ", 0.08),
    ("cpuQ", 0.13),
    ("physQ", 0.13),
    ("logQ", 0.14),
    ("callbackW", 0.04),
    ("dedupeQ", 0.07),
    ("hashQ", 0.07),
    ("reader", 0.01),
    ("indexW", 0.04),
    ("writer", 0.01),
];

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
    /// Mapped by writes of nothing but zeros (allocation), until data is written over them.
    zeros: f64,
    /// Mapped by other writes.
    covered: f64,
    leaves: f64,
    data: f64,
    fragments: f64,
    packed: f64,
    parked: f64,
    duplicates: f64,
    distinct: f64,
}

impl State {
    /// Mapped blocks of a volume of `logical`: blocks of zeros are overwritten in the share that is covered.
    fn mapped(&self, logical: f64) -> f64 {
        self.covered + self.zeros * (1.0 - self.covered / logical)
    }
}

impl VdoTwin {
    pub(super) fn new(setup: Setup, at: &Place) -> Self {
        let group = Group::of(at);
        let pool = setup.pool_bytes(at.below_bytes);
        let (slab, index) = (setup.slab_size, setup.index_memory);
        Self {
            node: group.node(POOL_NODE),
            pool_blocks: pool / BLOCK,
            logical_blocks: setup.volume_bytes(at.below_bytes) / BLOCK,
            slabs: geometry::slabs(pool, slab, index, setup.sparse_index),
            lvm: GroupTwin::new(group, at.below, &[VOLUME, POOL_NODE, DATA_NODE]),
            setup,
            starts: 0,
            index_open: false,
            state: State::default(),
        }
    }

    /// Blocks that metadata takes before anything is written.
    fn fixed(&self) -> f64 {
        let fixed = geometry::fixed_blocks(self.setup.index_memory, self.setup.sparse_index);
        (fixed + self.slabs * geometry::slab_overhead(self.setup.slab_size)) as f64
    }

    /// Pages of the block map that are allocated: each leaf so far, and three pages above each of the first.
    fn map_pages(&self) -> f64 {
        let interior = geometry::interior(self.logical_blocks * BLOCK) as f64;
        self.state.leaves + (3.0 * self.state.leaves).min(interior)
    }

    fn value(&self, path: &str) -> String {
        let s = &self.state;
        let pages = self.map_pages();
        let (meta, journal) = (s.written * 0.2 + pages, s.written / 100.0);
        let number = match path {
            "mode" => return "normal".into(),
            "version" => 36.0,
            "dataBlocksUsed" => s.data,
            "overheadBlocksUsed" => self.fixed() + pages,
            "logicalBlocksUsed" => s.mapped(self.logical_blocks as f64),
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
            "biosOut.write" | "biosOutCompleted.write" => s.data,
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

    /// The statistics in dm-vdo's syntax.
    fn stats(&self) -> String {
        let mut text = String::from("{ ");
        let mut path: Vec<&str> = Vec::new();
        let tree = TREE.replace('#', BIOS);
        for word in tree.split_whitespace() {
            // A string takes whatever is written to it.
            let _ = if let Some(group) = word.strip_suffix('{') {
                path.push(group);
                write!(text, "{group} : {{ ")
            } else if word == "}" {
                path.pop();
                write!(text, "}}, ")
            } else {
                let full = path.iter().copied().chain([word]).collect::<Vec<_>>().join(".");
                write!(text, "{word} : {}, ", self.value(&full))
            };
        }
        text + "}"
    }

    fn status(&mut self) -> String {
        let index = match (self.setup.dedupe, self.index_open) {
            (false, _) => "closed",
            (true, false) => "opening",
            (true, true) => "online",
        };
        self.index_open = true;
        let compression = if self.setup.compression { "online" } else { "offline" };
        let used = self.state.data + self.fixed() + self.map_pages();
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

    /// Names of the threads of one family, as dm-vdo numbers them: some families always, some only from two on.
    fn family(&self, name: &str) -> Vec<String> {
        let setup = &self.setup;
        let (count, always) = match name {
            "bioQ" => (setup.bio_threads, true),
            "physQ" => (setup.physical_threads, true),
            "logQ" => (setup.logical_threads, true),
            "hashQ" => (setup.hash_zone_threads, true),
            "ackQ" => (setup.ack_threads, setup.ack_threads > 1),
            "cpuQ" => (setup.cpu_threads, setup.cpu_threads > 1),
            "reader" => return vec![name.to_owned(); 2],
            _ => (1, false),
        };
        let numbered = |i: u32| if always { format!("{name}{i}") } else { name.to_owned() };
        (0..count).map(numbered).collect()
    }

    fn threads(&self, prefix: &str) -> String {
        let ticks = self.state.written * TICKS_PER_BLOCK;
        let mut text = String::new();
        for (id, (family, share)) in THREADS.iter().enumerate() {
            let names = self.family(family);
            for name in &names {
                let each = (ticks * share / names.len() as f64).round();
                // A string takes whatever is written to it.
                let _ = writeln!(text, "{} {prefix}{name} 0 {each}", 100 + id);
            }
        }
        text
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
        answer
    }

    fn read(&mut self, source: &Source) -> Option<String> {
        if !self.lvm.is_up() {
            return None;
        }
        match source {
            Source::DmMessage { node, message } if *node == self.node => match message.as_str() {
                "stats" => Some(self.stats()),
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
                Some(self.threads(prefix))
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

    fn wrote(&mut self, blocks: u64, content: &ContentFigures) {
        let share = |percent: Option<f64>| percent.unwrap_or(0.0) / 100.0;
        let blocks = blocks as f64;
        let zero = blocks * share(content.zero_percent);
        let duplicates =
            if self.setup.dedupe { blocks * share(content.duplicate_percent) } else { 0.0 };
        let distinct = (blocks - zero - duplicates).max(0.0);
        let saved = 4096.0 * (1.0 - share(content.lz4_saving_percent));
        let size = content.lz4_size_mean_bytes.unwrap_or(saved).max(1.0);
        let slots = (PACKED_BYTES / size).floor().min(PACKED_SLOTS);
        let logical = self.logical_blocks as f64;
        let s = &mut self.state;
        s.written += blocks;
        if zero < blocks {
            s.covered = (s.covered + blocks).min(logical);
        } else {
            s.zeros = (s.zeros + blocks).min(logical);
        }
        s.leaves = (s.leaves + blocks).min(geometry::leaves(self.logical_blocks * BLOCK) as f64);
        s.duplicates += duplicates;
        s.distinct += distinct;
        if self.setup.compression && slots >= 2.0 && distinct > 0.0 {
            s.fragments += distinct;
            s.packed += distinct / slots;
            s.data += distinct / slots;
            s.parked = PARKED.min(s.fragments);
        } else {
            s.data += distinct;
        }
    }

    fn leftovers(&self) -> Vec<String> {
        self.lvm.leftovers()
    }
}

#[cfg(test)]
mod tests {
    use results::model::SampleRow;

    use super::*;
    use crate::figures::{ALLOCATED, FigureFacts, SETTLED};
    use crate::kind::Kind;
    use crate::layer::Layer;
    use crate::parse;
    use crate::step::Action;

    const KIND: &Kind = &super::super::KIND;

    fn place() -> Place<'static> {
        Place { name: "vdo", run_tag: "00000001", below: "/dev/sim", below_bytes: 7 << 30 }
    }

    fn up(text: &str) -> (Box<dyn Twin>, crate::Raised) {
        let setup = Setup::read(&text.parse().unwrap()).unwrap();
        let raised = setup.raise(&place()).unwrap();
        let mut twin = setup.twin(&place());
        for step in &raised.up {
            if let Action::Command { argv, .. } = &step.action {
                assert!(matches!(twin.command(argv), TwinAnswer::Ran { exit: 0, .. }), "{argv:?}");
            }
        }
        (twin, raised)
    }

    fn sample(twin: &mut dyn Twin, raised: &crate::Raised, at_ns: u64, mark: &str) -> SampleRow {
        let probe = &raised.probes[0];
        let parsed = parse(&probe.parser, &twin.read(&probe.source).unwrap()).unwrap();
        SampleRow {
            at_ns,
            source: probe.id.clone(),
            cost_ns: 0,
            cost_cpu_ns: 0,
            mark: Some(mark.into()),
            fields: parsed.numbers,
            error: None,
        }
    }

    #[test]
    fn the_figures_of_a_simulated_pass_are_those_of_its_content() {
        let (mut twin, raised) = up("logical_size = \"1G\"");
        let leaves = geometry::leaves(1 << 30);
        let zero = ContentFigures { zero_percent: Some(100.0), ..Default::default() };
        twin.wrote(leaves, &zero);
        let before = sample(twin.as_mut(), &raised, 1, ALLOCATED);
        let content = ContentFigures {
            duplicate_percent: Some(50.0),
            zero_percent: Some(0.0),
            lz4_size_mean_bytes: Some(1638.0),
            ..Default::default()
        };
        let whole = 1u64 << 18;
        for _ in 0..64 {
            twin.wrote(whole / 64, &content);
        }
        twin.flushed(&raised.device);
        let after = sample(twin.as_mut(), &raised, 2, SETTLED);
        let rows = [before, after];
        let facts = FigureFacts { layer: "vdo", samples: &rows, achieved: Some(&content) };
        let figures = (KIND.figures)(&facts);
        let near = |id: &str, want: f64, by: f64| {
            let value = figures[id].unwrap();
            assert!((value - want).abs() <= by, "{id}: {value}, not {want}");
        };
        near("saving_percent", 75.0, 0.1);
        near("fragments_per_block", 2.0, 0.001);
        near("duplicates_found_percent", 50.0, 0.01);
        near("overhead_blocks_used", 0.0, 0.0);
        near("data_blocks_used", whole as f64 / 4.0, 1.0);
    }

    #[test]
    fn a_volume_that_neither_dedupes_nor_compresses_saves_nothing() {
        let (mut twin, raised) = up("dedupe = \"off\"\ncompression = \"off\"");
        let content = ContentFigures {
            duplicate_percent: Some(50.0),
            lz4_saving_percent: Some(60.0),
            ..Default::default()
        };
        twin.wrote(1000, &content);
        let fields = sample(twin.as_mut(), &raised, 0, SETTLED).fields;
        assert_eq!(fields["dataBlocksUsed"], Some(1000.0));
        assert_eq!(fields["hashLock.dedupeAdviceValid"], Some(0.0));
    }

    #[test]
    fn allocation_without_a_stage_shows_as_overhead() {
        let (mut twin, raised) = up("logical_size = \"20G\"");
        let before = sample(twin.as_mut(), &raised, 0, ALLOCATED).fields;
        twin.wrote(geometry::leaves(20 << 30), &ContentFigures::default());
        let after = sample(twin.as_mut(), &raised, 1, SETTLED).fields;
        let grown = after["overheadBlocksUsed"].unwrap() - before["overheadBlocksUsed"].unwrap();
        assert_eq!(grown, 6637.0);
    }

    #[test]
    fn the_index_opens_and_the_packer_empties_as_steps_wait_for() {
        let (mut twin, raised) = up("");
        let Action::Wait { source, parser, .. } = &raised.ready[0].action else { panic!() };
        let mut index =
            || parse(parser, &twin.read(source).unwrap()).unwrap().texts["index"].clone();
        assert_eq!((index().as_str(), index().as_str()), ("opening", "online"));
        let content = ContentFigures { lz4_saving_percent: Some(60.0), ..Default::default() };
        twin.wrote(100, &content);
        let parked = |twin: &mut dyn Twin| sample(twin, &raised, 0, "").fields["packer.compressedFragmentsInPacker"];
        assert_eq!(parked(twin.as_mut()), Some(3.0));
        twin.flushed(&raised.device);
        assert_eq!(parked(twin.as_mut()), Some(0.0));
    }

    #[test]
    fn every_probe_and_fact_is_answered_in_words_that_the_real_parsers_read() {
        let (mut twin, raised) = up("");
        for probe in &raised.probes {
            let mut source = probe.source.clone();
            if let Source::Threads { prefix } = &mut source {
                *prefix = prefix.replace("{vdo.instance}", "0");
            }
            let parsed = parse(&probe.parser, &twin.read(&source).unwrap()).unwrap();
            assert!(!parsed.numbers.is_empty(), "{}", probe.id);
        }
        for step in &raised.up {
            if let Action::Bind { source, parser, .. } = &step.action {
                let parsed = parse(parser, &twin.read(source).unwrap()).unwrap();
                assert!(!parsed.texts.is_empty(), "{}", step.about);
            }
        }
    }

    #[test]
    fn the_twin_has_the_fields_and_threads_of_a_real_volume_in_their_order() {
        let (mut twin, raised) = up("");
        let read = |text: &str| {
            let leaves = super::super::texts::read(text).unwrap();
            leaves.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        let said = twin.read(&raised.probes[0].source).unwrap();
        assert_eq!(read(&said), read(include_str!("stats-6.12.txt")));
        let threads = |text: &str| {
            let parsed = parse(crate::machine::THREADS, text).unwrap();
            parsed.numbers.into_keys().collect::<Vec<_>>()
        };
        let said = twin.read(&Source::Threads { prefix: "vdo0:".into() }).unwrap();
        assert_eq!(threads(&said), threads(include_str!("threads-6.12.txt")));
    }

    #[test]
    fn a_volume_that_is_down_says_nothing() {
        let (mut twin, raised) = up("");
        let Action::Command { argv, .. } = &raised.up[2].undo[0] else { panic!() };
        assert!(matches!(twin.command(argv), TwinAnswer::Ran { exit: 0, .. }));
        assert!(raised.probes.iter().all(|p| twin.read(&p.source).is_none()));
    }
}
