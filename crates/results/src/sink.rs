//! Where a running result goes: a directory, or a stream that ends in one elsewhere.
//!
//! A result grows by two operations only. `put` replaces a file whole and atomically; `append` adds to the
//! end of one. A stream of these operations, applied in order, gives the same directory on the other side;
//! cut off anywhere, it gives a directory that is readable and incomplete.
//!
//! A directory is written through its descriptor, which was opened and locked before the first byte: moved away, it gets the rest at its
//! new place, and whatever takes its name meanwhile is not touched.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
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
    /// The directory of the result was removed while it was written.
    #[error("Result directory {0} was removed while the run wrote into it; what it held is lost")]
    Removed(PathBuf),
    /// The directory of the result is not where it was begun.
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
    /// The name that it was opened by, for people.
    name: PathBuf,
    /// The way to it through its descriptor, wherever it is now.
    way: PathBuf,
    /// Locked as long as the run goes on, whatever ends it, where the file system has locks.
    folder: File,
    /// The file appended to last: rows come in long runs for one file.
    open: Option<(String, File)>,
}

impl DirSink {
    /// Makes the directory, which must not exist yet.
    pub fn create(root: &Path) -> Result<Self, SinkError> {
        if let Some(parent) = root.parent() {
            fs::create_dir_all(parent).map_err(|source| write_error(parent, source))?;
        }
        match fs::create_dir(root) {
            Ok(()) => Self::reopen(root),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(SinkError::Exists(root.to_owned()))
            }
            Err(source) => Err(write_error(root, source)),
        }
    }

    /// Goes on with a result whose run has ended, or was killed.
    pub fn reopen(root: &Path) -> Result<Self, SinkError> {
        let folder = File::open(root).map_err(|source| write_error(root, source))?;
        if matches!(folder.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(SinkError::Live(root.to_owned()));
        }
        let way = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        Ok(Self { name: root.to_owned(), way, folder, open: None })
    }

    /// The name that it was opened by.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The path that leads this process to the directory, whatever its name leads to by now.
    pub fn way(&self) -> &Path {
        &self.way
    }

    /// Tells whether its name still leads to the directory.
    ///
    /// # Errors
    /// When it was removed, or moved to another place, which is named.
    pub fn check_name(&self) -> Result<(), SinkError> {
        self.check_there()?;
        let own = self.folder.metadata().map_err(|source| write_error(&self.name, source))?;
        let there = fs::metadata(&self.name).ok();
        if there.is_some_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())) {
            return Ok(());
        }
        let now = fs::read_link(&self.way).map_err(|source| write_error(&self.name, source))?;
        Err(SinkError::Moved { name: self.name.clone(), now })
    }

    fn check_there(&self) -> Result<(), SinkError> {
        match self.folder.metadata() {
            Ok(facts) if facts.nlink() == 0 => Err(SinkError::Removed(self.name.clone())),
            Ok(_) => Ok(()),
            Err(source) => Err(write_error(&self.name, source)),
        }
    }

    /// Removes a file or a folder of the result; one that is not there is gone already.
    pub fn remove(&mut self, path: &str) -> Result<(), SinkError> {
        self.open = None;
        let full = self.place(path)?;
        let is_folder = fs::symlink_metadata(&full).is_ok_and(|facts| facts.is_dir());
        let gone = if is_folder { fs::remove_dir_all(&full) } else { fs::remove_file(&full) };
        match gone {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.failed(path, error)),
            _ => Ok(()),
        }
    }

    /// Returns the way to a path of the result, whose folders are made, for a file that is written elsewhere than here.
    pub fn place(&self, path: &str) -> Result<PathBuf, SinkError> {
        let relative = Path::new(path);
        let inside = relative.components().all(|c| matches!(c, Component::Normal(_)));
        if path.is_empty() || !inside {
            return Err(SinkError::Outside(path.to_owned()));
        }
        self.check_there()?;
        // A link to a folder elsewhere is no folder of the result.
        let mut full = self.way.clone();
        for folder in relative.parent().into_iter().flat_map(Path::components) {
            full.push(folder);
            let made = match fs::create_dir(&full) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => is_folder(&full),
                made => made,
            };
            made.map_err(|error| self.failed(path, error))?;
        }
        Ok(self.way.join(relative))
    }

    fn failed(&self, path: &str, source: io::Error) -> SinkError {
        write_error(&self.name.join(path), source)
    }
}

impl Sink for DirSink {
    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError> {
        replaced(&self.place(path)?, bytes).map_err(|source| self.failed(path, source))
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
                .open(self.place(path)?)
                .map_err(|source| self.failed(path, source))?,
        };
        file.write_all(bytes).map_err(|source| self.failed(path, source))?;
        self.open = Some((path.to_owned(), file));
        Ok(())
    }
}

fn is_folder(path: &Path) -> io::Result<()> {
    let link = || io::Error::new(ErrorKind::NotADirectory, "a folder of the result is a link");
    fs::symlink_metadata(path)?.is_dir().then_some(()).ok_or_else(link)
}

/// Replaces the file at `full` by `bytes`: a kill leaves the old one or the new one, never a part.
pub(crate) fn replace(full: &Path, bytes: &[u8]) -> Result<(), SinkError> {
    replaced(full, bytes).map_err(|source| write_error(full, source))
}

fn replaced(full: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut fresh = full.to_owned().into_os_string();
    fresh.push(".new");
    // One that a killed run left, or a link that somebody put there, goes: it is never written through.
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => File::create_new(&fresh)?.write_all(bytes)?,
    }
    fs::rename(&fresh, full)
}

