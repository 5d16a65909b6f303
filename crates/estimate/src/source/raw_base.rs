//! The raw file or device that an image rests on.

use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::blank::{Blank, blanks};
use super::uncached_file::UncachedFile;

/// A raw file or device under an image.
#[derive(Debug)]
pub struct RawBase {
    path: PathBuf,
    file: UncachedFile,
    size: u64,
    /// Tells whether it is a file, so that parts never written can be found, and (`full`) whether space is allocated for all its bytes.
    is_file: bool,
    full: bool,
}

impl RawBase {
    /// Creates a base from an open file or device.
    pub fn new(path: &Path, file: UncachedFile) -> io::Result<Self> {
        let size = file_bytes(&file)?;
        let found = file.file().metadata()?;
        let (is_file, full) = (found.is_file(), found.blocks() * 512 >= size);
        Ok(Self { path: path.to_owned(), file, size, is_file, full })
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fills the buffer as far as there are bytes; returns how many were read.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read(buffer, offset)
    }

    /// Returns the ranges of `part` that were never written.
    pub fn blanks(&self, part: Range<u64>) -> Vec<Blank> {
        let part = part.start.min(self.size)..part.end.min(self.size);
        if self.is_file { blanks(self.file.file(), part, self.full) } else { Vec::new() }
    }

    /// Returns the next bytes from `offset` on that may hold data.
    pub fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        if offset >= self.size {
            return None;
        }
        match seek(self.file.file(), SeekFrom::Data(offset)) {
            Ok(at) => Some(at..self.size),
            Err(Errno::NXIO) => None,
            Err(_) => Some(offset..self.size),
        }
    }
}

/// Bytes of a file or a block device.
pub fn file_bytes(file: &UncachedFile) -> io::Result<u64> {
    let file = file.file();
    Ok(match sys::block::is_block(file)? {
        true => sys::block::size_bytes(file)?.0,
        false => file.metadata()?.len(),
    })
}
