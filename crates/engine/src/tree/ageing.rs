//! A file system made old on purpose: files that grow in turn, every second one removed, and files that fill what came free.
//!
//! Files lie in a directory that was empty. Only those that were made here are ever changed or removed: each is known by its inode.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Instant;

use content::{ContentSpec, Contents, Part, Source};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, fstat, fstatvfs, statat, syncfs};
use rustix::io::{Errno, pread, write};
use sys::interrupt::{Interrupt, Level};
use units::Seed;

use crate::error::{EngineError, ErrorKind};
use crate::tree::place::Root;

/// Bytes of a call.
const CALL: usize = 1 << 20;
const OPEN: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Bytes that were read, and the time that it took.
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
    /// Somebody wishes to stop.
    Interrupted,
}

/// A file that was made here.
#[derive(Debug)]
struct Own {
    name: String,
    /// Device and inode.
    mark: (u64, u64),
}

/// Files of one directory that were made here, as far as they are there.
pub struct OwnFiles<'a> {
    root: Root,
    files: Vec<Own>,
    source: Source,
    buffer: Box<[u8]>,
    interrupt: &'a Interrupt,
    written: u64,
}

impl<'a> OwnFiles<'a> {
    /// Begins in an empty directory, which is opened at `way`; everything that is written is made from the seed.
    ///
    /// # Errors
    /// A directory that is not empty or cannot be written to, a content that cannot be made.
    pub fn begin(
        (directory, way): (&Path, &Path),
        (content, seed): (&ContentSpec, Seed),
        interrupt: &'a Interrupt,
    ) -> Result<Self, EngineError> {
        let part = Part { generator: 0, jobs: 1, blocks: 0 };
        let contents = Contents::new(content, seed, part).map_err(|error| {
            let help = error.help();
            EngineError::new(ErrorKind::Usage, "The content cannot be written", help).because(error)
        })?;
        let root = Root::enter((directory, way), false)?;
        let (files, source, buffer) = (Vec::new(), contents.source(0), vec![0; CALL].into());
        Ok(Self { root, files, source, buffer, interrupt, written: 0 })
    }

    /// Returns the bytes that were written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Makes `files` files of `bytes`, each whole before the next, reads them from the device, and removes them: how fast such files are
    /// read where they did not grow in turn.
    ///
    /// # Errors
    /// A call that failed, but for lack of space, where nothing is told.
    pub fn fresh(&mut self, files: u64, bytes: u64) -> Result<Option<ReadRate>, EngineError> {
        let mut made = Vec::new();
        let mut ended = None;
        for number in 0..files {
            let own = self.make(format!("new{number:06}"))?;
            ended = self.append(&own, bytes)?;
            made.push(own);
            if ended.is_some() {
                break;
            }
        }
        self.sync()?;
        let rate = if ended.is_none() { self.read_all(&made)? } else { None };
        for own in made {
            self.remove(&own)?;
        }
        self.sync()?;
        Ok(rate)
    }

    /// Lets each of `files` files grow by `bytes`, and brings all that to the device: the first time they are made.
    ///
    /// # Errors
    /// A call that failed, but for lack of space.
    pub fn round(&mut self, files: u64, bytes: u64) -> Result<Option<AgeingEnd>, EngineError> {
        if self.files.is_empty() {
            for number in 0..files {
                let own = self.make(format!("old{number:06}"))?;
                self.files.push(own);
            }
        }
        let grown = std::mem::take(&mut self.files);
        let mut appended = Ok(None);
        for own in &grown {
            appended = self.append(own, bytes);
            if !matches!(appended, Ok(None)) {
                break;
            }
        }
        self.files = grown;
        self.sync()?;
        appended
    }

    /// Removes every second of the files that grew.
    ///
    /// # Errors
    /// A file that is not there any more, or is somebody else's.
    pub fn thin_out(&mut self) -> Result<(), EngineError> {
        let mut kept = Vec::new();
        for (number, own) in std::mem::take(&mut self.files).into_iter().enumerate() {
            match number % 2 {
                0 => kept.push(own),
                _ => self.remove(&own)?,
            }
        }
        self.files = kept;
        self.sync()
    }

