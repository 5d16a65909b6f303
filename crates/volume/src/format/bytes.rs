//! Reads and writes little-endian integers in a byte buffer.

/// Returns the `N` bytes of `bytes` from `at` on; zeros if the buffer is too short.
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..at + N).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
}

/// The u64 at `at`.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

/// The u32 at `at`.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

/// The u16 at `at`.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

/// Puts `part` at `at`.
pub(super) fn put(bytes: &mut [u8], at: usize, part: &[u8]) {
    bytes[at..at + part.len()].copy_from_slice(part);
}

/// Writes the checksum of all that follows into the first four bytes.
pub(super) fn seal(bytes: &mut [u8]) {
    let sum = crc32fast::hash(&bytes[4..]);
    put(bytes, 0, &sum.to_le_bytes());
}

/// Tells if the first four bytes are the checksum of all that follows.
pub(super) fn is_sealed(bytes: &[u8]) -> bool {
    u32_at(bytes, 0) == crc32fast::hash(&bytes[4..])
}
