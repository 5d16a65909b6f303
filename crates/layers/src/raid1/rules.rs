//! The doctor's rules about mirrors.

use units::Unit;

use crate::members::{FAILED_MEMBER, SLOW};
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, RuleFacts, Threshold, ThresholdTest,
};

/// Every rule.
pub(super) const RULES: &[LayerRule] = &[SLOW, FAILED_MEMBER, OUT_OF_SYNC];

const OUT_OF_SYNC: LayerRule = LayerRule {
    id: "mirror_out_of_sync",
    text: "Members were brought in sync while a load was measured: the copying took I/O from it.",
    reads: "share of synced_sectors in sectors, in each sample of a measured stage",
    threshold: Threshold::below(100.0, Unit::Percent),
    remedy: "Put a stage of the state in_sync before the measured one, after whatever put the members out of sync.",
    source: "lvmraid(7), data integrity and synchronisation",
    check: Check::Stage(out_of_sync),
};

fn out_of_sync(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let share = |row: &results::model::SampleRow| {
        let field = |name: &str| row.fields.get(name).copied().flatten();
        Some(100.0 * field("synced_sectors")? / field("sectors")?.max(1.0))
    };
    let source = format!("{}.status", facts.layer);
    let samples = stage.samples(&source);
    let least = threshold.passed(samples.filter_map(share).reduce(f64::min)?)?;
    Some(Observation {
        message: Some(format!(
            "Members of '{}' were brought in sync while stage {} was measured: the copying took I/O from it.",
            facts.layer, stage.stage.name
        )),
        figures: vec![threshold.figure("least that was in sync", least)],
        ..Observation::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::given::sample;
    use crate::figures::{STAGE_END, STAGE_START};
    use crate::planned::PlannedStage;
    use crate::rule::made_up;

    #[test]
    fn a_load_beside_copying_is_told_and_one_on_a_whole_mirror_is_not() {
        assert_eq!(RULES.len(), 3, "the rules have another case");
        let found = |synced| {
            let row = |at, mark, synced| {
                sample(at, "m.status", mark, &[("synced_sectors", synced), ("sectors", 200.0)])
            };
            let samples = [row(1, STAGE_START, synced), row(9, STAGE_END, 200.0)];
            OUT_OF_SYNC.examine(&RuleFacts {
                layer: "m",
                samples: &samples,
                stages: &[made_up::load("burst", 10)],
                planned: &[PlannedStage { name: "burst".into(), ..PlannedStage::default() }],
                ..made_up::CELL
            })
        };
        assert_eq!(found(50.0).unwrap().figures[0].value, 25.0);
        assert_eq!(found(200.0), None);
    }
}
