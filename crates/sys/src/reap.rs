//! The end of a child, with the resources that it used.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use crate::usage::duration;

/// The exit status of a child, and the resources used by it and by all processes that it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaped {
    /// Its exit status.
    pub status: ExitStatus,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time of the kernel on its behalf.
    pub system: Duration,
    /// Peak memory of the largest of these processes, bytes.
    pub peak_memory_bytes: u64,
}

/// Reaps a child that has ended, and returns its process number; `None` if there are children but none has ended.
///
/// # Errors
/// Fails if there are no children.
pub(crate) fn any() -> io::Result<Option<(i32, Reaped)>> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let pid = loop {
        // SAFETY: both pointers point to valid memory, and the call does not keep them.
        match unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) } {
            0 => return Ok(None),
            pid if pid > 0 => break pid,
            _ => {}
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    };
    // SAFETY: rusage is plain numbers, for which zero bytes are a value.
    let usage = unsafe { usage.assume_init() };
    let reaped = Reaped {
        status: ExitStatus::from_raw(status),
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        // Linux counts it in KiB.
        peak_memory_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
    };
    Ok(Some((pid, reaped)))
}
