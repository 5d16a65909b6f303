//! A packer in the middle of its data, with what it has stored so far.

use crate::bins::{Bins, Fragment};

/// The tag of a fragment that is about to leave the packer.
const LEAVING_SOON: u32 = 1;

/// A packer in the middle of its data: an open bin counts as a partly filled block rather than a whole one.
#[derive(Debug, Clone, Default)]
pub struct Ongoing {
    bins: Bins,
    blocks: f64,
    written: f64,
    shared: f64,
    shared_bytes: f64,
}

impl Ongoing {
    /// Packs one more block, given its LZ4 size in bytes.
    pub fn add(&mut self, lz4_bytes: usize) {
        self.pack(Fragment { lz4_bytes, tag: 0 });
    }

    fn pack(&mut self, fragment: Fragment) {
        self.blocks += 1.0;
        let Self { bins, written, shared, shared_bytes, .. } = self;
        bins.add(fragment, &mut |block| {
            *written += 1.0;
            if block.len() > 1 {
                *shared += 1.0;
                *shared_bytes += filled(block);
            }
        });
    }

    /// Packs a block whose content is written again right after it: if it is still in the packer, it leaves it and is stored uncompressed.
    pub fn add_near(&mut self, lz4_bytes: usize) {
        self.pack(Fragment { lz4_bytes, tag: LEAVING_SOON });
        if self.bins.remove(LEAVING_SOON).is_some() {
            self.written += 1.0;
        }
    }

    /// Number of physical blocks so far. An open bin counts as a part of one: its bytes over the mean bytes of a shared block.
    pub fn physical(&self) -> f64 {
        let full = if self.shared > 0.0 { self.shared_bytes / self.shared } else { 0.0 };
        let (mut physical, mut open) = (self.written, self.bins.clone());
        open.flush(&mut |block| physical += (filled(block) / full).min(1.0));
        physical
    }

    /// Returns the saving compared with the number of blocks, percent.
    pub fn saving_percent(&self) -> f64 {
        100.0 * (1.0 - self.physical() / self.blocks.max(1.0))
    }
}

fn filled(block: &[Fragment]) -> f64 {
    block.iter().map(|fragment| fragment.lz4_bytes).sum::<usize>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_bins_count_as_far_as_they_are_filled() {
        let mut ongoing = Ongoing::default();
        assert_eq!((ongoing.physical(), ongoing.saving_percent()), (0.0, 100.0));
        // Pairs that fill a block to its last byte: 2030 + 2030 of 4060.
        (0..2 * 40).for_each(|_| ongoing.add(2030));
        assert_eq!((ongoing.physical(), ongoing.saving_percent()), (40.0, 50.0));
        ongoing.add(2030);
        assert_eq!(ongoing.physical(), 40.5);
        ongoing.add(4096);
        assert_eq!(ongoing.physical(), 41.5, "what cannot be packed is a block of its own");
    }

    #[test]
    fn a_block_that_comes_again_at_once_is_stored_as_it_is() {
        let mut ongoing = Ongoing::default();
        (0..2 * 40).for_each(|_| ongoing.add(2030));
        (0..10).for_each(|_| ongoing.add_near(1000));
        assert_eq!(ongoing.physical(), 50.0);
        // A fragment that fills a block to its last byte is written out with it at once.
        ongoing.add(2030);
        ongoing.add_near(2030);
        assert_eq!(ongoing.physical(), 51.0);
    }

    #[test]
    fn one_bin_alone_is_one_block() {
        let mut ongoing = Ongoing::default();
        ongoing.add(1000);
        assert_eq!(ongoing.physical(), 1.0, "nothing tells yet how full a block becomes");
    }
}
