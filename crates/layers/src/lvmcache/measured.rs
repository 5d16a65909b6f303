//! The doctor's rules about caches that were measured: why they do not hit more, and whether their own counts are right.

use results::model::{SampleRow, Severity};
use units::Unit;

use crate::machine::DISKSTATS;
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, RuleFacts, Threshold, ThresholdTest, figure,
};

/// Percentage of missed reads above which it matters that nothing comes into the cache.
const MISSES: f64 = 5.0;
/// Fewest reads for which a share is reported.
const FEWEST: f64 = 1000.0;

pub(super) const STALLED: LayerRule = LayerRule {
    id: "promotions_stalled",
    text: "The cache was full, reads missed it, and nothing was promoted or demoted: it waited for its next period.",
    reads: "promotions, demotions, read hits and misses in the status line, from sample to sample of measured stages",
    threshold: Threshold::above(10.0, Unit::Seconds),
    remedy: "Measure for several periods of 60 s, or begin with an empty cache (a stage of the state empty).",
    source: "dm-cache-policy-smq.c: of 64 levels the lower half is given up in a period of 60 s, then nothing until the next",
    check: Check::Stage(stalled),
};

fn field(row: &SampleRow, name: &str) -> Option<f64> {
    row.fields.get(name).copied().flatten()
}

fn stalled(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let rows: Vec<&SampleRow> = stage.samples(&format!("{}.status", facts.layer)).collect();
    let full = |row: &SampleRow| field(row, "used_chunks") == field(row, "chunks");
    let moved = |row: &SampleRow| Some(field(row, "promotions")? + field(row, "demotions")?);
    // Periods in which nothing moved, each as its first and its last sample.
    let mut stretches: Vec<(&SampleRow, &SampleRow)> = Vec::new();
    for row in rows.into_iter().filter(|row| full(row)) {
        match stretches.last_mut() {
            Some((first, last)) if moved(first).is_some() && moved(first) == moved(row) => {
                *last = row;
            }
            _ => stretches.push((row, row)),
        }
    }
    let misses = |(first, last): &(&SampleRow, &SampleRow)| {
        let grew = |name| Some((field(last, name)? - field(first, name)?).max(0.0));
        let (hits, misses) = (grew("read_hits")?, grew("read_misses")?);
        Some(100.0 * misses / (hits + misses).max(1.0))
    };
    let long = |(first, last): &(&SampleRow, &SampleRow)| (last.at_ns - first.at_ns) as f64 / 1e9;
    let missed = stretches.iter().filter(|stretch| misses(stretch) > Some(MISSES));
    let longest = missed.max_by(|one, other| long(one).total_cmp(&long(other)))?;
    let (seconds, misses) = (threshold.passed(long(longest))?, misses(longest)?);
    Some(Observation {
        severity: Severity::Note,
        figures: vec![
            threshold.figure("nothing moved for", seconds),
            figure("reads that missed in that time", misses, Unit::Percent),
        ],
        explains_percent: Some(misses),
        no_setting: Some("smq has no setting for its period"),
        ..Observation::default()
    })
}

pub(super) const ALL_DIRTY: LayerRule = LayerRule {
    id: "cache_all_dirty",
    text: "Nearly all of the cache was dirty: before a new chunk can come in, another one has to be written back to the slow device.",
    reads: "share of dirty chunks in the cache, in the status line at the end of measured stages",
    threshold: Threshold::above(90.0, Unit::Percent),
    remedy: "Take such figures for what they are, the speed of the slow device; writethrough keeps the cache clean.",
    source: "dm-cache-policy-smq.c: a dirty block is written back before it is given up",
    check: Check::Stage(all_dirty),
};

fn all_dirty(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let span = stage.span(&format!("{}.status", facts.layer))?;
    let dirty = 100.0 * span.end("dirty_chunks")? / span.end("chunks")?.max(1.0);
    let dirty = threshold.passed(dirty)?;
    Some(Observation {
        figures: vec![threshold.figure("dirty", dirty)],
        explains_percent: Some(dirty),
        changes: vec![("mode", "\"writethrough\"".to_owned())],
        ..Observation::default()
    })
}

pub(super) const HITS_DISAGREE: LayerRule = LayerRule {
    id: "hits_disagree",
    text: "Two ways to count hits disagree: the cache's own counters, and the bytes that were read from the slow device other than to bring chunks into the cache.",
    reads: "read hits, misses and promotions in the status line; bytes read of the cached volume and of its origin, of measured stages that only read",
    threshold: Threshold::above(2.0, Unit::Percent),
    remedy: "Trust neither: look for other I/O to the slow device, and for reads that were merged or split.",
    source: "articles on lvmcache, which take hits from the reads of the SSD and of fio; the kernel counts I/Os, not blocks",
    check: Check::Stage(hits_disagree),
};

