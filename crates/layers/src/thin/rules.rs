//! The doctor's rules about thin pools.

use results::model::StageData;
use units::{Bytes, Unit};

use super::names::POOL_USED;
use crate::planned::OperationKind;
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, PlannedFacts, RuleFacts, Threshold,
    ThresholdTest, figure,
};

/// Every rule.
pub(super) const RULES: &[LayerRule] =
    &[FIRST_WRITES, MORE_THAN_POOL, POOL_NEARLY_FULL, METADATA_NEARLY_FULL];

const FIRST_WRITES: LayerRule = LayerRule {
    id: "thin_first_writes",
    text: "Nothing writes the volume before a measured write: the load allocates and zeroes chunks until it comes to blocks that it overwrites.",
    reads: "stages before the first measured one that writes; commands on a file system above it count, too",
    threshold: None,
    remedy: "Put do = \"allocate\" before it to measure overwrites, or a stage of a state (fresh, shared) where first writes are the question.",
    source: "dm-thin's own performance tests (dmtest-python), which measure both separately",
    check: Check::Plan(first_writes),
};

fn first_writes(facts: &PlannedFacts, _: ThresholdTest) -> Option<Observation> {
    // A command on a file system above takes chunks as a load does.
    let first = facts.stages.iter().position(|stage| stage.measured && stage.brings_data())?;
    let prepared = facts.stages[..first]
        .iter()
        .any(|stage| stage.brings_data() || stage.data == StageData::Allocation);
    (!prepared).then(|| Observation {
        message: Some(format!(
            "Nothing writes the volume before stage {}: it allocates and zeroes chunks until it comes to blocks that it overwrites.",
            facts.stages[first].name
        )),
        ..Observation::default()
    })
}

const MORE_THAN_POOL: LayerRule = LayerRule {
    id: "more_than_pool",
    text: "A load writes a range that is larger than the pool: when the pool is full its writes wait, or fail.",
    reads: "range of loads that write, as a share of what the pool holds",
    threshold: Threshold::above(100.0, Unit::Percent),
    remedy: "Write a smaller range, or a larger pool_size.",
    source: "the kernel's admin-guide/device-mapper/thin-provisioning",
    check: Check::Plan(more_than_pool),
};

fn more_than_pool(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    let pool = pool_bytes(facts)?;
    facts.stages.iter().find_map(|stage| {
        let load = stage.load.as_ref().filter(|load| load.does(OperationKind::Writes))?;
        let range = load.range_bytes? as f64;
        let share = threshold.passed(100.0 * range / pool.max(1.0))?;
        Some(Observation {
            message: Some(format!(
                "Stage {} writes a range that is larger than the pool: when that is full its writes wait, or fail.",
                stage.name
            )),
            figures: vec![
                threshold.figure("range, of the pool", share),
                figure("range", range, Unit::Bytes),
                figure("pool", pool, Unit::Bytes),
            ],
            ..Observation::default()
        })
    })
}

/// Returns what the pool holds, by its computed figure, or by its setting in older plans without that figure.
fn pool_bytes(facts: &PlannedFacts) -> Option<f64> {
    let layer = facts.stack.iter().find(|layer| layer.name == facts.layer);
    let computed = layer.and_then(|layer| layer.computed.iter().find(|c| c.metric == POOL_USED));
    let set = || Some(facts.settings.get("pool_size")?.parse::<Bytes>().ok()?.0 as f64);
    computed.map(|computed| computed.value).or_else(set)
}

const POOL_NEARLY_FULL: LayerRule = LayerRule {
    id: "pool_nearly_full",
    text: "The pool was nearly full.",
    reads: "share of used_chunks in chunks, at the end of measured stages",
    threshold: Threshold::above(90.0, Unit::Percent),
    remedy: "Give it a larger pool_size, or free chunks by discards; when none is left, writes wait up to a minute and then fail.",
    source: "lvmthin(7)",
    check: Check::Stage(|facts, stage, threshold| {
        nearly_full(facts, stage, threshold, ("used_chunks", "chunks"), "its data")
    }),
};

const METADATA_NEARLY_FULL: LayerRule = LayerRule {
    id: "metadata_nearly_full",
    text: "The metadata of the pool was nearly full.",
    reads: "share of used_metadata_blocks in metadata_blocks, at the end of measured stages",
    threshold: Threshold::above(75.0, Unit::Percent),
    remedy: "Give it a larger metadata_size or chunk_size; a pool without free metadata becomes read-only.",
    source: "lvmthin(7)",
    check: Check::Stage(|facts, stage, threshold| {
        let fields = ("used_metadata_blocks", "metadata_blocks");
        nearly_full(facts, stage, threshold, fields, "its metadata")
    }),
};

