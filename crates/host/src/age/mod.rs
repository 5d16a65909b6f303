//! The age of a file system: how fragmented its files and its free space are. Writes nothing except data that wait to be written already.

mod classes;
mod file_runs;
mod walk;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use results::model::{Age, Fragmented, FreeSpace, TreeAge};
use rustix::fs::{OFlags, fstatvfs, syncfs};
use rustix::io::Errno;
use sys::extents::each_extent;
use sys::free_space::each_free;
use sys::interrupt::{Interrupt, Level};

use self::classes::Classes;
use self::file_runs::{Counts, FileRuns};
use self::walk::{Met, walk};

/// Number of files that are named: those in the most runs.
const NAMED: usize = 10;
/// Largest number of problems that are listed.
const TOLD: usize = 20;
/// Time between two progress reports while data are written out.
const TOLD_EVERY: Duration = Duration::from_millis(200);
/// Number of extents of one file between two checks whether to go on.
const EXTENTS: u64 = 4096;

/// Reason why the age of a directory cannot be determined.
#[derive(Debug, thiserror::Error)]
pub enum AgeError {
    /// It cannot be opened.
    #[error("Cannot open the directory {path}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Data that wait in memory could not be written.
    #[error("Cannot write out what the file system of {path} holds in memory")]
    Sync {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Its file system does not report where files lie.
    #[error("The file system of {path} ({kind}) does not tell where its files lie")]
    Silent {
        /// The directory.
        path: PathBuf,
        /// The kind of file system.
        kind: String,
    },
}

/// Limits of an examination of a file system, and the receiver of its progress.
pub struct Look<'a> {
    /// Tells whether what the file system holds in memory is written out first: it has no place on the device yet.
    pub sync: bool,
    /// The time limit; `None` where there is none.
    pub most: Option<Duration>,
    /// Interrupts the examination.
    pub interrupt: &'a Interrupt,
    /// Receives the progress.
    pub progress: &'a mut dyn FnMut(Looked),
}

/// The progress of an examination of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// The file system is writing out data that wait in memory, which cannot be interrupted; reported repeatedly.
    Writing,
    /// Number of files that were examined so far.
    Files(u64),
}

impl Look<'_> {
    fn goes_on(&self, begun: Instant) -> bool {
        self.interrupt.level() == Level::None && self.most.is_none_or(|most| begun.elapsed() < most)
    }
}

/// Returns the age of the contents of a directory, and of the file system that it lies in. Below it no link is followed, and no other file system is
/// entered.
///
/// # Errors
/// When it cannot be opened or synced, or its file system does not report where files lie.
pub fn age(directory: &Path, look: &mut Look) -> Result<Age, AgeError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(directory, flags, rustix::fs::Mode::empty());
    let path = || directory.to_owned();
    let root = root.map_err(|error| AgeError::Directory { path: path(), source: error.into() })?;
    age_of((&File::from(root), directory), look)
}

/// Like [`age`], for an open directory and its name.
///
/// # Errors
/// When it cannot be synced, or its file system does not report where files lie.
pub fn age_of((root, name): (&File, &Path), look: &mut Look) -> Result<Age, AgeError> {
    let path = || name.to_owned();
    if look.sync {
        let synced = write_out(root, look.progress);
        synced.map_err(|error| AgeError::Sync { path: path(), source: error.into() })?;
    }
    let begun = Instant::now();
    let file_system = crate::mounts::kind(root).unwrap_or_else(|| "unknown".to_owned());
    let block = fstatvfs(root).map_or(4096, |space| space.f_frsize);
    let mut files = Files { block, ..Files::default() };
    let walked = walk(root, |path, met| {
        (look.progress)(Looked::Files(files.age.files));
        files.meet(path, met, &mut || look.goes_on(begun)) && look.goes_on(begun)
    });
    if files.silent {
        return Err(AgeError::Silent { path: path(), kind: file_system });
    }
    let (free, free_untold) = match free_space(root, &mut || look.goes_on(begun)) {
        Ok(free) => (free, None),
        Err(error) if says_nothing(&error) => {
            (None, Some(format!("{file_system} does not tell where it has free space")))
        }
        Err(error) => (None, Some(format!("{file_system} did not tell its free space: {error}"))),
    };
    let complete = walked && !files.cut && (free.is_some() || free_untold.is_some());
    let complete = complete && files.age.unreadable == 0;
    Ok(Age { file_system, complete, files: files.finish(), free, free_untold })
}

/// Writes out what a file system holds in memory, and reports progress until that is done.
fn write_out(root: &File, progress: &mut dyn FnMut(Looked)) -> Result<(), Errno> {
    std::thread::scope(|scope| {
        let (done, end) = mpsc::channel();
        scope.spawn(move || done.send(syncfs(root)));
        loop {
            match end.recv_timeout(TOLD_EVERY) {
                Ok(synced) => return synced,
                Err(mpsc::RecvTimeoutError::Timeout) => progress(Looked::Writing),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(Errno::IO),
            }
        }
    })
}

