//! The object that a path is meant to lead to, for comparison with what was opened.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// The object that a path is meant to lead to. A name may lead elsewhere a moment later, so only the opened object counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// A file on the file system with this number (`st_dev`).
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
