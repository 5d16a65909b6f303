//! The thing that a path is meant to lead to, held against what was opened.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// The thing that a path is meant to lead to. A name may lead elsewhere a moment later: what counts is what was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// A file of the file system with this number (`st_dev`).
    FileOn(u64),
    /// The block device with this number (`st_rdev`).
    Device(u64),
}

impl Meant {
    /// Tells whether what was opened is what was meant.
    pub fn is(self, opened: &Metadata) -> bool {
        match self {
            Self::FileOn(device) => opened.is_file() && opened.dev() == device,
            Self::Device(number) => opened.file_type().is_block_device() && opened.rdev() == number,
        }
    }
}
