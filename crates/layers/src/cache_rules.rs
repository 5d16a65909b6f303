//! The doctor's rules about plans of caches: what a cache cannot hold, and what the plan leaves open. All kinds of read caches share them.

use results::model::{CacheBound, Severity, StageData};
use units::Unit;

use crate::planned::{OperationKind, PlannedStage};
use crate::rule::{Check, LayerRule, Observation, PlannedFacts, Threshold, ThresholdTest, figure};

pub(crate) const TOO_SMALL: LayerRule = LayerRule {
    id: "cache_too_small",
    text: "The hot data do not fit into the cache: even with the most-read chunks in it from the start, too many reads would miss.",
    reads: "pattern, range and block size of measured loads, and the cache's size and chunks",
    threshold: Threshold::below(90.0, Unit::Percent),
    remedy: "Give it a larger cache, or smaller data, unless the ratio of the two is the question.",
    source: "articles on lvmcache: 48 GiB of data before a cache of 4 GiB",
    check: Check::Plan(too_small),
};

/// Returns the bounds of the layer's hits in measured stages.
fn bounds<'a>(facts: &'a PlannedFacts) -> impl Iterator<Item = (&'a PlannedStage, &'a CacheBound)> {
    let measured = facts.stages.iter().filter(|stage| stage.measured);
    let all = measured.flat_map(|stage| stage.bounds.iter().map(move |bound| (stage, bound)));
    all.filter(|(_, bound)| bound.layer == facts.layer)
}

fn too_small(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    bounds(facts).find_map(|(stage, bound)| {
        let most = threshold.passed(bound.percent)?;
        Some(Observation {
            severity: Severity::Note,
            message: Some(format!(
                "In stage {} the hot data do not fit into the cache: even with the most-read chunks in it from the start, too many reads would miss.",
                stage.name
            )),
            figures: vec![
                threshold.figure("the most that can hit", most),
                figure("chunk", bound.chunk_bytes as f64, Unit::Bytes),
            ],
            ..Observation::default()
        })
    })
}

pub(crate) const COARSE_CHUNKS: LayerRule = LayerRule {
    id: "coarse_chunks",
    text: "The chunks of the cache are much larger than the hot data in them: the rest of each takes room that other hot blocks could have.",
    reads: "the most hits that the cache can have in measured loads, with its chunks and with the smallest chunks that it could have",
    threshold: Threshold::above(2.0, Unit::Percent),
    remedy: "Take a smaller chunk_size: it costs metadata, and memory.",
    source: "formula for Zipf's law: with 48 GiB of data and 4 GiB of cache, 94 % of the reads hit with chunks of 64 KiB, 87 % with 1 MiB",
    check: Check::Plan(coarse_chunks),
};

fn coarse_chunks(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    bounds(facts).find_map(|(stage, bound)| {
        let (finest, percent) = bound.finest?;
        let more = threshold.passed(percent - bound.percent)?;
        let size = format!("{}k", finest >> 10);
        Some(Observation {
            severity: Severity::Note,
            message: Some(format!(
                "In stage {}, chunks of {size} could give more hits than the present chunks.",
                stage.name
            )),
            figures: vec![
                threshold.figure("more hits", more),
                figure("the most that can hit", bound.percent, Unit::Percent),
                figure("chunk", bound.chunk_bytes as f64, Unit::Bytes),
            ],
            changes: vec![("chunk_size", format!("\"{size}\""))],
            ..Observation::default()
        })
    })
}

pub(crate) const ALL_FITS: LayerRule = LayerRule {
    id: "data_fit_cache",
    text: "All that is read fits into the cache: the fast device alone would do, and the result says nothing about a cache that has to choose.",
    reads: "ranges of measured loads, and the cache's size",
    threshold: Threshold::above(99.9, Unit::Percent),
    remedy: "Add a variant with more data than the cache holds.",
    source: "articles on lvmcache: if all data fit, you may as well use the fast device directly",
    check: Check::Plan(all_fits),
};

fn all_fits(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    let least = bounds(facts).map(|(_, bound)| bound.percent).reduce(f64::min)?;
    let least = threshold.passed(least)?;
    Some(Observation {
        severity: Severity::Note,
        figures: vec![threshold.figure("the most that can hit", least)],
        ..Observation::default()
    })
}

pub(crate) const NO_UNCACHED: LayerRule = LayerRule {
    id: "no_uncached",
    text: "Every variant has this cache: none shows the speed of the slow device alone, or of the fast one alone.",
    reads: "layers of all variants",
    threshold: None,
    remedy: "Add variants with layer = \"linear\" on each of the two.",
    source: "articles on bcache and lvmcache, which measure both alone",
    check: Check::Plan(no_uncached),
};

fn no_uncached(facts: &PlannedFacts, _: ThresholdTest) -> Option<Observation> {
    let variants = facts.variants;
    let cached = |layers: &Vec<&str>| layers.contains(&facts.kind);
    (variants.len() > 1 && variants.iter().all(cached)).then(|| Observation {
        severity: Severity::Note,
        evidence: format!("{} variants, each with {}.", variants.len(), facts.kind),
        ..Observation::default()
    })
}

pub(crate) const UNKNOWN_CONTENTS: LayerRule = LayerRule {
    id: "cache_contents_unsaid",
    text: "Nothing says what the cache holds when the reads begin: that decides how fast they are.",
    reads: "stages before the first measured reads: states, and loads that read",
    threshold: None,
    remedy: "Put a stage of a state before it (do = \"state\", is = \"empty\", \"warmed\" or \"junk\"), or measure the same reads once more after it.",
    source: "articles on lvmcache: an empty cache and one full of junk differed by a factor of fifty",
    check: Check::Plan(unknown_contents),
};

