//! The record of a stage, from its begin on.

use std::collections::BTreeMap;

use experiment::StagePlan;
use results::model::StageRecord;

/// The record of a stage that has begun.
pub(crate) fn begun(index: usize, stage: &StagePlan, start_ns: u64) -> StageRecord {
    StageRecord {
        index,
        kind: stage.kind.clone(),
        traits: Some(stage.traits),
        name: stage.name.clone(),
        measured: stage.measured,
        start_ns,
        end_ns: None,
        load: None,
        command: None,
        fill: None,
        state: None,
        layers: BTreeMap::new(),
        machine: BTreeMap::new(),
        error: None,
    }
}
