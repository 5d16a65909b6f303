//! The system calls behind each verb, one at a time: the synchronous backend uses them for everything, the others for verbs that their queue does not
//! know.

use crate::backend::{Files, Transfer, Verb, kernel};

/// `BLKDISCARD`: `_IO(0x12, 119)`.
const BLKDISCARD: libc::c_ulong = 0x1277;
/// `BLKZEROOUT`: `_IO(0x12, 127)`.
const BLKZEROOUT: libc::c_ulong = 0x127f;

/// Performs `transfer` with `memory`, which holds at least its length; returns the bytes moved or a negative error number.
///
/// # Safety
///
/// `memory` must be valid for reads and writes of `transfer.length` bytes, and nobody else may use it during the call.
#[inline(always)]
pub(crate) unsafe fn perform(files: &Files, transfer: &Transfer, memory: *mut u8) -> i32 {
    let part = kernel::Part {
        fd: files.fd(transfer.target),
        // SAFETY: `done` is less than the length.
        memory: unsafe { memory.add(transfer.done as usize) },
        length: transfer.left() as usize,
        at: transfer.at(),
    };
    // SAFETY: as the caller promises.
    let moved = unsafe {
        match (transfer.verb, transfer.durable) {
            (Verb::Read, _) => kernel::pread(part),
            (Verb::Write, false) => kernel::pwrite(part),
            (Verb::Write, true) => kernel::pwrite_durably(part),
            _ => return move_nothing(files, transfer),
        }
    };
    // No I/O is larger than 64 MiB, no error number larger than 4095.
    moved as i32
}

/// Performs a transfer that moves no bytes, and returns its result.
#[inline(never)]
fn move_nothing(files: &Files, transfer: &Transfer) -> i32 {
    let fd = files.fd(transfer.target);
    let result = match transfer.verb {
        // SAFETY: a call without pointers.
        Verb::Fsync => unsafe { libc::fsync(fd) },
        // SAFETY: a call without pointers.
        Verb::Fdatasync => unsafe { libc::fdatasync(fd) },
        _ => return change(files, transfer),
    };
    transfer.moved(if result < 0 { -errno() } else { 0 })
}

/// Discards or zeroes a range without moving bytes.
pub(crate) fn change(files: &Files, transfer: &Transfer) -> i32 {
    let fd = files.fd(transfer.target);
    let (at, left) = (transfer.at(), u64::from(transfer.left()));
    let result = if files.is_block(transfer.target) {
        let range = [at, left];
        let request = if transfer.verb == Verb::Discard { BLKDISCARD } else { BLKZEROOUT };
        // SAFETY: the request reads two 64-bit numbers from `range`.
        unsafe { libc::ioctl(fd, request as _, range.as_ptr()) }
    } else {
        // SAFETY: a call without pointers.
        unsafe { libc::fallocate(fd, mode(transfer.verb), at as libc::off_t, left as libc::off_t) }
    };
    transfer.moved(if result < 0 { -errno() } else { 0 })
}

/// The mode of `fallocate` for a verb on a file, or for zeroes on a block device.
pub(crate) const fn mode(verb: Verb) -> libc::c_int {
    match verb {
        Verb::Discard => libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
        _ => libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE,
    }
}

/// The error number of the call that has just failed.
#[inline]
pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
