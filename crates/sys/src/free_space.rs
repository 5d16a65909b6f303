//! The free space of a file system, stretch by stretch.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{fstat, major, minor};

// <linux/fsmap.h>
const FS_IOC_GETFSMAP: libc::c_ulong = 0xc0c0_583b;
/// Flag: devices are identified by their numbers.
const BY_NUMBER: u32 = 0x1;
/// Flag: the owner is part of the file system itself, not a file.
const SPECIAL: u32 = 0x10;
const LAST: u32 = 0x20;
/// The owner of free space.
const FREE: u64 = 1;
/// Number of stretches that are asked for at a time.
const AT_ONCE: usize = 1024;

/// A stretch of a device with its owner; also used as the lower or upper bound of a query.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Stretch {
    device: u32,
    flags: u32,
    physical: u64,
    owner: u64,
    offset: u64,
    length: u64,
    reserved: [u64; 3],
}

#[repr(C)]
struct Question {
    flags_in: u32,
    flags_out: u32,
    room: u32,
    entries: u32,
    reserved: [u64; 6],
    keys: [Stretch; 2],
    found: [Stretch; AT_ONCE],
}

/// Passes the length of each free stretch of the file system that contains `file`, in bytes, to `take`, as long as it returns true. The space of its
/// other devices (an XFS log, a realtime device) is not included. `take` is called with 0 if nothing was found for a while, so that it can stop.
/// Nothing is written; see GETFSMAP.
///
/// # Errors
/// Fails with `ENOTTY` or `EOPNOTSUPP` if the file system does not support the query.
pub fn each_free(file: impl AsFd, mut take: impl FnMut(u64) -> bool) -> io::Result<()> {
    let file = file.as_fd();
    let number = fstat(file)?.st_dev;
    let (major, minor) = (major(number), minor(number));
    let dev = (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12);
    let last = Stretch {
        device: u32::MAX,
        flags: u32::MAX,
        physical: u64::MAX,
        owner: u64::MAX,
        offset: u64::MAX,
        ..Stretch::default()
    };
    let mut question = Box::new(Question {
        flags_in: 0,
        flags_out: 0,
        room: AT_ONCE as u32,
        entries: 0,
        reserved: [0; 6],
        keys: [Stretch::default(), last],
        found: [Stretch::default(); AT_ONCE],
    });
    loop {
        // SAFETY: GETFSMAP reads and writes one structure with room for as many stretches as it says.
        let code = unsafe {
            libc::ioctl(file.as_raw_fd(), FS_IOC_GETFSMAP, std::ptr::from_mut(&mut *question))
        };
        if code == -1 {
            return Err(io::Error::last_os_error());
        }
        let found = &question.found[..(question.entries as usize).min(AT_ONCE)];
        let by_number = question.flags_out & BY_NUMBER != 0;
        let free = found.iter().filter(|one| {
            let here = !by_number || one.device == dev;
            here && one.flags & SPECIAL != 0 && one.owner == FREE
        });
        for one in free {
            if !take(one.length) {
                return Ok(());
            }
        }
        match found.last() {
            Some(end) if end.flags & LAST == 0 => question.keys[0] = *end,
            _ => return Ok(()),
        }
        if !take(0) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_has_the_size_that_the_kernel_knows() {
        assert_eq!(size_of::<Stretch>(), 64);
        assert_eq!(size_of::<Question>() - AT_ONCE * 64, 192);
        assert_eq!(FS_IOC_GETFSMAP >> 16 & 0x3fff, 192);
    }

    #[test]
    fn free_stretches_are_as_many_bytes_as_the_file_system_says_are_free_or_it_does_not_tell() {
        let here = std::fs::File::open(".").unwrap();
        let mut bytes = 0;
        let message = each_free(&here, |length| {
            bytes += length;
            true
        });
        if message.is_err() {
            return println!(
                "SKIP free_stretches_are_as_many_bytes: this file system does not tell"
            );
        }
        let space = rustix::fs::fstatvfs(&here).unwrap();
        let free = space.f_bfree * space.f_frsize;
        // Others write in the meantime, and reserved space counts as free here, too.
        assert!(bytes.abs_diff(free) < free / 4 + (64 << 20), "{bytes} of {free}");
    }
}