fn hits_disagree(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let status = stage.load_span(&format!("{}.status", facts.layer))?;
    let disks = stage.load_span(DISKSTATS)?;
    let origin = facts.layer_facts()?.on.get("origin")?;
    let grew = |field: &str| status.counted(field);
    let bytes = |name: &str, what: &str| disks.counted(&format!("{name}.{what}"));
    if bytes(facts.layer, "written_bytes")? > 0.0 {
        return None;
    }
    let (hits, misses) = (grew("read_hits")?, grew("read_misses")?);
    let all = Some(hits + misses).filter(|reads| *reads >= FEWEST)?;
    let brought = grew("promotions")? * status.end("chunk_sectors")? * 512.0;
    let whole = bytes(facts.layer, "read_bytes").filter(|bytes| *bytes > 0.0)?;
    let missed = (bytes(origin, "read_bytes")? - brought).max(0.0);
    let (by_count, by_bytes) = (100.0 * hits / all, 100.0 * (1.0 - missed / whole).max(0.0));
    let apart = threshold.passed((by_count - by_bytes).abs())?;
    Some(Observation {
        figures: vec![
            threshold.figure("points between them", apart),
            figure("hits by its counters", by_count, Unit::Percent),
            figure("hits by bytes of the disks", by_bytes, Unit::Percent),
        ],
        ..Observation::default()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use results::model::{Finding, LayerFacts};

    use super::*;
    use crate::figures::given::sample;
    use crate::figures::{LOAD_END, LOAD_START};
    use crate::planned::PlannedStage;
    use crate::rule::made_up;

    const SECOND: u64 = 1_000_000_000;

    fn found(rule: &LayerRule, samples: &[SampleRow]) -> Option<Finding> {
        let cache_facts = LayerFacts {
            layer: "lvmcache".into(),
            name: "c".into(),
            settings: BTreeMap::new(),
            on: BTreeMap::from([("origin".into(), "slow".into())]),
            computed: Vec::new(),
        };
        rule.examine(&RuleFacts {
            layer: "c",
            stack: &[cache_facts],
            samples,
            stages: &[made_up::load("reads", 100 * SECOND)],
            planned: &[PlannedStage { name: "reads".into(), ..PlannedStage::default() }],
            ..made_up::CELL
        })
    }

    /// A status each second: hits and misses that grow by so much, and what had come in by then.
    fn status(hits: f64, misses: f64, moved: &[f64]) -> Vec<SampleRow> {
        let row = |(at, moved): (usize, &f64)| {
            let passed = at as f64;
            let fields = [
                ("used_chunks", 100.0),
                ("chunks", 100.0),
                ("promotions", *moved),
                ("demotions", 0.0),
                ("read_hits", passed * hits),
                ("read_misses", passed * misses),
            ];
            sample((at as u64 + 1) * SECOND, "c.status", "", &fields)
        };
        moved.iter().enumerate().map(row).collect()
    }

    #[test]
    fn a_full_cache_that_misses_and_moves_nothing_for_long_is_stalled() {
        let still = [&[0.0, 5.0][..], &[9.0; 13], &[20.0]].concat();
        let finding = found(&STALLED, &status(90.0, 10.0, &still)).unwrap();
        assert_eq!(finding.figures[0].value, 12.0, "{finding:?}");
        assert_eq!(finding.explains_percent, Some(10.0));
        assert!(finding.remedy.contains("No setting takes it away"));
        assert!(found(&STALLED, &status(99.0, 1.0, &still)).is_none(), "it is warm");
        let short = [&[0.0, 5.0][..], &[9.0; 9], &[20.0]].concat();
        assert!(found(&STALLED, &status(90.0, 10.0, &short)).is_none());
    }

    #[test]
    fn a_dirty_cache_is_told_with_the_mode_that_keeps_it_clean() {
        let with = |dirty: f64| {
            let row =
                |at| sample(at, "c.status", "", &[("dirty_chunks", dirty), ("chunks", 100.0)]);
            found(&ALL_DIRTY, &[row(1), row(SECOND)])
        };
        let finding = with(91.0).unwrap();
        assert_eq!(finding.changes[0].key, "c.mode");
        assert!(with(90.0).is_none());
    }

    #[test]
    fn hits_that_the_disks_do_not_bear_out_are_told() {
        let with = |origin: f64, written: f64| {
            let mut rows = Vec::new();
            for (at, mark, part) in [(1, LOAD_START, 0.0), (2 * SECOND, LOAD_END, 1.0)] {
                let counters = [
                    ("read_hits", 900.0 * part),
                    ("read_misses", 100.0 * part),
                    ("promotions", 10.0 * part),
                    ("chunk_sectors", 128.0),
                ];
                let disks = [
                    ("c.read_bytes", 4096.0 * 1000.0 * part),
                    ("c.written_bytes", written * part),
                    ("slow.read_bytes", (65_536.0 * 10.0 + 4096.0 * origin) * part),
                ];
                rows.push(sample(at, "c.status", mark, &counters));
                rows.push(sample(at, DISKSTATS, mark, &disks));
            }
            found(&HITS_DISAGREE, &rows)
        };
        let finding = with(150.0, 0.0).unwrap();
        assert_eq!(finding.figures[1].value, 90.0, "{finding:?}");
        assert_eq!(finding.figures[2].value, 85.0, "{finding:?}");
        assert!(with(115.0, 0.0).is_none(), "within two points");
        assert!(with(150.0, 4096.0).is_none(), "what is written reads the origin, too");
    }
}
