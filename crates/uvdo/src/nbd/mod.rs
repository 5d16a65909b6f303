//! NBD, fixed newstyle, over a Unix socket: `doc/proto.md` of the NBD project is the specification.

mod budget;
mod export;
mod handshake;
mod transmission;
mod wire;

use std::io::{self, BufReader, BufWriter};
use std::os::unix::net::UnixStream;

pub use export::Export;

use crate::wish::Asked;

/// Serves one client until it goes away; the client's number tells it from others.
pub fn serve(
    stream: UnixStream,
    export: Export,
    client: u64,
    ask: impl Fn(Asked) -> bool,
) -> io::Result<()> {
    let mut from = BufReader::with_capacity(1 << 18, stream.try_clone()?);
    let mut to = BufWriter::with_capacity(1 << 18, stream);
    match handshake::agree(&mut from, &mut to, export)? {
        true => transmission::run(from, to, client, ask),
        false => Ok(()),
    }
}
