//! Each rule fires on what it is for and is silent just before that; a cell and a plan in which nothing is wrong make none fire.

mod cases;
mod findings;

use std::collections::BTreeMap;

use results::model::{
    AchievedContent, AskedContent, Finding, LayerFacts, LayerFigures, LoadSummary,
    OperationSummary, SampleRow, Severity, StageData, StageRecord,
};

use self::cases::CASES;
use super::super::KIND;
use super::RULES;
use crate::figures::given::sample;
use crate::figures::{STAGE_END, STAGE_START};
use crate::planned::{OperationKind, Order, PlannedLoad, PlannedOperation, PlannedStage};
use crate::rule::{PlannedFacts, RuleFacts};

const SECOND: u64 = 1_000_000_000;
const GIB: u64 = 1 << 30;

/// A cell whose measured stage takes 10 s, and the plan that it comes from.
struct Case {
    settings: BTreeMap<String, String>,
    samples: Vec<SampleRow>,
    stages: Vec<StageRecord>,
    planned: Vec<PlannedStage>,
    figures: LayerFigures,
    asked_content: AskedContent,
    facts: BTreeMap<String, String>,
    variants: Vec<Vec<&'static str>>,
    device: BTreeMap<String, String>,
    on: BTreeMap<String, String>,
    above: Vec<LayerFacts>,
}

/// Returns a sample of the volume's statistics.
fn stats(at_s: u64, mark: &str, overhead: f64, written: f64) -> SampleRow {
    let fields = [
        ("overheadBlocksUsed", overhead),
        ("physicalBlocks", 101_000.0),
        ("dataBlocksUsed", 1000.0 + written / 9.0),
        ("logicalBlocks", 262_144.0),
        ("logicalBlocksUsed", 262_144.0),
        ("biosIn.write", written),
        ("biosIn.read", 0.0),
        ("biosIn.flush", 0.0),
        ("biosIn.fua", 0.0),
        ("biosInPartial.write", 0.0),
        ("biosOutCompleted.write", written / 9.0),
        ("biosJournalCompleted.write", written / 100.0),
        ("packer.compressedFragmentsWritten", written / 3.0),
        ("packer.compressedBlocksWritten", written / 9.0),
        ("errors.noSpaceErrorCount", 0.0),
        ("blockMap.pagesLoaded", 0.0),
        ("blockMapCacheSize", 134_217_728.0),
        ("hashLock.dedupeAdviceValid", written / 10.0),
        ("hashLock.concurrentDataMatches", 0.0),
        ("dedupeAdviceTimeouts", 0.0),
        ("allocator.slabsReopened", 0.0),
        ("allocator.slabsOpened", 0.0),
        ("allocator.slabCount", 3.0),
        ("currentVIOsInProgress", 256.0),
        ("maxVIOs", 300.0),
    ];
    sample(at_s * SECOND, "vdo.stats", mark, &fields)
}

/// Returns samples of threads and the device with this share of their figures at the end; each thread took 4 s by then.
fn rest(at_s: u64, mark: &str, share: f64) -> [SampleRow; 2] {
    let names = [
        "logQ0", "physQ0", "hashQ0", "cpuQ0", "cpuQ1", "bioQ0", "ackQ", "journalQ", "packerQ",
        "dedupeQ",
    ];
    let threads: Vec<_> = names.iter().map(|name| (*name, 4.0 * share)).collect();
    let disk = [
        ("data.busy_ms", 5000.0 * share),
        ("data.weighted_ms", 9000.0 * share),
        ("data.flushes", 100.0 * share),
        ("data.flush_ms", 1000.0 * share),
    ];
    [
        sample(at_s * SECOND, "vdo.threads", mark, &threads),
        sample(at_s * SECOND, "machine.diskstats", mark, &disk),
    ]
}

