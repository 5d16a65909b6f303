//! Rules about discards: whether they gave anything back, and what they cost.

use results::model::LoadSummary;
use units::Unit;

use super::super::geometry::BLOCK;
use super::figures::stats;
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, RuleFacts, Threshold, ThresholdTest, figure,
};

/// Returns the blocks that a load discarded; `None` for less than one block.
fn discarded(load: &LoadSummary) -> Option<f64> {
    let operations = load.operations.iter().filter(|(name, _)| name.ends_with("discard"));
    let bytes: u64 = operations.map(|(_, operation)| operation.bytes).sum();
    (bytes >= BLOCK).then_some((bytes / BLOCK) as f64 * load.ramp_factor())
}

pub(super) const IN_VAIN: LayerRule = LayerRule {
    id: "discards_in_vain",
    text: "Discards went to space that held nothing.",
    reads: "the fall of logicalBlocksUsed as a share of the blocks discarded, for loads without writes",
    threshold: Threshold::below(50.0, Unit::Percent),
    remedy: "Write the range before discarding it, and stop before it is empty. Discards of space that was never allocated cost nothing; those of empty blocks elsewhere cost as much as those of data, and give nothing back.",
    source: "thesis 5.4",
    check: Check::Stage(in_vain),
};

fn in_vain(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let blocks = discarded(stage.stage.load.as_ref()?)?;
    let stats = stats(facts, stage)?;
    if stats.counted("biosIn.write")? > 0.0 {
        return None;
    }
    let freed = (-stats.growth("logicalBlocksUsed")?).max(0.0);
    let share = threshold.passed(100.0 * freed / blocks)?;
    Some(Observation {
        figures: vec![
            threshold.figure("blocks that were given back", share),
            figure("blocks discarded", blocks, Unit::Blocks),
        ],
        ..Observation::default()
    })
}

pub(super) const JOURNAL: LayerRule = LayerRule {
    id: "discard_journal",
    text: "Discards went through the journal block by block: with a large max_discard VDO handles them one after the other.",
    reads: "biosJournalCompleted.write per discarded block, for loads without writes",
    threshold: Threshold::above(10.0, Unit::Percent),
    remedy: "Set max_discard = \"4k\": small discards run in parallel and share journal blocks.",
    source: "thesis 5.4; .007 to 1 journal writes a block from 4 KiB to 1 MiB",
    check: Check::Stage(journal),
};

fn journal(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let blocks = discarded(stage.stage.load.as_ref()?)?;
    let stats = stats(facts, stage)?;
    if stats.counted("biosIn.write")? > 0.0 {
        return None;
    }
    let journal = stats.counted("biosJournalCompleted.write")?;
    let share = threshold.passed(100.0 * journal / blocks)?;
    let small = facts.settings.get("max_discard").is_some_and(|size| size == "4k");
    Some(Observation {
        remedy: small.then(|| "These are the figures of the smallest discards, which share journal blocks as far as they can.".to_owned()),
        changes: if small { vec![] } else { vec![("max_discard", "\"4k\"".into())] },
        no_setting: small.then_some("max_discard is as small as it can be"),
        ..Observation::limit(share, vec![
            threshold.figure("journal writes for 100 blocks", share),
            figure("journal writes", journal, Unit::Count),
            figure("blocks discarded", blocks, Unit::Blocks),
        ])
    })
}
