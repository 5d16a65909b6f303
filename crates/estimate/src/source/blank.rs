//! Parts of a file that were never written: holes, and space that was only set aside. Both read as zeros, but nobody wrote these zeros.

use std::fs::File;
use std::ops::Range;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use sys::extents::extents;

/// A part of a file that was never written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blank {
    /// The bytes of the file.
    pub range: Range<u64>,
    /// Space was set aside for it; otherwise it is a hole.
    pub preallocated: bool,
}

/// The parts of `part` that were never written, in order. `full` says whether the whole file has space, for file systems that list
/// no extents.
///
/// A page that was written and waits for the disk is not blank, whatever the file system says about its place. A page that was only read
/// is blank: the cache then holds zeros for it, which `SEEK_DATA` takes for data.
pub fn blanks(file: &File, part: Range<u64>, full: bool) -> Vec<Blank> {
    let Ok(extents) = extents(file, part.clone()) else {
        let gaps = gaps(file, part);
        return gaps.into_iter().map(|range| Blank { range, preallocated: full }).collect();
    };
    let mut blanks = Vec::new();
    let mut add = |range: Range<u64>, preallocated| {
        blanks.extend(clean(file, range).into_iter().map(|range| Blank { range, preallocated }));
    };
    let mut at = part.start;
    for extent in extents {
        add(at..extent.range.start, false);
        at = extent.range.end;
        if extent.unwritten {
            add(extent.range, true);
        }
    }
    add(at..part.end, false);
    blanks
}

/// Returns the bytes of `part` that are preallocated; `None` where the file system lists no extents. `part` holds no data.
pub fn preallocated(file: &File, part: Range<u64>) -> Option<u64> {
    let extents = extents(file, part).ok()?;
    let unwritten = extents.iter().filter(|extent| extent.unwritten);
    Some(unwritten.map(|extent| extent.range.end - extent.range.start).sum())
}

/// Returns the ranges of `part` without pages that wait to be written, in order.
pub fn clean(file: &File, part: Range<u64>) -> Vec<Range<u64>> {
    let page = rustix::param::page_size() as u64;
    let mut parts = Vec::new();
    let mut open = vec![part];
    while let Some(part) = open.pop() {
        if part.is_empty() {
            continue;
        }
        let middle = (part.start + (part.end - part.start) / 2).next_multiple_of(page);
        match sys::cached::unsaved(file, part.start, part.end - part.start) {
            Some(0) => parts.push(part),
            Some(_) if part.start < middle && middle < part.end => {
                open.extend([middle..part.end, part.start..middle]);
            }
            Some(_) => {}
            None => parts.extend(gaps(file, part)),
        }
    }
    parts
}

/// Returns the ranges of `part` that the file system takes for holes, in order.
fn gaps(file: &File, part: Range<u64>) -> Vec<Range<u64>> {
    let mut gaps = Vec::new();
    let mut at = part.start;
    while at < part.end {
        let data = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.min(part.end),
            Err(Errno::NXIO) => part.end,
            // A file system that knows no holes.
            Err(_) => at,
        };
        if at < data {
            gaps.push(at..data);
        }
        at = seek(file, SeekFrom::Hole(data)).unwrap_or(part.end).max(data + 1);
    }
    gaps
}
