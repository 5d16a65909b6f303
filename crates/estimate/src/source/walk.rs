//! The walk through everything that was named, in an order that is the same every time: entries by name, data by offset.

mod named;

use std::collections::HashSet;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
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
use super::file::{OpenDirectory, SharedDirectory, Tracked, open_quietly, space};
use super::file_systems::FileSystems;
use super::partitions::off_blocks;
use super::qcow2::Image;
use super::recognise::HEAD;
use super::shared::Shared;
use super::{JOB, Job, Piece, Source, Tally};
use crate::{Error, Request};

/// Levels below a named directory whose directories have entries of their own in the answer.
const LEVELS: usize = 2;
/// Most directories with entries of their own; further ones count for the one above them.
const DIRECTORIES: usize = 2000;
/// Most directories that are held open at a time, on the way down or for files that are still to be read. Files in others are found by
/// their whole path: a process may have few files open.
const HELD_OPEN: usize = 256;
/// Bytes of a directory that are read at a time.
const LISTED: usize = 32 << 10;

/// Files of at least this many bytes are searched for holes whatever space they take; in smaller ones, zeros that are read show that a search
/// is worth while.
const LARGE: u64 = 1 << 20;

/// Hands out jobs, until `send` says that nobody takes them any more.
pub struct Walk<'a> {
    send: &'a mut dyn FnMut(Job) -> bool,
    tally: Arc<Tally>,
    interrupt: &'a Interrupt,
    names: &'a Mutex<Vec<String>>,
    request: &'a Request,
    file_systems: FileSystems,
    shared: Shared,
    /// Offsets in a named file or device at which blocks begin anew.
    cuts: &'a [u64],
    /// Directories, and files with several names, that were met.
    seen: HashSet<(u64, u64)>,
    job: Job,
    job_bytes: usize,
    stopped: bool,
    /// Counts the directories that are held open.
    held_open: Arc<()>,
    /// Buffer for listing directories.
    listed: Vec<u8>,
}

/// A directory on the way down.
struct Listing {
    path: PathBuf,
    /// The open directory in which its names are looked up, when it is held open.
    open: Option<SharedDirectory>,
    entries: std::vec::IntoIter<CString>,
    directory: u32,
    depth: usize,
    /// Its device as stat(2) gives it, and (`home`) the file system of the directory that was named.
    device: u64,
    home: u64,
}

impl<'a> Walk<'a> {
    /// A walk that counts into `tally` and writes the names of directories to `names`.
    pub fn new(
        tally: Arc<Tally>,
        interrupt: &'a Interrupt,
        names: &'a Mutex<Vec<String>>,
        request: &'a Request,
        send: &'a mut dyn FnMut(Job) -> bool,
    ) -> Self {
        Self {
            send,
            tally,
            interrupt,
            names,
            request,
            file_systems: FileSystems::default(),
            shared: Shared::default(),
            cuts: &[],
            seen: HashSet::new(),
            job: Job::default(),
            job_bytes: 0,
            stopped: false,
            held_open: Arc::default(),
            listed: Vec::with_capacity(LISTED),
        }
    }

    /// Goes through all paths; files and devices that were named are cut into blocks anew at each of the `cuts`.
    pub fn run(mut self, cuts: &'a [u64]) -> Result<(), Error> {
        self.cuts = cuts;
        for path in &self.request.paths {
            self.take_named(path)?;
        }
        self.emit();
        Ok(())
    }

    fn stop(&mut self) -> bool {
        self.stopped |= self.interrupt.level() != Level::None;
        self.stopped
    }

