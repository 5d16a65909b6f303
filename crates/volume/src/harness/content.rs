//! Blocks that their values distinguish.

use crate::block::Block;

/// The value of a block that could not be read.
pub(super) const ERROR: u64 = u64::MAX;
const STRANGE: u64 = 1 << 63;

/// Makes the block of a value: zeros for 0; blocks of other even values compress to a third or less.
pub(super) fn block(value: u64) -> Block {
    let mut block = Block::default();
    if value == 0 {
        return block;
    }
    let mut random = units::Seed(value).generator();
    let length = if value.is_multiple_of(2) { 300 + value as usize % 900 / 8 * 8 } else { 4096 };
    for word in block.0[..length / 8 * 8].chunks_exact_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    block.0[..8].copy_from_slice(&value.to_le_bytes());
    block
}

/// Returns the value of a block; for bytes that no value makes, a strange value derived from them.
pub(super) fn value(bytes: &Block) -> u64 {
    let named = u64::from_le_bytes(std::array::from_fn(|i| bytes.0[i]));
    if named & STRANGE == 0 && *bytes == block(named) {
        named
    } else {
        reduce::Fingerprint::of(&bytes.0).0 as u64 | STRANGE
    }
}

/// Tells if a value is strange: no block with it was ever written.
pub(super) fn is_strange(value: u64) -> bool {
    value & STRANGE != 0
}