fn stage(index: usize, kind: &str, start_s: u64, end_s: u64) -> StageRecord {
    StageRecord {
        index,
        kind: kind.into(),
        name: kind.into(),
        measured: kind == "load",
        start_ns: start_s * SECOND,
        end_ns: Some(end_s * SECOND),
        ..StageRecord::default()
    }
}

fn operation(does: OperationKind, order: Order) -> PlannedOperation {
    let name = "op".into();
    PlannedOperation { name, does, size_unit: 4096, align: 4096, order }
}

/// Allocated, filled, then written at random.
fn planned() -> Vec<PlannedStage> {
    let load = PlannedLoad {
        operations: vec![operation(OperationKind::Writes, Order::Even)],
        range_bytes: Some(GIB),
        blocks_in_flight: 32,
        ios_in_flight: 32,
        depth: 32,
        written_blocks: Some(262_144),
        direct: true,
        dedupe_percent: 50.0,
        compress: "2.5x".into(),
        compresses: true,
        lz4_bytes: Some(1638.0),
        fragments_per_block: Some(2),
        alike: true,
        ..PlannedLoad::default()
    };
    let planned = |name: &str, data, measured, load| PlannedStage {
        name: name.into(),
        data,
        measured,
        load,
        targets: Vec::new(),
        synced: None,
        swept: false,
        bounds: Vec::new(),
    };
    let prefill = PlannedStage {
        name: "prefill".into(),
        ..planned("load", StageData::Load, false, Some(load.clone()))
    };
    vec![
        planned("allocate", StageData::Allocation, false, None),
        prefill,
        planned("load", StageData::Load, true, Some(load)),
    ]
}

impl Case {
    /// Allocated first, then 9,000 blocks written at random in 10 s and packed.
    fn healthy() -> Self {
        let layer = (KIND.parse)(&toml::Table::new()).unwrap();
        let mut samples =
            vec![stats(0, STAGE_START, 100.0, 0.0), stats(1, STAGE_END, 600.0, 400.0)];
        samples.push(stats(2, STAGE_START, 600.0, 400.0));
        samples.extend(rest(2, STAGE_START, 0.0));
        samples.push(stats(12, STAGE_END, 600.0, 9400.0));
        samples.extend(rest(12, STAGE_END, 1.0));
        let text = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        let mut settings = layer.settings();
        settings.insert("logical_size".into(), "1G".into());
        Self {
            settings,
            samples,
            stages: vec![stage(0, "allocate", 0, 1), stage(1, "load", 2, 12)],
            planned: planned(),
            figures: LayerFigures::from([
                ("data_blocks_used".into(), Some(4000.0)),
                ("compressed_fragments".into(), Some(8000.0)),
                ("saving_percent".into(), Some(70.0)),
                ("saving_without_zero_percent".into(), Some(70.0)),
            ]),
            asked_content: AskedContent { lz4_saving_percent: Some(60.0), ..Default::default() },
            facts: BTreeMap::from([
                text("vdo.config.index.memorySize", "0.25"),
                text("vdo.config.index.isSparse", "0"),
            ]),
            variants: vec![vec!["device", "linear"], vec!["device", "vdo"]],
            device: BTreeMap::from([text("size", "7 GiB"), text("like", "ssd")]),
            on: BTreeMap::from([text("data", "data")]),
            above: Vec::new(),
        }
    }

    /// The last sample of a source: that at the end of the measured stage.
    fn end(&mut self, source: &str, field: &str, value: f64) {
        let row = self.samples.iter_mut().rfind(|row| row.source == source).unwrap();
        row.fields.insert(field.to_owned(), Some(value));
    }

    fn stats(&mut self, field: &str, value: f64) {
        self.end("vdo.stats", field, value);
    }

