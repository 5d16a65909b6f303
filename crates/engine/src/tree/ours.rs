//! Identities of the names that a load made, so that a name that somebody else made in the directory is recognised and left alone.

use std::os::fd::AsFd;

use rustc_hash::FxHashMap;
use rustix::fs::{self, AtFlags, FileType, Stat};
use rustix::io::Errno;
use tree::{Name, NameKind};

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

/// Identity of what a worker made under a name: the inode number folded to 32 bits, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(u32);

impl Mark {
    fn of(found: &Stat) -> Self {
        let inode = found.st_ino;
        Self(((inode ^ (inode >> 32)) as u32).max(1))
    }
}

/// The marks of everything that a worker made and has not removed, by the index of its name.
pub(crate) struct MadeNames {
    worker: u64,
    workers: u64,
    /// Marks of files in the order of the worker's own indices; 0 for names without a file.
    files: Vec<u32>,
    /// Marks of hard links, soft links and directories.
    others: FxHashMap<(NameKind, u64), Mark>,
}

impl MadeNames {
    /// Creates the marks of a worker that has made nothing yet and owns `names` indices: every `workers`-th, starting at its own number.
    pub(crate) fn new(worker: u32, workers: u32, names: u32) -> Self {
        let (worker, workers) = (worker.into(), u64::from(workers.max(1)));
        Self { worker, workers, files: vec![0; names as usize], others: FxHashMap::default() }
    }

    fn place(&self, index: u64) -> usize {
        (index.saturating_sub(self.worker) / self.workers) as usize
    }

    fn get(&self, kind: NameKind, index: u64) -> Option<Mark> {
        match kind {
            NameKind::File => {
                self.files.get(self.place(index)).copied().filter(|mark| *mark > 0).map(Mark)
            }
            _ => self.others.get(&(kind, index)).copied(),
        }
    }

    fn set(&mut self, kind: NameKind, index: u64, mark: Option<Mark>) {
        let place = self.place(index);
        match (kind, mark) {
            (NameKind::File, mark) => {
                if let Some(known) = self.files.get_mut(place) {
                    *known = mark.map_or(0, |mark| mark.0);
                }
            }
            (_, Some(mark)) => drop(self.others.insert((kind, index), mark)),
            (_, None) => drop(self.others.remove(&(kind, index))),
        }
    }

    /// Notes the file or directory that was just made under a name; `found` is its status.
    pub(crate) fn record(&mut self, kind: NameKind, index: u64, found: &Stat) {
        self.set(kind, index, Some(Mark::of(found)));
    }

    /// Reads the status of the file or directory that was just made under a name, and notes it.
    pub(crate) fn stat_and_record(&mut self, at: impl AsFd, name: &Name) -> Result<(), Failed> {
        self.record(name.kind(), name.index(), &look(at, name.as_str())?);
        Ok(())
    }

    /// Notes that the file of `index` has a hard link next to the name of `second`.
    pub(crate) fn shared(&mut self, index: u64, second: u64) {
        let mark = self.get(NameKind::File, index);
        self.set(NameKind::Hard, second, mark);
    }

    /// Notes that a file now has the name of `second`.
    pub(crate) fn renamed(&mut self, index: u64, second: u64) {
        let mark = self.get(NameKind::File, index);
        self.set(NameKind::File, index, None);
        self.set(NameKind::File, second, mark);
    }

    /// Notes that a name no longer exists.
    pub(crate) fn forget(&mut self, kind: NameKind, index: u64) {
        self.set(kind, index, None);
    }

    /// Checks that a name leads to the file that this worker made: a regular file with the noted inode and a link count of `links`.
    pub(crate) fn is_file(
        &self,
        (kind, index): (NameKind, u64),
        found: &Stat,
        links: u32,
    ) -> Result<(), Failed> {
        let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        // `st_nlink` has another type on other architectures.
        let is_linked = u32::try_from(found.st_nlink).is_ok_and(|found| found == links);
        self.is_own(is_file && is_linked, (kind, index), found)
    }

    fn is_own(
        &self,
        fits: bool,
        (kind, index): (NameKind, u64),
        found: &Stat,
    ) -> Result<(), Failed> {
        let is_same = self.get(kind, index) == Some(Mark::of(found));
        if fits && is_same { Ok(()) } else { Err(Failed::NOT_OURS) }
    }

    /// Checks the name of a file before it is removed.
    pub(crate) fn check_file(&self, at: impl AsFd, name: &Name, links: u32) -> Result<(), Failed> {
        self.is_file((name.kind(), name.index()), &look(at, name.as_str())?, links)
    }

    /// Checks a soft link or a directory before it is removed.
    pub(crate) fn check_link_or_directory(&self, at: impl AsFd, name: &Name) -> Result<(), Failed> {
        let found = look(at, name.as_str())?;
        let kind = match name.kind() {
            NameKind::Directory => FileType::Directory,
            _ => FileType::Symlink,
        };
        let fits = FileType::from_raw_mode(found.st_mode) == kind;
        self.is_own(fits, (name.kind(), name.index()), &found)
    }
}

/// Returns the error of removing a name that this worker did not make: the kernel's, or [`Failed::NOT_OURS`] if somebody else made it.
pub(crate) fn missing_name_error(at: impl AsFd, name: &str) -> Failed {
    look(at, name).map_or_else(Failed::from, |_| Failed::NOT_OURS)
}

fn look(at: impl AsFd, name: &str) -> Result<Stat, Errno> {
    fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
}
