//! The lowest directories of a tree: made once, and most of them held open.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, Mode};
use rustix::process::{Resource, getrlimit, setrlimit};
use sys::interrupt::{Interrupt, Level};
use tree::Layout;

use crate::error::EngineError;
use crate::tree::place::{Root, below, cannot_make, is_same};

/// Most directories that are held open. Each of the others is opened for every operation: where names are drawn evenly it does not matter which ones
/// are held, and no lock is needed.
const MOST_HELD: u64 = 16_384;
/// Directories that are compared with their paths at a time.
const COMPARED: usize = 1_024;

/// The lowest directories of a tree.
#[derive(Debug)]
pub(crate) struct Leaves {
    root: Root,
    layout: Layout,
    held: Vec<Option<OwnedFd>>,
    made: u64,
}

/// One of these directories, for an operation.
pub(crate) enum Leaf<'a> {
    /// A directory that stays open.
    Kept(BorrowedFd<'a>),
    /// A directory that was opened for this operation.
    Opened(OwnedFd),
}

impl AsFd for Leaf<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Kept(directory) => *directory,
            Self::Opened(directory) => directory.as_fd(),
        }
    }
}

impl Leaves {
    /// Makes the directories of a tree; fails if one of them exists already. After an interrupt the rest is left out.
    pub(crate) fn make(
        root: Root,
        (layout, levels, dirs): (Layout, u32, u32),
        interrupt: &Interrupt,
    ) -> Result<Self, EngineError> {
        let most = layout.leaves().min(most_held()) as usize;
        let held = std::iter::repeat_with(|| None).take(most).collect();
        let mut leaves = Self { root, layout, held, made: 0 };
        let top =
            below(&leaves.root, "").map_err(|error| cannot_make(leaves.root.path(), error))?;
        leaves.make_level((top, ""), (0, 1), (levels, dirs), interrupt)?;
        Ok(leaves)
    }

    /// Makes the levels below `directory` at `path`. The leaves below it have the numbers `first`, `first + step`, and so on.
    fn make_level(
        &mut self,
        (directory, path): (OwnedFd, &str),
        (first, step): (u64, u64),
        (levels, dirs): (u32, u32),
        interrupt: &Interrupt,
    ) -> Result<(), EngineError> {
        if levels == 0 {
            if let Some(place) = self.held.get_mut(first as usize) {
                *place = Some(directory);
            }
            return Ok(());
        }
        for number in 0..dirs {
            if interrupt.level() != Level::None {
                break;
            }
            let name = format!("d{:04}", number + 1);
            let made = fs::mkdirat(&directory, name.as_str(), Mode::from_raw_mode(0o755));
            let child = made.and_then(|()| below(&directory, &name));
            let path = if path.is_empty() { name } else { format!("{path}/{name}") };
            let child = child.map_err(|error| cannot_make(&self.root.path().join(&path), error))?;
            self.made += 1;
            let place = (first + u64::from(number) * step, step * u64::from(dirs));
            self.make_level((child, &path), place, (levels - 1, dirs), interrupt)?;
        }
        Ok(())
    }

    /// The directory that the name of an index lies in.
    #[inline]
    pub(crate) fn directory(&self, index: u64) -> rustix::io::Result<Leaf<'_>> {
        let leaf = self.layout.leaf_of(index);
        match self.held.get(leaf as usize) {
            Some(Some(directory)) => Ok(Leaf::Kept(directory.as_fd())),
            _ => below(&self.root, &self.layout.path(leaf)).map(Leaf::Opened),
        }
    }

    /// The path from the directory of one index to that of another.
    pub(crate) fn way(&self, from: u64, to: u64) -> String {
        let (from, to) = (self.layout.leaf_of(from), self.layout.leaf_of(to));
        let path = self.layout.path(to);
        if from == to {
            return String::new();
        }
        "../".repeat(path.split('/').count()) + &path + "/"
    }

    /// Number of directories that were made.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }

    /// Compares the next directories, beginning with number `from`, with what their paths lead to, and advances `from`; returns the path of a
    /// directory that is no longer where it was made.
    pub(crate) fn moved(&self, from: &mut usize) -> Option<String> {
        if !self.root.is_in_place() {
            return Some(self.root.path().display().to_string());
        }
        for _ in 0..self.held.len().min(COMPARED) {
            let leaf = *from % self.held.len();
            *from = leaf + 1;
            let Some(directory) = &self.held[leaf] else { continue };
            let path = self.layout.path(leaf as u64);
            let found = below(&self.root, &path).and_then(fs::fstat);
            if !found.is_ok_and(|found| is_same(directory, found)) {
                return Some(self.root.path().join(path).display().to_string());
            }
        }
        None
    }
}

/// Number of directories that may be held: half of the files that the program may have open, after its limit has been raised as far as allowed.
fn most_held() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    if limit.current != limit.maximum && setrlimit(Resource::Nofile, raised).is_ok() {
        limit = getrlimit(Resource::Nofile);
    }
    limit.current.map_or(MOST_HELD, |files| (files / 2).min(MOST_HELD))
}
