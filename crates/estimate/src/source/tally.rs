//! Tally of the sources that a scan met: counts, and the first few troubles by name.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::partitions::OffBlocks;

/// Troubles that are kept by name.
const NAMED: usize = 20;

/// Something that could not be read, may not have been read as it is, or was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// Path of the file, directory or device.
    pub path: String,
    /// The trouble, in words.
    pub what: String,
}

/// Numbers of files, links, holes and troubles that a scan met.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sources {
    /// Files that were read; a file with several names counts once.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Block devices, images and standard input.
    pub volumes: u64,
    /// Streams among them, in which holes are zeros.
    #[serde(default)]
    pub streams: u64,
    /// Streams that end like an image with plain data, such as a VHD: the image's footer was read as data too.
    #[serde(default)]
    pub image_ends: u64,
    /// Further names of files that were read already.
    pub hard_links: u64,
    /// Symbolic links in trees, which are not followed.
    pub symbolic_links: u64,
    /// Sockets, pipes and devices in trees, which hold no data.
    pub special: u64,
    /// Files whose last block was filled up with zeros.
    pub tails: u64,
    /// Bytes in holes, which take no space anywhere and count as no block.
    pub hole_bytes: u64,
    /// Bytes for which space is preallocated and to which nothing was written; they count as no block either.
    #[serde(default)]
    pub preallocated_bytes: u64,
    /// Bytes that share their place on the disk with others that were read already; they take no space and count as no block.
    #[serde(default)]
    pub shared_bytes: u64,
    /// Bytes of compressed extents that files share: only their content shows which of them are the same, so that copies among them count
    /// as duplicates.
    #[serde(default)]
    pub encoded_shared_bytes: u64,
    /// Places in trees where another file system begins that was not entered.
    #[serde(default)]
    pub left_out: u64,
    /// The first places that were left out.
    #[serde(default)]
    pub left_out_named: Vec<Trouble>,
    /// Files of 1 MiB and more, images and devices that another program holds with a lock, as QEMU does: they may change while they are read.
    #[serde(default)]
    pub in_use: u64,
    /// The first files and devices in use, each with the program that holds it.
    #[serde(default)]
    pub in_use_named: Vec<Trouble>,
    /// Files, directories or parts of them that could not be read.
    pub unreadable: u64,
    /// Files that changed while they were read.
    pub changed: u64,
    /// The first things that were unreadable or changed.
    pub troubles: Vec<Trouble>,
}

/// An error in a file that lies beneath the one that is read.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Beneath {
    path: PathBuf,
    error: io::Error,
}

impl Beneath {
    /// Names the file of an error, if none is named yet.
    pub fn name(path: &Path, error: io::Error) -> io::Error {
        if error.get_ref().is_some_and(|error| error.is::<Self>()) {
            return error;
        }
        io::Error::new(error.kind(), Self { path: path.to_owned(), error })
    }
}

/// The [`Sources`], counted by many threads, and findings that the threads share.
#[derive(Debug, Default)]
pub struct Tally {
    sources: Mutex<Sources>,
    off_blocks: Mutex<Option<(PathBuf, OffBlocks)>>,
    /// The last device that [`Tally::is_memory`] was asked about, with the answer.
    last_device: AtomicU64,
}

impl Tally {
    /// Counts something.
    pub fn note(&self, count: impl FnOnce(&mut Sources)) {
        // A thread that panicked while it counted left valid numbers behind.
        count(&mut self.sources.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }

    /// Counts something that could not be read.
    pub fn unreadable(&self, path: &Path, error: &io::Error) {
        self.lost(path, error, 1);
    }

    /// Counts `parts` parts that could not be read, for one reason.
    pub fn lost(&self, path: &Path, error: &io::Error, parts: u64) {
        let beneath = error.get_ref().and_then(|error| error.downcast_ref::<Beneath>());
        let path = beneath.map_or(path, |beneath| &beneath.path);
        self.note(|sources| {
            sources.unreadable += parts;
            name(&mut sources.troubles, path, error.to_string());
        });
    }

    /// Counts a file that changed.
    pub fn changed(&self, path: &Path, what: &str) {
        self.note(|sources| {
            sources.changed += 1;
            name(&mut sources.troubles, path, what.to_owned());
        });
    }

    /// Counts something that was left out of a tree.
    pub fn left_out(&self, path: &Path, why: String) {
        self.note(|sources| {
            sources.left_out += 1;
            name(&mut sources.left_out_named, path, why);
        });
    }

    /// Counts an open file if another program holds a lock on its bytes.
    pub fn in_use(&self, path: &Path, file: &File) {
        let Ok(Some(holder)) = sys::locks::of_bytes(file) else { return };
        self.note(|sources| {
            sources.in_use += 1;
            name(&mut sources.in_use_named, path, format!("locked by {holder}"));
        });
    }

    /// Keeps the first partition that begins off the blocks.
    pub fn off_blocks(&self, path: &Path, found: OffBlocks) {
        let mut first = self.off_blocks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        first.get_or_insert_with(|| (path.to_owned(), found));
    }

    /// Returns the first partition that does not begin at a multiple of 4 KiB, and the path of its disk.
    pub fn first_off_blocks(&self) -> Option<(PathBuf, OffBlocks)> {
        self.off_blocks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Returns what was counted.
    pub fn sources(&self) -> Sources {
        self.sources.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Tells whether the file system of this device keeps files in memory alone, so that nothing has to be asked about them: the answer
    /// of `look` for its first file.
    pub fn is_memory(&self, device: u64, look: impl FnOnce() -> bool) -> bool {
        // One word for both, so that no thread sees the answer for another device; 0 says that none was asked about.
        let code = |memory: bool| (device.wrapping_mul(2) + u64::from(memory)).wrapping_add(2);
        match self.last_device.load(Ordering::Relaxed) {
            known if known == code(true) => true,
            known if known == code(false) => false,
            _ => {
                let memory = look();
                self.last_device.store(code(memory), Ordering::Relaxed);
                memory
            }
        }
    }
}

fn name(named: &mut Vec<Trouble>, path: &Path, what: String) {
    if named.len() < NAMED {
        named.push(Trouble { path: path.display().to_string(), what });
    }
}
