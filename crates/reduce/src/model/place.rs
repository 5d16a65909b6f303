//! Places of stored copies: alone in a physical block, together with others, or still in the packer.
//!
//! The packer combines blocks that arrive within some dozens of blocks of each other, so the model has to feed it as many fragments, and as close
//! together, as VDO does. A copy whose size was not measured, and each copy that a sampled one stands for, gets one of the last known sizes.

use super::figures::{Figures, RECENT_SIZES};
use super::table::Entry;
use crate::bins::{Bins, Fragment};

/// Marks a copy whose physical block is not written yet.
const PARKED: u32 = u32::MAX;
/// The tag of fragments without a stored copy of their own.
const NOBODY: u32 = u32::MAX;
/// The weight of a copy whose size was not measured.
const UNSIZED: u8 = u8::MAX;

/// Stored copies, each identified by its number in the order of storing.
#[derive(Debug, Clone, Default)]
pub struct Places {
    bins: Bins,
    stored: Stored,
    last: [u16; RECENT_SIZES],
    taken: usize,
    /// Number of copies that came before the first size; they get sizes as soon as there are some.
    early: u64,
}

/// The state of the stored copies, by their number.
#[derive(Debug, Clone, Default)]
struct Stored {
    /// The number of the first copy in the same physical block.
    leader: Vec<u32>,
    /// Number of references to the physical block whose first copy this is.
    references: Vec<u8>,
    /// log2 of the number of contents that a copy's size stands for.
    weight: Vec<u8>,
}

/// A copy to be stored.
#[derive(Debug, Clone, Copy)]
pub struct StoredCopy {
    /// Its content's name.
    pub name: u64,
    /// Its size, and log2 of the number of contents that this size stands for.
    pub size: Option<(u16, u8)>,
    /// Number of copies that it stands for.
    pub each: u64,
}

impl Places {
    /// Stores a copy; returns its number.
    #[inline]
    pub fn store(&mut self, copy: StoredCopy, figures: &mut Figures) -> u32 {
        let tag = self.stored.push(copy.size.map_or(UNSIZED, |size| size.1));
        if let Some((size, _)) = copy.size {
            self.last[self.taken % RECENT_SIZES] = size;
            self.taken += 1;
            figures.sized_copies += 1;
        }
        if self.taken == 0 {
            self.early += copy.each;
            self.stored.leader[tag as usize] = tag;
            return tag;
        }
        let lz4_bytes = copy.size.map_or_else(|| self.recent_size(copy.name), |size| size.0);
        self.add(Fragment { lz4_bytes: usize::from(lz4_bytes), tag }, figures);
        let more = copy.each - 1 + std::mem::take(&mut self.early);
        for n in 0..more {
            let size = self.recent_size(copy.name.rotate_left(n as u32 | 1).wrapping_add(n));
            self.add(Fragment { lz4_bytes: usize::from(size), tag: NOBODY }, figures);
        }
        tag
    }

    fn add(&mut self, fragment: Fragment, figures: &mut Figures) {
        let stored = &mut self.stored;
        self.bins.add(fragment, &mut |block| stored.written(block, figures));
    }

    /// Returns one of the last measured sizes.
    fn recent_size(&self, name: u64) -> u16 {
        let drawn = (name.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as usize;
        self.last[drawn % RECENT_SIZES.min(self.taken.max(1))]
    }

    /// Adds a reference to the copy of `entry`; returns false if its physical block already has as many references as it can have. A copy that is
    /// still in the packer leaves it.
    #[inline]
    pub fn share(&mut self, entry: &Entry, most: u32, figures: &mut Figures) -> bool {
        let tag = entry.place;
        let Some(&leader) = self.stored.leader.get(tag as usize) else { return true };
        let at = if leader == PARKED {
            if let Some(fragment) = self.bins.remove(tag) {
                figures.cancelled += 1;
                self.stored.written(&[fragment], figures);
            }
            tag as usize
        } else {
            leader as usize
        };
        let references = &mut self.stored.references[at];
        let free = u32::from(*references) < most.min(255);
        *references += u8::from(free);
        free
    }

    /// Writes out what the packer holds.
    pub fn flush(&mut self, figures: &mut Figures) {
        // If nothing was ever sized, every copy takes a block of its own.
        figures.physical += std::mem::take(&mut self.early);
        let stored = &mut self.stored;
        self.bins.flush(&mut |block| stored.written(block, figures));
    }
}

impl Stored {
    /// Adds a copy with the weight of its size; returns its number.
    fn push(&mut self, weight: u8) -> u32 {
        let tag = self.leader.len() as u32;
        self.leader.push(PARKED);
        self.references.push(1);
        self.weight.push(weight);
        tag
    }

    /// Notes a physical block and the copies that share it.
    fn written(&mut self, block: &[Fragment], figures: &mut Figures) {
        let known = |fragment: &&Fragment| fragment.tag != NOBODY;
        let leader = block.iter().find(known).map_or(NOBODY, |fragment| fragment.tag);
        let mut references = 0u32;
        let bytes: usize = block.iter().map(|fragment| fragment.lz4_bytes).sum();
        figures.note_block(block.len() as u64);
        for fragment in block {
            if fragment.tag == NOBODY {
                references += 1;
                continue;
            }
            let at = fragment.tag as usize;
            references += u32::from(self.references[at]);
            self.leader[at] = leader;
            if self.weight[at] != UNSIZED {
                // The cost of a block is divided in proportion to bytes: a small fragment that fills a gap costs little.
                let cost = fragment.lz4_bytes as f64 / bytes.max(1) as f64;
                figures.note_cost((1u64 << self.weight[at]) as f64, cost);
            }
        }
        if leader != NOBODY {
            self.references[leader as usize] = references.min(255) as u8;
        }
    }
}
