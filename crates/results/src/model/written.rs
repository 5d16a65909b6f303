//! The content that several loads wrote, taken together.

use super::{AchievedContent, AskedContent, CellRecord, LoadSummary, StageData, StageRecord};

/// Content of one or more loads together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Written {
    /// Number of loads that wrote.
    pub loads: usize,
    /// The asked content, with only the figures in which all loads agree; `None` when nothing was to be written.
    pub asked: Option<AskedContent>,
    /// The achieved content. For several loads it has only figures that can be added: not duplicates and what depends on them, because duplicates
    /// across loads were not searched for. `None` when nothing was written, or when one of the loads did not measure what it wrote.
    pub achieved: Option<AchievedContent>,
}

impl CellRecord {
    /// Returns what its measured loads wrote.
    pub fn measured_content(&self) -> Written {
        written(self.stages.iter().filter(|stage| stage.measured))
    }

    /// Returns what was written in the time that the growth of layers' figures covers: from the first measured stage to the end.
    pub fn content_of_growth(&self) -> Written {
        let first = self.stages.iter().position(|stage| stage.measured).unwrap_or(0);
        written(self.stages.iter().skip(first))
    }
}

/// Returns what the loads of these stages wrote.
pub fn written<'a>(stages: impl IntoIterator<Item = &'a StageRecord>) -> Written {
    let stages: Vec<_> = stages.into_iter().collect();
    let loads: Vec<&LoadSummary> = stages
        .iter()
        .filter_map(|stage| stage.load.as_ref())
        .filter(|load| load.asked.is_some() || load.achieved.is_some())
        .collect();
    // The content of copied files and of fills is not measured.
    let filled = |stage: &StageRecord| stage.fill.as_ref().is_some_and(|f| f.bytes_written > 0);
    let copied =
        stages.iter().any(|stage| stage.traits().data == StageData::Foreign || filled(stage));
    let requested = loads
        .iter()
        .filter_map(|load| load.asked.clone())
        .reduce(|one, other| agreed(&one, &other));
    let all: Option<Vec<_>> = loads.iter().map(|load| load.achieved.clone()).collect();
    let achieved = all
        .filter(|_| !copied)
        .and_then(|all| all.into_iter().reduce(|one, other| together(&one, &other)));
    Written { loads: loads.len(), asked: requested, achieved }
}

/// Returns the figures for which the same was asked of both loads.
fn agreed(one: &AskedContent, other: &AskedContent) -> AskedContent {
    let same = |one: Option<f64>, other: Option<f64>| one.filter(|_| one == other);
    AskedContent {
        duplicate_percent: same(one.duplicate_percent, other.duplicate_percent),
        lz4_saving_percent: same(one.lz4_saving_percent, other.lz4_saving_percent),
        zero_percent: same(one.zero_percent, other.zero_percent),
        lz4_size_mean_bytes: same(one.lz4_size_mean_bytes, other.lz4_size_mean_bytes),
        packer_saving_percent: same(one.packer_saving_percent, other.packer_saving_percent),
        live_duplicate_percent: same(one.live_duplicate_percent, other.live_duplicate_percent),
    }
}

/// Returns the figures that are known for the blocks of both loads together.
fn together(one: &AchievedContent, other: &AchievedContent) -> AchievedContent {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
    let blocks = sum(one.blocks, other.blocks);
    let zeros = |of: &AchievedContent| Some(of.zero_percent? * of.blocks? as f64);
    let zero_percent = match (zeros(one), zeros(other), blocks) {
        (Some(a), Some(b), Some(blocks)) if blocks > 0 => Some((a + b) / blocks as f64),
        _ => None,
    };
    AchievedContent {
        zero_percent,
        blocks,
        blocks_sampled: sum(one.blocks_sampled, other.blocks_sampled),
        lz4_size_min_bytes: one
            .lz4_size_min_bytes
            .zip(other.lz4_size_min_bytes)
            .map(|(a, b)| a.min(b)),
        lz4_size_max_bytes: one
            .lz4_size_max_bytes
            .zip(other.lz4_size_max_bytes)
            .map(|(a, b)| a.max(b)),
        ..AchievedContent::default()
    }
}
