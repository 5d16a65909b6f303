//! The file that is sent.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::PushError;

/// Bytes that are read at once.
const CHUNK: usize = 128 << 10;

/// A packed result on this machine, with the name that it gets in a store.
#[derive(Debug, Clone)]
pub struct Package {
    /// Its file.
    pub path: PathBuf,
    /// Its name in the store.
    pub name: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// SHA-256 of its bytes, hexadecimal.
    pub sha256: String,
}

impl Package {
    /// Reads the size and the checksum of a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(path: &Path, name: &str) -> Result<Self, PushError> {
        let read = || {
            let mut bytes = 0;
            let mut hash = Sha256::new();
            each_chunk(File::open(path)?, |chunk| {
                bytes += chunk.len() as u64;
                hash.update(chunk);
                Ok(())
            })?;
            io::Result::Ok((bytes, hex(&hash.finalize())))
        };
        let (bytes, sha256) = read().map_err(|error| PushError::file(path, &error))?;
        Ok(Self { path: path.to_owned(), name: name.to_owned(), bytes, sha256 })
    }

    /// Opens its file.
    pub(crate) fn open(&self) -> Result<File, PushError> {
        File::open(&self.path).map_err(|error| PushError::file(&self.path, &error))
    }

    /// Tells whether these are its bytes.
    pub(crate) fn is(&self, other: impl Read) -> io::Result<bool> {
        let mut hash = Sha256::new();
        each_chunk(other, |chunk| {
            hash.update(chunk);
            Ok(())
        })?;
        Ok(hex(&hash.finalize()) == self.sha256)
    }
}

/// Reads to the end, chunk by chunk.
pub(crate) fn each_chunk(
    mut from: impl Read,
    mut on: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(read) => on(&chunk[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
