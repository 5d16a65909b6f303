//! Where a running result goes: a directory, or a stream that ends in one elsewhere.
//!
//! A result grows by two operations only. `put` replaces a file whole and atomically; `append` adds to the
//! end of one. A stream of these operations, applied in order, gives the same directory on the other side;
//! cut off anywhere, it gives a directory that is readable and incomplete.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// What can go wrong when a result is written.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// A file of the result could not be written.
    #[error("Cannot write {path} of the result")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of the result could not be read again.
    #[error("Cannot read {path} of the result to seal it")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The directory of the result exists already.
    #[error("Result directory {0} exists already")]
    Exists(PathBuf),
    /// A run still writes into the result.
    #[error("The run of {0} still goes on")]
    Live(PathBuf),
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
        /// What the writer said.
        source: serde_json::Error,
    },
    /// The other side of a stream is gone.
    #[error("The result's receiver is gone: {0}")]
    Gone(String),
}

/// Where a running result goes.
pub trait Sink: Send {
    /// Replaces the file at `path` (inside the result) by `bytes`, atomically.
    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError>;
    /// Adds `bytes` to the file at `path` (inside the result), which comes into being with its first bytes.
    fn append(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError>;
}

/// A result in a directory.
#[derive(Debug)]
pub struct DirSink {
    root: PathBuf,
    /// The file appended to last: rows come in long runs for one file.
    open: Option<(String, File)>,
    /// Locked as long as the run goes on, whatever ends it; `None` where the file system has no locks.
    _lock: Option<File>,
}

impl DirSink {
    /// Makes the directory, which must not exist yet.
    pub fn create(root: &Path) -> Result<Self, SinkError> {
        if let Some(parent) = root.parent() {
            fs::create_dir_all(parent).map_err(|source| write_error(parent, source))?;
        }
        match fs::create_dir(root) {
            Ok(()) => Self::reopen(root),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(SinkError::Exists(root.to_owned()))
            }
            Err(source) => Err(write_error(root, source)),
        }
    }

    /// Goes on with a result whose run has ended, or was killed.
    pub fn reopen(root: &Path) -> Result<Self, SinkError> {
        let folder = File::open(root).map_err(|source| write_error(root, source))?;
        let lock = match folder.try_lock() {
            Ok(()) => Some(folder),
            Err(TryLockError::WouldBlock) => return Err(SinkError::Live(root.to_owned())),
            Err(TryLockError::Error(_)) => None,
        };
        Ok(Self { root: root.to_owned(), open: None, _lock: lock })
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes a file or a folder of the result; one that is not there is gone already.
    pub fn remove(&mut self, path: &str) -> Result<(), SinkError> {
        self.open = None;
        let full = self.place(path)?;
        let gone = if full.is_dir() { fs::remove_dir_all(&full) } else { fs::remove_file(&full) };
        match gone {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(write_error(&full, error))
            }
            _ => Ok(()),
        }
    }

    fn place(&self, path: &str) -> Result<PathBuf, SinkError> {
        let relative = Path::new(path);
        let inside = relative.components().all(|c| matches!(c, Component::Normal(_)));
        if path.is_empty() || !inside {
            return Err(SinkError::Outside(path.to_owned()));
        }
        let full = self.root.join(relative);
        if let Some(folder) = full.parent() {
            fs::create_dir_all(folder).map_err(|source| write_error(folder, source))?;
        }
        Ok(full)
    }
}

impl Sink for DirSink {
    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError> {
        replace(&self.place(path)?, bytes)
    }

    fn append(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError> {
        let mut file = match self.open.take() {
            Some((name, file)) if name == path => file,
            _ => {
                let full = self.place(path)?;
                OpenOptions::new()
                    .create(true)
                    .append(true)
                    .custom_flags(libc::O_NOFOLLOW)
                    .open(&full)
                    .map_err(|source| write_error(&full, source))?
            }
        };
        file.write_all(bytes).map_err(|source| write_error(&self.root.join(path), source))?;
        self.open = Some((path.to_owned(), file));
        Ok(())
    }
}

/// Replaces the file at `full` by `bytes`: a kill leaves the old one or the new one, never a part.
pub(crate) fn replace(full: &Path, bytes: &[u8]) -> Result<(), SinkError> {
    let mut fresh = full.to_owned().into_os_string();
    fresh.push(".new");
    let written = || {
        // One that a killed run left, or a link that somebody put there, goes: it is never written through.
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => File::create_new(&fresh)?.write_all(bytes)?,
        }
        fs::rename(&fresh, full)
    };
    written().map_err(|source| write_error(full, source))
}

fn write_error(path: &Path, source: std::io::Error) -> SinkError {
    SinkError::Write { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_directory_must_not_exist_and_nothing_leaves_it() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(DirSink::create(dir.path()), Err(SinkError::Exists(_))));
        let mut sink = DirSink::create(&dir.path().join("a/b")).unwrap();
        for path in ["../x", "/x", "", "a/../../x"] {
            assert!(matches!(sink.put(path, b""), Err(SinkError::Outside(_))), "{path}");
        }
    }

    #[test]
    fn a_result_is_opened_again_only_when_its_run_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("r");
        let mut run = DirSink::create(&root).unwrap();
        run.append("transcript.jsonl", b"a").unwrap();
        assert!(matches!(DirSink::reopen(&root), Err(SinkError::Live(_))));
        drop(run);
        DirSink::reopen(&root).unwrap().append("transcript.jsonl", b"b").unwrap();
        assert_eq!(fs::read(root.join("transcript.jsonl")).unwrap(), b"ab");
    }

    #[test]
    fn what_is_removed_is_gone_and_can_come_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut sink = DirSink::create(&dir.path().join("r")).unwrap();
        sink.append("cells/0/rows.log", b"a").unwrap();
        for _ in 0..2 {
            sink.remove("cells/0").unwrap();
            sink.remove("SHA256SUMS").unwrap();
        }
        assert!(!sink.root().join("cells/0").exists());
        sink.append("cells/0/rows.log", b"b").unwrap();
        assert_eq!(fs::read(sink.root().join("cells/0/rows.log")).unwrap(), b"b");
        assert!(matches!(sink.remove("../r"), Err(SinkError::Outside(_))));
    }

    #[test]
    fn links_in_a_result_are_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let foreign = dir.path().join("foreign");
        fs::write(&foreign, "theirs").unwrap();
        let mut sink = DirSink::create(&dir.path().join("r")).unwrap();
        for name in ["m.json.new", "m.json", "rows.log"] {
            std::os::unix::fs::symlink(&foreign, sink.root().join(name)).unwrap();
        }
        sink.put("m.json", b"one").unwrap();
        assert!(sink.append("rows.log", b"a").is_err());
        assert_eq!(fs::read(sink.root().join("m.json")).unwrap(), b"one");
        assert_eq!(fs::read(&foreign).unwrap(), b"theirs");
    }

    #[test]
    fn put_replaces_and_append_adds() {
        let dir = tempfile::tempdir().unwrap();
        let mut sink = DirSink::create(&dir.path().join("r")).unwrap();
        sink.put("m.json", b"one").unwrap();
        sink.put("m.json", b"two").unwrap();
        sink.append("cells/0/rows.log", b"a").unwrap();
        sink.append("other", b"x").unwrap();
        sink.append("cells/0/rows.log", b"b").unwrap();
        assert_eq!(fs::read(sink.root().join("m.json")).unwrap(), b"two");
        assert_eq!(fs::read(sink.root().join("cells/0/rows.log")).unwrap(), b"ab");
        assert_eq!(fs::read_dir(sink.root()).unwrap().count(), 3);
    }
}
