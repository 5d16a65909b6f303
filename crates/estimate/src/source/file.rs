//! Sources that can be read at an offset: a file as it was found, a device, an image, bytes that were read already.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use reduce::BLOCK;
use rustix::fs::{CWD, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;

use super::blank::{Blank, blanks};
use super::qcow2::Image;
use super::tally::Tally;
use super::uncached_file::{UncachedFile, is_memory, read_full};

/// Bytes of the smallest file for which locks of other programs are looked up: disks of guests are larger, and over a network each lookup
/// takes time.
const LIVE: u64 = 1 << 20;

/// Something that can be read at an offset.
#[derive(Debug)]
pub enum Source {
    /// A file.
    File(Tracked),
    /// A block device, read past the page cache.
    Device(File, PathBuf),
    /// An image: the bytes that a guest sees in it.
    Image(Image),
    /// The bytes of another source, from this offset on.
    From(Arc<Source>, u64),
    /// Bytes that were read already; the first is at this offset.
    Memory(u64, Vec<u8>),
}

impl Source {
    /// Opens a device: past the page cache, or through it where the device refuses that.
    pub fn device(path: &Path) -> io::Result<Self> {
        let direct = OFlags::DIRECT.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(direct).open(path);
        let file = match file {
            Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                File::open(path)?
            }
            other => other?,
        };
        Ok(Self::Device(file, path.to_owned()))
    }

    /// Returns the bytes to read where `length` are wanted: a device needs whole blocks, and what is beyond is ignored. No
    /// more is read of a file, as finding its end would cost another call.
    pub fn request_bytes(&self, length: usize) -> usize {
        match self {
            Self::Device(..) => length.next_multiple_of(BLOCK),
            Self::From(whole, _) => whole.request_bytes(length),
            _ => length,
        }
    }

    /// Returns the bytes at whose multiples a piece that cannot be read is cut, to read the rest of it; `None` where it is lost as a whole.
    pub fn unit_bytes(&self) -> Option<usize> {
        match self {
            Self::Image(image) => Some((image.least_cluster_bytes() as usize).max(BLOCK)),
            _ => None,
        }
    }

    /// Fills the buffer as far as there are bytes; returns how many were read.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer, offset),
            Self::Device(file, _) => read_full(file, buffer, offset),
            Self::Image(image) => image.read(buffer, offset),
            Self::From(whole, start) => whole.read(buffer, start + offset),
            Self::Memory(start, bytes) => {
                let from = usize::try_from(offset - start).unwrap_or(usize::MAX).min(bytes.len());
                let there = &bytes[from..bytes.len().min(from + buffer.len())];
                buffer[..there.len()].copy_from_slice(there);
                Ok(there.len())
            }
        }
    }

    /// Returns the ranges of `part` that were never written, as far as that is known.
    pub fn blanks(&self, part: Range<u64>) -> io::Result<Vec<Blank>> {
        match self {
            Self::File(file) => Ok(blanks(file.open()?.file(), part, file.full)),
            Self::Image(image) => image.blanks(part),
            Self::From(whole, start) => {
                let mut blanks = whole.blanks(start + part.start..start + part.end)?;
                for Blank { range, .. } in &mut blanks {
                    *range = range.start - start..range.end - start;
                }
                Ok(blanks)
            }
            Self::Device(..) | Self::Memory(..) => Ok(Vec::new()),
        }
    }

    /// Returns what it is called.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(file) => &file.path,
            Self::Device(_, path) => path,
            Self::Image(image) => image.path(),
            Self::From(whole, _) => whole.path(),
            Self::Memory(..) => Path::new("-"),
        }
    }
}

/// A directory that is held open, so that its files are found without walking the path to it.
pub type SharedDirectory = Arc<OpenDirectory>;

/// A directory, and a count of all that are held open.
#[derive(Debug)]
pub struct OpenDirectory {
    directory: OwnedFd,
    _count: Arc<()>,
}

impl OpenDirectory {
    /// Holds a directory open, unless `most` are open already. Each one holds a clone of `count` and so is counted.
    pub fn hold(directory: OwnedFd, count: &Arc<()>, most: usize) -> Option<SharedDirectory> {
        (Arc::strong_count(count) <= most)
            .then(|| Arc::new(Self { directory, _count: Arc::clone(count) }))
    }
}

impl AsFd for OpenDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

/// A file as it was found; that it is still the same is checked when the last of its pieces is done.
#[derive(Debug)]
pub struct Tracked {
    path: PathBuf,
    near: Option<SharedDirectory>,
    file: OnceLock<io::Result<UncachedFile>>,
    length: u64,
    /// Tells whether space is allocated for all its bytes.
    full: bool,
    modified: (i64, i64),
    /// The file system it is on.
    device: u64,
    tally: Arc<Tally>,
}

impl Tracked {
    /// A file that will be opened when it is read.
    pub fn new(
        path: PathBuf,
        near: Option<SharedDirectory>,
        found: &Stat,
        tally: Arc<Tally>,
    ) -> Self {
        Self {
            path,
            near,
            file: OnceLock::new(),
            length: found.st_size as u64,
            full: space(found) >= found.st_size as u64,
            modified: modified(found),
            device: found.st_dev,
            tally,
        }
    }

    fn open(&self) -> io::Result<&UncachedFile> {
        let opened = self.file.get_or_init(|| {
            let file = open_quietly(self.near.as_ref(), &self.path)?;
            if self.length >= LIVE {
                self.tally.in_use(&self.path, &file);
            }
            let memory = self.tally.is_memory(self.device, || is_memory(&file));
            Ok(UncachedFile::new(file, memory, self.length))
        });
        opened.as_ref().map_err(|error| match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        })
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.open()?.read(buffer, offset)
    }
}

/// Bytes that a file takes of its file system.
pub fn space(found: &Stat) -> u64 {
    found.st_blocks as u64 * 512
}

/// Returns when a file was last written to: seconds and nanoseconds.
fn modified(found: &Stat) -> (i64, i64) {
    (found.st_mtime, found.st_mtime_nsec as i64)
}

/// Opens the file at `path`, whose directory may be held open, without changing the time of access, where that is allowed.
pub fn open_quietly(near: Option<&SharedDirectory>, path: &Path) -> io::Result<File> {
    let (near, name) = match (near, path.file_name()) {
        (Some(near), Some(name)) => (near.as_fd(), name),
        _ => (CWD, path.as_os_str()),
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let open = |extra| openat(near, name, flags | extra, Mode::empty());
    let opened = match open(OFlags::NOATIME) {
        Err(Errno::PERM) => open(OFlags::empty()),
        other => other,
    };
    Ok(opened?.into())
}

impl Drop for Tracked {
    fn drop(&mut self) {
        let Some(Ok(file)) = self.file.get() else { return };
        let Ok(now) = fstat(file.file()) else { return };
        if now.st_size as u64 != self.length {
            self.tally.changed(&self.path, "its length changed while it was read");
        } else if modified(&now) != self.modified {
            self.tally.changed(&self.path, "it was written to while it was read");
        }
    }
}
