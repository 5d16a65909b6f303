//! Limits of a corpus.

use units::Bytes;

/// The most that a corpus may take: a guest gets a copy of it.
pub const MOST_BYTES: Bytes = Bytes(4 << 30);
/// Most files and directories of a corpus.
pub const MOST_ENTRIES: u64 = 200_000;
