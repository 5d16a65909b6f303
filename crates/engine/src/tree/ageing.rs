//! A file system that is aged on purpose: files that grow in turn, every second one removed, and files that fill the freed space.
//!
//! Files lie in directories that were made here, each opened through its parent. Only files that were made here are ever changed or removed: each is
//! recognised by its inode.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Instant;

use content::{ContentSpec, Contents, Part, Source};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, fstat, fstatvfs, statat, syncfs};
use rustix::io::{Errno, pread, write};
use sys::interrupt::{Interrupt, Level};
use sys::meant::Meant;
use units::Seed;

use crate::error::{EngineError, ErrorKind};
use crate::tree::place::Root;

/// Bytes of a call.
const CALL: usize = 1 << 20;
/// Bytes of files that fill the file system between two flushes, unless a single one is larger.
const FLUSHED: u64 = 16 << 20;
/// Least number of bytes written between two checks of how full the file system is.
const MIN_BYTES_BETWEEN_CHECKS: u64 = 64 << 10;
const OPEN: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Bytes that were read, and the time that this took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadRate {
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds.
    pub time_ns: u64,
}

impl ReadRate {
    /// Returns bytes per second; `None` where nothing was read.
    pub fn bytes_per_s(self) -> Option<f64> {
        let measured = self.bytes > 0 && self.time_ns > 0;
        measured.then(|| self.bytes as f64 * 1e9 / self.time_ns as f64)
    }
}

/// The reason why a part of an ageing ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgeingEnd {
    /// No space is left.
    Full,
    /// The user wants to stop.
    Interrupted,
    /// The time is over.
    Late,
}

/// The reasons for which an ageing stops early.
#[derive(Debug, Clone, Copy)]
pub struct AgeingBounds<'a> {
    /// The user's request to stop.
    pub interrupt: &'a Interrupt,
    /// The moment by which it has to be done.
    pub until: Option<Instant>,
}

impl AgeingBounds<'_> {
    fn stop(&self) -> Option<AgeingEnd> {
        if self.interrupt.level() != Level::None {
            return Some(AgeingEnd::Interrupted);
        }
        self.until.is_some_and(|until| Instant::now() >= until).then_some(AgeingEnd::Late)
    }
}

/// The directory of one ageing; the directories of its files are made in it.
pub struct AgeingGround(Root);

impl AgeingGround {
    /// Makes `folder` in the directory `around`, given as its name and the path by which it is opened.
    ///
    /// # Errors
    /// Fails if the directory does not exist, cannot be written to, or lies in a file system other than `meant`, or if the folder exists already.
    pub fn make(
        around: (&Path, &Path),
        meant: Option<&Meant>,
        folder: &str,
    ) -> Result<Self, EngineError> {
        Root::existing(around, meant)?.make(folder).map(Self)
    }
}

/// A file that was made here.
#[derive(Debug)]
struct OwnFile {
    name: String,
    /// Device and inode.
    mark: (u64, u64),
}

/// The files made here in one directory, as far as they still exist.
pub struct OwnFiles<'a> {
    root: Root,
    files: Vec<OwnFile>,
    source: Source,
    buffer: Box<[u8]>,
    bounds: AgeingBounds<'a>,
    written: u64,
}

impl<'a> OwnFiles<'a> {
    /// Begins in a new directory `folder`; everything that is written is generated from the seed.
    ///
    /// # Errors
    /// Fails if the directory exists already or cannot be made, or the content cannot be generated.
    pub fn begin(
        (ground, folder): (&AgeingGround, &str),
        (content, seed): (&ContentSpec, Seed),
        bounds: AgeingBounds<'a>,
    ) -> Result<Self, EngineError> {
        let part = Part { generator: 0, jobs: 1, blocks: 0 };
        let contents = Contents::new(content, seed, part).map_err(|error| {
            let help = error.help();
            EngineError::new(ErrorKind::Usage, "The content cannot be written", help).because(error)
        })?;
        let root = ground.0.make(folder)?;
        let (files, source, buffer) = (Vec::new(), contents.source(0), vec![0; CALL].into());
        Ok(Self { root, files, source, buffer, bounds, written: 0 })
    }

