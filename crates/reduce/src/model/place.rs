//! Where stored copies are: alone in a physical block, together with others, or still in the packer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::figures::Figures;
use super::table::Entry;
use crate::bins::{Bins, Fragment};

/// The place of a copy whose size was not taken; references to it are counted in the low bits.
pub const UNSIZED: u32 = 1 << 31;
/// A copy whose physical block is not written yet.
const PARKED: u32 = u32::MAX;

/// Stored copies whose sizes are known, each a number in the order of storing.
#[derive(Debug, Clone, Default)]
pub struct Places {
    bins: Bins,
    /// The number of the first copy in the same physical block.
    leader: Vec<u32>,
    /// References to the physical block that a copy leads.
    references: Vec<u8>,
    /// What each copy counts for.
    weight: Vec<f32>,
    /// Copies that are to leave the packer once so many have been stored.
    leaving: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Places {
    /// Stores a copy; gives its number.
    #[inline]
    pub fn store(&mut self, lz4_bytes: u16, weight: f64, figures: &mut Figures) -> u32 {
        let tag = self.leader.len() as u32;
        self.leader.push(PARKED);
        self.references.push(1);
        self.weight.push(weight as f32);
        figures.note_stored(weight);
        let fragment = Fragment { lz4_bytes: usize::from(lz4_bytes), tag };
        let mut bins = std::mem::take(&mut self.bins);
        bins.add(fragment, &mut |block| self.written(block, figures));
        self.bins = bins;
        while let Some(&Reverse((due, tag))) = self.leaving.peek() {
            if due > self.leader.len() as u64 {
                break;
            }
            self.leaving.pop();
            self.leave(tag, figures);
        }
        tag
    }

    /// Refers to the copy of `entry` once more; false when its physical block has as many references as it can have.
    /// `distance` is how many distinct blocks were written since. A copy that is still in the packer
    /// leaves it: at once, or, when sizes are sampled and fewer copies pass through the packer than
    /// would in truth, when as many have.
    #[inline]
    pub fn share(&mut self, entry: &mut Entry, distance: u64, most: u32) -> bool {
        if entry.place & UNSIZED != 0 {
            let references = 1 + (entry.place & !UNSIZED);
            entry.place += u32::from(references < most);
            return references < most;
        }
        let at = entry.place as usize;
        let Some(&leader) = self.leader.get(at) else { return true };
        if leader == PARKED {
            self.leaving.push(Reverse((entry.place as u64 + distance, entry.place)));
        }
        let at = if leader == PARKED { at } else { leader as usize };
        let free = u32::from(self.references[at]) < most.min(255);
        self.references[at] += u8::from(free);
        free
    }

    /// Writes out what the packer holds.
    pub fn flush(&mut self, figures: &mut Figures) {
        while let Some(Reverse((due, tag))) = self.leaving.pop() {
            if due <= self.leader.len() as u64 {
                self.leave(tag, figures);
            }
        }
        let mut bins = std::mem::take(&mut self.bins);
        bins.flush(&mut |block| self.written(block, figures));
        self.bins = bins;
    }

    fn leave(&mut self, tag: u32, figures: &mut Figures) {
        if self.leader.get(tag as usize) == Some(&PARKED)
            && let Some(fragment) = self.bins.remove(tag)
        {
            figures.cancelled += f64::from(self.weight[tag as usize]);
            self.written(&[fragment], figures);
        }
    }

    /// Notes a physical block and who shares it.
    fn written(&mut self, block: &[Fragment], figures: &mut Figures) {
        let Some(leader) = block.first().map(|fragment| fragment.tag) else { return };
        let mut references = 0u32;
        let bytes: usize = block.iter().map(|fragment| fragment.lz4_bytes).sum();
        for fragment in block {
            let at = fragment.tag as usize;
            references += u32::from(self.references[at]);
            self.leader[at] = leader;
            // A block's cost is divided by bytes: a small fragment that fills a gap costs little.
            let cost = fragment.lz4_bytes as f64 / bytes.max(1) as f64;
            figures.note_placed(f64::from(self.weight[at]), cost, block.len());
        }
        self.references[leader as usize] = references.min(255) as u8;
    }
}
