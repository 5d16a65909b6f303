//! Rules about plans that cannot show what they are made for.

use results::model::{Severity, StageData};
use units::Unit;

use super::super::geometry::{BLOCK, MAP_ENTRIES};
use super::figures::{PAGES_OF_A_MIB, cache_for, size};
use super::steady::WRITES_TO_WRAP;
use super::writes::POOL;
use crate::planned::{OperationKind, Order, PlannedLoad, PlannedStage};
use crate::rule::{Check, LayerRule, Observation, PlannedFacts, Threshold, ThresholdTest, figure};

/// A measured stage with its load, and the stages before it.
struct Measured<'a> {
    stage: &'a PlannedStage,
    load: &'a PlannedLoad,
    before: &'a [PlannedStage],
}

fn measured<'a>(facts: &PlannedFacts<'a>) -> impl Iterator<Item = Measured<'a>> {
    let stages = facts.stages;
    stages.iter().enumerate().filter(|(_, stage)| stage.measured).filter_map(move |(n, stage)| {
        Some(Measured { stage, load: stage.load.as_ref()?, before: stages.get(..n)? })
    })
}

/// Stages that brought data onto the volume before.
fn fillers(before: &[PlannedStage]) -> impl Iterator<Item = &PlannedStage> {
    before.iter().filter(|stage| stage.brings_data())
}

fn warned(message: String) -> Observation {
    Observation { severity: Severity::Warning, message: Some(message), ..Observation::default() }
}

pub(super) const NOT_WHOLE_BLOCKS: LayerRule = LayerRule {
    id: "not_whole_blocks",
    text: "I/Os do not cover whole blocks of 4 KiB: a volume with minimum_io_size = 4096 refuses them, and one with 512 reads a block for each and finds no duplicates.",
    reads: "block_size, align and offset of measured loads",
    threshold: Threshold::above(0.0, Unit::Bytes),
    remedy: "Make block_size, align and offset multiples of \"4k\".",
    source: "thesis 4.2.3",
    check: Check::Plan(not_whole_blocks),
};

fn not_whole_blocks(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    let found = measured(facts).find_map(|Measured { stage, load, .. }| {
        let placed = load.operations.iter().filter(|op| op.does != OperationKind::Other);
        let keys = placed.flat_map(|op| [("block_size", op.size_unit), ("align", op.align)]);
        let mut rests = keys.chain([("offset", load.offset)]).map(|(key, n)| (key, n % BLOCK));
        let (key, rest) = rests.find(|(_, rest)| *rest > 0)?;
        Some((stage, key, threshold.passed(rest as f64)?))
    });
    let (stage, key, rest) = found?;
    let figures = vec![threshold.figure(format!("{key} beyond whole blocks"), rest)];
    let uneven = format!("I/Os of stage {} do not cover whole blocks of 4 KiB", stage.name);
    let refuses = facts.settings.get("minimum_io_size").is_some_and(|size| size == "4096");
    if refuses && stage.load.as_ref().is_some_and(|load| load.direct) {
        let message =
            format!("{uneven}, and with direct I/O a volume accepts only whole blocks (EINVAL).");
        let remedy = format!("Make {key} a multiple of \"4k\", or set minimum_io_size = 512.");
        return Some(Observation { figures, remedy: Some(remedy), ..warned(message) });
    }
    let message = format!("{uneven}: each also costs a read, and duplicates are not found.");
    Some(Observation { figures, ..warned(message) })
}

pub(super) const NO_ALLOCATE: LayerRule = LayerRule {
    id: "no_allocate",
    text: "Nothing allocates the block map before a measured write: the load allocates it while it is measured.",
    reads: "stages before the first measured load that writes",
    threshold: None,
    remedy: "Put a stage do = \"allocate\" first.",
    source: "thesis 4.1.1",
    check: Check::Plan(no_allocate),
};

fn no_allocate(facts: &PlannedFacts, _: ThresholdTest) -> Option<Observation> {
    let writes = |stage: &&PlannedStage| {
        stage.measured && stage.load.as_ref().is_some_and(|load| load.does(OperationKind::Writes))
    };
    let first = facts.stages.iter().find(writes)?;
    if facts.stages.iter().any(|stage| stage.data == StageData::Allocation) {
        return None;
    }
    Some(Observation {
        evidence: format!("The stages are: {}.", names(facts.stages)),
        remedy: facts.below_files.then(|| super::map::BELOW_FILES.to_owned()),
        ..warned(format!("Nothing allocates the block map before stage {} writes.", first.name))
    })
}