fn unknown_contents(facts: &PlannedFacts, _: ThresholdTest) -> Option<Observation> {
    let reads = |stage: &PlannedStage| {
        stage.load.as_ref().is_some_and(|load| load.does(OperationKind::Reads))
    };
    let first = facts.stages.iter().position(|stage| stage.measured && reads(stage))?;
    let (before, after) = facts.stages.split_at(first);
    let warms = before.iter().any(|stage| stage.data == StageData::State || reads(stage));
    let again = after.iter().filter(|stage| stage.measured && reads(stage)).count() > 1;
    let stage = after.first()?;
    let drives_layer = stage.targets.iter().any(|target| target == facts.layer);
    let kept = facts.settings.get("mode").is_some_and(|mode| mode == "writeback");
    let written = before.iter().rfind(|stage| stage.brings_data());
    (drives_layer && !warms && !again).then(|| Observation {
        severity: Severity::Note,
        message: Some(match written.filter(|_| kept) {
            Some(layout) => format!(
                "Stage {} was written through the cache, which keeps what is written: it is not known how much of it is still there when {} begins.",
                layout.name, stage.name
            ),
            None => format!("Nothing says what the cache holds when stage {} begins.", stage.name),
        }),
        evidence: format!("mode {}", facts.settings.get("mode").map_or("unknown", |mode| mode)),
        ..Observation::default()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::planned::{Order, PlannedLoad, PlannedOperation};
    use crate::rule::made_up;

    fn bound(percent: f64, finest: f64) -> CacheBound {
        CacheBound {
            layer: "cache".into(),
            percent,
            chunk_bytes: 1 << 20,
            chunks: 9,
            warm_up_ns: None,
            finest: Some((32 << 10, finest)),
        }
    }

    fn stage(name: &str, measured: bool, does: OperationKind) -> PlannedStage {
        let operation = PlannedOperation {
            name: name.into(),
            does,
            size_unit: 4096,
            align: 4096,
            order: Order::Skewed,
        };
        PlannedStage {
            name: name.into(),
            data: StageData::Load,
            measured,
            load: Some(PlannedLoad { operations: vec![operation], ..PlannedLoad::default() }),
            targets: vec!["cache".into()],
            ..PlannedStage::default()
        }
    }

    fn found(rule: &LayerRule, stages: &[PlannedStage], mode: &str) -> Option<String> {
        let finding = rule.check_plan(&PlannedFacts {
            layer: "cache",
            kind: "lvmcache",
            settings: &BTreeMap::from([("mode".to_owned(), mode.to_owned())]),
            stages,
            ..made_up::PLAN
        })?;
        Some(format!("{} {:?}", finding.message, finding.changes))
    }

    #[test]
    fn a_bound_is_too_low_or_coarse_or_whole_and_just_beside_it_is_not() {
        let with = |rule: &LayerRule, percent, finest| {
            let reads = stage("reads", true, OperationKind::Reads);
            let bounds = vec![bound(percent, finest)];
            found(rule, &[PlannedStage { bounds, ..reads }], "writethrough")
        };
        assert!(with(&TOO_SMALL, 89.0, 91.0).unwrap().contains("In stage reads"));
        assert_eq!(with(&TOO_SMALL, 90.0, 91.0), None);
        let coarse = with(&COARSE_CHUNKS, 64.0, 87.0).unwrap();
        assert!(coarse.contains("cache.chunk_size") && coarse.contains("32k"), "{coarse}");
        assert_eq!(with(&COARSE_CHUNKS, 86.0, 88.0), None);
        assert!(with(&ALL_FITS, 100.0, 100.0).is_some());
        assert_eq!(with(&ALL_FITS, 99.0, 100.0), None);
        let other = PlannedStage {
            bounds: vec![CacheBound { layer: "other".into(), ..bound(50.0, 90.0) }],
            ..stage("reads", true, OperationKind::Reads)
        };
        assert_eq!(found(&TOO_SMALL, &[other], "writethrough"), None);
    }

    #[test]
    fn caches_in_all_variants_are_told_and_a_plain_device_among_them_is_enough() {
        let with = |variants: &[Vec<&str>]| {
            let facts = PlannedFacts { kind: "lvmcache", variants, ..made_up::PLAN };
            NO_UNCACHED.check_plan(&facts).is_some()
        };
        let [slow, cached] = [["device", "linear"], ["device", "lvmcache"]].map(Vec::from);
        assert!(with(&[cached.clone(), cached.clone()]));
        assert!(!with(&[slow, cached.clone()]) && !with(&[cached]), "one variant compares nothing");
    }

    #[test]
    fn what_a_cache_holds_is_said_by_a_state_by_reads_before_or_by_reads_again() {
        let written = stage("layout", false, OperationKind::Writes);
        let reads = stage("reads", true, OperationKind::Reads);
        let unsaid = |stages: &[PlannedStage]| found(&UNKNOWN_CONTENTS, stages, "writethrough");
        let plain = [written.clone(), reads.clone()];
        assert!(unsaid(&plain).unwrap().contains("when stage reads begins"));
        let kept = found(&UNKNOWN_CONTENTS, &plain, "writeback").unwrap();
        assert!(kept.contains("Stage layout was written through the cache"), "{kept}");
        let state = PlannedStage { data: StageData::State, ..PlannedStage::default() };
        assert_eq!(unsaid(&[written.clone(), state, reads.clone()]), None);
        let warm = stage("warm", false, OperationKind::Reads);
        assert_eq!(unsaid(&[written.clone(), warm, reads.clone()]), None);
        assert_eq!(unsaid(&[written, reads.clone(), reads.clone()]), None);
        let elsewhere = PlannedStage { targets: vec!["slow".into()], ..reads };
        assert_eq!(unsaid(&[elsewhere]), None);
    }
}
