//! The sequence of sizes of one offset stream's I/Os.

use units::Seed;

use crate::BlockSize;
use crate::deck::Deck;

/// Sizes in bytes; shares of several are exact in each deck.
#[derive(Debug, Clone)]
pub(crate) enum Sizes {
    Fixed(u32),
    Mixed { deck: Box<Deck>, sizes: Box<[u32]> },
}

impl Sizes {
    /// The sizes of `block_size`; those of a range are multiples of `align`.
    pub(crate) fn new(block_size: &BlockSize, align: u64, seed: Seed) -> Self {
        // No I/O is larger than 64 MiB.
        let size = |bytes: u64| bytes as u32;
        match block_size {
            BlockSize::Fixed(bytes) => Self::Fixed(size(bytes.0)),
            BlockSize::Weighted(sizes) => Self::Mixed {
                deck: Box::new(Deck::of_shares(sizes.iter().map(|(_, share)| *share), seed)),
                sizes: sizes.iter().map(|(bytes, _)| size(bytes.0)).collect(),
            },
            BlockSize::Between(low, high) => {
                let step = align.max(1);
                let kinds = (high.0 - low.0) / step + 1;
                let deck = Box::new(Deck::of_each(kinds, seed));
                let sizes = (0..deck.len()).map(|n| size(low.0 + n * step)).collect();
                Self::Mixed { deck, sizes }
            }
        }
    }

    /// Number of I/Os after which every size has come as often as its share asks.
    pub(crate) fn deck_len(&self) -> u64 {
        match self {
            Self::Fixed(_) => 1,
            Self::Mixed { deck, .. } => deck.len(),
        }
    }

    /// The next size, bytes.
    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        match self {
            Self::Fixed(size) => *size,
            Self::Mixed { deck, sizes } => sizes[usize::from(deck.draw())],
        }
    }

    /// All sizes that occur.
    pub(crate) fn each(&self) -> impl Iterator<Item = u32> + '_ {
        match self {
            Self::Fixed(size) => std::slice::from_ref(size).iter().copied(),
            Self::Mixed { sizes, .. } => sizes.iter().copied(),
        }
    }

    pub(crate) fn seek(&mut self, n: u64) {
        if let Self::Mixed { deck, .. } = self {
            deck.seek(n);
        }
    }

    /// The sum of `worth` over the first `n` sizes.
    pub(crate) fn sum(&self, n: u64, worth: impl Fn(u64) -> u64) -> u64 {
        match self {
            Self::Fixed(size) => n.saturating_mul(worth(u64::from(*size))),
            Self::Mixed { deck, sizes } => {
                deck.sum(n, |card| worth(u64::from(sizes[usize::from(card)])))
            }
        }
    }
}
