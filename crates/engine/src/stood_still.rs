//! Times in which the program did not run: it was stopped (SIGSTOP, a debugger, a paused machine), or got no CPU.
//!
//! The thread that collects asks for short sleeps. One that lasts much longer says that nothing else of the program ran either, so that
//! figures over the time of the load count time in which nobody asked anything of the target.

use std::time::Duration;

/// The time by which a sleep may last too long without a word: far beyond what waiting for a CPU takes.
const LATE: Duration = Duration::from_secs(1);

/// The time that the program stood still within a sleep of at most `asked` that lasted from `from_ns` to `to_ns`; `None` where that is no
/// more than waiting for a CPU.
pub(crate) fn within(asked: Duration, (from_ns, to_ns): (u64, u64)) -> Option<Duration> {
    let slept = Duration::from_nanos(to_ns.saturating_sub(from_ns));
    // It stopped somewhere within the sleep: the middle of what is possible is told.
    let (least, most) = (slept.saturating_sub(asked), slept);
    (least >= LATE).then(|| (least + most) / 2)
}

/// The same in nanoseconds.
pub(crate) fn nanos(still: Duration) -> u64 {
    u64::try_from(still.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns what to say of that.
pub(crate) fn notice(still: Duration) -> String {
    format!(
        "Fathom itself did not run for {:.1} s: it was stopped, or got no CPU. That is no doing of the target, but rates are over the whole time \
         of the load, and the latencies of I/Os that were in flight or due have it in them; run it again",
        still.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_that_lasts_seconds_too_long_is_told_and_a_late_one_is_not() {
        let asked = Duration::from_millis(250);
        let slept = |ms: u64| within(asked, (7_000_000, (7 + ms) * 1_000_000));
        for ms in [0, 100, 250, 900, 1249] {
            assert_eq!(slept(ms), None, "{ms} ms");
        }
        assert!(slept(1250).is_some());
        assert!(notice(slept(2125).unwrap()).starts_with("Fathom itself did not run for 2.0 s"));
    }
}
