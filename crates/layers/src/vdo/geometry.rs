//! Parts of a VDO volume, from the layer's settings; their sizes are computed by `reduce`, which the estimate uses too.

use reduce::index::{Geometry, IndexMemory};
use reduce::space::{self, SlabBits};

pub(super) use reduce::space::{MAP_ENTRIES, MOST_SLABS};

/// Size of a VDO block, bytes.
pub(super) const BLOCK: u64 = reduce::BLOCK as u64;
/// The end of a pool, with the recovery journal and the slab summary, bytes.
pub(super) const TAIL: u64 = space::TAIL * BLOCK;
/// I/Os that VDO has in flight at most, a block each.
pub(super) const IN_FLIGHT: u64 = 2048;
/// Payload of a packed block, bytes.
pub(super) const PACKED_BYTES: f64 = reduce::PAYLOAD as f64;
/// The most fragments in a packed block.
pub(super) const PACKED_SLOTS: f64 = reduce::SLOTS as f64;

/// Returns the index with this memory, or the next larger index that VDO takes; above 1 TiB it is the largest.
fn index(memory_bytes: u64, sparse: bool) -> Geometry {
    let largest = IndexMemory::at_least(1 << 40).unwrap_or(IndexMemory::SMALLEST);
    Geometry { memory: IndexMemory::at_least(memory_bytes).unwrap_or(largest), sparse }
}

/// Blocks that an index with so much memory remembers.
pub(super) fn window(index_memory: u64, sparse: bool) -> u64 {
    index(index_memory, sparse).window_blocks()
}

/// Number of whole slabs in a pool of `pool_bytes`, without VDO's limit on their number.
pub(super) fn slabs(pool_bytes: u64, slab_bytes: u64, index_memory: u64, sparse: bool) -> u64 {
    let outside = space::outside_slabs(index(index_memory, sparse));
    (pool_bytes / BLOCK).saturating_sub(outside) / (slab_bytes / BLOCK).max(1)
}

/// Smallest pool that holds one slab, bytes.
pub(super) fn smallest_pool(slab_bytes: u64, index_memory: u64, sparse: bool) -> u64 {
    space::outside_slabs(index(index_memory, sparse)) * BLOCK + slab_bytes
}

/// Blocks that an empty pool counts as overhead: all but the data blocks of slabs, including the rest after the last slab.
pub(super) fn empty_overhead(pool_blocks: u64, slabs: u64, slab_bytes: u64) -> u64 {
    let slab = SlabBits::new((slab_bytes / BLOCK).max(1).ilog2()).unwrap_or(SlabBits::DEFAULT);
    pool_blocks.saturating_sub(slabs * slab.data_blocks())
}

/// Leaf pages of the block map of a volume.
pub(super) fn leaves(logical_bytes: u64) -> u64 {
    space::leaf_pages(logical_bytes / BLOCK)
}

/// Pages of the block map between roots and leaves, all levels.
pub(super) fn interior(logical_bytes: u64) -> u64 {
    space::interior_pages(logical_bytes / BLOCK)
}

/// Kernel memory of a volume, bytes.
pub(super) fn memory(cache: u64, index_memory: u64, logical: u64, physical: u64) -> u64 {
    space::memory_bytes(logical, physical, index(index_memory, false), cache)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
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
}