    /// At most so many I/Os in progress, ever.
    fn in_progress(&mut self, most: f64) {
        for row in self.samples.iter_mut().filter(|row| row.source == "vdo.stats") {
            row.fields.insert("currentVIOsInProgress".into(), Some(most));
            row.fields.insert("maxVIOs".into(), Some(most));
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        self.settings.insert(key.into(), value.into());
    }

    /// Sets the device's busy time and 1,000 writes to it; `journal` of them are the journal's.
    fn journal_on_busy_device(&mut self, busy_ms: f64, journal: f64) {
        for row in self.samples.iter_mut().filter(|row| row.source == "machine.diskstats") {
            row.fields.insert("data.writes".into(), Some(0.0));
        }
        self.end("machine.diskstats", "data.writes", 1000.0);
        self.end("machine.diskstats", "data.busy_ms", busy_ms);
        self.stats("biosJournalCompleted.write", journal);
    }

    /// A pool of 10 GiB for 20 GiB of addresses, with so much memory and metadata.
    fn sized(&mut self, memory: f64, metadata: f64) {
        for (field, value) in [
            ("physicalSize", "10737418240"),
            ("logicalSize", "21474836480"),
            ("slabSize", "524288"),
            ("index.memorySize", "0.25"),
            ("index.isSparse", "0"),
        ] {
            self.facts.insert(format!("vdo.config.{field}"), value.into());
        }
        self.stats("memoryUsage.bytesUsed", memory);
        // As much at both ends: nothing was allocated in between.
        for row in self.samples.iter_mut().filter(|row| row.source == "vdo.stats") {
            row.fields.insert("overheadBlocksUsed".into(), Some(metadata));
        }
    }

    /// Slabs that were opened for the first time, of all that there are, and those that were opened again.
    fn slabs(&mut self, opened: f64, all: f64, again: f64) {
        self.stats("allocator.slabsOpened", opened);
        self.stats("allocator.slabCount", all);
        self.stats("allocator.slabsReopened", again);
    }

    /// Data blocks of the 100,400 that metadata leaves.
    fn used(&mut self, blocks: f64) {
        self.stats("dataBlocksUsed", blocks);
    }

    /// The load was to become steady: writes since the start, data blocks used, and slabs that were opened again before it was measured.
    fn until_steady(&mut self, written: f64, used: f64, again: f64) {
        (self.load().until_steady, self.load().written_blocks) = (true, None);
        self.stats("biosIn.write", written);
        self.stats("logicalBlocks", 2.7e6);
        self.stats("hashLock.dedupeAdviceValid", written);
        self.used(used);
        for row in self.samples.iter_mut().filter(|row| row.source == "vdo.stats") {
            row.fields.insert("allocator.slabsReopened".into(), Some(again));
        }
    }

    /// Index memory that was asked for, and what was formatted.
    fn index(&mut self, size: &str, formatted: &str) {
        self.set("index_memory", size);
        self.facts.insert("vdo.config.index.memorySize".into(), formatted.into());
    }

    fn like(&mut self, model: &str) {
        self.device.insert("like".into(), model.into());
    }

    /// A file system stands on the volume.
    fn file_system(&mut self, discard: &str) {
        let text = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        self.above.push(LayerFacts {
            layer: "xfs".into(),
            name: "files".into(),
            settings: BTreeMap::from([text("discard", discard)]),
            on: BTreeMap::from([text("data", "vdo")]),
            computed: Vec::new(),
        });
    }

    /// So many of the blocks that the measured load wrote were duplicates; VDO found 10 %.
    fn wrote_duplicates(&mut self, percent: f64) {
        let mut load = LoadSummary::empty(units::Seed(1));
        let duplicate_percent = Some(percent);
        load.achieved = Some(AchievedContent { duplicate_percent, ..AchievedContent::default() });
        self.stages[1].load = Some(load);
    }

    /// The table that the kernel runs, with so many threads that acknowledge and pages of cache.
    fn table(&mut self, ack: u32, cache: u64) {
        let table = format!(
            "0 2099200 vdo V4 /dev/dm-0 1310720 4096 {cache} 16380 deduplication on compression on maxDiscard 1 ack {ack} \
             bio 4 bioRotationInterval 64 cpu 2 hash 1 logical 1 physical 1"
        );
        self.facts.insert("vdo.table".into(), table);
    }

    fn figure(&mut self, id: &str, value: Option<f64>) {
        self.figures.insert(id.into(), value);
    }

    /// The measured load as planned.
    fn load(&mut self) -> &mut PlannedLoad {
        self.planned.last_mut().unwrap().load.as_mut().unwrap()
    }

    /// The load before it as planned.
    fn prefill(&mut self) -> &mut PlannedLoad {
        self.planned[1].load.as_mut().unwrap()
    }

    /// The measured stage writes nothing and discards so many blocks; so many of these were given back, with so many journal writes.
    fn discards(&mut self, blocks: u64, freed: f64, journal: f64) {
        let operation = OperationSummary { bytes: blocks * 4096, ..OperationSummary::default() };
        let mut load = LoadSummary::empty(units::Seed(1));
        load.operations.insert("discard".into(), operation);
        self.stages[1].load = Some(load);
        self.stats("biosIn.write", 400.0);
        self.stats("logicalBlocksUsed", 262_144.0 - freed);
        self.stats("biosJournalCompleted.write", 4.0 + journal);
    }

    fn found(&self) -> Vec<Finding> {
        let layer = |layer: &str, settings: &BTreeMap<_, _>, on: &BTreeMap<_, _>| LayerFacts {
            layer: layer.into(),
            name: if layer == "device" { "data".into() } else { layer.into() },
            settings: settings.clone(),
            on: on.clone(),
            computed: Vec::new(),
        };
        let device = layer("device", &self.device, &BTreeMap::new());
        let mut stack = vec![device, layer("vdo", &self.settings, &self.on)];
        stack.extend(self.above.iter().cloned());
        let facts = RuleFacts {
            layer: "vdo",
            cell: 0,
            settings: &self.settings,
            stack: &stack,
            below_files: !self.above.is_empty(),
            samples: &self.samples,
            stages: &self.stages,
            planned: &self.planned,
            figures: &self.figures,
            asked_content: Some(&self.asked_content),
            achieved: None,
            facts: &self.facts,
        };
        let plan = PlannedFacts {
            layer: "vdo",
            kind: "vdo",
            settings: &self.settings,
            stack: &stack,
            below_files: !self.above.is_empty(),
            stages: &self.planned,
            variants: &self.variants,
            reducing: &[],
        };
        let examined = RULES.iter().filter_map(|rule| rule.examine(&facts));
        examined.chain(RULES.iter().filter_map(|rule| rule.check_plan(&plan))).collect()
    }

    fn after(change: impl Fn(&mut Self)) -> Vec<Finding> {
        let mut case = Self::healthy();
        change(&mut case);
        case.found()
    }
}

#[test]
fn a_healthy_cell_and_its_plan_have_no_findings_although_allocation_grew_the_overhead() {
    assert_eq!(Case::healthy().found(), []);
}

#[test]
fn every_rule_has_a_case_that_makes_it_fire_and_one_that_keeps_it_silent() {
    for rule in RULES {
        assert!(CASES.iter().any(|(id, ..)| *id == rule.id), "no case for {}", rule.id);
    }
    for (id, fire, silent) in CASES {
        let found = Case::after(fire);
        let rules: Vec<_> = found.iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!(rules, [*id], "{found:#?}");
        let finding = &found[0];
        assert!(!finding.evidence.is_empty() && !finding.remedy.is_empty(), "{finding:?}");
        assert_eq!(Case::after(silent), [], "{id} on what is not enough");
    }
}

fn only(change: impl Fn(&mut Case)) -> Finding {
    let mut found = Case::after(change);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

fn changes(finding: &Finding) -> Vec<String> {
    finding.changes.iter().map(ToString::to_string).collect()
}
