//! The figures that a content will be measured to have, from its spec alone.

use reduce::{BLOCK, fragments_per_block};
use serde::{Deserialize, Serialize};

use crate::ContentSpec;
use crate::sizes::Sizes;

/// The figures that written content will be measured to have, when the request is met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Duplicates among all written blocks (live scope: among all that addresses hold), percent.
    pub duplicate_percent: f64,
    /// Saving of LZ4 on distinct blocks that are not zero, percent.
    pub lz4_saving_percent: f64,
    /// Mean LZ4 size of distinct blocks that are not zero, bytes.
    pub lz4_size_mean_bytes: f64,
    /// Tells whether all blocks that are not zero have that size.
    pub alike: bool,
    /// Zero blocks among all written blocks, percent.
    pub zero_percent: f64,
    /// Blocks that VDO's packer puts into one physical block, where all have one size; 1 when it can do nothing.
    pub fragments_per_block: u32,
    /// Saving of VDO's packer on distinct blocks that are not zero, written once and without flushes, percent;
    /// `None` for blocks that are not of 4096 bytes.
    pub packer_saving_percent: Option<f64>,
}

impl ContentSpec {
    /// Returns what the written blocks will be found to be.
    pub fn expected(&self) -> Expected {
        let sizes = self.sizes();
        let mean = sizes.mean_bytes();
        let (duplicate, zero) = self.shares();
        Expected {
            duplicate_percent: 100.0 * duplicate,
            lz4_saving_percent: 100.0 * (1.0 - mean / self.unit() as f64),
            lz4_size_mean_bytes: mean,
            alike: matches!(sizes, Sizes::One(_)),
            zero_percent: 100.0 * zero,
            fragments_per_block: if self.unit() == BLOCK {
                fragments_per_block(mean.round() as usize)
            } else {
                1
            },
            packer_saving_percent: (self.unit() == BLOCK).then(|| sizes.packer_saving_percent()),
        }
    }
}