fn names(stages: &[PlannedStage]) -> String {
    stages.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>().join(", ")
}

pub(super) const PACKS_NOTHING: LayerRule = LayerRule {
    id: "packs_nothing",
    text: "Content compresses, but no two blocks of it fit into one: VDO saves nothing.",
    reads: "k = floor(4060 / LZ4 size) of measured loads",
    threshold: Threshold::below(2.0, Unit::Count),
    remedy: "Ask for more: content = { compress = \"2.1x\" }, or content = { vdo_saving = \"50%\" }.",
    source: "dm-vdo: packer.c; measured for 15 sizes",
    check: Check::Plan(packs_nothing),
};

fn packs_nothing(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    facts.settings.get("compression").filter(|c| *c == "on")?;
    measured(facts).find_map(|Measured { stage, load, .. }| {
        let packs = load.compresses && load.alike && load.does(OperationKind::Writes);
        let k = threshold.passed(f64::from(load.fragments_per_block.filter(|_| packs)?))?;
        let mut figures = vec![threshold.figure("blocks that fit into one", k)];
        figures
            .extend(load.lz4_bytes.map(|bytes| figure("LZ4 size of a block", bytes, Unit::Bytes)));
        let what =
            format!("compress = {} of stage {} saves nothing on VDO.", load.compress, stage.name);
        Some(Observation { figures, ..warned(what) })
    })
}

pub(super) const ZERO_PREFILL: LayerRule = LayerRule {
    id: "zero_prefill",
    text: "The volume is filled with zeros: VDO stores no data block for them, so that nothing is filled.",
    reads: "zero of loads before the measured ones",
    threshold: Threshold::above(99.0, Unit::Percent),
    remedy: "Fill with the dedupe and compress of the measured load.",
    source: "articles on testing deduplication",
    check: Check::Plan(zero_prefill),
};

fn zero_prefill(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    measured(facts).find_map(|Measured { before, .. }| {
        let zeros = |stage: &PlannedStage| {
            let load = stage.load.as_ref().filter(|load| load.does(OperationKind::Writes))?;
            Some((stage.name.clone(), threshold.passed(load.zero_percent)?))
        };
        let (name, zero) = fillers(before).find_map(zeros)?;
        let figures = vec![threshold.figure("zero blocks", zero)];
        Some(Observation {
            figures,
            ..warned(format!("Stage {name} fills VDO with zeros, which takes no space."))
        })
    })
}

pub(super) const PREFILL_DIFFERS: LayerRule = LayerRule {
    id: "prefill_differs",
    text: "The volume is filled with data that dedupes or compresses differently from the data of the measured load.",
    reads: "dedupe and compress of the loads before the measured ones",
    threshold: Threshold::above(5.0, Unit::Percent),
    remedy: "Give both the same content, unless the change is the question.",
    source: "articles on testing deduplication",
    check: Check::Plan(prefill_differs),
};

fn prefill_differs(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    measured(facts).filter(|m| m.load.does(OperationKind::Writes)).find_map(
        |Measured { load, before, stage }| {
            let writing =
                |stage: &PlannedStage| stage.load.clone().filter(|l| l.does(OperationKind::Writes));
            // Stages that fill space have to write data that is stored as it is, which another rule checks.
            let data = |stage: &&PlannedStage| !stage.measured && !fills_space(stage);
            let (name, earlier) = fillers(before).filter(data).find_map(|stage| {
                Some((stage.name.clone(), writing(stage).filter(|l| l.zero_percent < 99.0)?))
            })?;
            let dedupe = (load.dedupe_percent - earlier.dedupe_percent).abs();
            let lz4 = lz4_saved(load).zip(lz4_saved(&earlier)).map_or(0.0, |(a, b)| (a - b).abs());
            let (what, most) =
                if dedupe >= lz4 { ("dedupe", dedupe) } else { ("compression", lz4) };
            let most = threshold.passed(most)?;
            Some(Observation {
                message: Some(format!(
                    "Stage {name} writes data that differs from that of stage {}.",
                    stage.name
                )),
                figures: vec![threshold.figure(format!("difference of {what}"), most)],
                ..Observation::default()
            })
        },
    )
}

/// Returns the space that LZ4 saves on a load's blocks, percent.
fn lz4_saved(load: &PlannedLoad) -> Option<f64> {
    load.lz4_bytes.map(|bytes| 100.0 * (1.0 - bytes / BLOCK as f64))
}

