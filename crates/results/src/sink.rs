//! The destination of a running result: a directory, or a stream that ends in one elsewhere.
//!
//! A result grows by two operations only. `put` replaces a file whole and atomically; `append` adds to the
//! end of one. A stream of these operations, applied in order, gives the same directory on the other side;
//! cut off anywhere, it gives a directory that is readable and incomplete.
//!
//! A directory is written through its descriptor, which is opened and locked before the first byte: if the directory is moved, the rest is
//! written at its new place, and whatever takes its old name is not touched.

mod place;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::digest::{hex, sum};
pub use place::Place;

/// An error while a result is written.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// A file of the result could not be written.
    #[error("Cannot write {path} of the result")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file of the result could not be read again.
    #[error("Cannot read {path} of the result to seal it")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The directory of the result exists already.
    #[error("Result directory {0} exists already")]
    Exists(PathBuf),
    /// A run still writes into the result.
    #[error("The run of {0} still goes on")]
    Live(PathBuf),
    /// The directory of the result was removed while it was written.
    #[error("Result directory {0} was removed while the run wrote into it; what it held is lost")]
    Removed(PathBuf),
    /// The directory of the result was moved away.
    #[error(
        "Result directory {name} was moved away while the run wrote into it; the result is in {}",
        now.display()
    )]
    Moved {
        /// Its name when the run began.
        name: PathBuf,
        /// Its name now.
        now: PathBuf,
    },
    /// Files of the result are not as they were written.
    #[error(
        "Result directory {name} was changed by another program while the run wrote into it; no longer as written: {}",
        files.join(", ")
    )]
    Changed {
        /// The directory.
        name: PathBuf,
        /// The files, by their paths in it.
        files: Vec<String>,
    },
    /// A path that would leave the result's directory.
    #[error("'{0}' is not a path inside a result")]
    Outside(String),
    /// A value that cannot be written as JSON.
    #[error(
        "Cannot write {path} of the result as JSON; this is a fault of Fathom, please report it"
    )]
    Encode {
        /// The file inside the result.
        path: String,
        /// The JSON writer's error.
        source: serde_json::Error,
    },
    /// The other side of a stream is gone.
    #[error("The result's receiver is gone: {0}")]
    Gone(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The destination of a running result.
pub trait Sink: Send {
    /// Replaces the file at `path` (inside the result) by `bytes`, atomically.
    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError>;
    /// Appends `bytes` to the file at `path` (inside the result), which is created if it does not exist.
    fn append(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError>;
}

/// A result in a directory.
#[derive(Debug)]
pub struct DirSink {
    /// The path that it was opened by, for messages.
    name: PathBuf,
    /// The path to it through its descriptor, wherever it is now.
    way: PathBuf,
    /// The open directory. It stays locked until the run ends, in whatever way, if the file system has locks.
    folder: File,
    /// The file appended to last: many appends in a row go to the same file.
    open: Option<(String, File)>,
    /// The length and checksum that each file must have, by its path.
    written: BTreeMap<String, Written>,
}

/// The length and checksum of the bytes that were written into a file.
#[derive(Debug, Default)]
struct Written {
    length: u64,
    /// Its checksum so far; `None` where an earlier run began the file.
    sum: Option<Sha256>,
}

impl Written {
    fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if let Some(sum) = &mut self.sum {
            sum.update(bytes);
        }
    }

    /// Tells whether the file at `path` holds exactly these bytes.
    fn is_in(&self, path: &Path) -> bool {
        let found = fs::symlink_metadata(path);
        let long = found.is_ok_and(|found| found.is_file() && found.len() == self.length);
        let same = |expected: Sha256| sum(path).is_ok_and(|found| found == hex(expected));
        long && self.sum.clone().is_none_or(same)
    }
}

impl DirSink {
    /// Makes the directory, which must not exist yet.
    pub fn create(root: &Path) -> Result<Self, SinkError> {
        sys::new_file::may_be_at(root).map_err(|source| write_error(root, source))?;
        if let Some(parent) = root.parent() {
            fs::create_dir_all(parent).map_err(|source| write_error(parent, source))?;
        }
        match fs::create_dir(root) {
            Ok(()) => {
                let made = Self::reopen(root)?;
                // By now another directory may have the name: if it is not empty, it is not the one just made.
                let mut entries = fs::read_dir(&made.way).map_err(|e| write_error(root, e))?;
                entries.next().map_or(Ok(made), |_| Err(SinkError::Exists(root.to_owned())))
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(SinkError::Exists(root.to_owned()))
            }
            Err(source) => Err(write_error(root, source)),
        }
    }

    /// Opens a result whose run has ended or was killed, to continue it.
    pub fn reopen(root: &Path) -> Result<Self, SinkError> {
        let folder = File::open(root).map_err(|source| write_error(root, source))?;
        if matches!(folder.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(SinkError::Live(root.to_owned()));
        }
        let way = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        Ok(Self { name: root.to_owned(), way, folder, open: None, written: BTreeMap::new() })
    }

    /// Returns the path that it was opened by.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns the path by which this process reaches the directory, even if its name now leads elsewhere.
    pub fn way(&self) -> &Path {
        &self.way
    }

    /// Checks that its name still leads to the directory.
    ///
    /// # Errors
    /// When it was removed, or was moved to another place, which the error names.
    pub fn check_name(&self) -> Result<(), SinkError> {
        self.check_there()?;
        let opened = self.folder.metadata().map_err(|source| write_error(&self.name, source))?;
        let there = fs::metadata(&self.name).ok();
        if there.is_some_and(|there| (there.dev(), there.ino()) == (opened.dev(), opened.ino())) {
            return Ok(());
        }
        let now = fs::read_link(&self.way).map_err(|source| write_error(&self.name, source))?;
        Err(SinkError::Moved { name: self.name.clone(), now })
    }

    /// Checks that the directory was not removed.
    ///
    /// # Errors
    /// When it was removed, so that its content is lost.
    pub fn check_there(&self) -> Result<(), SinkError> {
        match self.folder.metadata() {
            Ok(facts) if facts.nlink() == 0 => Err(SinkError::Removed(self.name.clone())),
            Ok(_) => Ok(()),
            Err(source) => Err(write_error(&self.name, source)),
        }
    }

    /// Returns the files that are gone or no longer hold what was written, by their paths in the result.
    pub fn changed(&self) -> Vec<String> {
        let is_whole = |(path, written): &(&String, &Written)| {
            let place = Place::find(&self.folder, Path::new(path));
            place.is_ok_and(|place| written.is_in(&place.way()))
        };
        let changed = self.written.iter().filter(|file| !is_whole(file));
        changed.map(|(path, _)| path.clone()).collect()
    }

    /// Removes a file or a folder of the result; it is not an error if it does not exist.
    pub fn remove(&mut self, path: &str) -> Result<(), SinkError> {
        self.open = None;
        let place = self.place(path)?;
        self.written.retain(|file, _| !Path::new(file).starts_with(path));
        let way = place.way();
        let is_folder = fs::symlink_metadata(&way).is_ok_and(|facts| facts.is_dir());
        let gone = if is_folder { fs::remove_dir_all(&way) } else { fs::remove_file(&way) };
        match gone {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.failed(path, error)),
            _ => Ok(()),
        }
    }

    /// Opens the folder of a path of the result, and makes missing folders, for a file that other code writes as well.
    pub fn place(&self, path: &str) -> Result<Place, SinkError> {
        let relative = place::inside(path).ok_or_else(|| SinkError::Outside(path.to_owned()))?;
        self.check_there()?;
        Place::make(&self.folder, relative).map_err(|source| self.failed(path, source))
    }

    fn failed(&self, path: &str, source: io::Error) -> SinkError {
        write_error(&self.name.join(path), source)
    }
}

