//! NBD as a client speaks it, byte by byte.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use crate::served::Served;

pub const OPTION: &[u8; 8] = b"IHAVEOPT";

/// A connection that has begun the handshake.
pub fn connected(served: &Served) -> UnixStream {
    let mut stream = UnixStream::connect(served.place.nbd()).unwrap();
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
    stream.write_all(&3u32.to_be_bytes()).unwrap();
    stream
}

/// Puts an option; gives the kind and the data of the first reply.
pub fn option(stream: &mut UnixStream, option: u32, data: &[u8]) -> (u32, Vec<u8>) {
    stream.write_all(OPTION).unwrap();
    stream.write_all(&option.to_be_bytes()).unwrap();
    stream.write_all(&(data.len() as u32).to_be_bytes()).unwrap();
    stream.write_all(data).unwrap();
    let mut head = [0; 20];
    stream.read_exact(&mut head).unwrap();
    let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
    let mut data = vec![0; number(16) as usize];
    stream.read_exact(&mut data).unwrap();
    (number(12), data)
}

/// Sends the head of a request.
pub fn request(stream: &mut UnixStream, kind: u16, at: u64, length: u32) {
    flagged(stream, 0, kind, at, length);
}

/// Sends the head of a request with flags.
pub fn flagged(stream: &mut UnixStream, flags: u16, kind: u16, at: u64, length: u32) {
    stream.write_all(&0x2560_9513u32.to_be_bytes()).unwrap();
    stream.write_all(&flags.to_be_bytes()).unwrap();
    stream.write_all(&kind.to_be_bytes()).unwrap();
    stream.write_all(&9u64.to_be_bytes()).unwrap();
    stream.write_all(&at.to_be_bytes()).unwrap();
    stream.write_all(&length.to_be_bytes()).unwrap();
}

/// The error of a reply without data.
pub fn error(stream: &mut UnixStream) -> u32 {
    let mut reply = [0; 16];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[8..], 9u64.to_be_bytes());
    u32::from_be_bytes(reply[4..8].try_into().unwrap())
}

/// Agrees on the export by its name, as old clients do; gives its size and its flags.
pub fn exported(stream: &mut UnixStream) -> (u64, u16) {
    stream.write_all(OPTION).unwrap();
    stream.write_all(&[0, 0, 0, 1, 0, 0, 0, 0]).unwrap();
    let mut export = [0; 10];
    stream.read_exact(&mut export).unwrap();
    let (size, flags) = export.split_at(8);
    (u64::from_be_bytes(size.try_into().unwrap()), u16::from_be_bytes(flags.try_into().unwrap()))
}