    /// Returns the directory that the files were made in, opened for reading, and its name.
    ///
    /// # Errors
    /// Fails if it can no longer be read.
    pub fn directory(&self) -> Result<(File, &Path), EngineError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = fs::openat(&self.root, ".", flags, Mode::empty());
        let opened = opened.map_err(|error| self.failed("the directory", error))?;
        Ok((opened.into(), self.root.path()))
    }

    /// Returns the bytes that were written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Makes `files` files of `bytes`, completing each before the next, reads them from the device, and removes them. Their read rate is the one to
    /// compare with that of files that grew in turn; `None` where space ran out or the ageing was stopped.
    ///
    /// # Errors
    /// Fails if a call fails, except for lack of space.
    pub fn fresh(&mut self, files: u64, bytes: u64) -> Result<Option<ReadRate>, EngineError> {
        let mut made = Vec::new();
        let mut ended = None;
        for number in 0..files {
            let Some(owned) = self.make(format!("new{number:06}"))? else {
                ended = Some(AgeingEnd::Full);
                break;
            };
            ended = self.append(&owned, bytes)?;
            made.push(owned);
            if ended.is_some() {
                break;
            }
        }
        self.sync()?;
        let rate = if ended.is_none() { self.read_all(&made)? } else { None };
        for owned in made {
            self.remove(&owned)?;
        }
        self.sync()?;
        Ok(rate)
    }

    /// Lets each of `files` files grow by `bytes`, and writes all of it to the device; the first call makes the files.
    ///
    /// # Errors
    /// Fails if a call fails, except for lack of space.
    pub fn round(&mut self, files: u64, bytes: u64) -> Result<Option<AgeingEnd>, EngineError> {
        let mut full = None;
        if self.files.is_empty() {
            for number in 0..files {
                let Some(owned) = self.make(format!("old{number:06}"))? else {
                    full = Some(AgeingEnd::Full);
                    break;
                };
                self.files.push(owned);
            }
        }
        let grown = std::mem::take(&mut self.files);
        let mut appended = Ok(None);
        for owned in &grown {
            appended = self.append(owned, bytes);
            if !matches!(appended, Ok(None)) {
                break;
            }
        }
        self.files = grown;
        let appended = appended?;
        self.sync()?;
        Ok(appended.or(full))
    }

    /// Removes every second of the files that grew.
    ///
    /// # Errors
    /// Fails if a file no longer exists or is somebody else's.
    pub fn thin_out(&mut self) -> Result<(), EngineError> {
        let mut kept = Vec::new();
        for (number, owned) in std::mem::take(&mut self.files).into_iter().enumerate() {
            match number % 2 {
                0 => kept.push(owned),
                _ => self.remove(&owned)?,
            }
        }
        self.files = kept;
        self.sync()
    }

    /// Writes files of `bytes` until `percent` of the file system is used or no space is left; the last file is only as long as needed.
    ///
    /// # Errors
    /// Fails if a call fails, except for lack of space.
    pub fn fill(&mut self, percent: f64, bytes: u64) -> Result<Option<AgeingEnd>, EngineError> {
        loop {
            let missing = self.missing(percent)?;
            if missing == 0 {
                return Ok(None);
            }
            let mut left = missing.min(bytes.max(FLUSHED)).max(MIN_BYTES_BETWEEN_CHECKS);
            let mut ended = None;
            while left > 0 && ended.is_none() {
                let size = left.min(bytes.max(1));
                ended = self.fill_one(size)?;
                left -= size;
            }
            // Space that is allocated only in memory so far is not counted yet.
            self.sync()?;
            if ended.is_some() {
                return Ok(ended);
            }
        }
    }

    fn fill_one(&mut self, bytes: u64) -> Result<Option<AgeingEnd>, EngineError> {
        let Some(owned) = self.make(format!("fill{:06}", self.files.len()))? else {
            return Ok(Some(AgeingEnd::Full));
        };
        let ended = self.append(&owned, bytes);
        self.files.push(owned);
        ended
    }

    /// Reads the last files in the order of their names, at least `most` bytes of them, from the device.
    ///
    /// # Errors
    /// Fails if a file no longer exists or cannot be read.
    pub fn read(&mut self, most: u64) -> Result<Option<ReadRate>, EngineError> {
        let files = std::mem::take(&mut self.files);
        let (mut first, mut bytes) = (files.len(), 0);
        while first > 0 && bytes < most {
            first -= 1;
            let file = self.open(&files[first], OFlags::RDONLY)?;
            bytes += file.metadata().map_err(|error| self.failed(&files[first].name, error))?.len();
        }
        let read = self.read_all(&files[first..]);
        self.files = files;
        read
    }

    /// Returns how full the file system is, in percent.
    ///
    /// # Errors
    /// Fails if the file system does not report it.
    pub fn used_percent(&self) -> Result<f64, EngineError> {
        let (used, all, _) = self.space()?;
        Ok(100.0 * used as f64 / all as f64)
    }

    /// Returns the bytes that are missing until `percent` are used.
    fn missing(&self, percent: f64) -> Result<u64, EngineError> {
        let (used, all, block) = self.space()?;
        let wanted = (percent / 100.0 * all as f64).ceil() as u64;
        Ok(wanted.saturating_sub(used).saturating_mul(block))
    }

    /// Returns the number of used blocks, the number of all blocks, and the bytes of one.
    fn space(&self) -> Result<(u64, u64, u64), EngineError> {
        let space = fstatvfs(&self.root).map_err(|error| self.failed("its file system", error))?;
        let used = space.f_blocks.saturating_sub(space.f_bfree);
        Ok((used, space.f_blocks.max(1), space.f_frsize))
    }

    fn failed(&self, name: &str, error: impl Into<io::Error>) -> EngineError {
        let message = format!("{name} in {} failed", self.root.path().display());
        EngineError::new(ErrorKind::Target, message, "see the cause below").because(error.into())
    }

    /// Writes everything to the device, and checks that the directory is still where it was.
    fn sync(&self) -> Result<(), EngineError> {
        let synced = syncfs(&self.root);
        synced.map_err(|error| self.failed("bringing files to the device", error))?;
        self.root.check_place()
    }

    /// Makes an empty file under a new name; `None` if the file system has no space for it.
    fn make(&self, name: String) -> Result<Option<OwnFile>, EngineError> {
        let flags = OPEN | OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
        let made = fs::openat(&self.root, name.as_str(), flags, Mode::from_raw_mode(0o644));
        match made.and_then(|file| fstat(&file)) {
            Ok(found) => Ok(Some(OwnFile { name, mark: (found.st_dev, found.st_ino) })),
            Err(Errno::NOSPC | Errno::DQUOT) => Ok(None),
            Err(error) => Err(self.failed(&name, error)),
        }
    }

    /// Checks that a name still leads to the file that was made under it.
    fn check(&self, owned: &OwnFile, found: Result<fs::Stat, Errno>) -> Result<(), EngineError> {
        let found = found.map_err(|error| self.failed(&owned.name, error))?;
        let is_file = FileType::from_raw_mode(found.st_mode).is_file() && found.st_nlink == 1;
        if is_file && (found.st_dev, found.st_ino) == owned.mark {
            return Ok(());
        }
        let message = format!(
            "{} in {} is not the file that was made there, or has another name",
            owned.name,
            self.root.path().display()
        );
        let help =
            "nothing is written to it, and nothing removed: keep others out of the directory";
        Err(EngineError::new(ErrorKind::Refused, message, help))
    }

    fn open(&self, owned: &OwnFile, flags: OFlags) -> Result<File, EngineError> {
        let opened = fs::openat(&self.root, owned.name.as_str(), OPEN | flags, Mode::empty());
        let file = opened.map_err(|error| self.failed(&owned.name, error))?;
        self.check(owned, fstat(&file))?;
        Ok(file.into())
    }

    fn append(&mut self, owned: &OwnFile, bytes: u64) -> Result<Option<AgeingEnd>, EngineError> {
        let file = self.open(owned, OFlags::WRONLY | OFlags::APPEND)?;
        let mut left = bytes;
        while left > 0 {
            if let Some(end) = self.bounds.stop() {
                return Ok(Some(end));
            }
            let part = left.min(CALL as u64) as usize;
            self.source.fill_next(&mut self.buffer[..part]);
            let (written, done) = write_all(&file, &self.buffer[..part]);
            self.written += written;
            match done {
                Ok(()) => {}
                Err(Errno::NOSPC | Errno::DQUOT) => return Ok(Some(AgeingEnd::Full)),
                Err(error) => return Err(self.failed(&owned.name, error)),
            }
            left -= part as u64;
        }
        Ok(None)
    }

    fn remove(&self, owned: &OwnFile) -> Result<(), EngineError> {
        self.check(owned, statat(&self.root, owned.name.as_str(), AtFlags::SYMLINK_NOFOLLOW))?;
        let removed = fs::unlinkat(&self.root, owned.name.as_str(), AtFlags::empty());
        removed.map_err(|error| self.failed(&owned.name, error))
    }

    /// Reads files one after the other; their pages are dropped from memory first.
    fn read_all(&mut self, files: &[OwnFile]) -> Result<Option<ReadRate>, EngineError> {
        for owned in files {
            sys::block::drop_cached(&self.open(owned, OFlags::RDONLY)?);
        }
        let (begun, mut bytes) = (Instant::now(), 0);
        for owned in files {
            let file = self.open(owned, OFlags::RDONLY)?;
            let mut at = 0;
            loop {
                if self.bounds.stop().is_some() {
                    return Ok(None);
                }
                let read = again(|| pread(&file, &mut self.buffer[..], at));
                let read = read.map_err(|error| self.failed(&owned.name, error))? as u64;
                if read == 0 {
                    break;
                }
                at += read;
                bytes += read;
            }
        }
        let time_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok((bytes > 0).then_some(ReadRate { bytes, time_ns }))
    }
}

fn again(mut call: impl FnMut() -> Result<usize, Errno>) -> Result<usize, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

/// Writes all of `bytes`; returns the number of bytes written even if it fails.
fn write_all(file: impl AsFd, bytes: &[u8]) -> (u64, Result<(), Errno>) {
    let mut at = 0;
    while at < bytes.len() {
        match again(|| write(&file, &bytes[at..])) {
            Ok(0) => return (at as u64, Err(Errno::IO)),
            Ok(written) => at += written,
            Err(error) => return (at as u64, Err(error)),
        }
    }
    (at as u64, Ok(()))
}

#[cfg(test)]
mod tests;
