//! Numbers on the wire, all big-endian.

use std::io::{self, Read};

/// The most bytes of one request: 32 MiB, as the specification advises.
pub const MOST: u32 = 32 << 20;

/// Reads `N` bytes.
pub fn bytes<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads a number of 16 bits.
pub fn u16(from: &mut impl Read) -> io::Result<u16> {
    bytes(from).map(u16::from_be_bytes)
}

/// Reads a number of 32 bits.
pub fn u32(from: &mut impl Read) -> io::Result<u32> {
    bytes(from).map(u32::from_be_bytes)
}

/// Reads a number of 64 bits.
pub fn u64(from: &mut impl Read) -> io::Result<u64> {
    bytes(from).map(u64::from_be_bytes)
}

/// An error of a client that does not keep to the protocol.
pub fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the NBD client sent {what}"))
}
