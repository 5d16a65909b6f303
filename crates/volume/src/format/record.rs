//! A record of the index, and how many of them a block of the device holds.

use crate::block::BLOCK;
use crate::format::Mapping;

/// The first byte of the records in their block.
pub(super) const FIRST: usize = 32;
/// Bytes of a record.
pub(super) const BYTES: usize = 8 + Mapping::BYTES;
/// Records that a block holds.
pub const MOST_RECORDS: usize = (BLOCK - FIRST) / BYTES;

/// A block and the place where it was stored. It may no longer be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The lower half of its fingerprint.
    pub print: u64,
    /// Its place.
    pub mapping: Mapping,
}