impl Sink for DirSink {
    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError> {
        let place = self.place(path)?;
        replaced(&place.way(), bytes).map_err(|source| self.failed(path, source))?;
        let mut written = Written { length: 0, sum: Some(Sha256::new()) };
        written.add(bytes);
        self.written.insert(path.to_owned(), written);
        Ok(())
    }

    fn append(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError> {
        let mut file = match self.open.take() {
            Some((name, file)) if name == path => {
                self.check_there()?;
                file
            }
            _ => OpenOptions::new()
                .create(true)
                .append(true)
                .custom_flags(libc::O_NOFOLLOW)
                .open(self.place(path)?.way())
                .map_err(|source| self.failed(path, source))?,
        };
        let found = file.metadata().map_err(|source| self.failed(path, source))?;
        let length = self.written.get(path).map_or(found.len(), |written| written.length);
        // Bytes appended to a file that somebody removed or truncated would be lost.
        if found.nlink() == 0 || found.len() != length {
            let (name, files) = (self.name.clone(), vec![path.to_owned()]);
            return Err(SinkError::Changed { name, files });
        }
        file.write_all(bytes).map_err(|source| self.failed(path, source))?;
        let begun = || Written { length, sum: (length == 0).then(Sha256::new) };
        self.written.entry(path.to_owned()).or_insert_with(begun).add(bytes);
        self.open = Some((path.to_owned(), file));
        Ok(())
    }
}

/// Replaces the file at `full` by `bytes`: a kill leaves the old one or the new one, never a part.
pub(crate) fn replace(full: &Path, bytes: &[u8]) -> Result<(), SinkError> {
    replaced(full, bytes).map_err(|source| write_error(full, source))
}

fn replaced(full: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_by(full, |file| file.write_all(bytes))
}

/// Does the same as [`replace`], with the content that `write` writes.
pub(crate) fn replace_by<T, E: From<io::Error>>(
    full: &Path,
    write: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    let mut fresh = full.to_owned().into_os_string();
    fresh.push(".new");
    // A temporary file that a killed run left, or a link that somebody put there, is removed, never written through.
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let written = write(&mut File::create_new(&fresh)?)?;
    fs::rename(&fresh, full)?;
    Ok(written)
}

fn write_error(path: &Path, source: io::Error) -> SinkError {
    SinkError::Write { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
