//! The part of the target that a load uses.

use serde::{Deserialize, Serialize};

/// Blocks of the load's block size, from a byte offset on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// Where the first block starts, bytes.
    pub start: u64,
    /// Whole blocks; a rest at the end is not used.
    pub blocks: u64,
    /// Bytes in a block.
    pub block_size: u64,
}

impl Range {
    /// Where a block starts on the target, bytes.
    #[inline]
    pub fn offset(&self, block: u64) -> u64 {
        self.start + block * self.block_size
    }
}
