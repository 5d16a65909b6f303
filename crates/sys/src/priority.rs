//! A priority of a thread above all ordinary threads.

/// Lets the calling thread run before every ordinary thread until it waits (`SCHED_FIFO`, with the lowest such priority). The kernel allows this to
/// root, and to others within `ulimit -r`.
pub fn real_time() -> std::io::Result<()> {
    let parameter = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads the parameter, which lives until it returns; 0 is the calling thread.
    let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_thread_gets_the_priority_or_is_told_why_not() {
        let result = std::thread::spawn(super::real_time).join().unwrap();
        let refused = |error: std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
        assert!(result.map_err(refused).err().unwrap_or(true));
    }
}
