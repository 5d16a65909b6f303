//! VDO's packer: which LZ4 fragments share a physical block.
//!
//! After `packer.c` of dm-vdo: 16 bins kept in the order of their free space; a fragment goes to the fullest bin
//! that has room; when none has, the fullest bin is written out, unless it holds less than the new fragment takes, in
//! which case the new block is written as it is. A bin with one fragment is not worth compressing either.

/// Bytes for fragments in a physical block: 4096 less a header of 36.
pub const PAYLOAD: usize = 4060;
/// Fragments that a physical block can hold.
pub const SLOTS: usize = 14;
/// The largest LZ4 size that the packer takes; anything above is stored as it is.
pub const LARGEST_FRAGMENT: usize = PAYLOAD - 1;
/// Bins that are open at a time.
const BINS: usize = 16;

/// Blocks that share a physical block when all have the LZ4 size `lz4_bytes`: min(14, 4060 / size), and 1 where the
/// packer can do nothing.
pub fn fragments_per_block(lz4_bytes: usize) -> u32 {
    (PAYLOAD / lz4_bytes.max(1)).clamp(1, SLOTS) as u32
}

/// What the packer saves on blocks that all have the LZ4 size `lz4_bytes`, percent: 100 (1 - 1/k).
pub fn uniform_saving_percent(lz4_bytes: usize) -> f64 {
    100.0 * (1.0 - 1.0 / f64::from(fragments_per_block(lz4_bytes)))
}

/// What became of the fragments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packed {
    /// Blocks given to the packer.
    pub blocks: u64,
    /// Of these, fragments stored in a shared physical block.
    pub fragments: u64,
    /// Physical blocks with fragments.
    pub packed_blocks: u64,
    /// Blocks stored as they are.
    pub whole_blocks: u64,
}

impl Packed {
    /// Physical blocks in use.
    pub fn physical_blocks(&self) -> u64 {
        self.packed_blocks + self.whole_blocks
    }

    /// Share of blocks saved, percent; `None` when there were none.
    pub fn saving_percent(&self) -> Option<f64> {
        (self.blocks > 0)
            .then(|| 100.0 * (1.0 - self.physical_blocks() as f64 / self.blocks as f64))
    }
}

#[derive(Debug, Clone, Copy)]
struct Bin {
    free: usize,
    slots: usize,
}

const EMPTY: Bin = Bin { free: PAYLOAD, slots: 0 };

/// The packer's bins, fed with LZ4 sizes in the order of writing.
#[derive(Debug, Clone)]
pub struct Packer {
    /// Fullest first.
    bins: [Bin; BINS],
    done: Packed,
}

impl Default for Packer {
    fn default() -> Self {
        Self { bins: [EMPTY; BINS], done: Packed::default() }
    }
}

impl Packer {
    /// Empty bins.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the packer a block whose LZ4 size is `lz4_bytes`.
    pub fn add(&mut self, lz4_bytes: usize) {
        self.done.blocks += 1;
        let at = match self.bins.iter().position(|bin| bin.free >= lz4_bytes) {
            _ if lz4_bytes > LARGEST_FRAGMENT => None,
            Some(at) => Some(at),
            // Giving up on this block wastes no more than writing the fullest bin out would.
            None if lz4_bytes >= PAYLOAD - self.bins[0].free => None,
            None => {
                self.write_out(0);
                Some(0)
            }
        };
        let Some(at) = at else {
            self.done.whole_blocks += 1;
            return;
        };
        self.bins[at].free -= lz4_bytes;
        self.bins[at].slots += 1;
        if self.bins[at].slots == SLOTS || self.bins[at].free == 0 {
            self.write_out(at);
        }
        self.bins.sort_by_key(|bin| bin.free);
    }

    /// Writes every bin out, as a flush does.
    pub fn flush(&mut self) {
        (0..BINS).for_each(|at| self.write_out(at));
    }

    /// Flushes, and says what became of all blocks.
    pub fn finish(mut self) -> Packed {
        self.flush();
        self.done
    }

    fn write_out(&mut self, at: usize) {
        let bin = std::mem::replace(&mut self.bins[at], EMPTY);
        match bin.slots {
            0 => {}
            1 => self.done.whole_blocks += 1,
            slots => {
                self.done.packed_blocks += 1;
                self.done.fragments += slots as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
