//! The names that a load made: one that somebody else made in the directory is told apart, and left alone.

use std::os::fd::AsFd;

use rustix::fs::{self, AtFlags, FileType, Stat};
use rustix::io::Errno;

use crate::record::NOT_OURS;

/// The reason why an operation failed: the kernel's number, or [`NOT_OURS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failed(pub i32);

impl Failed {
    pub(crate) const NOT_OURS: Self = Self(NOT_OURS);
    pub(crate) const NO_ENTRY: Self = Self(tree::errno::NO_ENTRY);
}

impl From<Errno> for Failed {
    fn from(errno: Errno) -> Self {
        Self(errno.raw_os_error())
    }
}

/// Checks what was found: a regular file with as many names as the books say, or else it is not the one that was made.
pub(crate) fn is_file(found: &Stat, links: u32) -> Result<(), Failed> {
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    // The count has another type on other machines.
    let is_linked = u32::try_from(found.st_nlink).is_ok_and(|found| found == links);
    if is_file && is_linked { Ok(()) } else { Err(Failed::NOT_OURS) }
}

/// Checks a name that is to be taken away.
pub(crate) fn file(at: impl AsFd, name: &str, links: u32) -> Result<(), Failed> {
    is_file(&look(at, name)?, links)
}

/// Checks a soft link that is to be taken away.
pub(crate) fn soft_link(at: impl AsFd, name: &str) -> Result<(), Failed> {
    let is_link = FileType::from_raw_mode(look(at, name)?.st_mode) == FileType::Symlink;
    if is_link { Ok(()) } else { Err(Failed::NOT_OURS) }
}

/// Fails as a call does that takes away a name that is not there; a name that is there all the same is somebody else's.
pub(crate) fn absent(at: impl AsFd, name: &str) -> Failed {
    look(at, name).map_or_else(Failed::from, |_| Failed::NOT_OURS)
}

fn look(at: impl AsFd, name: &str) -> Result<Stat, Errno> {
    fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
}
