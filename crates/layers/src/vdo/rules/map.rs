//! Rules about the block map: whether it was allocated before the load, and whether its cache holds it.

use results::model::Severity;
use units::Unit;

use super::super::geometry::{BLOCK, MAP_ENTRIES};
use super::figures::{cache_for, stats};
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, RuleFacts, Threshold, ThresholdTest, figure,
};

/// The remedy where a file system stands on the volume.
pub(super) const BELOW_FILES: &str = "Below a file system no stage can allocate it: compare only variants that all begin this way, and mention with the \
     figures that they include its allocation.";

pub(super) const UNALLOCATED: LayerRule = LayerRule {
    id: "map_unallocated",
    text: "The block map was being allocated while the load was measured.",
    reads: "overheadBlocksUsed at both ends of a measured stage",
    threshold: Threshold::above(0.0, Unit::Blocks),
    remedy: "Put a stage do = \"allocate\" before the measured one.",
    source: "thesis 4.1.1",
    check: Check::Stage(unallocated),
};

/// Finds overhead that grew during a measured stage: pages of the block map were allocated then.
fn unallocated(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    // One untouched branch costs four pages: a few branches are gaps that allocation left, and do not mean that it was missing.
    const A_GAP: f64 = 16.0;
    let stats = stats(facts, stage)?;
    let grown = threshold.passed(stats.counted("overheadBlocksUsed")?)?;
    let written = stats.counted("biosIn.write")?;
    Some(Observation {
        severity: if grown > A_GAP { Severity::Warning } else { Severity::Note },
        evidence: format!("overhead grew by {grown} blocks during {written} writes"),
        remedy: facts.below_files.then(|| BELOW_FILES.to_owned()),
        figures: vec![
            threshold.figure("growth of the overhead", grown),
            figure("writes", written, Unit::Count),
        ],
        ..Observation::default()
    })
}

pub(super) const MISSES: LayerRule = LayerRule {
    id: "block_map_misses",
    text: "The block map cache was too small: I/Os waited for pages of the block map.",
    reads: "blockMap.pagesLoaded for each read and write, compared with 1 - cache pages / leaf pages",
    threshold: Threshold::above(5.0, Unit::Percent),
    remedy: "Give the cache all leaf pages, one for 812 blocks: block_map_cache; 4 KiB for each.",
    source: "thesis 5.3; the formula holds on dm-vdo to three digits",
    check: Check::Stage(misses),
};

fn misses(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let stats = stats(facts, stage)?;
    let ios = stats.counted("biosIn.write")? + stats.counted("biosIn.read").unwrap_or(0.0);
    let miss = (ios > 0.0).then_some(100.0 * stats.counted("blockMap.pagesLoaded")? / ios)?;
    let miss = threshold.passed(miss)?;
    let range = stage.planned.and_then(|p| p.load.as_ref()?.range_bytes);
    let blocks = range.map(|bytes| bytes / BLOCK).or(Some(stats.end("logicalBlocks")? as u64))?;
    let leaves = blocks.div_ceil(MAP_ENTRIES);
    let pages = stats.end("blockMapCacheSize")? as u64 / BLOCK;
    let expected = 100.0 * (1.0 - pages as f64 / leaves as f64).max(0.0);
    let figures = vec![
        threshold.figure("I/Os that loaded a page", miss),
        figure("expected of random I/O, 1 - cache/leaves", expected, Unit::Percent),
        figure("leaf pages", leaves as f64, Unit::Count),
        figure("pages in the cache", pages as f64, Unit::Count),
    ];
    if leaves <= pages {
        let remedy =
            "The cache holds all pages: let a load go over the range once before it is measured.";
        return Some(Observation {
            message: Some("Pages of the block map were loaded for the first time.".into()),
            remedy: Some(remedy.into()),
            no_setting: Some("only a load before the measured one brings the pages in"),
            ..Observation::limit(miss, figures)
        });
    }
    let cache = cache_for(leaves, facts.settings);
    Some(Observation {
        remedy: Some(format!(
            "Set block_map_cache = \"{cache}\": it holds the {leaves} leaf pages. Each miss costs a read and a write of a page."
        )),
        changes: vec![("block_map_cache", format!("\"{cache}\""))],
        ..Observation::limit(miss, figures)
    })
}
