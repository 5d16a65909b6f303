//! Rules about loads that ran until they were steady, which check that VDO itself had reached its steady state.

use results::model::Severity;
use units::Unit;

use super::figures::{stats, used_percent};
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, RuleFacts, Threshold, ThresholdTest, figure,
};

/// Writes after which the recovery journal and the era of the block map have wrapped.
pub(super) const WRITES_TO_WRAP: f64 = 2_500_000.0;

pub(super) const NOT_STEADY: LayerRule = LayerRule {
    id: "not_steady",
    text: "A load that runs until it is steady ended before the journal had wrapped.",
    reads: "biosIn.write since the volume was started, where the load runs until a metric has settled",
    threshold: Threshold::below(WRITES_TO_WRAP, Unit::Count),
    remedy: "Write 2.5 million blocks (9.7 GiB) before it, in a load or fill that is not measured.",
    source: "dm-vdo's own performance tests; thesis 5.1.1",
    check: Check::Stage(not_steady),
};

fn not_steady(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    stage.planned?.load.as_ref().filter(|load| load.until_steady)?;
    let written = threshold.passed(stats(facts, stage)?.end("biosIn.write")?)?;
    Some(Observation {
        severity: Severity::Warning,
        figures: vec![threshold.figure("writes since the start", written)],
        ..Observation::default()
    })
}

pub(super) const STEADY_ON_FRESH: LayerRule = LayerRule {
    id: "steady_on_fresh",
    text: "A load that runs until it is steady ended on a volume that is still fresh: the figures do not include the time when slabs are used again.",
    reads: "space used and allocator.slabsReopened at its end, where the load runs until a metric has settled",
    threshold: Threshold::below(50.0, Unit::Percent),
    remedy: "Bring the volume to its state first: do = \"state\", is = \"steady\".",
    source: "thesis 5.1.1; dm-vdo: slab-depot.c",
    check: Check::Stage(steady_on_fresh),
};

fn steady_on_fresh(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    stage.planned?.load.as_ref().filter(|load| load.until_steady)?;
    let stats = stats(facts, stage)?;
    let used = used_percent(&stats)?;
    let reopened = stats.end("allocator.slabsReopened")?;
    (threshold.passed(used).is_some() || reopened <= 0.0).then(|| Observation {
        severity: Severity::Warning,
        figures: vec![
            threshold.figure("physical space used", used),
            figure("slabs opened again so far", reopened, Unit::Count),
        ],
        ..Observation::default()
    })
}
