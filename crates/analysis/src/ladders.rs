//! Latency by layer in a result: one ladder for each measured stage of each variant for which the experiment asks for it.

use hdrhistogram::Histogram;
use results::histogram;
use results::model::{CellState, LoadSummary, counted_operations};
use results::read::ResultSet;

use crate::ladder::{Ladder, join_repeats, ladder};

/// Latency by layer in a measured stage of a variant, all repeats together.
#[derive(Debug, Clone, PartialEq)]
pub struct StageLadder {
    /// Place of the variant in the plan.
    pub variant: usize,
    /// Name of the stage.
    pub stage: String,
    /// Number of repeats.
    pub repeats: usize,
    /// The rungs.
    pub ladder: Ladder,
}

/// Returns all ladders, in the order of variants and stages.
pub(crate) fn ladders(set: &ResultSet) -> Vec<StageLadder> {
    let plan = &set.manifest.plan;
    let stages = plan.measured_stages();
    let mut all = Vec::new();
    for (variant, facts) in plan.variants.iter().enumerate() {
        for stage in &stages {
            let records = set.cells.iter().filter_map(|cell| cell.record.as_ref());
            let records = records.filter(|r| r.variant == facts.name && r.state == CellState::Done);
            let stages = records.flat_map(|record| &record.stages);
            let stages = stages.filter(|one| one.name == *stage && !one.latency.is_empty());
            let each: Vec<_> = stages
                .map(|one| ladder(one.load.as_ref().and_then(of_load).as_ref(), &one.latency))
                .collect();
            let stage = (*stage).to_owned();
            all.extend(join_repeats(&each).map(|ladder| StageLadder {
                variant,
                stage,
                repeats: each.len(),
                ladder,
            }));
        }
    }
    all
}

/// Returns the latency of all I/Os of a load, without flushes and the like, which only make other I/Os durable.
fn of_load(load: &LoadSummary) -> Option<Histogram<u64>> {
    let names = counted_operations(load.operations.keys());
    let texts = names.filter_map(|name| load.operations.get(name)?.histogram.as_deref());
    histogram::merge(texts).ok().flatten()
}
