//! VDO's packer: determines which LZ4 fragments share a physical block.
//!
//! The rules are those of [`Bins`]; this module has what follows from sizes alone.

use crate::bins::{Bins, Fragment, PAYLOAD, SLOTS};

/// Number of blocks in a physical block if all have the LZ4 size `lz4_bytes`: min(14, 4060 / size), and 1 where the packer cannot combine them.
pub fn fragments_per_block(lz4_bytes: usize) -> u32 {
    (PAYLOAD / lz4_bytes.max(1)).clamp(1, SLOTS) as u32
}

/// Returns the saving of the packer on blocks that all have the LZ4 size `lz4_bytes`, percent: 100 (1 - 1/k).
pub fn uniform_saving_percent(lz4_bytes: usize) -> f64 {
    100.0 * (1.0 - 1.0 / f64::from(fragments_per_block(lz4_bytes)))
}

/// Counts of blocks by the way in which the packer stored them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packed {
    /// Blocks given to the packer.
    pub blocks: u64,
    /// Fragments stored in a shared physical block.
    pub fragments: u64,
    /// Physical blocks with fragments.
    pub packed_blocks: u64,
    /// Blocks stored uncompressed.
    pub whole_blocks: u64,
}

impl Packed {
    /// Physical blocks in use.
    pub fn physical_blocks(&self) -> u64 {
        self.packed_blocks + self.whole_blocks
    }

    /// Counts one physical block that holds this many fragments.
    fn count(&mut self, fragments: usize) {
        if fragments < 2 {
            self.whole_blocks += 1;
        } else {
            self.packed_blocks += 1;
            self.fragments += fragments as u64;
        }
    }

    /// Share of blocks saved, percent; `None` when there were none.
    pub fn saving_percent(&self) -> Option<f64> {
        (self.blocks > 0)
            .then(|| 100.0 * (1.0 - self.physical_blocks() as f64 / self.blocks as f64))
    }
}

/// The packer fed with LZ4 sizes alone, in the order of writing.
#[derive(Debug, Clone, Default)]
pub struct Packer {
    bins: Bins,
    done: Packed,
}

impl Packer {
    /// A packer with empty bins.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the packer a block whose LZ4 size is `lz4_bytes`.
    pub fn add(&mut self, lz4_bytes: usize) {
        self.done.blocks += 1;
        let done = &mut self.done;
        self.bins.add(Fragment { lz4_bytes, tag: 0 }, &mut |block| done.count(block.len()));
    }

    /// Writes every bin out, as a flush does.
    pub fn flush(&mut self) {
        let done = &mut self.done;
        self.bins.flush(&mut |block| done.count(block.len()));
    }

    /// Flushes, and returns the counts of all blocks.
    pub fn finish(mut self) -> Packed {
        self.flush();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bins::LARGEST_FRAGMENT;

    fn pack(sizes: impl IntoIterator<Item = usize>) -> Packed {
        let mut packer = Packer::new();
        sizes.into_iter().for_each(|size| packer.add(size));
        packer.finish()
    }

    #[test]
    fn blocks_of_one_size_share_as_the_formula_says() {
        for size in [30, 290, 291, 676, 677, 1015, 1353, 1354, 1638, 2030, 2031, 2048, 4059, 4096] {
            let k = u64::from(fragments_per_block(size));
            let packed = pack(std::iter::repeat_n(size, 14 * 13 * 12 * 11 * 10));
            assert_eq!(packed.physical_blocks(), packed.blocks / k, "size {size}, k {k}");
            assert_eq!(packed.fragments, if k == 1 { 0 } else { packed.blocks }, "size {size}");
        }
    }

    #[test]
    fn the_formula_gives_the_known_counts() {
        let known = [(1024, 3), (1365, 2), (1638, 2), (2030, 2), (2048, 1), (290, 14), (100, 14)];
        for (size, k) in known {
            assert_eq!(fragments_per_block(size), k, "size {size}");
        }
        assert_eq!(uniform_saving_percent(1638), 50.0);
        assert_eq!(uniform_saving_percent(2048), 0.0);
    }

    /// Pairs that dm-vdo 9.1 packed, and one that it did not.
    #[test]
    fn mixed_sizes_pair_when_they_fit() {
        assert_eq!(pack([2537, 1433]).packed_blocks, 1);
        assert_eq!(pack([3535, 430]).packed_blocks, 1);
        assert_eq!(pack([2537, 1533]).packed_blocks, 0);
    }

    #[test]
    fn nothing_gives_no_saving_rather_than_zero() {
        assert_eq!(pack([]).saving_percent(), None);
        assert_eq!(pack([100]).saving_percent(), Some(0.0));
    }

    proptest::proptest! {
        #[test]
        fn every_block_is_stored_once_and_none_too_many_share(sizes in proptest::collection::vec(1usize..=4096, 0..2000)) {
            let total: usize = sizes.iter().filter(|&&s| s <= LARGEST_FRAGMENT).sum();
            let packed = pack(sizes.iter().copied());
            proptest::prop_assert_eq!(packed.blocks, sizes.len() as u64);
            proptest::prop_assert_eq!(packed.fragments + packed.whole_blocks, packed.blocks);
            proptest::prop_assert!(packed.fragments <= packed.packed_blocks * SLOTS as u64);
            proptest::prop_assert!(packed.fragments >= packed.packed_blocks * 2);
            proptest::prop_assert!(packed.physical_blocks() as usize >= total / 4096);
        }
    }
}
