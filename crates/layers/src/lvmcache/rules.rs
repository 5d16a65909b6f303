//! The doctor's rules about caches: plans that cannot show what a cache does.

use units::Unit;

use super::measured::{ALL_DIRTY, HITS_DISAGREE, STALLED};
use crate::cache_rules::{ALL_FITS, COARSE_CHUNKS, NO_UNCACHED, TOO_SMALL, UNKNOWN_CONTENTS};
use crate::planned::Order;
use crate::rule::{Check, LayerRule, Observation, PlannedFacts, Threshold, ThresholdTest, figure};

/// Every rule.
pub(super) const RULES: &[LayerRule] = &[
    EVEN_ACCESS,
    COARSE_INTERVAL,
    TOO_SMALL,
    COARSE_CHUNKS,
    ALL_FITS,
    NO_UNCACHED,
    UNKNOWN_CONTENTS,
    STALLED,
    ALL_DIRTY,
    HITS_DISAGREE,
];

const EVEN_ACCESS: LayerRule = LayerRule {
    id: "even_access",
    text: "Every block is equally likely to be read: then a cache can hit no more than its share of the range.",
    reads: "pattern of measured loads, and the cache's size as a share of their range",
    threshold: Threshold::below(100.0, Unit::Percent),
    remedy: "Use a skewed pattern (pattern = \"zipf:1.2\"), unless the ratio of sizes is the question.",
    source: "articles on lvmcache",
    check: Check::Plan(even_access),
};

fn even_access(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    let cache = facts.settings.get("cache_size")?.parse::<units::Bytes>().ok()?.0 as f64;
    facts.stages.iter().filter(|stage| stage.measured).find_map(|stage| {
        let load = stage.load.as_ref()?;
        load.operations.iter().find(|op| op.order == Order::Even)?;
        let range = load.range_bytes? as f64;
        let share = threshold.passed(100.0 * cache / range.max(1.0))?;
        Some(Observation {
            message: Some(format!("In stage {} every block is equally likely.", stage.name)),
            figures: vec![
                threshold.figure("the most that can hit", share),
                figure("cache", cache, Unit::Bytes),
                figure("range", range, Unit::Bytes),
            ],
            ..Observation::default()
        })
    })
}

const COARSE_INTERVAL: LayerRule = LayerRule {
    id: "coarse_interval",
    text: "Rows over time are too long to show how a cache warms up: hits and misses become one average.",
    reads: "interval of measured loads",
    threshold: Threshold::above(500e6, Unit::Nanos),
    remedy: "Set interval = \"500ms\" or less, unless the time over which it warms up is not the question.",
    source: "articles on lvmcache, which log every 500 ms",
    check: Check::Plan(coarse_interval),
};

fn coarse_interval(facts: &PlannedFacts, threshold: ThresholdTest) -> Option<Observation> {
    facts.stages.iter().filter(|stage| stage.measured).find_map(|stage| {
        let interval = threshold.passed(stage.load.as_ref()?.interval_ns as f64)?;
        Some(Observation {
            message: Some(format!(
                "Rows over time of stage {} are too long to show how a cache warms up.",
                stage.name
            )),
            figures: vec![threshold.figure("one row", interval)],
            ..Observation::default()
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::planned::{OperationKind, PlannedLoad, PlannedOperation, PlannedStage};
    use crate::rule::PlannedFacts as Facts;

    #[test]
    fn every_rule_fires_on_what_it_is_for_and_is_silent_just_before() {
        assert_eq!(RULES.len(), 10, "the rules have another case");
        let found = |rule: LayerRule, order, cache: &str, interval_ns| {
            let operation = PlannedOperation {
                name: "randread".into(),
                does: OperationKind::Reads,
                size_unit: 4096,
                align: 4096,
                order,
            };
            let load = PlannedLoad {
                operations: vec![operation],
                range_bytes: Some(1 << 30),
                interval_ns,
                ..PlannedLoad::default()
            };
            let stage =
                PlannedStage { measured: true, load: Some(load), ..PlannedStage::default() };
            let settings = BTreeMap::from([("cache_size".to_owned(), cache.to_owned())]);
            rule.check_plan(&Facts {
                layer: "cache",
                kind: "lvmcache",
                settings: &settings,
                stack: &[],
                below_files: false,
                stages: &[stage],
                variants: &[],
                reducing: &[],
            })
        };
        let access = |order, cache: &str| found(EVEN_ACCESS, order, cache, 1);
        assert_eq!(access(Order::Even, "256M").unwrap().figures[0].value, 25.0);
        assert_eq!(access(Order::Skewed, "256M"), None);
        assert_eq!(access(Order::Even, "1G"), None);
        let rows = |ns| found(COARSE_INTERVAL, Order::Skewed, "256M", ns);
        assert!(rows(500_000_001).is_some() && rows(500_000_000).is_none());
    }
}
