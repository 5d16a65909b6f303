//! The doctor's rules about bcache: what goes past the cache, and what its own counters lose.

use units::{Bytes, Unit};

use super::catalogue::READS;
use crate::planned::Order;
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, PlannedFacts, RuleFacts, Threshold,
    ThresholdTest, figure,
};

/// Every rule.
pub(super) const RULES: &[LayerRule] = &[SEQUENTIAL, OWN_COUNT];

const SEQUENTIAL: LayerRule = LayerRule {
    id: "bcache_sequential",
    text: "I/Os in order go past the cache once they are as long as sequential_cutoff: they neither warm it nor hit it.",
    reads: "pattern of measured loads, and sequential_cutoff",
    threshold: Threshold::above(0.0, Unit::Bytes),
    remedy: "Set sequential_cutoff = 0, unless the bypass is the question.",
    source: "articles on bcache; admin-guide/bcache",
    check: Check::Plan(sequential),
};

fn sequential(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    let cutoff = facts.settings.get("sequential_cutoff")?.parse::<Bytes>().ok()?.0;
    let cutoff = threshold.passed(cutoff as f64)?;
    let in_order = |stage: &&crate::planned::PlannedStage| {
        let load = stage.load.iter();
        stage.measured && load.flat_map(|l| &l.operations).any(|op| op.order == Order::InOrder)
    };
    let stage = facts.stages.iter().find(in_order)?;
    Some(Observation {
        message: Some(format!(
            "I/Os of stage {} are in order: most go past the cache.",
            stage.name
        )),
        figures: vec![threshold.figure("sequential_cutoff", cutoff)],
        changes: vec![("sequential_cutoff", "0".to_owned())],
        ..Observation::default()
    })
}

const OWN_COUNT: LayerRule = LayerRule {
    id: "bcache_own_count",
    text: "bcache's own counters (stats_total) do not have as many reads as the block layer counted: they move every 13.6 s, and lose what is beyond 65,536 in that time. Hits are counted from block statistics.",
    reads: "stats_total, and block statistics of the cached device, of measured stages",
    threshold: Threshold::above(2.0, Unit::Percent),
    remedy: "Do not take hits from stats_total or cache_hit_ratio.",
    source: "move_stat in the kernel's drivers/md/bcache/stats.c",
    check: Check::Stage(own_count),
};

fn own_count(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let reads = stage.load_span(&format!("{}.legs", facts.layer))?.counted("whole_reads")?;
    let own = stage.load_span(&format!("{}.stats", facts.layer))?;
    let own: f64 = READS.iter().map(|field| own.counted(field)).sum::<Option<f64>>()?;
    let differ = threshold.passed(100.0 * (own - reads).abs() / reads.max(1.0))?;
    Some(Observation {
        figures: vec![
            threshold.figure("difference", differ),
            figure("reads by its counters", own, Unit::Count),
            figure("reads", reads, Unit::Count),
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
    use crate::planned::{OperationKind, PlannedLoad, PlannedOperation, PlannedStage};
    use crate::rule::made_up;

    #[test]
    fn counters_that_lost_reads_are_told_and_others_are_not() {
        assert_eq!(RULES.len(), 2, "the rules have another case");
        let found = |own: f64| {
            let mut samples = Vec::new();
            for (at, mark, part) in [(1, STAGE_START, 0.0), (900_000_001, STAGE_END, 1.0)] {
                samples.push(sample(at, "c.legs", mark, &[("whole_reads", 100.0 * part)]));
                let stats = READS.map(|field| (field, own * part / 4.0));
                samples.push(sample(at, "c.stats", mark, &stats));
            }
            let stages = [made_up::load("load", 1_000_000_000)];
            let planned = [PlannedStage { name: "load".into(), ..PlannedStage::default() }];
            let found = OWN_COUNT.examine(&RuleFacts {
                layer: "c",
                samples: &samples,
                stages: &stages,
                planned: &planned,
                ..made_up::CELL
            });
            found.is_some()
        };
        assert!(found(96.0) && !found(98.0));
    }

    #[test]
    fn a_load_in_order_is_told_before_the_run_that_it_goes_past_the_cache() {
        let found = |order, cutoff: &str| {
            let operation = PlannedOperation {
                name: "read".into(),
                does: OperationKind::Reads,
                size_unit: 4096,
                align: 4096,
                order,
            };
            let load = PlannedLoad { operations: vec![operation], ..PlannedLoad::default() };
            let stage =
                PlannedStage { measured: true, load: Some(load), ..PlannedStage::default() };
            let facts = PlannedFacts {
                layer: "c",
                kind: "bcache",
                settings: &BTreeMap::from([("sequential_cutoff".to_owned(), cutoff.to_owned())]),
                stages: &[stage],
                ..made_up::PLAN
            };
            SEQUENTIAL.check_plan(&facts).is_some()
        };
        assert!(found(Order::InOrder, "4M"));
        assert!(!found(Order::InOrder, "0") && !found(Order::Even, "4M"));
    }
}
