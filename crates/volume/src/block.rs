//! A block of 4096 bytes, aligned as devices want it.

use std::sync::Arc;

/// Bytes of a block.
pub const BLOCK: usize = reduce::BLOCK;

/// A block's bytes.
#[derive(Clone, PartialEq, Eq)]
#[repr(C, align(4096))]
pub struct Block(pub [u8; BLOCK]);

/// A block that is shared and never changed.
pub type Data = Arc<Block>;

/// The number of a block on the device.
pub type Pbn = u64;
/// The number of a block of the volume.
pub type Lbn = u64;

impl Default for Block {
    fn default() -> Self {
        Self([0; BLOCK])
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({:02x?}…)", &self.0[..8])
    }
}
