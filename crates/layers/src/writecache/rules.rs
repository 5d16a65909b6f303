//! The doctor's rules about write caches.

use units::Unit;

use crate::planned::{OperationKind, PlannedStage};
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, PlannedFacts, RuleFacts, Threshold,
    ThresholdTest, figure,
};

/// Every rule.
pub(super) const RULES: &[LayerRule] = &[NOTHING_TO_KEEP, FULL];

const NOTHING_TO_KEEP: LayerRule = LayerRule {
    id: "nothing_to_keep",
    text: "A write cache keeps only what is written: reads of anything else go to the slow device as without it.",
    reads: "operations of the first measured load and of the stages before it",
    threshold: None,
    remedy: "Write data before or while it is read, or take the layer lvmcache, which keeps what is read.",
    source: "the kernel's admin-guide/device-mapper/writecache",
    check: Check::Plan(nothing_to_keep),
};

fn nothing_to_keep(facts: &PlannedFacts, _: ThresholdTest) -> Option<Observation> {
    let first = facts.stages.iter().position(|stage| stage.measured)?;
    let measured = facts.stages[first].load.as_ref()?;
    let writes = facts.stages[..=first].iter().any(PlannedStage::brings_data);
    let message = format!(
        "Stage {} only reads, and nothing was written before: the write cache holds nothing of what it reads.",
        facts.stages[first].name
    );
    (measured.does(OperationKind::Reads) && !writes)
        .then(|| Observation { message: Some(message), ..Observation::default() })
}

const FULL: LayerRule = LayerRule {
    id: "write_cache_full",
    text: "The cache was full: the slow device was measured.",
    reads: "writes_around and writes_blocked of measured stages, as a share of the blocks written, unless cleaner or metadata_only is on",
    threshold: Threshold::above(1.0, Unit::Percent),
    remedy: "Give it a larger cache_size, or measure shorter bursts with rests between them; a lower low_watermark leaves more of it free before a burst.",
    source: "the kernel's admin-guide/device-mapper/writecache",
    check: Check::Stage(full),
};

fn full(facts: &RuleFacts, stage: &MeasuredStage, threshold: ThresholdTest) -> Option<Observation> {
    let on = |key: &str| facts.settings.get(key).is_some_and(|value| value == "on");
    if on("cleaner") || on("metadata_only") {
        return None;
    }
    let span = stage.load_span(&format!("{}.writecache", facts.layer))?;
    let grew = |field: &str| span.counted(field);
    let (around, blocked) = (grew("writes_around")?, grew("writes_blocked")?);
    let share = threshold.passed(100.0 * (around + blocked) / grew("writes")?.max(1.0))?;
    Some(Observation {
        message: Some(format!(
            "The cache was full in stage {}: the slow device was measured there.",
            stage.stage.name
        )),
        figures: vec![
            threshold.figure("writes that went around it or waited", share),
            figure("blocks written around it", around, Unit::Count),
            figure("writes that waited", blocked, Unit::Count),
        ],
        ..Observation::default()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::figures::given::sample;
    use crate::figures::{STAGE_END, STAGE_START};
    use crate::planned::{Order, PlannedLoad, PlannedOperation, PlannedStage};
    use crate::rule::made_up;
    use results::model::StageData;

    fn stage(measured: bool, does: OperationKind) -> PlannedStage {
        let operation = PlannedOperation {
            name: "op".into(),
            does,
            size_unit: 4096,
            align: 4096,
            order: Order::Even,
        };
        let load = PlannedLoad { operations: vec![operation], ..PlannedLoad::default() };
        PlannedStage {
            name: "load".into(),
            data: StageData::Load,
            measured,
            load: Some(load),
            ..PlannedStage::default()
        }
    }

    #[test]
    fn reads_of_what_nobody_wrote_are_told_and_others_are_not() {
        assert_eq!(RULES.len(), 2, "the rules have another case");
        let found = |stages: &[PlannedStage]| {
            NOTHING_TO_KEEP
                .check_plan(&PlannedFacts {
                    layer: "wc",
                    kind: "writecache",
                    stages,
                    ..made_up::PLAN
                })
                .is_some()
        };
        assert!(found(&[stage(true, OperationKind::Reads)]));
        assert!(!found(&[stage(false, OperationKind::Writes), stage(true, OperationKind::Reads)]));
        assert!(!found(&[stage(true, OperationKind::Writes)]));
    }

    #[test]
    fn a_cache_that_was_full_is_told_and_one_that_had_room_is_not() {
        let found = |around: f64, waited: f64, cleaner: &str| {
            let row = |at, mark, around, waited, writes| {
                let fields =
                    [("writes_around", around), ("writes_blocked", waited), ("writes", writes)];
                sample(at, "wc.writecache", mark, &fields)
            };
            let samples = [
                row(1, STAGE_START, 5.0, 5.0, 10.0),
                row(900_000_001, STAGE_END, 5.0 + around, 5.0 + waited, 1010.0),
            ];
            let stages = [made_up::load("burst", 1_000_000_000)];
            let planned = [PlannedStage { name: "burst".into(), ..PlannedStage::default() }];
            let settings = BTreeMap::from([("cleaner".to_owned(), cleaner.to_owned())]);
            FULL.examine(&RuleFacts {
                layer: "wc",
                settings: &settings,
                samples: &samples,
                stages: &stages,
                planned: &planned,
                ..made_up::CELL
            })
        };
        let shown = found(6.0, 5.0, "off").unwrap();
        assert!((shown.figures[0].value - 1.1).abs() < 1e-9 && shown.message.contains("burst"));
        assert_eq!(found(10.0, 0.0, "off"), None);
        assert_eq!(found(600.0, 0.0, "on"), None, "its settings make it keep nothing");
    }
}
