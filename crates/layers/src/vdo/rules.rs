//! What the doctor knows about VDO: figures that mean less than they seem to, what limits a volume, and plans that cannot show what
//! they are made for. One file for each thing that rules look at.

mod asked;
mod before;
mod content;
mod device;
mod discards;
mod map;
mod space;
#[cfg(test)]
mod tests;
mod threads;
mod writes;

use std::collections::BTreeMap;

use units::Bytes;

use super::geometry::BLOCK;
use crate::rule::{LayerRule, RuleFacts, Span, Stretch};

/// Every rule: those that look at plans, those about meaning, then bottlenecks.
pub(super) const RULES: &[LayerRule] = &[
    before::NOT_WHOLE_BLOCKS,
    before::NO_ALLOCATE,
    before::PACKS_NOTHING,
    before::ZERO_PREFILL,
    before::PREFILL_DIFFERS,
    before::CACHE_SMALL,
    before::DEPTH_BEYOND_POOL,
    before::DISCARD_UNWRITTEN,
    before::SHORT_FOR_STEADY,
    before::ONE_HOT_BLOCK,
    before::NO_BASELINE,
    map::UNALLOCATED,
    content::NOT_PACKABLE,
    content::INDEX_NOT_AS_ASKED,
    asked::TABLE_NOT_AS_ASKED,
    asked::SIZES_NOT_AS_COMPUTED,
    content::SAVING_OF_ZEROS,
    content::DUPLICATES_IN_FLIGHT,
    space::OUT_OF_SPACE,
    space::LOW,
    writes::WRAPPED,
    writes::NOT_STEADY,
    discards::IN_VAIN,
    threads::BUSY,
    threads::ONE_BUSY,
    threads::JOURNAL_CEILING,
    threads::IDLE,
    map::MISSES,
    writes::FLUSH_RATE,
    device::FLUSH_TIME,
    writes::POOL_FULL,
    content::PACKER_IDLE,
    content::ADVICE_LATE,
    device::SATURATED,
    device::JOURNAL_ON_DATA,
    space::SLABS_REOPENED,
    writes::PARTIAL,
    discards::JOURNAL,
];

/// Pages of the block map that one MiB of cache holds.
const PAGES_OF_A_MIB: u64 = (1 << 20) / BLOCK;

/// A setting that is a size, bytes.
fn size(settings: &BTreeMap<String, String>, key: &str) -> Option<u64> {
    Some(settings.get(key)?.parse::<Bytes>().ok()?.0)
}

/// What the volume said of itself at the edges of a stage.
fn stats<'a>(facts: &RuleFacts<'a>, stage: &Stretch<'a>) -> Option<Span<'a>> {
    stage.span(&format!("{}.stats", facts.layer))
}

/// The block map cache that holds so many leaves, in whole MiB as it is written: lvm takes none below 128 MiB, a table none below 16.
fn cache_for(leaves: u64, settings: &BTreeMap<String, String>) -> String {
    let table = settings.get("via").is_some_and(|via| via == "table");
    format!("{}M", leaves.div_ceil(PAGES_OF_A_MIB).max(if table { 16 } else { 128 }))
}
