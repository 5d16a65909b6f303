//! The doctor's rules about bcache: I/O that bypasses the cache, and I/O that its own counters lose.

use units::{Bytes, Unit};

use super::catalogue::READS;
use crate::cache_rules::{ALL_FITS, NO_UNCACHED, TOO_SMALL, UNKNOWN_CONTENTS};
use crate::planned::Order;
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, PlannedFacts, RuleFacts, Threshold,
    ThresholdTest, figure,
};

/// The fewest missed bytes for which a share is reported.
const LEAST_BYTES: f64 = (1 << 20) as f64;
/// Percentage of available buckets below which no write is cached.
const CUTOFF: f64 = 30.0;

/// Every rule.
pub(super) const RULES: &[LayerRule] = &[
    SEQUENTIAL,
    TOO_SMALL,
    ALL_FITS,
    NO_UNCACHED,
    UNKNOWN_CONTENTS,
    OWN_COUNT,
    NOT_TAKEN_IN,
    NO_ROOM_FOR_WRITES,
];

const NOT_TAKEN_IN: LayerRule = LayerRule {
    id: "bcache_not_taken_in",
    text: "Much of what missed the cache was not brought into it: it bypassed the cache, as sequential I/O beyond sequential_cutoff or while the cache counted as congested.",
    reads: "bytes read of the origin and written to the cache, of measured stages that only read",
    threshold: Threshold::above(50.0, Unit::Percent),
    remedy: "Set sequential_cutoff, congested_read_threshold_us and congested_write_threshold_us to 0.",
    source: "admin-guide/bcache: troubleshooting performance",
    check: Check::Stage(not_taken_in),
};

fn not_taken_in(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let legs = stage.load_span(&format!("{}.legs", facts.layer))?;
    let grew = |field: &str| legs.counted(field);
    if grew("whole_written_bytes")? > 0.0 {
        return None;
    }
    let missed = grew("origin_read_bytes").filter(|bytes| *bytes >= LEAST_BYTES)?;
    let past = (missed - grew("cache_written_bytes")?).max(0.0);
    let share = threshold.passed(100.0 * past / missed)?;
    let all = 100.0 * past / grew("whole_read_bytes")?.max(1.0);
    let bypasses =
        ["sequential_cutoff", "congested_read_threshold_us", "congested_write_threshold_us"];
    let on = |key: &&str| facts.settings.get(*key).is_some_and(|value| value != "0");
    let changes: Vec<_> =
        bypasses.into_iter().filter(on).map(|key| (key, "0".to_owned())).collect();
    Some(Observation {
        figures: vec![
            threshold.figure("bypassed, of what missed", share),
            figure("bypassed, of all that was read", all, Unit::Percent),
        ],
        explains_percent: Some(all.min(100.0)),
        no_setting: changes.is_empty().then_some("no setting makes I/O bypass the cache here"),
        changes,
        ..Observation::default()
    })
}

const NO_ROOM_FOR_WRITES: LayerRule = LayerRule {
    id: "bcache_no_room_for_writes",
    text: "More than 70 % of the buckets were dirty or in use: writes went past the cache, at the speed of the slow device.",
    reads: "cache_available_percent, in each sample of measured stages that write, in the mode writeback",
    threshold: Threshold::above(20.0, Unit::Percent),
    remedy: "Give it a larger cache device, or measure shorter bursts with rests between them.",
    source: "CUTOFF_WRITEBACK in the kernel's drivers/md/bcache/writeback.h",
    check: Check::Stage(no_room_for_writes),
};

fn no_room_for_writes(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let written = stage.load_span(&format!("{}.legs", facts.layer))?.counted("whole_written_bytes");
    written.filter(|bytes| *bytes > 0.0)?;
    facts.settings.get("mode").filter(|mode| *mode == "writeback")?;
    let source = format!("{}.available", facts.layer);
    let available = stage.samples(&source).filter_map(|row| row.fields.get("value").copied()?);
    let available: Vec<f64> = available.collect();
    let low = available.iter().filter(|percent| **percent < CUTOFF).count();
    let share = threshold.passed(100.0 * low as f64 / available.len().max(1) as f64)?;
    let least = available.into_iter().reduce(f64::min)?;
    Some(Observation {
        figures: vec![
            threshold.figure("of the time", share),
            figure("fewest available buckets", least, Unit::Percent),
        ],
        explains_percent: Some(share),
        no_setting: Some("the kernel's limit is fixed"),
        ..Observation::default()
    })
}