    /// Writes files of `bytes` until so many percent of the file system are used, or no space is left.
    ///
    /// # Errors
    /// A call that failed, but for lack of space.
    pub fn fill(&mut self, percent: f64, bytes: u64) -> Result<Option<AgeingEnd>, EngineError> {
        while self.used_percent()? < percent {
            let own = self.make(format!("fill{:06}", self.files.len()))?;
            let ended = self.append(&own, bytes)?;
            self.files.push(own);
            // Space that only memory knows of is not counted yet.
            self.sync()?;
            match ended {
                Some(AgeingEnd::Full) => break,
                Some(AgeingEnd::Interrupted) => return Ok(ended),
                None => {}
            }
        }
        Ok(None)
    }

    /// Reads the last files in the order of their names, about so many bytes of them, from the device.
    ///
    /// # Errors
    /// A file that is not there any more, or cannot be read.
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

    /// Returns how full the file system is.
    fn used_percent(&self) -> Result<f64, EngineError> {
        let space = fstatvfs(&self.root).map_err(|error| self.failed("its file system", error))?;
        let used = space.f_blocks.saturating_sub(space.f_bfree);
        Ok(100.0 * used as f64 / space.f_blocks.max(1) as f64)
    }

    fn stops(&self) -> bool {
        self.interrupt.level() != Level::None
    }

    fn failed(&self, name: &str, error: impl Into<io::Error>) -> EngineError {
        let message = format!("{name} in {} failed", self.root.path().display());
        EngineError::new(ErrorKind::Target, message, "see the cause below").because(error.into())
    }

    fn sync(&self) -> Result<(), EngineError> {
        syncfs(&self.root).map_err(|error| self.failed("bringing files to the device", error))
    }

    /// Makes an empty file where there is none.
    fn make(&self, name: String) -> Result<Own, EngineError> {
        let flags = OPEN | OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
        let made = fs::openat(&self.root, name.as_str(), flags, Mode::from_raw_mode(0o644));
        let found = made.and_then(|file| fstat(&file));
        let found = found.map_err(|error| self.failed(&name, error))?;
        Ok(Own { name, mark: (found.st_dev, found.st_ino) })
    }

    /// Checks that a name is still that of the file that was made.
    fn check(&self, own: &Own, found: Result<fs::Stat, Errno>) -> Result<(), EngineError> {
        let found = found.map_err(|error| self.failed(&own.name, error))?;
        let is_file = FileType::from_raw_mode(found.st_mode).is_file() && found.st_nlink == 1;
        if is_file && (found.st_dev, found.st_ino) == own.mark {
            return Ok(());
        }
        let message = format!(
            "{} in {} is not the file that was made there, or has another name",
            own.name,
            self.root.path().display()
        );
        let help =
            "nothing is written to it, and nothing removed: keep others out of the directory";
        Err(EngineError::new(ErrorKind::Refused, message, help))
    }

    fn open(&self, own: &Own, flags: OFlags) -> Result<File, EngineError> {
        let opened = fs::openat(&self.root, own.name.as_str(), OPEN | flags, Mode::empty());
        let file = opened.map_err(|error| self.failed(&own.name, error))?;
        self.check(own, fstat(&file))?;
        Ok(file.into())
    }

    fn append(&mut self, own: &Own, bytes: u64) -> Result<Option<AgeingEnd>, EngineError> {
        let file = self.open(own, OFlags::WRONLY | OFlags::APPEND)?;
        let mut left = bytes;
        while left > 0 {
            if self.stops() {
                return Ok(Some(AgeingEnd::Interrupted));
            }
            let part = left.min(CALL as u64) as usize;
            self.source.fill_next(&mut self.buffer[..part]);
            match write_all(&file, &self.buffer[..part]) {
                Ok(()) => {}
                Err(Errno::NOSPC | Errno::DQUOT) => return Ok(Some(AgeingEnd::Full)),
                Err(error) => return Err(self.failed(&own.name, error)),
            }
            left -= part as u64;
            self.written += part as u64;
        }
        Ok(None)
    }

