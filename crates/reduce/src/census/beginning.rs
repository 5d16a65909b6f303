//! The beginning of what is written, every block of it in order: so that it is known what sizes do as they follow each other.
//!
//! VDO's packer pairs neighbours. A sample of contents has none, and random neighbours pack better than those of real data, which
//! has stretches of like sizes.

use std::collections::HashSet;

use crate::lz4::Lz4;
use crate::name::Name;
use crate::packer::{Packed, Packer};
use crate::{BLOCK, Fingerprint};

/// Blocks that are kept of the beginning: as many as a stratum of a profile has.
pub const BEGINNING: usize = 4096;
/// With fewer sizes than this nothing is said of their order.
const FEWEST: usize = 256;
/// Stretches that are left out in turn to see how much hangs on each.
const STRETCHES: usize = 8;
/// By how much an error of so few stretches is larger than a normal law says: Student's 2.365 for 1.96.
const STUDENT: f64 = 2.365 / 1.96;

/// The blocks, until their sizes are taken.
#[derive(Default)]
pub(super) struct Beginning {
    names: Vec<Name>,
    bytes: Vec<u8>,
    closed: bool,
}

impl Beginning {
    /// Keeps the next block, as long as there is room; blocks that came before and zero blocks left out, all must be given.
    pub(super) fn add(&mut self, name: Name, block: &[u8]) {
        self.closed |= block.len() != BLOCK || self.names.len() == BEGINNING;
        if !self.closed {
            self.names.push(name);
            self.bytes.extend_from_slice(block);
        }
    }

    /// No block comes any more, or not every one.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Blocks that are kept.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The sizes of its contents in order, each with its fingerprint.
    pub(super) fn sizes(&self) -> Vec<(Fingerprint, usize)> {
        let mut lz4 = Lz4::new();
        let mut seen = HashSet::new();
        let (blocks, _) = self.bytes.as_chunks::<BLOCK>();
        let first = self.names.iter().zip(blocks).filter(|(name, _)| seen.insert(name.print));
        first.filter_map(|(name, block)| Some((name.print, lz4.size(block).ok()?))).collect()
    }
}

/// What the packer makes of blocks with these sizes.
pub(super) fn packed(sizes: impl IntoIterator<Item = usize>) -> Packed {
    let mut packer = Packer::new();
    sizes.into_iter().for_each(|size| packer.add(size));
    packer.finish()
}

/// By how many points the packer saves more on sizes in their order than in a random one, with the standard error of that where more of
/// the same follows (by leaving out each of a few stretches, Efron's jackknife); `None` where they are too few to tell.
pub(super) fn gained_by_order(sizes: &[(Fingerprint, usize)]) -> Option<(f64, f64)> {
    if sizes.len() < FEWEST {
        return None;
    }
    let mut random: Vec<usize> = (0..sizes.len()).collect();
    // By fingerprint: random to the packer, and the same every time.
    random.sort_unstable_by_key(|&at| sizes[at].0);
    let gained = |left_out: std::ops::Range<usize>| {
        let saved = |order: &mut dyn Iterator<Item = usize>| {
            let kept = order.filter(|at| !left_out.contains(at)).map(|at| sizes[at].1);
            packed(kept).saving_percent().unwrap_or_default()
        };
        saved(&mut (0..sizes.len())) - saved(&mut random.iter().copied())
    };
    let length = sizes.len().div_ceil(STRETCHES);
    let without: Vec<f64> =
        (0..sizes.len()).step_by(length).map(|at| gained(at..at + length)).collect();
    let count = without.len() as f64;
    let mean = without.iter().sum::<f64>() / count;
    let squares: f64 = without.iter().map(|one| (one - mean).powi(2)).sum();
    Some((gained(0..0), STUDENT * ((count - 1.0) / count * squares).sqrt()))
}