fn write_error(path: &Path, source: io::Error) -> SinkError {
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
        assert!(!sink.name().join("cells/0").exists());
        sink.append("cells/0/rows.log", b"b").unwrap();
        assert_eq!(fs::read(sink.name().join("cells/0/rows.log")).unwrap(), b"b");
        assert!(matches!(sink.remove("../r"), Err(SinkError::Outside(_))));
    }

    #[test]
    fn links_in_a_result_are_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let foreign = dir.path().join("foreign");
        fs::write(&foreign, "theirs").unwrap();
        let mut sink = DirSink::create(&dir.path().join("r")).unwrap();
        for name in ["m.json.new", "m.json", "rows.log"] {
            std::os::unix::fs::symlink(&foreign, sink.name().join(name)).unwrap();
        }
        sink.put("m.json", b"one").unwrap();
        assert!(sink.append("rows.log", b"a").is_err());
        assert_eq!(fs::read(sink.name().join("m.json")).unwrap(), b"one");
        assert_eq!(fs::read(&foreign).unwrap(), b"theirs");
    }

    #[test]
    fn a_folder_that_is_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let foreign = dir.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("theirs"), "theirs").unwrap();
        let mut sink = DirSink::create(&dir.path().join("r")).unwrap();
        std::os::unix::fs::symlink(&foreign, sink.name().join("cells")).unwrap();
        assert!(sink.put("cells/a", b"x").is_err() && sink.append("cells/a", b"x").is_err());
        assert!(sink.remove("cells/theirs").is_err());
        sink.remove("cells").unwrap();
        assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1);
    }

    type Swap = fn(&Path, &Path);
    type Write = fn(&mut DirSink) -> Result<(), SinkError>;

    /// What others do to the name of a result's directory; the second path is a directory of theirs.
    const SWAPS: [(&str, Swap); 5] = [
        ("exchanged", |r, theirs| {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            renameat_with(CWD, r, CWD, theirs, RenameFlags::EXCHANGE).unwrap();
        }),
        ("moved", |r, _| fs::rename(r, r.with_extension("moved")).unwrap()),
        ("replaced by theirs", |r, theirs| {
            fs::rename(r, r.with_extension("moved")).unwrap();
            fs::rename(theirs, r).unwrap();
        }),
        ("replaced by a link", |r, theirs| {
            fs::rename(r, r.with_extension("moved")).unwrap();
            std::os::unix::fs::symlink(theirs, r).unwrap();
        }),
        ("removed", |r, _| fs::remove_dir_all(r).unwrap()),
    ];

    /// Everything that a run does to a member of its result.
    const WRITES: [(&str, Write); 6] = [
        ("put", |sink| sink.put("manifest.json", b"ours")),
        ("put in a folder", |sink| sink.put("cells/0/cell.json", b"ours")),
        ("append to the open file", |sink| sink.append("transcript.jsonl", b"ours")),
        ("append", |sink| sink.append("cells/0/rows.log", b"ours")),
        ("remove", |sink| sink.remove("cells/0")),
        ("seal", |sink| crate::checksums::write(sink.way())),
    ];

    #[test]
    fn whatever_becomes_of_the_name_all_goes_to_the_directory_that_was_opened() {
        for (swapped, swap) in SWAPS {
            for (written, write) in WRITES {
                let dir = tempfile::tempdir().unwrap();
                let (root, theirs) = (dir.path().join("r"), dir.path().join("theirs"));
                let files =
                    ["manifest.json", "transcript.jsonl", "SHA256SUMS", "cells/0/cell.json"];
                for file in files {
                    fs::create_dir_all(theirs.join("cells/0")).unwrap();
                    fs::write(theirs.join(file), "theirs").unwrap();
                }
                let foreign = fs::metadata(&theirs).unwrap().ino();
                let mut sink = DirSink::create(&root).unwrap();
                sink.put("manifest.json", b"first").unwrap();
                sink.put("cells/0/cell.json", b"first").unwrap();
                sink.append("transcript.jsonl", b"first").unwrap();
                assert!(sink.check_name().is_ok());
                swap(&root, &theirs);
                let case = format!("{swapped}, {written}");
                let done = write(&mut sink);
                assert_eq!(done.is_err(), swapped == "removed", "{case}: {done:?}");
                let named = sink.check_name().unwrap_err();
                if swapped == "removed" {
                    assert!(matches!(named, SinkError::Removed(_)), "{case}: {named}");
                    assert!(!root.exists(), "{case}: nothing is made anew");
                } else {
                    let SinkError::Moved { now, .. } = &named else { panic!("{case}: {named}") };
                    assert_ne!(fs::read(now.join("manifest.json")).unwrap(), b"theirs", "{case}");
                    assert!(named.to_string().contains(&now.display().to_string()), "{named}");
                }
                let all = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
                let is_theirs = |path: &PathBuf| fs::metadata(path).unwrap().ino() == foreign;
                let theirs = all.into_iter().find(is_theirs).unwrap();
                for file in files {
                    assert_eq!(fs::read(theirs.join(file)).unwrap(), b"theirs", "{case}: {file}");
                }
            }
        }
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
        assert_eq!(fs::read(sink.name().join("m.json")).unwrap(), b"two");
        assert_eq!(fs::read(sink.name().join("cells/0/rows.log")).unwrap(), b"ab");
        assert_eq!(fs::read_dir(sink.name()).unwrap().count(), 3);
    }
}