const SEQUENTIAL: LayerRule = LayerRule {
    id: "bcache_sequential",
    text: "Sequential I/Os bypass the cache once they are as long as sequential_cutoff: they neither warm it nor hit it.",
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
            "I/Os of stage {} are sequential: most bypass the cache.",
            stage.name
        )),
        figures: vec![threshold.figure("sequential_cutoff", cutoff)],
        changes: vec![("sequential_cutoff", "0".to_owned())],
        ..Observation::default()
    })
}

const OWN_COUNT: LayerRule = LayerRule {
    id: "bcache_own_count",
    text: "bcache's own counters (stats_total) show fewer reads than the block layer counted: they are updated every 13.6 s, and lose what exceeds 65,536 in that time. Hits are counted from block statistics.",
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
    let stats = stage.load_span(&format!("{}.stats", facts.layer))?;
    let stats_reads: f64 = READS.iter().map(|field| stats.counted(field)).sum::<Option<f64>>()?;
    let differ = threshold.passed(100.0 * (stats_reads - reads).abs() / reads.max(1.0))?;
    Some(Observation {
        figures: vec![
            threshold.figure("difference", differ),
            figure("reads by its counters", stats_reads, Unit::Count),
            figure("reads", reads, Unit::Count),
        ],
        ..Observation::default()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use results::model::Finding;

    use super::*;
    use crate::figures::given::sample;
    use crate::figures::{STAGE_END, STAGE_START};
    use crate::planned::{OperationKind, PlannedLoad, PlannedOperation, PlannedStage};
    use crate::rule::made_up;

    #[test]
    fn counters_that_lost_reads_are_told_and_others_are_not() {
        assert_eq!(RULES.len(), 8, "the rules have another case");
        let found = |counted: f64| {
            let mut samples = Vec::new();
            for (at, mark, part) in [(1, STAGE_START, 0.0), (900_000_001, STAGE_END, 1.0)] {
                samples.push(sample(at, "c.legs", mark, &[("whole_reads", 100.0 * part)]));
                let stats = READS.map(|field| (field, counted * part / 4.0));
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

    /// Returns the finding of a rule about a stage in which these amounts were read from the whole and from the origin, and written to the cache and
    /// to the whole; `available` has the share that was available at each sample.
    fn stage_with(rule: LayerRule, mebibytes: [f64; 4], available: &[f64]) -> Option<Finding> {
        let mut samples = Vec::new();
        let names =
            ["whole_read_bytes", "origin_read_bytes", "cache_written_bytes", "whole_written_bytes"];
        for (at, mark, part) in [(1, STAGE_START, 0.0), (900_000_001, STAGE_END, 1048576.0)] {
            let fields: Vec<_> = names.into_iter().zip(mebibytes.map(|n| n * part)).collect();
            samples.push(sample(at, "c.legs", mark, &fields));
        }
        let values = (2..).zip(available);
        samples.extend(values.map(|(at, v)| sample(at, "c.available", "", &[("value", *v)])));
        let settings = [("mode", "writeback"), ("sequential_cutoff", "4M")];
        rule.examine(&RuleFacts {
            layer: "c",
            settings: &settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            samples: &samples,
            stages: &[made_up::load("load", 1_000_000_000)],
            planned: &[PlannedStage { name: "load".into(), ..PlannedStage::default() }],
            ..made_up::CELL
        })
    }

    #[test]
    fn what_misses_and_does_not_come_in_is_told_with_the_settings_that_let_it_pass() {
        let found = |written| stage_with(NOT_TAKEN_IN, [100.0, 40.0, written, 0.0], &[]);
        let finding = found(10.0).unwrap();
        assert_eq!(finding.figures[0].value, 75.0, "{finding:?}");
        assert_eq!(finding.explains_percent, Some(30.0));
        let changed: Vec<_> = finding.changes.iter().map(|change| &*change.key).collect();
        assert_eq!(changed, ["c.sequential_cutoff"], "no other is on here");
        assert!(found(20.0).is_none());
        assert!(stage_with(NOT_TAKEN_IN, [100.0, 40.0, 10.0, 1.0], &[]).is_none(), "written");
    }

    #[test]
    fn a_cache_without_room_for_writes_is_told_by_the_time_that_it_had_none() {
        let wrote = [0.0, 0.0, 50.0, 100.0];
        let found = |written, available: &[f64]| stage_with(NO_ROOM_FOR_WRITES, written, available);
        let finding = found(wrote, &[80.0, 29.0, 20.0, 29.9]).unwrap();
        assert_eq!(finding.explains_percent, Some(75.0), "{finding:?}");
        assert!(found(wrote, &[80.0, 30.0, 30.0, 31.0, 29.0]).is_none(), "a fifth of the time");
        assert!(found([100.0, 0.0, 50.0, 0.0], &[20.0]).is_none(), "nothing is written");
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
