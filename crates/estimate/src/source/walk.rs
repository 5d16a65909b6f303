//! The way through everything that was named, in an order that is the same every time: entries by name, data by offset.

use std::collections::HashSet;
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use reduce::BLOCK;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, SeekFrom, Stat, openat, seek, stat, statat,
};
use rustix::io::Errno;
use rustix::path::Arg;
use sys::interrupt::{Interrupt, Level};

use super::blank::preallocated;
use super::file::{OpenDirectory, SharedDirectory, Tracked, space};
use super::qcow2::Image;
use super::recognise::{HEAD, recognise};
use super::uncached_file::UncachedFile;
use super::{JOB, Job, Piece, Source, Tally};
use crate::{Error, Format};

/// Levels below a named directory that are told apart in the answer.
const LEVELS: usize = 2;
/// Directories that are told apart; those beyond count for the one above them.
const DIRECTORIES: usize = 2000;
/// Directories that are held open at a time, on the way down or for files that are still to be read. What is in others is found by
/// its whole path: a process may have few files open.
const HELD_OPEN: usize = 256;
/// Bytes of a directory that are read at a time.
const LISTED: usize = 32 << 10;

/// Files of so many bytes are asked for their data whatever space they take; of smaller ones zeros tell that there is something to ask.
const LARGE: u64 = 1 << 20;

/// Hands out jobs, until `send` says that nobody takes them any more.
pub struct Walk<'a> {
    send: &'a mut dyn FnMut(Job) -> bool,
    tally: Arc<Tally>,
    interrupt: &'a Interrupt,
    names: &'a Mutex<Vec<String>>,
    format: Format,
    /// Directories, and files that have or had another name.
    seen: HashSet<(u64, u64)>,
    job: Job,
    job_bytes: usize,
    stopped: bool,
    /// Counts the directories that are held open.
    held_open: Arc<()>,
    /// Room for what directories hold.
    listed: Vec<u8>,
}

/// A directory on the way down.
struct Listing {
    path: PathBuf,
    /// Where its names are looked up, when it is held open.
    open: Option<SharedDirectory>,
    entries: std::vec::IntoIter<CString>,
    directory: u32,
    depth: usize,
}

impl<'a> Walk<'a> {
    /// A walk that counts into `tally` and writes the names of directories to `names`.
    pub fn new(
        tally: Arc<Tally>,
        interrupt: &'a Interrupt,
        names: &'a Mutex<Vec<String>>,
        format: Format,
        send: &'a mut dyn FnMut(Job) -> bool,
    ) -> Self {
        Self {
            send,
            tally,
            interrupt,
            names,
            format,
            seen: HashSet::new(),
            job: Job::default(),
            job_bytes: 0,
            stopped: false,
            held_open: Arc::default(),
            listed: Vec::with_capacity(LISTED),
        }
    }

    /// Goes through all paths.
    pub fn run(mut self, paths: &[PathBuf]) -> Result<(), Error> {
        for path in paths {
            self.named(path)?;
        }
        self.emit();
        Ok(())
    }

    fn stop(&mut self) -> bool {
        self.stopped |= self.interrupt.level() != Level::None;
        self.stopped
    }

