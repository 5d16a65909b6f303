//! Content that was asked for against content that was achieved.

use std::collections::BTreeMap;

use results::model::{CellRecord, ContentFigures};
use stats::Figure;

/// Content of one variant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AskedAndAchieved {
    /// What was asked; `None` when nothing was written in a measured stage.
    pub asked: Option<ContentFigures>,
    /// What was achieved, by metric (`duplicate_percent`, ...), each the median over the runs.
    pub achieved: BTreeMap<String, Figure>,
}

/// What the measured loads were asked to write.
pub(crate) fn asked(record: &CellRecord) -> Option<ContentFigures> {
    record.measured_content().asked
}

/// What the measured loads achieved together, by metric; empty when none wrote.
pub(crate) fn achieved(record: &CellRecord) -> Vec<(&'static str, Option<f64>)> {
    let Some(content) = record.measured_content().achieved else { return Vec::new() };
    vec![
        ("duplicate_percent", content.duplicate_percent),
        ("lz4_saving_percent", content.lz4_saving_percent),
        ("zero_percent", content.zero_percent),
        ("packer_saving_percent", content.packer_saving_percent),
        ("lz4_size_mean_bytes", content.lz4_size_mean_bytes),
        ("blocks", content.blocks.map(|n| n as f64)),
        ("blocks_sampled", content.blocks_sampled.map(|n| n as f64)),
        ("duplicate_error_points", content.duplicate_error_points),
        ("lz4_saving_error_points", content.lz4_saving_error_points),
        ("packer_saving_error_points", content.packer_saving_error_points),
        ("live_duplicate_percent", content.live_duplicate_percent),
        ("live_duplicate_error_points", content.live_duplicate_error_points),
        ("live_blocks", content.live_blocks.map(|n| n as f64)),
    ]
}
