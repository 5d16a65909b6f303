//! Room: a pool that is full, nearly full, or in pieces.

use results::model::Severity;
use units::Unit;

use super::cures::{Cure, larger_device};
use super::figures::stats;
use crate::rule::{Bar, Check, LayerRule, Noticed, RuleFacts, Span, Stretch, Threshold, figure};

pub(super) const OUT_OF_SPACE: LayerRule = LayerRule {
    id: "out_of_space",
    text: "The pool ran out of space.",
    reads: "errors.noSpaceErrorCount",
    threshold: Threshold::above(0.0, Unit::Count),
    remedy: "Take a larger device, write less, or content that dedupes and compresses further.",
    source: "dm-vdo: a write without room fails, and the volume stays normal",
    check: Check::Stage(out_of_space),
};

fn out_of_space(facts: &RuleFacts, stage: &Stretch, bar: Bar) -> Option<Noticed> {
    let stats = stats(facts, stage)?;
    let failed = bar.passed(stats.counted("errors.noSpaceErrorCount")?)?;
    let used = stats.end("dataBlocksUsed").unwrap_or(0.0);
    Some(Noticed {
        severity: Severity::Error,
        evidence: format!("{failed} writes failed for lack of space; {used} data blocks used"),
        figures: vec![
            bar.figure("writes that failed", failed),
            figure("data blocks used", used, Unit::Blocks),
        ],
        ..Noticed::default()
    })
}

/// Data blocks, of all that metadata leaves, percent.
fn used_percent(stats: &Span) -> Option<f64> {
    let room = stats.end("physicalBlocks")? - stats.end("overheadBlocksUsed")?;
    (room > 0.0).then_some(100.0 * stats.end("dataBlocksUsed")? / room)
}

pub(super) const LOW: LayerRule = LayerRule {
    id: "space_low",
    text: "The pool is nearly full: writes fail when it is.",
    reads: "dataBlocksUsed of physicalBlocks without overheadBlocksUsed",
    threshold: Threshold::above(80.0, Unit::Percent),
    remedy: "Grow it (lvextend of the pool; physical_size in an experiment), or give blocks back: fstrim, discards.",
    source: "slides on VDO; lvm2 warns from 80 % on",
    check: Check::Stage(low),
};

fn low(facts: &RuleFacts, stage: &Stretch, bar: Bar) -> Option<Noticed> {
    let used = bar.passed(used_percent(&stats(facts, stage)?)?)?;
    Some(Noticed {
        severity: Severity::Warning,
        figures: vec![bar.figure("physical space used", used)],
        ..Noticed::default()
    })
}

pub(super) const SLABS_REOPENED: LayerRule = LayerRule {
    id: "slabs_reopened",
    text: "Slabs were opened again: new blocks went into the gaps of used ones.",
    reads: "allocator.slabsReopened during a measured stage, of all openings",
    threshold: Threshold::above(0.0, Unit::Count),
    remedy: "For figures of a fresh volume let the load write each block once (pattern = \"permutation\", passes = 1) into more physical space; for those of an old one this is the state to measure.",
    source: "thesis 5.1; dm-vdo: slab-depot.c",
    check: Check::Stage(slabs_reopened),
};

/// VDO takes a used slab that is about half free before an untouched one (`calculate_slab_priority`), so that slabs are opened again long
/// before the volume is full. The score is the share of openings that met a used slab.
fn slabs_reopened(facts: &RuleFacts, stage: &Stretch, bar: Bar) -> Option<Noticed> {
    let stats = stats(facts, stage)?;
    let reopened = bar.passed(stats.counted("allocator.slabsReopened")?)?;
    let first = stats.counted("allocator.slabsOpened")?;
    let (slabs, opened) = (stats.end("allocator.slabCount")?, stats.end("allocator.slabsOpened")?);
    let share = 100.0 * reopened / (reopened + first);
    let none_left = opened >= slabs;
    let cure = larger_device(facts).filter(|_| none_left);
    let no_setting = cure.is_none().then_some(if none_left {
        "the volume does not stand on a device itself, or on one whose model has parameters of its own"
    } else {
        "VDO takes a used slab that is about half free before an untouched one, and more room changes nothing"
    });
    let Cure { changes, devices } = cure.unwrap_or_default();
    let mut figures = vec![
        bar.figure("slabs opened again", reopened),
        figure("openings that met a used slab", share, Unit::Percent),
        figure("slabs opened so far", opened, Unit::Count),
        figure("slabs", slabs, Unit::Count),
    ];
    figures.extend(
        used_percent(&stats).map(|used| figure("physical space used", used, Unit::Percent)),
    );
    let message = "Slabs were opened again, as no untouched slab was left: new blocks went into the gaps of used ones.";
    Some(Noticed {
        message: none_left.then(|| message.to_owned()),
        figures,
        explains_percent: Some(share),
        changes,
        devices,
        no_setting,
        ..Noticed::default()
    })
}
