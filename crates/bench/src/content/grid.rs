//! The grid of asks that the generator is tried with, and how an ask is written.

use serde::{Deserialize, Serialize};

/// One ask.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Duplicates, percent of all written blocks.
    pub duplicate_percent: f64,
    /// Saving of VDO's packer on the others, percent.
    pub packer_percent: f64,
}

/// Shares of duplicates of the full grid, percent.
pub const DUPLICATES: [f64; 5] = [0.0, 25.0, 50.0, 75.0, 90.0];
/// Savings of the packer of the full grid, percent.
pub const SAVINGS: [f64; 6] = [0.0, 33.0, 50.0, 66.0, 80.0, 92.0];

/// Stretch of written data, bytes: every ask writes a multiple of it.
const STRETCH: u64 = 8 << 20;

/// Every pair of `duplicates` and `savings`.
pub fn grid(duplicates: &[f64], savings: &[f64]) -> Vec<Ask> {
    let pair = |&duplicate_percent: &f64| {
        savings.iter().map(move |&packer_percent| Ask { duplicate_percent, packer_percent })
    };
    duplicates.iter().flat_map(pair).collect()
}

impl Ask {
    /// Returns the bytes to write so that `distinct` blocks are not duplicates, in whole stretches of 8 MiB. Distinct blocks count, because they bear
    /// the cost of a load's beginning and of the packer's tail.
    pub fn bytes(self, distinct: u64) -> u64 {
        let share = (100.0 - self.duplicate_percent).max(1.0) / 100.0;
        let bytes = (distinct as f64 * reduce::BLOCK as f64 / share).round() as u64;
        bytes.div_ceil(STRETCH) * STRETCH
    }

    /// Blocks that VDO keeps of `written`, when both shares are met.
    pub fn expected_blocks(self, written: f64) -> f64 {
        written * (1.0 - self.duplicate_percent / 100.0) * (1.0 - self.packer_percent / 100.0)
    }
}
