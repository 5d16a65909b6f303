//! Empty facts for tests of rules: each test sets only the facts that it is about.

use std::collections::BTreeMap;

use results::model::StageRecord;

use super::{PlannedFacts, RuleFacts};

/// A cell about which nothing is known.
pub(crate) const CELL: RuleFacts<'static> = RuleFacts {
    layer: "",
    cell: 0,
    settings: &BTreeMap::new(),
    stack: &[],
    below_files: false,
    samples: &[],
    stages: &[],
    planned: &[],
    figures: &BTreeMap::new(),
    asked_content: None,
    achieved: None,
    facts: &BTreeMap::new(),
};

/// An empty plan.
pub(crate) const PLAN: PlannedFacts<'static> = PlannedFacts {
    layer: "",
    kind: "",
    settings: &BTreeMap::new(),
    stack: &[],
    below_files: false,
    stages: &[],
    variants: &[],
    reducing: &[],
};

/// A measured load from the beginning of the run to `end_ns`.
pub(crate) fn load(name: &str, end_ns: u64) -> StageRecord {
    StageRecord {
        kind: "load".into(),
        name: name.into(),
        measured: true,
        start_ns: 0,
        end_ns: Some(end_ns),
        ..StageRecord::default()
    }
}
