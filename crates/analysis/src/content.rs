//! Content that was asked for and that was achieved, by metric.

use results::model::ContentFigures;

/// What loads achieved, by metric.
pub(crate) fn achieved(content: &ContentFigures) -> [(&'static str, Option<f64>); 13] {
    [
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