/// Tells whether the purpose of a stage is to use up space: it brings the volume to a state, or fills it with data that is stored as it is.
fn fills_space(stage: &PlannedStage) -> bool {
    const LITTLE: f64 = 5.0;
    let whole = |load: &PlannedLoad| {
        load.dedupe_percent <= LITTLE && lz4_saved(load).is_some_and(|saved| saved <= LITTLE)
    };
    stage.data == StageData::State
        || stage.data == StageData::Rounds && stage.load.as_ref().is_some_and(whole)
}

pub(super) const FILL_SAVES: LayerRule = LayerRule {
    id: "fill_saves",
    text: "The volume is brought to a state with data that dedupes or compresses: VDO stores less than is written, and shared blocks are freed late.",
    reads: "dedupe, compress and zero of stages that bring the volume to a state",
    threshold: Threshold::above(5.0, Unit::Percent),
    remedy: "Fill with unique data that does not compress: leave content out of the stage.",
    source: "thesis 5.1.1; dm-vdo's own performance tests",
    check: Check::Plan(fill_saves),
};

fn fill_saves(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    let on = |key: &str| facts.settings.get(key).is_some_and(|value| value == "on");
    facts.stages.iter().filter(|stage| stage.data == StageData::State).find_map(|stage| {
        let load = stage.load.as_ref().filter(|load| load.does(OperationKind::Writes))?;
        let dedupe = load.dedupe_percent.max(load.zero_percent);
        let lz4 = lz4_saved(load).filter(|_| on("compression")).unwrap_or(0.0);
        let (what, most) = if dedupe >= lz4 && on("dedupe") {
            ("duplicates", dedupe)
        } else {
            ("saved by LZ4", lz4)
        };
        let most = threshold.passed(most)?;
        Some(Observation {
            figures: vec![threshold.figure(what, most)],
            ..warned(format!("Stage {} fills the volume with data that VDO saves.", stage.name))
        })
    })
}

pub(super) const CACHE_SMALL: LayerRule = LayerRule {
    id: "cache_small",
    text: "The block map cache is smaller than the pages for the range of a random load: the load will wait for pages.",
    reads: "expected misses, 1 - cache pages / (range / 812 blocks)",
    threshold: Threshold::above(5.0, Unit::Percent),
    remedy: "Set block_map_cache to 4 KiB for each 812 blocks of the range.",
    source: "thesis 5.3",
    check: Check::Plan(cache_small),
};

fn cache_small(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    let pages = size(facts.settings, "block_map_cache")? / BLOCK;
    let found = measured(facts).filter_map(|Measured { stage, load, .. }| {
        let random = |order| matches!(order, Order::Even | Order::Skewed);
        load.operations.iter().find(|op| random(op.order))?;
        let range = load.range_bytes.or(size(facts.settings, "logical_size"))?;
        Some((stage, (range / BLOCK).div_ceil(MAP_ENTRIES)))
    });
    let (stage, leaves) = found.max_by_key(|(_, leaves)| *leaves)?;
    let miss = threshold.passed(100.0 * (1.0 - pages as f64 / leaves.max(1) as f64))?;
    let cache = cache_for(leaves, facts.settings);
    Some(Observation {
        message: Some(format!(
            "The block map cache is smaller than the pages for the range of stage {}.",
            stage.name
        )),
        remedy: Some(format!(
            "Set block_map_cache = \"{cache}\" ({} pages for {leaves}), unless the cache is the question.",
            leaves.div_ceil(PAGES_OF_A_MIB) * PAGES_OF_A_MIB
        )),
        figures: vec![
            threshold.figure("expected misses", miss),
            figure("leaf pages", leaves as f64, Unit::Count),
            figure("pages in the cache", pages as f64, Unit::Count),
        ],
        changes: vec![("block_map_cache", format!("\"{cache}\""))],
        ..Observation::default()
    })
}

pub(super) const DEPTH_BEYOND_POOL: LayerRule = LayerRule {
    id: "depth_beyond_pool",
    text: "More is in flight than VDO takes: the rest waits outside VDO, and the wait counts as latency.",
    reads: "jobs x depth x block size of measured loads, in blocks of 4 KiB",
    threshold: Threshold::above(POOL, Unit::Blocks),
    remedy: "Lower jobs, depth or block_size, unless the pool is the question.",
    source: "thesis 4.2.7",
    check: Check::Plan(depth_beyond_pool),
};

