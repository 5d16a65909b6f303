//! Reading a file without a trace: pages that were not in the page cache do not stay there, and those that were in it do.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::iter::once;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Advice, fadvise, fstatfs};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// Files larger than this are read without the kernel's read-ahead, which would make the next part look as if it had been cached before.
const LARGE: u64 = 128 << 10;

/// Types of tmpfs and ramfs, as statfs(2) numbers them.
const MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// A file that is read without filling the page cache.
#[derive(Debug)]
pub struct UncachedFile {
    file: File,
    memory: bool,
}

impl UncachedFile {
    /// Opens a file of unknown length.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = sys::input::open_or_device(path)?;
        let memory = is_memory(&file);
        Ok(Self::new(file, memory, u64::MAX))
    }

    /// Creates it from an open file of `length` bytes. For a file in `memory` ([`is_memory`]) the page cache need not be looked at.
    pub fn new(file: File, memory: bool, length: u64) -> Self {
        if length > LARGE && !memory {
            // An error only costs speed, or leaves a page in the cache.
            let _ = fadvise(&file, 0, None, Advice::Random);
        }
        Self { file, memory }
    }

    /// The file itself, for uses other than reading.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Fills the buffer as far as there are bytes; returns how many were read.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let file = &self.file;
        if self.memory {
            return read_full(file, buffer, offset);
        }
        let end = offset + buffer.len() as u64;
        let (done, cold) = match cold(file, offset..end) {
            Some(cold) => (0, cold),
            None => at_once(file, buffer, offset)
                .map_or((0, Vec::new()), |done| (done, once(offset + done as u64..end).collect())),
        };
        let read = read_full(file, &mut buffer[done..], offset + done as u64)?;
        for part in cold {
            if let Some(length) = NonZeroU64::new(part.end - part.start) {
                let _ = fadvise(file, part.start, Some(length), Advice::DontNeed);
            }
        }
        Ok(done + read)
    }
}

/// Tells whether a file exists only in memory (tmpfs, ramfs).
pub fn is_memory(file: &File) -> bool {
    fstatfs(file).is_ok_and(|found| MEMORY.contains(&(found.f_type as u32)))
}

/// Fills the buffer as far as there are bytes; returns how many were read. Pages that it fetches stay in the page cache.
pub fn read_full(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// The pages of a range of a file that are not in the page cache, in order; `None` where the kernel does not say.
fn cold(file: &File, range: Range<u64>) -> Option<Vec<Range<u64>>> {
    let page = rustix::param::page_size() as u64;
    let mut parts = Vec::new();
    // Pages are dropped as a whole.
    let mut open =
        once(range.start / page * page..range.end.next_multiple_of(page)).collect::<Vec<_>>();
    while let Some(part) = open.pop() {
        let length = part.end - part.start;
        match sys::cached::pages(file, part.start, length)? {
            0 => parts.push(part),
            pages if pages < length / page => {
                let middle = part.start + (length / 2).next_multiple_of(page);
                open.extend([middle..part.end, part.start..middle]);
            }
            _ => {}
        }
    }
    Some(parts)
}

/// Reads what is in the page cache from an offset on, and returns the number of bytes; `None` where the kernel cannot do so. The call also
/// begins to fetch missing pages, which with a fast disk then look as if they had been cached: so this is the second choice.
fn at_once(file: &File, buffer: &mut [u8], offset: u64) -> Option<usize> {
    match preadv2(file, &mut [IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT) {
        Ok(done) => Some(done),
        Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => None,
        Err(_) => Some(0),
    }
}
