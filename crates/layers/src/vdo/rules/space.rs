//! Rules about space: a pool that is full, nearly full, or fragmented.

use results::model::Severity;
use units::Unit;

use super::cures::{cured, larger_device};
use super::figures::{size, stats, used_percent};
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, RuleFacts, Threshold, ThresholdTest, figure,
};

pub(super) const OUT_OF_SPACE: LayerRule = LayerRule {
    id: "out_of_space",
    text: "The pool ran out of space.",
    reads: "errors.noSpaceErrorCount",
    threshold: Threshold::above(0.0, Unit::Count),
    remedy: "Take a larger device, write less, or write data that dedupes and compresses better.",
    source: "dm-vdo: a write without room fails, and the volume stays normal",
    check: Check::Stage(out_of_space),
};

fn out_of_space(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let stats = stats(facts, stage)?;
    let failed = threshold.passed(stats.counted("errors.noSpaceErrorCount")?)?;
    let used = stats.end("dataBlocksUsed").unwrap_or(0.0);
    Some(Observation {
        severity: Severity::Error,
        evidence: format!("{failed} writes failed for lack of space; {used} data blocks used"),
        figures: vec![
            threshold.figure("writes that failed", failed),
            figure("data blocks used", used, Unit::Blocks),
        ],
        ..Observation::default()
    })
}

pub(super) const LOW: LayerRule = LayerRule {
    id: "space_low",
    text: "The pool is nearly full: writes fail when it is full.",
    reads: "dataBlocksUsed as a share of physicalBlocks without overheadBlocksUsed; a warning from 80 %, with a stronger wording from 90 %",
    threshold: Threshold::above(75.0, Unit::Percent),
    remedy: "Grow it (lvextend -L +10G VG/POOL; physical_size in an experiment), or give blocks back (fstrim, discards).",
    source: "slides on VDO: 75, 80 and 90 %; lvm2 warns from 80 % on, VDO's monitor from 75 %",
    check: Check::Stage(low),
};

fn low(facts: &RuleFacts, stage: &MeasuredStage, threshold: ThresholdTest) -> Option<Observation> {
    let used = threshold.passed(used_percent(&stats(facts, stage)?)?)?;
    let (severity, message) = match used {
        _ if used > 90.0 => {
            (Severity::Warning, "The pool is almost full: writes fail when it is full.")
        }
        _ if used > 80.0 => (Severity::Warning, LOW.text),
        _ => (Severity::Note, "The pool fills up: three quarters of it are used."),
    };
    Some(Observation {
        severity,
        message: Some(message.to_owned()),
        figures: vec![threshold.figure("physical space used", used)],
        ..Observation::default()
    })
}

pub(super) const FEW_SLABS: LayerRule = LayerRule {
    id: "few_slabs",
    text: "The volume has few slabs, and opened one, for the first time or again, while it was measured: the figures depend on when that happened.",
    reads: "allocator.slabCount, where slabs were opened during a measured stage",
    threshold: Threshold::below(4.0, Unit::Count),
    remedy: "Take smaller slabs (slab_size), and give the number of slabs and their size with the figures.",
    source: "thesis 5.1: one slab and four slabs behave differently",
    check: Check::Stage(few_slabs),
};

fn few_slabs(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let stats = stats(facts, stage)?;
    let slabs = threshold.passed(stats.end("allocator.slabCount")?)?;
    let of = |field: &str| stats.counted(field).filter(|grew| *grew > 0.0);
    let opened = of("allocator.slabsOpened").unwrap_or(0.0);
    let reopened = of("allocator.slabsReopened").unwrap_or(0.0);
    (opened + reopened > 0.0).then(|| {
        let mut figures = vec![
            threshold.figure("slabs", slabs),
            figure("opened in that time", opened + reopened, Unit::Count),
        ];
        let size = size(facts.settings, "slab_size");
        figures.extend(size.map(|bytes| figure("size of a slab", bytes as f64, Unit::Bytes)));
        Observation { figures, ..Observation::default() }
    })
}

pub(super) const SLABS_REOPENED: LayerRule = LayerRule {
    id: "slabs_reopened",
    text: "Slabs were opened again: new blocks went into the gaps of used ones.",
    reads: "allocator.slabsReopened during a measured stage, as a share of all openings",
    threshold: Threshold::above(0.0, Unit::Count),
    remedy: "For figures of a fresh volume let the load write each block once (pattern = \"permutation\", passes = 1) into more physical space; for figures of an old volume this is the state to measure.",
    source: "thesis 5.1; dm-vdo: slab-depot.c",
    check: Check::Stage(slabs_reopened),
};

/// Finds slabs that were opened again. VDO takes a used slab that is about half free before an untouched one (`calculate_slab_priority`), so that
/// this happens long before the volume is full. The score is the share of openings that met a used slab; while untouched slabs are left, each
/// counts half, as such a slab is about half free.
fn slabs_reopened(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let stats = stats(facts, stage)?;
    let reopened = threshold.passed(stats.counted("allocator.slabsReopened")?)?;
    let first = stats.counted("allocator.slabsOpened")?;
    let (slabs, opened) = (stats.end("allocator.slabCount")?, stats.end("allocator.slabsOpened")?);
    let share = 100.0 * reopened / (reopened + first);
    let none_left = opened >= slabs;
    let weight = if none_left { 1.0 } else { 0.5 };
    let cure = larger_device(facts).filter(|_| none_left);
    let no_setting = if none_left {
        "the volume does not stand on a device itself"
    } else {
        "VDO prefers a used slab that is about half free to an untouched one, so that more room changes nothing"
    };
    let mut figures = vec![
        threshold.figure("slabs opened again", reopened),
        figure("openings that met a used slab", share, Unit::Percent),
        figure("slabs opened so far", opened, Unit::Count),
        figure("slabs", slabs, Unit::Count),
    ];
    figures.extend(
        used_percent(&stats).map(|used| figure("physical space used", used, Unit::Percent)),
    );
    let message = "Slabs were opened again, as no untouched slab was left: new blocks went into the gaps of used ones.";
    let observation = Observation {
        message: none_left.then(|| message.to_owned()),
        remedy: stage.of_command("Regard this as the state that is measured: a volume in which every slab has been used before."),
        ..Observation::limit(weight * share, figures)
    };
    Some(cured(observation, cure, no_setting))
}
