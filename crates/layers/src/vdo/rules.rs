//! The doctor's rules about VDO: unreliable figures, limits of a volume, and plans that cannot show what they are
//! made for. One file for each subject of rules.

mod around;
mod asked;
mod before;
mod content;
mod cures;
mod device;
mod discards;
mod figures;
mod map;
mod space;
mod steady;
#[cfg(test)]
mod tests;
mod threads;
mod writes;

use crate::rule::LayerRule;

/// Every rule: first rules about plans, then rules about the reliability of figures, then bottlenecks.
pub(super) const RULES: &[LayerRule] = &[
    before::NOT_WHOLE_BLOCKS,
    before::NO_ALLOCATE,
    before::PACKS_NOTHING,
    before::ZERO_PREFILL,
    before::PREFILL_DIFFERS,
    before::FILL_SAVES,
    before::CACHE_SMALL,
    before::DEPTH_BEYOND_POOL,
    before::DISCARD_UNWRITTEN,
    before::SHORT_FOR_STEADY,
    before::ONE_HOT_BLOCK,
    before::NO_BASELINE,
    around::INDEX_BY_LVM,
    around::JOURNAL_ON_DISK,
    around::ONLINE_DISCARD,
    map::UNALLOCATED,
    content::NOT_PACKABLE,
    content::INDEX_NOT_AS_ASKED,
    asked::TABLE_NOT_AS_ASKED,
    asked::SIZES_NOT_AS_COMPUTED,
    content::SAVING_OF_ZEROS,
    content::DUPLICATES_IN_FLIGHT,
    content::MATCHES_WITHOUT_DEDUPE,
    content::LESS_FOUND,
    space::OUT_OF_SPACE,
    space::LOW,
    space::FEW_SLABS,
    writes::WRAPPED,
    steady::NOT_STEADY,
    steady::STEADY_ON_FRESH,
    discards::IN_VAIN,
    threads::BUSY,
    threads::ONE_BUSY,
    threads::JOURNAL_CEILING,
    threads::IDLE,
    map::MISSES,
    writes::FLUSH_RATE,
    device::FLUSH_TIME,
    writes::POOL_FULL,
    writes::POOL_UNUSED,
    content::PACKER_IDLE,
    content::ADVICE_LATE,
    device::SATURATED,
    device::JOURNAL_ON_DATA,
    space::SLABS_REOPENED,
    writes::PARTIAL,
    discards::JOURNAL,
];
