//! The system calls of the hot loop, each inlined where it is made.
//!
//! On some processors the kernel leaves the return predictor unusable (on AMD's Zen to Zen 4 by "Safe RET", the mitigation of SRSO). The first `ret`
//! that a thread then executes after a system call, out of a frame that it entered before the call, costs some 170 ns on a Zen 4: more than
//! everything else in a turn (`cargo bench -p engine --bench returns`). Each of libc's functions has such a `ret`. So the functions here are inlined,
//! and nothing between a call here and the loop around it may be a real function either: [`crate::backend::Backend::turn`] is always inlined, too.
//! Functions that are entered after the call are harmless.
//!
//! Results have the kernel's form: a negative error number, or the value that the call returns.

use std::os::fd::RawFd;

use io_uring::types::SubmitArgs;
use syscalls::{Sysno, raw_syscall};

/// `IORING_ENTER_GETEVENTS`: look for completions, and wait for as many as are asked for.
const GETEVENTS: u32 = 1;
/// `IORING_ENTER_EXT_ARG`: the argument is a structure with a timeout.
const EXT_ARG: u32 = 8;

/// The part of a file that is read or written, and its memory.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub fd: RawFd,
    pub memory: *mut u8,
    /// Bytes.
    pub length: usize,
    /// Its first byte in the file.
    pub at: u64,
}

/// `pread64(2)`.
///
/// # Safety
///
/// The memory must be valid for writes of its length, and nobody else may use it during the call.
#[inline(always)]
pub(super) unsafe fn pread(part: Part) -> isize {
    let Part { fd, memory, length, at } = part;
    // SAFETY: as the caller promises.
    unsafe { raw_syscall!(Sysno::pread64, fd, memory, length, at) as isize }
}

/// `pwrite64(2)`.
///
/// # Safety
///
/// The memory must be valid for reads of its length, and nobody may change it during the call.
#[inline(always)]
pub(super) unsafe fn pwrite(part: Part) -> isize {
    let Part { fd, memory, length, at } = part;
    // SAFETY: as the caller promises.
    unsafe { raw_syscall!(Sysno::pwrite64, fd, memory, length, at) as isize }
}

/// `pwritev2(2)` with `RWF_DSYNC`: the data are durable when the call returns.
///
/// # Safety
///
/// As for [`pwrite`].
#[inline(always)]
pub(super) unsafe fn pwrite_durably(part: Part) -> isize {
    let Part { fd, memory, length, at } = part;
    let part = libc::iovec { iov_base: memory.cast(), iov_len: length };
    // The upper half of the offset matters only on machines with 32-bit words.
    // SAFETY: as the caller promises; the description of the memory is only read.
    unsafe {
        raw_syscall!(Sysno::pwritev2, fd, &raw const part, 1, at, 0, libc::RWF_DSYNC) as isize
    }
}

/// Submits `submit` entries of a ring (`io_uring_enter(2)`). With `look` the kernel also hands over completions that it kept back for want of room.
///
/// # Safety
///
/// The memory of submitted I/Os must stay valid until they have ended.
#[inline(always)]
pub(super) unsafe fn ring_submit(ring: RawFd, submit: usize, look: bool) -> isize {
    let flags = if look { GETEVENTS } else { 0 };
    // SAFETY: as the caller promises; no argument is read.
    unsafe { raw_syscall!(Sysno::io_uring_enter, ring, submit, 0, flags, 0, 0) as isize }
}

/// Submits `submit` entries of a ring and waits for `least` completions, at most as long as `limit` says.
///
/// # Safety
///
/// As for [`ring_submit`].
#[inline(always)]
pub(super) unsafe fn ring_wait(
    ring: RawFd,
    submit: usize,
    least: usize,
    limit: &SubmitArgs,
) -> isize {
    let (limit, size) = (std::ptr::from_ref(limit), size_of::<SubmitArgs>());
    let flags = GETEVENTS | EXT_ARG;
    // SAFETY: as the caller promises; the kernel reads a structure of the given size, and the timeout that it points to.
    unsafe { raw_syscall!(Sysno::io_uring_enter, ring, submit, least, flags, limit, size) as isize }
}

/// `io_submit(2)` of `count` requests.
///
/// # Safety
///
/// `requests` points to `count` pointers to requests. The requests and their memory stay as they are until they have ended.
#[inline(always)]
pub(super) unsafe fn io_submit<T>(context: u64, count: usize, requests: *const *mut T) -> isize {
    // SAFETY: as the caller promises.
    unsafe { raw_syscall!(Sysno::io_submit, context, count, requests) as isize }
}

/// `io_getevents(2)`: collects at least `least` and at most `places` completions, waiting no longer than `limit`.
///
/// # Safety
///
/// `ended` points to room for `places` of the kernel's `struct io_event`.
#[inline(always)]
pub(super) unsafe fn io_getevents<T>(
    context: u64,
    (least, places): (usize, usize),
    ended: *mut T,
    limit: &libc::timespec,
) -> isize {
    let limit = std::ptr::from_ref(limit);
    // SAFETY: as the caller promises; the time is only read.
    unsafe { raw_syscall!(Sysno::io_getevents, context, least, places, ended, limit) as isize }
}