    fn remove(&self, own: &Own) -> Result<(), EngineError> {
        self.check(own, statat(&self.root, own.name.as_str(), AtFlags::SYMLINK_NOFOLLOW))?;
        let removed = fs::unlinkat(&self.root, own.name.as_str(), AtFlags::empty());
        removed.map_err(|error| self.failed(&own.name, error))
    }

    /// Reads files one after the other; what memory holds of them is dropped before.
    fn read_all(&mut self, files: &[Own]) -> Result<Option<ReadRate>, EngineError> {
        for own in files {
            sys::block::drop_cached(&self.open(own, OFlags::RDONLY)?);
        }
        let (begun, mut bytes) = (Instant::now(), 0);
        for own in files {
            let file = self.open(own, OFlags::RDONLY)?;
            let mut at = 0;
            loop {
                if self.stops() {
                    return Ok(None);
                }
                let read = again(|| pread(&file, &mut self.buffer[..], at));
                let read = read.map_err(|error| self.failed(&own.name, error))? as u64;
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

fn write_all(file: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match again(|| write(&file, bytes))? {
            0 => return Err(Errno::IO),
            written => bytes = &bytes[written..],
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn begun<'a>(folder: &Path, interrupt: &'a Interrupt) -> Result<OwnFiles<'a>, EngineError> {
        OwnFiles::begin((folder, folder), (&ContentSpec::default(), Seed(7)), interrupt)
    }

    fn sizes(folder: &Path) -> Vec<(String, u64)> {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let one = |entry: std::fs::DirEntry| {
            (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())
        };
        let mut sizes: Vec<_> = entries.map(one).collect();
        sizes.sort();
        sizes
    }

    #[test]
    fn files_grow_in_turn_and_every_second_goes_and_nothing_is_left_of_the_fresh_ones() {
        let folder = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::new();
        let mut ageing = begun(folder.path(), &interrupt).unwrap();
        let fresh = ageing.fresh(2, 3 << 20).unwrap().unwrap();
        assert_eq!((fresh.bytes, sizes(folder.path())), (6 << 20, vec![]));
        for _ in 0..3 {
            assert_eq!(ageing.round(4, 5000).unwrap(), None);
        }
        ageing.thin_out().unwrap();
        let there = [("old000000".to_owned(), 15000), ("old000002".to_owned(), 15000)];
        assert_eq!(sizes(folder.path()), there);
        assert_eq!(ageing.written(), (6 << 20) + 4 * 15000);
        let read = ageing.read(u64::MAX).unwrap().unwrap();
        assert_eq!(read.bytes, 30000);
        assert_eq!(ageing.read(1).unwrap().unwrap().bytes, 15000, "the last one");
        assert!(begun(folder.path(), &interrupt).is_err(), "it is not empty");
    }

    #[test]
    fn a_file_that_was_exchanged_is_neither_written_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let foreign = tempfile::NamedTempFile::new().unwrap();
        let interrupt = Interrupt::new();
        let mut ageing = begun(folder.path(), &interrupt).unwrap();
        ageing.round(2, 4096).unwrap();
        let own = folder.path().join("old000001");
        std::fs::remove_file(&own).unwrap();
        symlink(foreign.path(), &own).unwrap();
        assert!(ageing.round(2, 4096).is_err() && ageing.thin_out().is_err());
        assert_eq!(foreign.as_file().metadata().unwrap().len(), 0);
        assert!(own.is_symlink());
        std::fs::remove_file(&own).unwrap();
        let mut ageing_too = {
            std::fs::remove_file(folder.path().join("old000000")).unwrap();
            begun(folder.path(), &interrupt).unwrap()
        };
        ageing_too.round(1, 4096).unwrap();
        std::fs::hard_link(folder.path().join("old000000"), folder.path().join("second")).unwrap();
        assert!(ageing_too.round(1, 4096).is_err(), "it has another name");
    }

    #[test]
    fn a_wish_to_stop_ends_a_round() {
        let folder = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::new();
        let mut ageing = begun(folder.path(), &interrupt).unwrap();
        interrupt.request(Level::Finish);
        assert_eq!(ageing.round(2, 4096).unwrap(), Some(AgeingEnd::Interrupted));
    }
}
