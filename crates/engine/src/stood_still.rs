//! Times in which the program did not run: it was stopped (SIGSTOP, a debugger, a paused machine), or got no CPU.
//!
//! The collecting thread asks for short sleeps. If one lasts much longer, the rest of the program did not run either: rates over the load's time then
//! include time in which the target was given nothing to do.

use std::time::Duration;

/// Shortest oversleep that is reported: far longer than waiting for a CPU takes.
const LEAST_OVERSLEEP: Duration = Duration::from_secs(1);

/// Returns how long the program did not run during a sleep of at most `longest` between `from_ns` and `to_ns`; `None` if it may only have waited for a
/// CPU.
pub(crate) fn paused_during(longest: Duration, (from_ns, to_ns): (u64, u64)) -> Option<Duration> {
    let slept = Duration::from_nanos(to_ns.saturating_sub(from_ns));
    // The stop began at an unknown point of the sleep: return the middle of the possible range.
    let (least, most) = (slept.saturating_sub(longest), slept);
    (least >= LEAST_OVERSLEEP).then(|| (least + most) / 2)
}

/// Returns a duration in nanoseconds.
pub(crate) fn nanos(still: Duration) -> u64 {
    u64::try_from(still.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the notice that the program did not run for this long.
pub(crate) fn notice(still: Duration) -> String {
    format!(
        "Fathom itself did not run for {:.1} s: it was stopped, or got no CPU. The target did not cause this, but the load's rates and the latencies of I/Os \
         that were in flight or due include this time; run it again",
        still.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_that_lasts_seconds_too_long_is_told_and_a_late_one_is_not() {
        let sleep = Duration::from_millis(250);
        let slept = |ms: u64| paused_during(sleep, (7_000_000, (7 + ms) * 1_000_000));
        for ms in [0, 100, 250, 900, 1249] {
            assert_eq!(slept(ms), None, "{ms} ms");
        }
        assert!(slept(1250).is_some());
        assert!(notice(slept(2125).unwrap()).starts_with("Fathom itself did not run for 2.0 s"));
    }
}
