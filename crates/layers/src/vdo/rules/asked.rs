//! Rules that compare what the kernel runs with what was asked for.

use results::model::Severity;

use units::{Bytes, Unit};

use super::super::geometry::{self, BLOCK};
use super::super::setup::Via;
use super::super::tables;
use super::figures::{size, stats};
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, RuleFacts, Threshold, ThresholdTest, figure,
};
use crate::settings::size_text;

pub(super) const TABLE_NOT_AS_ASKED: LayerRule = LayerRule {
    id: "table_not_as_asked",
    text: "The volume does not run with the settings that were asked for.",
    reads: "sizes, threads, largest discard, block map cache and period, deduplication and compression in the table that the volume was raised with",
    threshold: None,
    remedy: "Take via = \"table\", which hands every setting to the kernel unchanged, or a newer lvm2.",
    source: "dm-vdo's table; lvm2 writes it from its metadata",
    check: Check::Cell(table_not_as_asked),
};

/// Compares the table that the volume was raised with to the settings. Later changes need no check: their steps wait until the table shows them.
fn table_not_as_asked(facts: &RuleFacts, _: ThresholdTest) -> Option<Observation> {
    let table = facts.facts.get(&format!("{}.table", facts.layer))?;
    let runs = tables::settings(table)?;
    let made = facts.settings.get("via").map_or(Via::Lvm, |via| Via::of(via));
    let mut wrong = Vec::new();
    for (key, runs) in &runs {
        let wanted = match *key {
            "logical_size" => size(facts.settings, key)
                .map(|n| size_text(made.round_up(n) + made.beside_volume())),
            "physical_size" => size(facts.settings, key).map(|n| size_text(made.round_up(n))),
            _ => facts.settings.get(*key).cloned(),
        };
        if let Some(wanted) = wanted.filter(|wanted| wanted != runs) {
            wrong.push(format!("{key}: asked {wanted}, runs {runs}"));
        }
    }
    (!wrong.is_empty()).then(|| Observation {
        severity: Severity::Warning,
        evidence: wrong.join("; "),
        ..Observation::default()
    })
}

pub(super) const SIZES_NOT_AS_COMPUTED: LayerRule = LayerRule {
    id: "sizes_not_as_computed",
    text: "The volume takes more memory than lvm's rule says, or has more or less metadata than its geometry says: plan with the measured sizes.",
    reads: "memoryUsage.bytesUsed and overheadBlocksUsed, compared with the formulas for the sizes that the volume answers to 'config'",
    threshold: Threshold::above(25.0, Unit::Percent),
    remedy: "Leave room for the measured sizes; fathom explain prints the results of the formulas before a run.",
    source: "dm-vdo: sizes of index, block map cache, slabs and journal; measured on 6.12",
    check: Check::Stage(sizes_not_as_computed),
};

fn sizes_not_as_computed(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let stats = stats(facts, stage)?;
    let config = |field: &str| facts.facts.get(&format!("{}.config.{field}", facts.layer));
    let number = |field: &str| config(field)?.parse::<u64>().ok();
    let (physical, logical) = (number("physicalSize")?, number("logicalSize")?);
    let slab = number("slabSize")? * BLOCK;
    let gib: f64 = config("index.memorySize")?.parse().ok()?;
    let index = (gib * (1u64 << 30) as f64) as u64;
    let sparse = config("index.isSparse")? == "1";
    let cache = stats.end("blockMapCacheSize")? as u64;
    let computed = geometry::memory(cache, index, logical, physical) as f64;
    let memory = stats.end("memoryUsage.bytesUsed")?;
    let slabs = geometry::slabs(physical, slab, index, sparse).min(geometry::MOST_SLABS);
    let empty = geometry::empty_overhead(physical / BLOCK, slabs, slab);
    let all = empty + geometry::leaves(logical) + geometry::interior(logical);
    let blocks = stats.end("overheadBlocksUsed")?;
    // lvm's rule for memory gives an upper limit: using less is fine.
    let memory_off = 100.0 * (memory / computed - 1.0).max(0.0);
    let between = blocks.clamp(empty as f64, all as f64);
    let metadata_off = 100.0 * (blocks / between - 1.0).abs();
    threshold.passed(memory_off.max(metadata_off))?;
    Some(Observation {
        severity: Severity::Note,
        evidence: format!(
            "memory {} (computed {}); {blocks} metadata blocks (computed {empty} empty, {all} with all pages of the block map)",
            Bytes(memory as u64),
            Bytes(computed as u64)
        ),
        figures: vec![
            threshold.figure("memory, difference from the formula", memory_off),
            threshold.figure("metadata, difference from the formula", metadata_off),
            figure("memory", memory, Unit::Bytes),
            figure("memory by formula", computed, Unit::Bytes),
        ],
        ..Observation::default()
    })
}
