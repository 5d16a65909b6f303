//! Sizes and link counts of files, eight bytes each.

use crate::size::LARGEST;

/// Most names that a file may have: ext4 allows 65,000.
pub(crate) const MOST_LINKS: u32 = 60_000;

/// A file without its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct File {
    /// Its size, bytes.
    pub(crate) size: u64,
    /// Number of its names; 0 if the slot is free.
    pub(crate) links: u32,
}

const SIZE_BITS: u32 = LARGEST.count_ones();

/// Files by the number of their slot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Files {
    /// Size in the low bits, number of links in the high ones; a free slot has 0 links, and the next free slot instead of the size (see `add`).
    slots: Vec<u64>,
    /// The first free slot, where there is one.
    free: Option<u32>,
}

impl Files {
    /// A fixed number of slots, used by slot number (one per name) instead of being allocated by [`Self::add`].
    pub(crate) fn with(len: u32) -> Self {
        Self { slots: vec![0; len as usize], free: None }
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> File {
        let bits = self.slots[slot as usize];
        File { size: bits & LARGEST, links: (bits >> SIZE_BITS) as u32 }
    }

    #[inline]
    pub(crate) fn set(&mut self, slot: u32, file: File) {
        let size = file.size.min(LARGEST);
        self.slots[slot as usize] = size | u64::from(file.links) << SIZE_BITS;
    }

    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        self.slots.get(slot as usize).into_iter().for_each(reduce::prefetch);
    }

    /// Puts a file into a free slot.
    pub(crate) fn add(&mut self, file: File) -> u32 {
        let slot = match self.free {
            Some(slot) => {
                let next = self.get(slot).size;
                // Stored as the slot number plus 1, so that 0 means none.
                self.free = u32::try_from(next).ok().and_then(|next| next.checked_sub(1));
                slot
            }
            None => {
                self.slots.push(0);
                (self.slots.len() - 1) as u32
            }
        };
        self.set(slot, file);
        slot
    }

    /// Frees a slot that [`Self::add`] returned.
    pub(crate) fn remove(&mut self, slot: u32) {
        let next = self.free.map_or(0, |next| u64::from(next) + 1);
        self.set(slot, File { size: next, links: 0 });
        self.free = Some(slot);
    }

    pub(crate) fn memory(&self) -> usize {
        self.slots.capacity() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again_in_any_order() {
        let mut files = Files::default();
        let file = |size| File { size, links: 1 };
        let slots: Vec<_> = (0..5).map(|n| files.add(file(n))).collect();
        [3, 0, 4].into_iter().for_each(|at| files.remove(slots[at]));
        let again: Vec<_> = (10..14).map(|n| files.add(file(n))).collect();
        assert_eq!(again, [slots[4], slots[0], slots[3], 5]);
        assert_eq!((files.get(slots[4]), files.get(slots[1])), (file(10), file(1)));
        files.set(0, File { size: LARGEST, links: MOST_LINKS });
        assert_eq!(files.get(0), File { size: LARGEST, links: MOST_LINKS });
    }
}
