//! What a VDO volume is made of on disk and in memory. Constants are dm-vdo's (`constants.h`, `encodings.h`)
//! and those of vdoformat 8.3.1.1.

/// Size of a VDO block, bytes.
pub(super) const BLOCK: u64 = 4096;
/// Blocks that one leaf page of the block map describes: 5 bytes each.
pub(super) const ENTRIES_PER_PAGE: u64 = 812;
/// Trees of the block map.
const ROOTS: u64 = 60;
/// Levels of the block map between its roots and its leaves.
const INTERIOR_LEVELS: u32 = 3;
/// Blocks of the recovery journal.
const JOURNAL: u64 = 32768;
/// Blocks of the slab summary.
const SUMMARY: u64 = 64;
/// Geometry block and super block.
const HEADERS: u64 = 2;
/// Blocks of a slab's own journal.
const SLAB_JOURNAL: u64 = 224;
/// Reference counts in one block.
const COUNTS_PER_BLOCK: u64 = 4032;
/// The most slabs that a volume can have.
pub(super) const MAX_SLABS: u64 = 8192;
/// Payload of a packed block, bytes: 4096 less its header of 36.
pub(super) const PACKED_BYTES: f64 = 4060.0;
/// The most fragments in a packed block.
pub(super) const PACKED_SLOTS: f64 = 14.0;

const GIB: u64 = 1 << 30;

/// Blocks of the index on disk (vdoformat 8.3.1.1), by its memory in quarters of a GiB: dense, sparse.
const INDEX_BLOCKS: [(u64, u64, u64); 6] = [
    (1, 679_127, 5_822_251),
    (2, 1_366_399, 11_726_359),
    (3, 2_053_669, 17_630_467),
    (4, 2_732_747, 23_452_645),
    (8, 5_496_229, 46_928_887),
    (16, 11_058_007, 93_909_179),
];

/// Blocks that the index takes on disk; for sizes between those known, what the next smaller one gives in
/// proportion, which is at most what it really takes.
pub(super) fn index_blocks(memory_bytes: u64, sparse: bool) -> u64 {
    let quarters = memory_bytes * 4 / GIB;
    let known = INDEX_BLOCKS.iter().rev().find(|(q, ..)| *q <= quarters);
    let (q, dense, wide) = known.copied().unwrap_or(INDEX_BLOCKS[0]);
    (if sparse { wide } else { dense }) * quarters.max(1) / q
}

/// Blocks that are neither slabs nor block map pages.
pub(super) fn fixed_blocks(index_memory: u64, sparse: bool) -> u64 {
    HEADERS + ROOTS + JOURNAL + SUMMARY + index_blocks(index_memory, sparse)
}

/// Whole slabs in a pool of `pool_bytes`.
pub(super) fn slabs(pool_bytes: u64, slab_bytes: u64, index_memory: u64, sparse: bool) -> u64 {
    let room = (pool_bytes / BLOCK).saturating_sub(fixed_blocks(index_memory, sparse));
    room / (slab_bytes / BLOCK).max(1)
}

/// Smallest pool that holds one slab, bytes.
pub(super) fn smallest_pool(slab_bytes: u64, index_memory: u64, sparse: bool) -> u64 {
    fixed_blocks(index_memory, sparse) * BLOCK + slab_bytes
}

/// Blocks of a slab that hold no data: its journal and its reference counts.
pub(super) fn slab_overhead(slab_bytes: u64) -> u64 {
    let blocks = slab_bytes / BLOCK;
    SLAB_JOURNAL + (blocks - SLAB_JOURNAL).div_ceil(COUNTS_PER_BLOCK)
}

/// Blocks that an empty pool counts as overhead: all that is no data block of a slab, the rest after the last slab too.
pub(super) fn empty_overhead(pool_blocks: u64, slabs: u64, slab_bytes: u64) -> u64 {
    pool_blocks.saturating_sub(slabs * (slab_bytes / BLOCK - slab_overhead(slab_bytes)))
}

/// Leaf pages of the block map of a volume.
pub(super) fn leaves(logical_bytes: u64) -> u64 {
    (logical_bytes / BLOCK).div_ceil(ENTRIES_PER_PAGE)
}

/// Pages of the block map between roots and leaves, all levels: at least one in each tree and level.
pub(super) fn interior(logical_bytes: u64) -> u64 {
    let mut below = leaves(logical_bytes);
    (0..INTERIOR_LEVELS)
        .map(|_| {
            below = below.div_ceil(ENTRIES_PER_PAGE).max(ROOTS);
            below
        })
        .sum()
}

/// Kernel memory of a volume, bytes: 38 MiB, the index, the block map cache and its overhead (150 MiB at the
/// least), 1.6 MiB for each logical TiB and 268 MiB for each physical TiB (lvmvdo(7), measured).
pub(super) fn memory(cache: u64, index_memory: u64, logical: u64, physical: u64) -> u64 {
    const MIB: f64 = (1 << 20) as f64;
    let tebibytes = |bytes: u64| bytes as f64 / (1u64 << 40) as f64;
    let cache = (cache as f64 * 1.15).max(150.0 * MIB);
    let maps = (1.6 * tebibytes(logical) + 268.0 * tebibytes(physical)) * MIB;
    (38.0 * MIB + index_memory as f64 + cache + maps) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUARTER: u64 = GIB / 4;

    #[test]
    fn the_smallest_default_pool_is_what_vdoformat_asks_for() {
        assert_eq!(smallest_pool(2 * GIB, QUARTER, false), 5_063_921_664);
        assert_eq!(slabs(5_063_921_664, 2 * GIB, QUARTER, false), 1);
        assert_eq!(slabs(5_063_921_663, 2 * GIB, QUARTER, false), 0);
    }

    #[test]
    fn slab_counts_are_those_of_real_volumes() {
        for (gib, count) in [(5, 1), (10, 3), (12, 4), (15, 6), (200, 98)] {
            assert_eq!(slabs(gib * GIB, 2 * GIB, QUARTER, false), count, "{gib} GiB");
        }
    }

    #[test]
    fn allocating_20_gib_takes_6637_pages() {
        assert_eq!(leaves(20 * GIB) + interior(20 * GIB), 6637);
    }

    #[test]
    fn a_slab_loses_its_journal_and_its_counts() {
        assert_eq!((2 * GIB) / BLOCK - slab_overhead(2 * GIB), 523_934);
    }

    /// Read from real volumes: 10 GiB empty, and 7,511,998,464 bytes with 503 pages of the block map taken off.
    #[test]
    fn the_overhead_of_an_empty_pool_is_that_of_real_ones() {
        assert_eq!(empty_overhead(10 * GIB / BLOCK, 3, 2 * GIB), 1_049_638);
        assert_eq!(empty_overhead(7_511_998_464 / BLOCK, 2, 2 * GIB), 786_619 - 503);
    }

    #[test]
    fn a_10_gib_pool_takes_about_391_mib_of_memory() {
        let mib = memory(128 << 20, QUARTER, 10 * GIB, 10 * GIB) >> 20;
        assert!((380..480).contains(&mib), "{mib}");
    }

    #[test]
    fn index_sizes_between_the_known_ones_are_not_overestimated() {
        assert_eq!(index_blocks(QUARTER, false), 679_127);
        assert_eq!(index_blocks(2 * GIB, true), 46_928_887);
        assert_eq!(index_blocks(3 * GIB, false), 5_496_229 * 12 / 8);
    }
}