fn nearly_full(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
    (used, all): (&str, &str),
    what: &str,
) -> Option<Observation> {
    let span = stage.span(&format!("{}.pool", facts.layer))?;
    let share = threshold.passed(100.0 * span.end(used)? / span.end(all)?.max(1.0))?;
    Some(Observation {
        message: Some(format!(
            "At the end of stage {} the pool had little left of {what}.",
            stage.stage.name
        )),
        figures: vec![threshold.figure("used", share)],
        ..Observation::default()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use results::model::{Computed, Finding, LayerFacts};

    use super::*;
    use crate::figures::given::sample;
    use crate::figures::{STAGE_END, STAGE_START};
    use crate::planned::{Order, PlannedLoad, PlannedOperation, PlannedStage};
    use crate::rule::made_up;

    fn stage(kind: &str, measured: bool, does: Option<OperationKind>) -> PlannedStage {
        let operation = |does| PlannedOperation {
            name: "op".into(),
            does,
            size_unit: 4096,
            align: 4096,
            order: Order::Even,
        };
        let load = |does| PlannedLoad {
            operations: vec![operation(does)],
            range_bytes: Some(1 << 30),
            ..PlannedLoad::default()
        };
        let data = if kind == "load" { StageData::Load } else { StageData::Allocation };
        let name = kind.to_owned();
        PlannedStage { name, data, measured, load: does.map(load), ..PlannedStage::default() }
    }

    fn planned(rule: &LayerRule, pool: &str, stages: &[PlannedStage]) -> Option<Finding> {
        planned_on(rule, pool, stages, None)
    }

    fn planned_on(
        rule: &LayerRule,
        pool: &str,
        stages: &[PlannedStage],
        holds: Option<f64>,
    ) -> Option<Finding> {
        let computed =
            holds.map(|value| Computed { metric: POOL_USED.into(), about: String::new(), value });
        let pool_facts = LayerFacts {
            layer: "thin".into(),
            name: "t".into(),
            settings: BTreeMap::new(),
            on: BTreeMap::new(),
            computed: computed.into_iter().collect(),
        };
        rule.check_plan(&PlannedFacts {
            layer: "t",
            kind: "thin",
            settings: &BTreeMap::from([("pool_size".to_owned(), pool.to_owned())]),
            stack: &[pool_facts],
            stages,
            ..made_up::PLAN
        })
    }

    #[test]
    fn first_writes_that_nobody_prepared_and_ranges_beyond_the_pool_are_told() {
        assert_eq!(RULES.len(), 4, "the rules have another case");
        let write = || stage("load", true, Some(OperationKind::Writes));
        let first = |stages: &[PlannedStage]| planned(&FIRST_WRITES, "1G", stages).is_some();
        assert!(first(&[stage("load", false, Some(OperationKind::Reads)), write()]));
        assert!(!first(&[stage("allocate", false, None), write()]));
        assert!(!first(&[stage("load", false, Some(OperationKind::Writes)), write()]));
        assert!(!first(&[stage("load", true, Some(OperationKind::Reads))]));
        // A file system is over it.
        let command = PlannedStage { data: StageData::Foreign, ..stage("cp", true, None) };
        assert!(
            first(std::slice::from_ref(&command))
                && !first(&[stage("allocate", false, None), command])
        );
        let beyond = |pool: &str| planned(&MORE_THAN_POOL, pool, &[write()]);
        assert_eq!(beyond("512M").unwrap().figures[0].value, 200.0);
        assert_eq!(beyond("1G"), None);
        // By the computed figure, where the setting leaves it to the device.
        let all = |pool| planned_on(&MORE_THAN_POOL, "all", &[write()], pool);
        assert_eq!(all(Some(512.0 * f64::from(1 << 20))).unwrap().figures[0].value, 200.0);
        assert_eq!((all(Some(f64::from(1 << 30))), all(None)), (None, None));
    }

    #[test]
    fn a_pool_with_little_left_is_told_and_one_with_room_is_not() {
        let found = |rule: &LayerRule, data: f64, metadata: f64| {
            let row = |at, mark| {
                let fields = [
                    ("used_chunks", data),
                    ("chunks", 100.0),
                    ("used_metadata_blocks", metadata),
                    ("metadata_blocks", 100.0),
                ];
                sample(at, "t.pool", mark, &fields)
            };
            let samples = [row(1, STAGE_START), row(9, STAGE_END)];
            let stages = [made_up::load("burst", 10)];
            let planned = [PlannedStage { name: "burst".into(), ..PlannedStage::default() }];
            rule.examine(&RuleFacts {
                layer: "t",
                samples: &samples,
                stages: &stages,
                planned: &planned,
                ..made_up::CELL
            })
            .is_some()
        };
        assert!(found(&POOL_NEARLY_FULL, 91.0, 0.0) && !found(&POOL_NEARLY_FULL, 90.0, 99.0));
        assert!(found(&METADATA_NEARLY_FULL, 0.0, 76.0));
        assert!(!found(&METADATA_NEARLY_FULL, 99.0, 75.0));
    }
}
