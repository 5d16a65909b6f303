//! The places where a file system stores a file.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

// <linux/fs.h>, <linux/fiemap.h>
const FS_IOC_FIEMAP: libc::c_ulong = 0xc020_660b;
const LAST: u32 = 0x1;
/// Flags of an extent whose place is not known yet: unknown, or waiting to be allocated.
const WAITING: u32 = 0x2 | 0x4;
/// Flag of an extent whose bytes lie among the file system's own metadata, not in blocks of the file.
const INLINE: u32 = 0x200;
const ENCODED: u32 = 0x8;
const UNWRITTEN: u32 = 0x800;
const SHARED: u32 = 0x2000;
/// Number of extents that are asked for at a time.
const AT_ONCE: usize = 64;

/// A part of a file that has space allocated or reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// The bytes of the file.
    pub range: Range<u64>,
    /// Tells whether nothing was written to the space yet, so that it reads as zeros.
    pub unwritten: bool,
    /// Its place; `None` if it has no separate place.
    pub place: Option<Place>,
    /// Tells whether other extents share the place (`cp --reflink`, snapshots).
    pub shared: bool,
    /// Tells whether it is waiting to be written, and gets its place only then.
    pub waiting: bool,
}

impl Extent {
    /// Returns the place of written data, if other extents share it.
    pub fn shared_place(&self) -> Option<Place> {
        self.place.filter(|_| self.shared && !self.unwritten)
    }
}

/// The place of an extent in its file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its offset, bytes.
    pub offset: u64,
    /// Tells whether the bytes there are compressed or encrypted, not those of the file; the kernel then reports that all parts of the extent begin
    /// here.
    pub encoded: bool,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Found {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

impl Found {
    /// The part `range` of it.
    fn part(&self, range: Range<u64>) -> Extent {
        let is = |flag| self.flags & flag != 0;
        let encoded = is(ENCODED);
        let into = if encoded { 0 } else { range.start - self.logical };
        let placed = !is(WAITING | INLINE);
        Extent {
            range,
            unwritten: is(UNWRITTEN),
            place: placed.then_some(Place { offset: self.physical.saturating_add(into), encoded }),
            shared: is(SHARED),
            waiting: is(WAITING),
        }
    }
}

#[repr(C)]
struct Question {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    found: [Found; AT_ONCE],
}

/// Returns the extents of a part of a file, in order; the gaps between them are holes. Space for data that is still in the page cache is included;
/// the query does not write it out (see FIEMAP). Fails if the file system does not support the query.
pub fn extents(file: &File, part: Range<u64>) -> io::Result<Vec<Extent>> {
    let mut all = Vec::new();
    each_extent(file, part, |extent| {
        all.push(extent);
        true
    })?;
    Ok(all)
}

/// Passes the same extents one by one to `take`, as long as it returns true.
pub fn each_extent(
    file: impl AsFd,
    part: Range<u64>,
    mut take: impl FnMut(Extent) -> bool,
) -> io::Result<()> {
    let file = file.as_fd();
    let mut at = part.start;
    while at < part.end {
        let before = at;
        let mut question = Question {
            start: at,
            length: part.end - at,
            flags: 0,
            mapped: 0,
            room: AT_ONCE as u32,
            reserved: 0,
            found: [Found::default(); AT_ONCE],
        };
        // SAFETY: FIEMAP reads and writes one structure with room for as many extents as it says.
        let code = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut question) };
        if code == -1 {
            return Err(io::Error::last_os_error());
        }
        let found = &question.found[..(question.mapped as usize).min(AT_ONCE)];
        for one in found {
            let range = one.logical.max(at)..one.logical.saturating_add(one.length).min(part.end);
            if range.start < range.end {
                at = range.end;
                if !take(one.part(range)) {
                    return Ok(());
                }
            }
        }
        let last = found.last().is_none_or(|one| one.flags & LAST != 0);
        if last || found.len() < AT_ONCE || at == before {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn what_was_written_is_in_extents_and_what_was_skipped_is_not() {
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        let file = file.as_file();
        file.set_len(64 << 20).unwrap();
        let pieces = 200;
        for piece in 0..pieces {
            file.write_all_at(&[1; 4096], piece << 18).unwrap();
        }
        let Ok(found) = extents(file, 0..64 << 20) else {
            return println!("SKIP what_was_written_is_in_extents: this file system does not tell");
        };
        let bytes: u64 = found.iter().map(|one| one.range.end - one.range.start).sum();
        assert!(found.iter().all(|one| !one.unwritten));
        assert!(found.windows(2).all(|two| two[0].range.end <= two[1].range.start));
        assert!((pieces * 4096..48 << 20).contains(&bytes), "{bytes}");
        let holds = |at: u64| found.iter().any(|one| one.range.contains(&at));
        assert!((0..pieces).all(|piece| holds(piece << 18)));
        assert!(extents(file, 60 << 20..64 << 20).unwrap().is_empty());
        let first = extents(file, 1024..2048).unwrap();
        let first: Vec<_> =
            first.iter().map(|one| (one.range.clone(), one.unwritten, one.shared)).collect();
        assert_eq!(first, [(1024..2048, false, false)]);
    }
}
