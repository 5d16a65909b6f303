//! The open targets of a load, as backends see them.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use crate::error::{EngineError, ErrorKind};

/// One open target.
#[derive(Debug)]
pub(crate) struct TargetFile {
    pub file: File,
    /// Tells whether it is a block device rather than a file.
    pub block: bool,
    /// Tells whether Fathom made this file; such a file is marked as Fathom's own when the load is over.
    pub made: bool,
}

/// The open targets of a load, in its order.
#[derive(Debug)]
pub(crate) struct Files(Vec<TargetFile>);

impl Files {
    pub(crate) fn new(files: Vec<TargetFile>) -> Self {
        Self(files)
    }

    /// Tells for each target whether it is a file rather than a block device.
    pub(crate) fn are_files(&self) -> Vec<bool> {
        self.0.iter().map(|target| !target.block).collect()
    }

    /// Flushes the targets one after the other, and gives each with the result of its flush.
    pub(crate) fn flushed(&self) -> impl Iterator<Item = (&File, std::io::Result<()>)> {
        self.0.iter().map(|target| (&target.file, sys::block::flush(&target.file)))
    }

    /// Marks the files that Fathom made, in the state that they have at the end of a load.
    pub(crate) fn mark_made(&self) {
        for made in self.0.iter().filter(|target| target.made) {
            let _ = sys::made::mark(&made.file);
        }
    }

    /// Opens the targets for the calling thread (a new one) in a separate file descriptor table. The kernel then need not take a reference to the
    /// file on each call: two atomic operations on a cache line that all threads contend for. If the kernel refuses,
    /// the shared table is used.
    ///
    /// The thread does not see what others open or close later. Other holders of these files must keep them open until this returns.
    pub(crate) fn for_this_thread(&self) -> Result<Self, EngineError> {
        let alone = own_table();
        let clone = self.try_clone()?;
        if alone {
            // The rest of the process may close its files at any time; a copy here would keep them open.
            close_others(&clone.fds());
        }
        Ok(clone)
    }

    /// Duplicates the file descriptors.
    pub(crate) fn try_clone(&self) -> Result<Self, EngineError> {
        let clone = |f: &TargetFile| {
            Ok(TargetFile { file: f.file.try_clone()?, block: f.block, made: f.made })
        };
        self.0.iter().map(clone).collect::<std::io::Result<_>>().map(Self).map_err(|e| {
            let help = "raise the limit of open files (ulimit -n)";
            EngineError::new(ErrorKind::Environment, "The target cannot be opened again", help)
                .because(e)
        })
    }

    #[inline]
    pub(crate) fn fd(&self, target: u16) -> RawFd {
        self.0[usize::from(target)].file.as_raw_fd()
    }

    /// The file of one target, for a call.
    pub(crate) fn borrowed(&self, target: u16) -> BorrowedFd<'_> {
        self.0[usize::from(target)].file.as_fd()
    }

    #[inline]
    pub(crate) fn is_block(&self, target: u16) -> bool {
        self.0[usize::from(target)].block
    }

    #[cfg(test)]
    pub(crate) fn file(&self, target: u16) -> &File {
        &self.0[usize::from(target)].file
    }

    pub(crate) fn fds(&self) -> Vec<RawFd> {
        self.0.iter().map(|f| f.file.as_raw_fd()).collect()
    }
}

/// Gives the calling thread a copy of its table of open files, if the kernel can close the superfluous ones afterwards; tells whether it did.
fn own_table() -> bool {
    // SAFETY: a call without pointers; on a range that holds no file it only tells whether the kernel knows the call.
    let known = unsafe { libc::syscall(libc::SYS_close_range, u32::MAX, u32::MAX, 0) } == 0;
    // SAFETY: the files of a copied table are the same ones under the same numbers; what other threads own stays theirs.
    known && unsafe { libc::unshare(libc::CLONE_FILES) } == 0
}

/// Closes everything in the calling thread's own table but standard input and outputs and `kept`.
fn close_others(kept: &[RawFd]) {
    let mut kept: Vec<u32> = kept.iter().filter_map(|&fd| u32::try_from(fd).ok()).collect();
    kept.sort_unstable();
    let mut first = libc::STDERR_FILENO as u32 + 1;
    for fd in kept.into_iter().chain([u32::MAX]) {
        if fd > first {
            // SAFETY: a call without pointers. The table is this thread's alone, and the thread owns nothing in it but `kept`.
            unsafe { libc::syscall(libc::SYS_close_range, first, fd - 1, 0) };
        }
        first = first.max(fd.saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn a_thread_has_its_targets_and_nothing_else_open_and_leaves_the_others_theirs() {
        let file = || tempfile::tempfile().unwrap();
        let target = || TargetFile { file: file(), block: false, made: false };
        let files = Files::new(vec![target(), target()]);
        files.file(0).write_all_at(b"one", 0).unwrap();
        files.file(1).write_all_at(b"two", 0).unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        let apart = std::thread::scope(|scope| {
            let work = || {
                let opened = files.for_this_thread().unwrap();
                let mut bytes = [0; 3];
                for (target, expected) in [(0, b"one"), (1, b"two")] {
                    opened.file(target).read_exact_at(&mut bytes, 0).unwrap();
                    assert_eq!(&bytes, expected);
                }
                // SAFETY: a question about a number.
                unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETFD) == -1 }
            };
            scope.spawn(work).join().unwrap()
        });
        assert!(apart, "the pipe is still open in the thread's table");
        (&writer).write_all(b"x").unwrap();
        drop(writer);
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"x");
        files.file(0).write_all_at(b"ONE", 0).unwrap();
    }
}
