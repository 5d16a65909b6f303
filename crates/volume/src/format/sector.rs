//! Sectors of 512 bytes that carry their own checksum: a device writes each whole or not at all, so a wrong checksum is damage.

use crate::block::{BLOCK, Block, Pbn};
use crate::format::{Nonce, bytes};

/// Sectors in a block.
pub const SECTORS: usize = 8;
/// Bytes of a sector.
pub(super) const SECTOR: usize = BLOCK / SECTORS;

/// The kind of record in a sector, so that none is taken for another.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A page of the block map.
    Page = 1,
    /// Reference counts.
    Counts = 2,
}

/// The sectors of a block.
pub(super) fn of(block: &Block) -> impl Iterator<Item = &[u8]> {
    block.0.chunks_exact(SECTOR)
}

/// The sectors of a block, to be written.
pub(super) fn of_mut(block: &mut Block) -> impl Iterator<Item = &mut [u8]> {
    block.0.chunks_exact_mut(SECTOR)
}

/// Puts the checksum of sector `at` of block `pbn` into its first four bytes.
pub(super) fn seal(sector: &mut [u8], kind: Kind, nonce: &Nonce, pbn: Pbn, at: usize) {
    let sum = checksum(sector, kind, nonce, pbn, at);
    bytes::put(sector, 0, &sum.to_le_bytes());
}

/// Tells if a sector has its checksum, and belongs to this kind, volume and place.
pub(super) fn is_sealed(sector: &[u8], kind: Kind, nonce: &Nonce, pbn: Pbn, at: usize) -> bool {
    bytes::u32_at(sector, 0) == checksum(sector, kind, nonce, pbn, at)
}

/// Checksum of a sector's bytes, its kind, its volume and its place.
fn checksum(sector: &[u8], kind: Kind, nonce: &Nonce, pbn: Pbn, at: usize) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(nonce);
    hasher.update(&pbn.to_le_bytes());
    hasher.update(&[kind as u8, at as u8]);
    hasher.update(&sector[4..]);
    hasher.finalize()
}
