//! The system calls of the hot loop, each in line where it is made.
//!
//! Where the kernel leaves the processor's predictor of returns in disorder (its "Safe RET" against SRSO does, on AMD's Zen
//! to Zen 4), the first `ret` that a thread comes to after a system call, in a frame that it entered before the call, costs
//! some 170 ns on a Zen 4: more than all else that a turn does (`cargo bench -p engine --bench returns`). libc's functions
//! have one such `ret`. So these are no functions to the processor, and nothing between a call here and the loop around
//! it may be: [`crate::backend::Backend::turn`] is always inlined, too. Functions that are entered after the call are harmless.
//!
//! Results are the kernel's own: a negative error number, or what the call gives.

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
/// The memory must be valid for writes of its length, and nobody else may use it meanwhile.
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
/// The memory must be valid for reads of its length, and nobody may change it meanwhile.
#[inline(always)]
pub(super) unsafe fn pwrite(part: Part) -> isize {
    let Part { fd, memory, length, at } = part;
    // SAFETY: as the caller promises.
    unsafe { raw_syscall!(Sysno::pwrite64, fd, memory, length, at) as isize }
}

/// `pwritev2(2)` with `RWF_DSYNC`: the write is durable when it ends.
///
/// # Safety
///
/// As for [`pwrite`].
#[inline(always)]
pub(super) unsafe fn pwrite_durably(part: Part) -> isize {
    let Part { fd, memory, length, at } = part;
    let part = libc::iovec { iov_base: memory.cast(), iov_len: length };
    // The upper half of the offset is only for machines whose words have 32 bits.
    // SAFETY: as the caller promises; the description of the memory is only read.
    unsafe {
        raw_syscall!(Sysno::pwritev2, fd, &raw const part, 1, at, 0, libc::RWF_DSYNC) as isize
    }
}

/// Submits `submit` entries of a ring (`io_uring_enter(2)`); has the kernel look for completions that it kept only if `look`.
///
/// # Safety
///
/// The memory of what is submitted stays as it has to until it has ended.
#[inline(always)]
pub(super) unsafe fn ring_submit(ring: RawFd, submit: usize, look: bool) -> isize {
    let flags = if look { GETEVENTS } else { 0 };
    // SAFETY: as the caller promises; no argument is read.
    unsafe { raw_syscall!(Sysno::io_uring_enter, ring, submit, 0, flags, 0, 0) as isize }
}

/// Submits `submit` entries of a ring and waits for `least` completions, as long as `limit` says.
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
    // SAFETY: as the caller promises; the kernel reads a structure whose size it is told, and the time that it leads to.
    unsafe { raw_syscall!(Sysno::io_uring_enter, ring, submit, least, flags, limit, size) as isize }
}

/// `io_submit(2)` of `count` requests.
///
/// # Safety
///
/// `requests` leads to as many pointers to requests, which stay as they are, with their memory, until they have ended.
#[inline(always)]
pub(super) unsafe fn io_submit<T>(context: u64, count: usize, requests: *const *mut T) -> isize {
    // SAFETY: as the caller promises.
    unsafe { raw_syscall!(Sysno::io_submit, context, count, requests) as isize }
}

/// `io_getevents(2)`: at least `least` and at most `places` of what has ended, waiting no longer than `limit`.
///
/// # Safety
///
/// `ended` leads to room for `places` of the kernel's `struct io_event`.
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