    fn named(&mut self, path: &Path) -> Result<(), Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        if path == Path::new("-") {
            let directory = self.directory("-".into(), 0);
            return self.standard_input(directory);
        }
        let real = fs::canonicalize(path).map_err(unreadable)?;
        let found = stat(&real).map_err(|error| unreadable(error.into()))?;
        let kind = FileType::from_raw_mode(found.st_mode);
        let directory = self.directory(path.display().to_string(), 0);
        if kind.is_dir() {
            fs::read_dir(&real).map_err(unreadable)?;
            self.tree(real, &found, directory);
        } else if kind.is_block_device() || kind.is_file() {
            if self.is_qcow2(path, &real)? {
                self.image(Image::open(&real)?, directory).map_err(unreadable)?;
            } else if kind.is_block_device() {
                self.device(&real, directory).map_err(unreadable)?;
            } else if self.seen.insert((found.st_dev, found.st_ino)) {
                self.file(real, None, &found, directory);
            } else {
                self.tally.note(|sources| sources.hard_links += 1);
            }
        } else {
            return Err(Error::Kind { path: path.to_owned() });
        }
        Ok(())
    }

    /// Tells whether a file or device that was named is to be read as a qcow2 image; what another format packs is refused.
    fn is_qcow2(&self, path: &Path, real: &Path) -> Result<bool, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        if self.format != Format::Recognised {
            return Ok(self.format == Format::Qcow2);
        }
        let file = UncachedFile::open(real).map_err(unreadable)?;
        let mut head = vec![0; HEAD];
        let read = file.read(&mut head, 0).map_err(unreadable)?;
        let mut tail = vec![0; 512];
        let end = (&mut file.file()).seek(io::SeekFrom::End(0)).map_err(unreadable)?;
        if end >= 1024 {
            file.read(&mut tail, end - 512).map_err(unreadable)?;
        }
        head.truncate(read);
        refuse_packed(path, &head, &tail)?;
        Ok(Image::is_one(&file))
    }

    /// The number of a directory of that name, `above` when there are too many.
    fn directory(&self, name: String, above: u32) -> u32 {
        let mut names = self.names.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if names.len() >= DIRECTORIES {
            return above;
        }
        names.push(name);
        names.len() as u32 - 1
    }

    fn tree(&mut self, root: PathBuf, found: &Stat, directory: u32) {
        let mut way = Vec::new();
        let below = self.list(CWD, &root, found);
        self.descend(root, below, (directory, 0), &mut way);
        while let Some(level) = way.last_mut() {
            if self.stopped || self.interrupt.level() != Level::None {
                self.stopped = true;
                return;
            }
            let Some(name) = level.entries.next() else {
                way.pop();
                continue;
            };
            let path = level.path.join(OsStr::from_bytes(name.to_bytes()));
            let (above, depth) = (level.directory, level.depth);
            let looked_up = match &level.open {
                Some(open) => statat(open, &name, AtFlags::SYMLINK_NOFOLLOW),
                None => statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW),
            };
            let found = match looked_up {
                Ok(found) => found,
                // Removed since it was listed.
                Err(Errno::NOENT) => {
                    self.tally.changed(&path, "it was removed while the tree was read");
                    continue;
                }
                Err(error) => {
                    self.tally.unreadable(&path, &error.into());
                    continue;
                }
            };
            let kind = FileType::from_raw_mode(found.st_mode);
            if kind.is_dir() {
                let directory = if depth < LEVELS {
                    self.directory(path.display().to_string(), above)
                } else {
                    above
                };
                let below = match &level.open {
                    Some(open) => self.list(open, &name, &found),
                    None => self.list(CWD, &path, &found),
                };
                self.descend(path, below, (directory, depth + 1), &mut way);
            } else if kind.is_symlink() {
                self.tally.note(|sources| sources.symbolic_links += 1);
            } else if !kind.is_file() {
                self.tally.note(|sources| sources.special += 1);
            } else if found.st_nlink > 1 && !self.seen.insert((found.st_dev, found.st_ino)) {
                self.tally.note(|sources| sources.hard_links += 1);
            } else {
                let near = level.open.clone();
                self.file(path, near, &found, above);
            }
        }
    }

    /// Goes into a directory that was listed.
    fn descend(
        &mut self,
        path: PathBuf,
        below: io::Result<Option<(OwnedFd, Vec<CString>)>>,
        (directory, depth): (u32, usize),
        way: &mut Vec<Listing>,
    ) {
        match below {
            Ok(None) => {}
            Ok(Some((open, entries))) => {
                let open = OpenDirectory::hold(open, &self.held_open, HELD_OPEN);
                way.push(Listing { path, open, entries: entries.into_iter(), directory, depth });
            }
            Err(error) => self.tally.unreadable(&path, &error),
        }
    }

    /// Lists the directory that `name` is in `near`, unless it was entered before: a bind mount can make a loop.
    fn list(
        &mut self,
        near: impl AsFd,
        name: impl Arg,
        found: &Stat,
    ) -> io::Result<Option<(OwnedFd, Vec<CString>)>> {
        if !self.seen.insert((found.st_dev, found.st_ino)) {
            return Ok(None);
        }
        self.tally.note(|sources| sources.directories += 1);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = openat(near, name, flags, Mode::empty())?;
        let mut entries = Vec::new();
        let mut listed = RawDir::new(&open, self.listed.spare_capacity_mut());
        while let Some(entry) = listed.next() {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                entries.push(entry.file_name().to_owned());
            }
        }
        entries.sort_unstable();
        Ok(Some((open, entries)))
    }

    fn file(&mut self, path: PathBuf, near: Option<SharedDirectory>, found: &Stat, directory: u32) {
        let length = found.st_size as u64;
        self.tally.note(|sources| {
            sources.files += 1;
            sources.tails += u64::from(!length.is_multiple_of(BLOCK as u64));
        });
        if length == 0 {
            return;
        }
        let asked = space(found) < length || length >= LARGE;
        let seeker = if asked { File::open(&path).ok() } else { None };
        let source = Tracked::new(path, near, found, Arc::clone(&self.tally));
        let source = Arc::new(Source::File(source));
        let Some(seeker) = seeker else {
            return self.range(&source, 0, length, directory);
        };
        let mut at = 0;
        let (mut set_aside, mut data, mut silent) = (0, 0, 0);
        let mut gap = |from: u64, to: u64| match preallocated(&seeker, from..to) {
            Some(bytes) => set_aside += bytes,
            None => silent += to - from,
        };
        while at < length && !self.stop() {
            let start = match seek(&seeker, SeekFrom::Data(at)) {
                Ok(start) if start < length => start,
                Err(Errno::NXIO) | Ok(_) => break,
                // A file system that knows no holes.
                Err(_) => at,
            };
            let end = seek(&seeker, SeekFrom::Hole(start)).unwrap_or(length).clamp(start, length);
            // Whole blocks, none twice.
            let start = (start - start % BLOCK as u64).max(at);
            let end = end.max(start + 1).next_multiple_of(BLOCK as u64).min(length);
            if at < start {
                gap(at, start);
            }
            self.range(&source, start, end - start, directory);
            data += end - start;
            at = end;
        }
        if self.stopped {
            return;
        }
        if at < length {
            gap(at, length);
        }
        // Where no extents are told, what space there is beyond the data has none.
        set_aside += silent.min(space(found).saturating_sub(data));
        self.tally.note(|sources| {
            sources.preallocated_bytes += set_aside;
            sources.hole_bytes += length - data - set_aside;
        });
    }

    fn device(&mut self, path: &Path, directory: u32) -> io::Result<()> {
        let source = Source::device(path)?;
        let Source::Device(file, _) = &source else { return Ok(()) };
        let size = sys::block::size_bytes(file)?.0;
        self.tally.note(|sources| sources.volumes += 1);
        self.range(&Arc::new(source), 0, size, directory);
        Ok(())
    }

    fn image(&mut self, image: Image, directory: u32) -> io::Result<()> {
        self.tally.note(|sources| sources.volumes += 1);
        let source = Arc::new(Source::Image(image));
        let Source::Image(image) = &*source else { return Ok(()) };
        let (mut at, mut data) = (0, 0);
        while !self.stop()
            && let Some((start, length)) = image.next_data(at)?
        {
            let start = (start - start % BLOCK as u64).max(at);
            let end = (start + length).next_multiple_of(BLOCK as u64).min(image.size());
            self.range(&source, start, end - start, directory);
            data += end - start;
            at = end;
        }
        let size = image.size();
        self.tally.note(|sources| sources.hole_bytes += size - data);
        Ok(())
    }

    fn standard_input(&mut self, directory: u32) -> Result<(), Error> {
        let path = Path::new("-");
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        self.tally.note(|sources| sources.volumes += 1);
        let mut head = Vec::new();
        io::stdin().lock().take(HEAD as u64).read_to_end(&mut head).map_err(unreadable)?;
        let qcow2 = match self.format {
            Format::Raw => false,
            Format::Qcow2 => true,
            Format::Recognised => {
                refuse_packed(path, &head, &[])?;
                Image::begins(&head)
            }
        };
        if qcow2 {
            return Err(Error::Image {
                path: path.to_owned(),
                what: "a qcow2 image cannot be read in order".into(),
                help:
                    "name the image in place of -; or --format raw, to take its bytes as they lie"
                        .into(),
            });
        }
        let mut input = head.as_slice().chain(io::stdin().lock());
        let mut at = 0;
        while !self.stop() {
            let mut bytes = Vec::new();
            let read =
                input.by_ref().take(JOB as u64).read_to_end(&mut bytes).map_err(unreadable)?;
            if read == 0 {
                break;
            }
            let source = Arc::new(Source::Memory(at, bytes));
            self.range(&source, at, read as u64, directory);
            at += read as u64;
        }
        Ok(())
    }

    fn range(&mut self, source: &Arc<Source>, offset: u64, length: u64, directory: u32) {
        let mut at = offset;
        while at < offset + length && !self.stop() {
            let end = (offset + length).min((at / JOB as u64 + 1) * JOB as u64);
            let bytes = (end - at) as usize;
            if self.job_bytes + bytes.next_multiple_of(BLOCK) > JOB {
                self.emit();
            }
            let source = Arc::clone(source);
            self.job.pieces.push(Piece { source, offset: at, length: bytes, directory });
            self.job_bytes += bytes.next_multiple_of(BLOCK);
            at = end;
        }
    }

    fn emit(&mut self) {
        if self.job.pieces.is_empty() || self.stopped {
            return;
        }
        let blocks = (self.job_bytes / BLOCK) as u64;
        let next = Job {
            number: self.job.number + 1,
            position: self.job.position + blocks,
            pieces: Vec::new(),
        };
        let job = std::mem::replace(&mut self.job, next);
        self.job_bytes = 0;
        self.stopped |= !(self.send)(job);
    }
}

