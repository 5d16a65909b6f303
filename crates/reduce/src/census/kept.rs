//! Blocks that are kept until their size is taken: a sample of the census' sample, under a strictness of its own.

use rustc_hash::FxHashMap as HashMap;

use crate::name::Name;
use crate::pick::MAX_SHIFT;
use crate::{BLOCK, Fingerprint};

/// Most blocks whose LZ4 size is taken, when they are of 4096 bytes.
pub(crate) const SIZED_BLOCKS: usize = 2048;
/// Bytes of these that are kept until the end; of larger blocks so many fewer are, but one always.
const SIZED_BYTES: usize = SIZED_BLOCKS * BLOCK;

/// Most blocks of `unit` bytes whose LZ4 size is taken.
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

/// The blocks.
pub(super) struct Kept {
    /// Bytes of a block.
    unit: usize,
    shift: u32,
    places: HashMap<Fingerprint, (Name, usize)>,
    /// Places of blocks, one behind the other. All in one piece, which the machine is asked for once.
    bytes: Vec<u8>,
    free: Vec<usize>,
}

impl Kept {
    pub(super) fn new(unit: usize) -> Self {
        Self { unit, shift: 0, places: HashMap::default(), bytes: Vec::new(), free: Vec::new() }
    }

    /// How strictly they are picked.
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// Blocks that are kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Drops those that a stricter sample of the census has not.
    pub(super) fn tighten(&mut self, shift: u32) {
        self.retain(|name| name.passes(shift));
    }

    /// Picks at least as strictly as this.
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

    /// Keeps a block of the census' sample, if it is picked and not kept yet.
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
                // One more is held before it is seen that they are too many.
                self.bytes.reserve_exact((most + 1) * self.unit);
            }
            self.places.insert(name.print, (name, self.bytes.len()));
            self.bytes.extend_from_slice(block);
        }
        while self.places.len() > most && self.shift < MAX_SHIFT {
            self.tighten_to(self.shift + 1);
        }
    }

    /// All of them, in the order of their fingerprints: random to the packer, and the same every time.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &[u8]> {
        let mut places: Vec<_> =
            self.places.iter().map(|(print, &(_, place))| (print, place)).collect();
        places.sort_unstable();
        places.into_iter().map(|(_, place)| &self.bytes[place..place + self.unit])
    }
}