fn depth_beyond_pool(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    let most = measured(facts).max_by_key(|m| m.load.blocks_in_flight)?;
    let blocks = threshold.passed(most.load.blocks_in_flight as f64)?;
    Some(Observation {
        message: Some(format!("Stage {} has more in flight than VDO takes.", most.stage.name)),
        figures: vec![threshold.figure("in flight", blocks)],
        ..Observation::default()
    })
}

pub(super) const DISCARD_UNWRITTEN: LayerRule = LayerRule {
    id: "discard_unwritten",
    text: "Space is discarded that nothing has written: such discards cost nothing.",
    reads: "stages before a measured load that discards",
    threshold: None,
    remedy: "Write the range first, in a load that is not measured.",
    source: "thesis 5.4",
    check: Check::Plan(discard_unwritten),
};

fn discard_unwritten(facts: &PlannedFacts, _: ThresholdTest) -> Option<Observation> {
    let alone =
        |m: &Measured| m.load.does(OperationKind::Discards) && !m.load.does(OperationKind::Writes);
    let found = measured(facts).find(|m| alone(m) && fillers(m.before).next().is_none())?;
    Some(Observation {
        evidence: format!("No stage before {} writes.", found.stage.name),
        ..warned(format!("Stage {} discards what nothing has written.", found.stage.name))
    })
}

pub(super) const SHORT_FOR_STEADY: LayerRule = LayerRule {
    id: "short_for_steady",
    text: "A load that is to run until it is steady ends before the journal has wrapped.",
    reads: "blocks written up to the end of a measured load that runs until a metric has settled",
    threshold: Threshold::below(WRITES_TO_WRAP, Unit::Count),
    remedy: "Write 2.5 million blocks (9.7 GiB) before it or in it.",
    source: "dm-vdo's own performance tests",
    check: Check::Plan(short_for_steady),
};

fn short_for_steady(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    measured(facts).filter(|m| m.load.until_steady).find_map(|Measured { stage, load, before }| {
        let earlier = fillers(before).map(|stage| stage.load.as_ref()?.written_blocks);
        let all: Option<Vec<u64>> = earlier.chain([load.written_blocks]).collect();
        let written = threshold.passed(all?.iter().sum::<u64>() as f64)?;
        Some(Observation {
            figures: vec![threshold.figure("blocks written by then", written)],
            ..warned(format!("Stage {} cannot become steady.", stage.name))
        })
    })
}

pub(super) const ONE_HOT_BLOCK: LayerRule = LayerRule {
    id: "one_hot_block",
    text: "Several writes to one block are in flight: VDO does them one after the other, so that latency grows with their number.",
    reads: "I/Os in flight of loads with pattern = \"single\"",
    threshold: Threshold::above(1.0, Unit::Count),
    remedy: "Use jobs = 1 and depth = 1, or another pattern, unless that is the question.",
    source: "articles on testing deduplication; dm-vdo locks logical blocks",
    check: Check::Plan(one_hot_block),
};

fn one_hot_block(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    measured(facts).find_map(|Measured { stage, load, .. }| {
        let hot = |op: &&crate::planned::PlannedOperation| {
            op.order == Order::OneBlock && op.does == OperationKind::Writes
        };
        load.operations.iter().find(hot)?;
        let ios = threshold.passed(load.ios_in_flight as f64)?;
        Some(Observation {
            message: Some(format!("Stage {} writes one block many times at once.", stage.name)),
            figures: vec![threshold.figure("in flight", ios)],
            ..Observation::default()
        })
    })
}

pub(super) const NO_BASELINE: LayerRule = LayerRule {
    id: "no_baseline",
    text: "Every variant has VDO: none shows what the disk alone would do.",
    reads: "layers of all variants",
    threshold: None,
    remedy: "Add a variant with the plain disk: layer = \"linear\".",
    source: "thesis 4",
    check: Check::Plan(no_baseline),
};

fn no_baseline(facts: &PlannedFacts, _: ThresholdTest) -> Option<Observation> {
    let variants = facts.variants;
    let has = |layers: &Vec<&str>| layers.contains(&facts.kind);
    (variants.len() > 1 && variants.iter().all(has)).then(|| Observation {
        evidence: format!("{} variants, each with {}.", variants.len(), facts.kind),
        ..Observation::default()
    })
}