/// Refuses what packs or encrypts its data, with the way to read it.
fn refuse_packed(path: &Path, head: &[u8], tail: &[u8]) -> Result<(), Error> {
    recognise(head, tail).map_or(Ok(()), |format| {
        let (what, help) = (format!("this is a {}", format.name), format.help(path));
        Err(Error::Image { path: path.to_owned(), what, help })
    })
}

/// How many bytes there will be, as far as it can be told without reading them: for the time left.
pub struct SizeScan;

impl SizeScan {
    /// Bytes that all paths hold, holes left out; `None` when standard input is among them or `stop` was asked.
    pub fn bytes(paths: &[PathBuf], stop: &dyn Fn() -> bool) -> Option<u64> {
        let mut total = 0;
        let mut way: Vec<PathBuf> = paths.to_vec();
        let mut first = paths.len();
        while let Some(path) = way.pop() {
            if stop() || path == Path::new("-") {
                return None;
            }
            let named = way.len() < first;
            first = first.min(way.len());
            let found = if named { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
            let Ok(found) = found else { continue };
            let kind = found.file_type();
            if kind.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                way.extend(entries.map(|entry| entry.path()));
            } else if kind.is_file() {
                total += found.len().min(found.blocks() * 512);
            } else if named && kind.is_block_device() {
                total +=
                    File::open(&path).and_then(|f| sys::block::size_bytes(&f)).map_or(0, |b| b.0);
            }
        }
        Some(total)
    }
}
