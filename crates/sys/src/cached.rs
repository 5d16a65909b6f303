//! Counts the pages of a file in the page cache.

use std::os::fd::{AsFd, AsRawFd};

/// The number of the call, the same on all architectures except Alpha, for which nobody builds this.
const CACHESTAT: libc::c_long = 451;

/// The part of a file that is queried, bytes.
#[repr(C)]
struct Part {
    offset: u64,
    length: u64,
}

/// The kernel's answer, in pages.
#[repr(C)]
#[derive(Default)]
struct Found {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Returns how many pages of the `length` bytes from `offset` on are in the page cache; partly covered pages count as whole ones. The query changes
/// nothing: it neither reads nor reads ahead. See cachestat(2).
///
/// `None` where the kernel does not tell: before Linux 6.5, or if the file neither belongs to the caller nor is writable for it.
pub fn pages(file: impl AsFd, offset: u64, length: u64) -> Option<u64> {
    look(file, offset, length).map(|found| found.cached)
}

/// Returns how many pages of such a part are waiting to be written or being written, under the same conditions as [`pages`].
pub fn unsaved(file: impl AsFd, offset: u64, length: u64) -> Option<u64> {
    look(file, offset, length).map(|found| found.dirty + found.writeback)
}

fn look(file: impl AsFd, offset: u64, length: u64) -> Option<Found> {
    if length == 0 {
        // For the kernel a length of 0 means everything up to the end.
        return Some(Found::default());
    }
    let (part, mut found) = (Part { offset, length }, Found::default());
    // SAFETY: both pointers point to live structures with the kernel's layout, and the second may be written to; no others are passed.
    let code = unsafe {
        libc::syscall(CACHESTAT, file.as_fd().as_raw_fd(), &raw const part, &raw mut found, 0)
    };
    (code == 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    #[test]
    fn pages_that_were_written_are_there_and_no_others() {
        let mut file = tempfile::tempfile().unwrap();
        file.seek(SeekFrom::Start(8192)).unwrap();
        file.write_all(&[1; 8192]).unwrap();
        file.set_len(1 << 20).unwrap();
        let parts = [(0, 1 << 20), (0, 4096), (8192, 4096), (12_000, 4096), (8192, 0)];
        let expected = [2, 0, 1, 2, 0].map(Some);
        let found = parts.map(|(from, length)| pages(&file, from, length));
        if found == [None; 5] {
            return println!(
                "SKIP pages_that_were_written_are_there_and_no_others: Linux before 6.5"
            );
        }
        assert_eq!(found, expected);
    }
}
