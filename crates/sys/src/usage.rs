//! CPU time of this process and of single threads.

use std::time::Duration;

/// CPU time of the whole process as (user, kernel): that of all its threads, including ended ones and the kernel's io_uring workers.
pub fn process() -> (Duration, Duration) {
    of(libc::RUSAGE_SELF)
}

/// CPU time of all children that ended and were waited for, as (user, kernel): that of all their threads, including the kernel's io_uring workers.
pub fn children() -> (Duration, Duration) {
    of(libc::RUSAGE_CHILDREN)
}

/// CPU time of the calling thread as (user, kernel).
pub fn thread() -> (Duration, Duration) {
    of(libc::RUSAGE_THREAD)
}

/// Lets other threads go first: where CPU time is short, the calling thread gets a tenth of an ordinary thread's share.
pub fn yield_to_others() {
    // SAFETY: takes three numbers; 0 means the calling thread. A refusal leaves the priority as it was.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 10) };
}

fn of(who: libc::c_int) -> (Duration, Duration) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one rusage; a failure, which these constants rule out, leaves it zeroed.
    unsafe { libc::getrusage(who, usage.as_mut_ptr()) };
    // SAFETY: rusage is plain numbers, for which zero bytes are a value.
    let usage = unsafe { usage.assume_init() };
    (duration(usage.ru_utime), duration(usage.ru_stime))
}

pub(crate) fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_thread_that_works_is_seen_in_its_own_time_and_in_that_of_the_process() {
        let (user, system) = process();
        let busy = std::thread::spawn(|| {
            let start = Instant::now();
            while thread().0 + thread().1 < Duration::from_millis(30) {
                assert!(start.elapsed() < Duration::from_secs(60));
            }
            thread()
        });
        let (busy_user, busy_system) = busy.join().unwrap();
        let (user_after, system_after) = process();
        let grown = (user_after + system_after).saturating_sub(user + system);
        assert!(busy_user + busy_system >= Duration::from_millis(30));
        assert!(grown >= Duration::from_millis(29), "{grown:?}");
    }
}
