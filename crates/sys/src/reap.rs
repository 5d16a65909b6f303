//! The end of a child, with what it used.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use crate::usage::duration;

/// How a child ended, and what it and all processes that it waited for used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaped {
    /// How it ended.
    pub status: ExitStatus,
    /// Time on a CPU.
    pub user: Duration,
    /// Time of the kernel on its behalf.
    pub system: Duration,
    /// The most memory that the largest of the processes had, bytes.
    pub peak_memory_bytes: u64,
}

/// Waits for a child of this process, and takes it from the kernel's list: nobody else may wait for it.
///
/// # Errors
/// When there is no such child.
pub fn reap(pid: u32) -> io::Result<Reaped> {
    let pid =
        libc::pid_t::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are valid for what they point to, and the call keeps neither.
        if unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: rusage is plain numbers, for which zero bytes are a value.
    let usage = unsafe { usage.assume_init() };
    Ok(Reaped {
        status: ExitStatus::from_raw(status),
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        // Linux counts it in KiB.
        peak_memory_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    // It is waited for by `reap`.
    #[allow(clippy::zombie_processes)]
    fn a_child_that_ended_is_told_with_the_time_of_its_own_children() {
        let script = "(i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done); exit 3";
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let pid = child.id();
        let reaped = reap(pid).unwrap();
        assert_eq!(reaped.status.code(), Some(3));
        assert!(reaped.user + reaped.system > Duration::from_millis(5), "{reaped:?}");
        assert!((100 << 10..4 << 30).contains(&reaped.peak_memory_bytes), "{reaped:?}");
        assert!(reap(pid).is_err());
    }
}
