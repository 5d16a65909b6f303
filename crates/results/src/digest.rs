//! SHA-256 of files, in hexadecimal.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Bytes that are hashed at once, so that a long log is never held in memory.
const PART: usize = 128 << 10;

/// SHA-256 of a file in hexadecimal.
pub(crate) fn sum(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (sys::input::open(path)?, Sha256::new());
    let mut part = vec![0; PART];
    loop {
        match file.read(&mut part) {
            Ok(0) => break,
            Ok(n) => hash.update(&part[..n]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hex(hash))
}

/// Returns the checksum of what was hashed, in hexadecimal.
pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
