//! Figures of a volume that several rules read.

use std::collections::BTreeMap;

use units::Bytes;

use super::super::geometry::BLOCK;
use crate::rule::{MeasuredStage, RuleFacts, Span};

/// Pages of the block map that one MiB of cache holds.
pub(super) const PAGES_OF_A_MIB: u64 = (1 << 20) / BLOCK;

/// A setting that is a size, bytes.
pub(super) fn size(settings: &BTreeMap<String, String>, key: &str) -> Option<u64> {
    Some(settings.get(key)?.parse::<Bytes>().ok()?.0)
}

/// Returns the volume's statistics at the edges of a stage.
pub(super) fn stats<'a>(facts: &RuleFacts<'a>, stage: &MeasuredStage<'a>) -> Option<Span<'a>> {
    stage.span(&format!("{}.stats", facts.layer))
}

/// Data blocks as a share of the space that metadata leaves, percent.
pub(super) fn used_percent(stats: &Span) -> Option<f64> {
    let room = stats.end("physicalBlocks")? - stats.end("overheadBlocksUsed")?;
    (room > 0.0).then_some(100.0 * stats.end("dataBlocksUsed")? / room)
}

/// The smallest possible slab, MiB: lvm makes none below 128.
pub(super) fn least_slab_mib(settings: &BTreeMap<String, String>) -> u64 {
    if settings.get("via").is_some_and(|via| via == "table") { 32 } else { 128 }
}

/// The block map cache that holds `leaves` pages, in whole MiB, as it is written: lvm takes none below 128 MiB, a table none below 16.
pub(super) fn cache_for(leaves: u64, settings: &BTreeMap<String, String>) -> String {
    let table = settings.get("via").is_some_and(|via| via == "table");
    format!("{}M", reduce::space::block_map_cache_mib(leaves).max(if table { 16 } else { 128 }))
}
