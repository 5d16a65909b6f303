//! What the doctor knows about caches: plans that cannot show what a cache does.

use units::Unit;

use crate::planned::Order;
use crate::rule::{Bar, Check, LayerRule, Noticed, PlannedFacts, Threshold, figure};

/// Every rule.
pub(super) const RULES: &[LayerRule] = &[EVEN_ACCESS];

const EVEN_ACCESS: LayerRule = LayerRule {
    id: "even_access",
    text: "Every block is as likely: a cache can then hit no more than its share of the range.",
    reads: "pattern of measured loads, and the cache's size of their range",
    threshold: Threshold::below(100.0, Unit::Percent),
    remedy: "Use a skewed pattern (pattern = \"zipf:1.2\"), unless the ratio of sizes is the question.",
    source: "articles on lvmcache",
    check: Check::Plan(even_access),
};

fn even_access(facts: &PlannedFacts, bar: Bar) -> Option<Noticed> {
    let cache = facts.settings.get("cache_size")?.parse::<units::Bytes>().ok()?.0 as f64;
    facts.stages.iter().filter(|stage| stage.measured).find_map(|stage| {
        let load = stage.load.as_ref()?;
        load.operations.iter().find(|op| op.order == Order::Even)?;
        let range = load.range_bytes? as f64;
        let share = bar.passed(100.0 * cache / range.max(1.0))?;
        Some(Noticed {
            message: Some(format!("In stage {} every block is as likely.", stage.name)),
            figures: vec![
                bar.figure("the most that can hit", share),
                figure("cache", cache, Unit::Bytes),
                figure("range", range, Unit::Bytes),
            ],
            ..Noticed::default()
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::planned::{Does, PlannedLoad, PlannedOperation, PlannedStage};
    use crate::rule::PlannedFacts as Facts;

    #[test]
    fn every_rule_fires_on_what_it_is_for_and_is_silent_just_before() {
        assert_eq!(RULES.len(), 1, "the rules have another case");
        let found = |order, cache: &str| {
            let operation = PlannedOperation {
                name: "randread".into(),
                does: Does::Reads,
                size_unit: 4096,
                align: 4096,
                order,
            };
            let load = PlannedLoad {
                operations: vec![operation],
                range_bytes: Some(1 << 30),
                ..PlannedLoad::default()
            };
            let stage =
                PlannedStage { measured: true, load: Some(load), ..PlannedStage::default() };
            let settings = BTreeMap::from([("cache_size".to_owned(), cache.to_owned())]);
            EVEN_ACCESS.foresee(&Facts {
                layer: "cache",
                kind: "lvmcache",
                settings: &settings,
                stages: &[stage],
                variants: &[],
            })
        };
        let finding = found(Order::Even, "256M").unwrap();
        assert_eq!(finding.figures[0].value, 25.0);
        assert_eq!(found(Order::Skewed, "256M"), None);
        assert_eq!(found(Order::Even, "1G"), None);
    }
}
