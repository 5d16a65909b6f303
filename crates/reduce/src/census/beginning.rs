//! The first written blocks, complete and in order: they show how the order of sizes affects VDO's packer.
//!
//! The packer combines neighbouring blocks. A sample has no neighbours, and sizes in random order pack better than those of real data, which has
//! stretches of similar sizes. The difference is measured here, and added to the sample's figure.

use std::collections::HashSet;

use crate::lz4::Lz4;
use crate::name::Name;
use crate::packer::{Packed, Packer};
use crate::{BLOCK, Fingerprint};

/// Number of first blocks that are kept: as many as a stratum of a profile has.
pub const BEGINNING: usize = 4096;
/// Smallest number of sizes from which the effect of their order can be estimated.
const FEWEST: usize = 256;
/// Number of stretches, each of which the jackknife leaves out in turn.
const STRETCHES: usize = 8;
/// Factor on the standard error because of the small number of stretches: the 97.5 % quantile of Student's t with 7 degrees of freedom divided by
/// that of the normal distribution.
const STUDENT: f64 = 2.365 / 1.96;

/// The first blocks, until their sizes are measured.
#[derive(Default)]
pub(super) struct Beginning {
    names: Vec<Name>,
    bytes: Vec<u8>,
    closed: bool,
}

impl Beginning {
    /// Keeps the next block while there is room. All blocks must be given in order, zero blocks left out.
    pub(super) fn add(&mut self, name: Name, block: &[u8]) {
        self.closed |= block.len() != BLOCK || self.names.len() == BEGINNING;
        if !self.closed {
            self.names.push(name);
            self.bytes.extend_from_slice(block);
        }
    }

    /// Notes that blocks will be missing from now on, so that nothing more is kept.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Number of blocks that are kept.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The LZ4 sizes of the distinct contents in order, each with its fingerprint.
    pub(super) fn sizes(&self) -> Vec<(Fingerprint, usize)> {
        let mut lz4 = Lz4::new();
        let mut seen = HashSet::new();
        let (blocks, _) = self.bytes.as_chunks::<BLOCK>();
        let first = self.names.iter().zip(blocks).filter(|(name, _)| seen.insert(name.print));
        first.filter_map(|(name, block)| Some((name.print, lz4.size(block).ok()?))).collect()
    }
}

/// The packer's result for blocks with these sizes.
pub(super) fn packed(sizes: impl IntoIterator<Item = usize>) -> Packed {
    let mut packer = Packer::new();
    sizes.into_iter().for_each(|size| packer.add(size));
    packer.finish()
}

/// Percentage points by which the packer saves more on sizes in their order than in random order, and the standard error of that by the
/// delete-a-group jackknife (Efron 1982): sqrt((g - 1) / g x sum of squares) over g stretches. `None` if there are too few sizes.
pub(super) fn gained_by_order(sizes: &[(Fingerprint, usize)]) -> Option<(f64, f64)> {
    if sizes.len() < FEWEST {
        return None;
    }
    let mut random: Vec<usize> = (0..sizes.len()).collect();
    // The order of fingerprints, a random order that is the same every time.
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