/// Returns the free space; `None` where the examination was stopped before its end.
fn free_space(root: impl AsFd, goes_on: &mut dyn FnMut() -> bool) -> io::Result<Option<FreeSpace>> {
    let mut classes = Classes::default();
    let (mut largest_bytes, mut whole) = (0, true);
    each_free(root, |bytes| {
        classes.add(bytes, bytes);
        largest_bytes = bytes.max(largest_bytes);
        whole = bytes > 0 || goes_on();
        whole
    })?;
    Ok(whole.then(|| FreeSpace {
        bytes: classes.bytes(),
        stretches: classes.count(),
        largest_bytes,
        half_in_stretches_of_bytes: classes.half_in(),
        by_bytes: classes.list(),
    }))
}

/// The files that were looked at so far.
#[derive(Default)]
struct Files {
    age: TreeAge,
    block: u64,
    by_runs: Classes,
    runs: Classes,
    /// Tells whether the file system does not report where files lie.
    silent: bool,
    /// Tells whether the examination of a file was stopped before its end.
    cut: bool,
}

impl Files {
    /// Counts a thing that was met; tells whether to go on.
    fn meet(&mut self, path: &Path, met: Met, goes_on: &mut dyn FnMut() -> bool) -> bool {
        let age = &mut self.age;
        match met {
            Met::Directory => age.directories += 1,
            Met::HardLink => age.hard_links += 1,
            Met::Other => age.others += 1,
            Met::LeftOut => age.left_out += 1,
            Met::Unreadable(path, error) => self.trouble(path, &error.into()),
            Met::File(file, stat) => {
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                match self.file(&file.into(), size, goes_on) {
                    Ok(counts) => self.count(path, size, &counts),
                    Err(error) if self.age.files == 0 && says_nothing(&error) => {
                        self.silent = true;
                        return false;
                    }
                    Err(error) => self.trouble(path, &error),
                }
            }
        }
        !self.cut
    }

    fn trouble(&mut self, path: &Path, error: &io::Error) {
        self.age.unreadable += 1;
        if self.age.troubles.len() < TOLD {
            self.age.troubles.push(format!("{}: {error}", path.display()));
        }
    }

    fn file(
        &mut self,
        file: &File,
        size: u64,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> io::Result<Counts> {
        let mut runs = FileRuns::new(size, self.block);
        let mut ended = |bytes| self.runs.add(bytes, bytes);
        let mut extents = 0_u64;
        let mut whole = true;
        each_extent(file, 0..u64::MAX, |extent| {
            runs.add(&extent, &mut ended);
            extents += 1;
            whole = !extents.is_multiple_of(EXTENTS) || goes_on();
            whole
        })?;
        let counts = runs.finish(&mut ended);
        self.cut |= !whole;
        Ok(counts)
    }

    fn count(&mut self, path: &Path, bytes: u64, counts: &Counts) {
        let age = &mut self.age;
        age.files += 1;
        age.bytes += bytes;
        age.extents += counts.extents;
        age.runs += counts.runs;
        age.shared_bytes += counts.shared_bytes;
        age.unwritten_bytes += counts.unwritten_bytes;
        age.encoded_bytes += counts.encoded_bytes;
        age.inline_bytes += counts.inline_bytes;
        age.waiting_bytes += counts.waiting_bytes;
        age.beyond_end_bytes += counts.beyond_end_bytes;
        age.hole_bytes += bytes.saturating_sub(counts.told_bytes);
        if counts.runs == 0 {
            return;
        }
        age.files_with_space += 1;
        age.files_in_one_run += u64::from(counts.runs == 1);
        self.by_runs.add(counts.runs, bytes);
        let named = &mut age.most_fragmented;
        if counts.runs > 1 && (named.len() < NAMED || named[NAMED - 1].runs < counts.runs) {
            let at = named.partition_point(|one| one.runs >= counts.runs);
            let path = path.display().to_string();
            named.insert(at, Fragmented { path, runs: counts.runs, bytes });
            named.truncate(NAMED);
        }
    }

    fn finish(mut self) -> TreeAge {
        let age = &mut self.age;
        age.discontinuities = age.runs - age.files_with_space;
        age.runs_per_file =
            (age.files_with_space > 0).then(|| age.runs as f64 / age.files_with_space as f64);
        age.run_bytes = self.runs.bytes();
        age.half_in_runs_of_bytes = self.runs.half_in();
        age.files_by_runs = self.by_runs.list();
        age.runs_by_bytes = self.runs.list();
        self.age
    }
}

fn says_nothing(error: &io::Error) -> bool {
    let of = |code: Errno| error.raw_os_error() == Some(code.raw_os_error());
    of(Errno::OPNOTSUPP) || of(Errno::NOTTY)
}