    fn take_named(&mut self, path: &Path) -> Result<(), Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        if path == Path::new("-") {
            let directory = self.directory("-".into(), 0);
            return self.standard_input(directory);
        }
        let real = fs::canonicalize(path).map_err(unreadable)?;
        let found = stat(&real).map_err(|error| unreadable(error.into()))?;
        let kind = FileType::from_raw_mode(found.st_mode);
        let file_system = self.file_systems.of(found.st_dev, &real);
        if file_system.is_kernel() && (kind.is_dir() || kind.is_file()) {
            return Err(Error::Kernel { path: path.to_owned(), kind: file_system.kind.clone() });
        }
        let directory = self.directory(path.display().to_string(), 0);
        if kind.is_dir() {
            fs::read_dir(&real).map_err(unreadable)?;
            self.tree(real, &found, directory);
        } else if kind.is_block_device() || kind.is_file() {
            // A device has many names, none of which is a link.
            let identity = match kind.is_file() {
                true => (found.st_dev, found.st_ino),
                false => (u64::MAX, found.st_rdev),
            };
            if !self.seen.insert(identity) {
                self.tally.note(|sources| sources.hard_links += 1);
                return Ok(());
            }
            let qcow2 = self.is_qcow2(path, &real)?;
            if (qcow2 || kind.is_block_device())
                && let Ok(file) = sys::input::open_or_device(&real)
            {
                self.tally.in_use(path, &file);
            }
            if !self.cuts.is_empty() {
                self.cut(&real, &found, qcow2, directory)?;
            } else if qcow2 {
                let image = Image::open(&real)?;
                let mut head = vec![0; HEAD];
                // An error is reported when the image is read for counting.
                let read = image.read(&mut head, 0).unwrap_or(0);
                if let Some(off) = off_blocks(&head[..read]) {
                    self.tally.off_blocks(path, off);
                }
                self.image(image, directory);
            } else if kind.is_block_device() {
                self.device(&real, directory).map_err(unreadable)?;
            } else {
                self.file(real, None, &found, directory);
            }
        } else {
            return Err(Error::Kind { path: path.to_owned() });
        }
        Ok(())
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
        let home = self.file_systems.of(found.st_dev, &root).id;
        let below = self.list(CWD, &root, found);
        self.descend(root, below, (directory, 0), (found.st_dev, home), &mut way);
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
            let home = level.home;
            if found.st_dev != level.device && self.leaves_out(&path, found.st_dev, home) {
                continue;
            }
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
                let places = (found.st_dev, home);
                self.descend(path, below, (directory, depth + 1), places, &mut way);
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

    /// Tells whether what is at `path` is left out of a tree of the file system `home`; it is noted then.
    fn leaves_out(&mut self, path: &Path, device: u64, home: u64) -> bool {
        let there = self.file_systems.of(device, path);
        let reason = there.reason_to_leave_out(home, self.request.other_file_systems);
        reason.is_some_and(|reason| {
            self.tally.left_out(path, reason);
            true
        })
    }

    /// Goes into a directory that was listed.
    fn descend(
        &mut self,
        path: PathBuf,
        below: io::Result<Option<(OwnedFd, Vec<CString>)>>,
        (directory, depth): (u32, usize),
        (device, home): (u64, u64),
        way: &mut Vec<Listing>,
    ) {
        match below {
            Ok(None) => {}
            Ok(Some((open, entries))) => {
                let open = OpenDirectory::hold(open, &self.held_open, HELD_OPEN);
                let entries = entries.into_iter();
                way.push(Listing { path, open, entries, directory, depth, device, home });
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
        let file_system = self.file_systems.of(found.st_dev, &path);
        let (file_system, shares) = (file_system.id, file_system.shares());
        let seeks = shares || space(found) < length || length >= LARGE;
        let seeker = if seeks { open_quietly(near.as_ref(), &path).ok() } else { None };
        let source = Tracked::new(path, near, found, Arc::clone(&self.tally));
        let source = Arc::new(Source::File(source));
        let Some(seeker) = seeker else {
            return self.range(&source, 0, length, directory);
        };
        let mut at = 0;
        let (mut set_aside, mut data, mut silent, mut shared, mut encoded) = (0, 0, 0, 0, 0);
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
            data += end - start;
            let mut from = start;
            if shares {
                let met = self.shared.take_met(&seeker, file_system, (start..end, length));
                encoded += met.encoded_bytes;
                for met in met.before {
                    self.range(&source, from, met.start - from, directory);
                    shared += met.end - met.start;
                    from = met.end;
                }
            }
            self.range(&source, from, end - from, directory);
            at = end;
        }
        if self.stopped {
            return;
        }
        if at < length {
            gap(at, length);
        }
        // Where the file system lists no extents, the space allocated beyond the data counts as preallocated.
        set_aside += silent.min(space(found).saturating_sub(data));
        self.tally.note(|sources| {
            sources.shared_bytes += shared;
            sources.encoded_shared_bytes += encoded;
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
