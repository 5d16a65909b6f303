//! The reservoir: a bounded sample of the blocks of the census, kept with their bytes until their LZ4 size is measured.
//!
//! It has a sampling shift of its own on top of that of the census. When it is full the shift is raised and blocks that no longer pass are dropped (a
//! threshold sample by hash, so that it does not depend on the order of arrival).

use rustc_hash::FxHashMap as HashMap;

use crate::name::Name;
use crate::pick::MAX_SHIFT;
use crate::{BLOCK, Fingerprint};

/// Most blocks whose LZ4 size is measured, if they have 4096 bytes.
pub(crate) const SIZED_BLOCKS: usize = 2048;
/// Most bytes of these blocks together; of larger blocks fewer are kept, but at least one.
const SIZED_BYTES: usize = SIZED_BLOCKS * BLOCK;

/// Most blocks of `unit` bytes whose LZ4 size is measured.
pub const fn most_sized(unit: usize) -> usize {
    let blocks = SIZED_BYTES / unit;
    if blocks > SIZED_BLOCKS {
        SIZED_BLOCKS
    } else if blocks == 0 {
        1
    } else {
        blocks
    }
}

/// The kept blocks.
pub(super) struct Reservoir {
    /// Bytes of a block.
    unit: usize,
    shift: u32,
    places: HashMap<Fingerprint, (Name, usize)>,
    /// The blocks, one after the other, in one allocation.
    bytes: Vec<u8>,
    free: Vec<usize>,
}

impl Reservoir {
    pub(super) fn new(unit: usize) -> Self {
        Self { unit, shift: 0, places: HashMap::default(), bytes: Vec::new(), free: Vec::new() }
    }

    /// The sampling shift.
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// Number of kept blocks.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Drops blocks that are no longer in the sample of the census.
    pub(super) fn tighten(&mut self, shift: u32) {
        self.retain(|name| name.passes(shift));
    }

    /// Raises the sampling shift to at least `shift`.
    pub(super) fn tighten_to(&mut self, shift: u32) {
        let shift = shift.min(MAX_SHIFT);
        if shift > self.shift {
            self.shift = shift;
            self.retain(|name| name.is_sized(shift));
        }
    }

    fn retain(&mut self, keep: impl Fn(Name) -> bool) {
        let Self { places, free, .. } = self;
        places.retain(|_, &mut (name, place)| {
            let kept = keep(name);
            if !kept {
                free.push(place);
            }
            kept
        });
    }

    /// Keeps a block of the census' sample, if it passes the shift and is not kept yet.
    pub(super) fn keep(&mut self, name: Name, block: &[u8]) {
        if !name.is_sized(self.shift) || self.places.contains_key(&name.print) {
            return;
        }
        let most = most_sized(self.unit);
        if let Some(place) = self.free.pop() {
            self.bytes[place..place + self.unit].copy_from_slice(block);
            self.places.insert(name.print, (name, place));
        } else {
            if self.bytes.is_empty() {
                // One block more than `most` is held before the shift is raised.
                self.bytes.reserve_exact((most + 1) * self.unit);
            }
            self.places.insert(name.print, (name, self.bytes.len()));
            self.bytes.extend_from_slice(block);
        }
        while self.places.len() > most && self.shift < MAX_SHIFT {
            self.tighten_to(self.shift + 1);
        }
    }

    /// All blocks in the order of their fingerprints, a random order that is the same every time.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &[u8]> {
        let mut places: Vec<_> =
            self.places.iter().map(|(print, &(_, place))| (print, place)).collect();
        places.sort_unstable();
        places.into_iter().map(|(_, place)| &self.bytes[place..place + self.unit])
    }
}
