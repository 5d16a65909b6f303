//! Stall detection: reports a target on which no I/O ends, and decides when a worker is given up as stuck in the kernel.

use std::time::Duration;

use sys::interrupt::Level;

use crate::pace::Pace;

/// Silence after which the first notice is given; each further notice comes after twice the time.
const STALL_NS: u64 = 10_000_000_000;
/// Time that workers have for ending after they should, nanoseconds: longer than they wait for I/Os in flight.
const GRACE_NS: u64 = 50_000_000_000;
/// Grace periods after Ctrl-C, and after a second one, nanoseconds.
const GRACE_FINISH_NS: u64 = 6_000_000_000;
const GRACE_NOW_NS: u64 = 4_000_000_000;

pub(crate) struct StallDetector {
    deadline_ns: u64,
    /// Number of I/Os that have ended, and the time when it last changed.
    seen: (u64, u64),
    next_notice_ns: u64,
    /// Time since which the workers should be ending.
    ending_since_ns: Option<u64>,
}

impl StallDetector {
    pub(crate) fn new(pace: Pace) -> Self {
        Self {
            deadline_ns: pace.deadline_ns(),
            seen: (0, pace.start_ns),
            next_notice_ns: STALL_NS,
            ending_since_ns: None,
        }
    }

    /// Subtracts a time in which the program itself did not run from the time of silence.
    pub(crate) fn stood_still(&mut self, still: Duration) {
        let still_ns = u64::try_from(still.as_nanos()).unwrap_or(u64::MAX);
        self.seen.1 = self.seen.1.saturating_add(still_ns);
        self.ending_since_ns = self.ending_since_ns.map(|since| since.saturating_add(still_ns));
    }

    /// Returns a notice when no I/O has ended for long.
    pub(crate) fn stalled(&mut self, now_ns: u64, ended: u64, in_flight: u64) -> Option<String> {
        let (before, since_ns) = self.seen;
        if ended != before || in_flight == 0 {
            self.seen = (ended, now_ns);
            self.next_notice_ns = STALL_NS;
            return None;
        }
        let silent_ns = now_ns.saturating_sub(since_ns);
        if silent_ns < self.next_notice_ns {
            return None;
        }
        self.next_notice_ns *= 2;
        Some(format!(
            "The target stalls: no I/O has completed for {}, {in_flight} are in flight; still waiting (Ctrl-C ends it)",
            units::Nanos(silent_ns - silent_ns % 1_000_000_000)
        ))
    }

    /// Time without any I/O ending, up to `now_ns`, nanoseconds.
    pub(crate) fn silent_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.seen.1)
    }

    /// Tells whether the workers that have not ended are stuck in the kernel, so that no further I/O will end.
    pub(crate) fn is_lost(&mut self, now_ns: u64, halted: bool, level: Level) -> bool {
        if !halted && now_ns < self.deadline_ns {
            return false;
        }
        let since_ns = *self.ending_since_ns.get_or_insert(now_ns);
        let grace_ns = match level {
            Level::None => GRACE_NS,
            Level::Finish => GRACE_FINISH_NS,
            Level::Now => GRACE_NOW_NS,
        };
        now_ns.saturating_sub(since_ns.max(self.seen.1)) >= grace_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn watch(duration_ns: Option<u64>) -> StallDetector {
        StallDetector::new(Pace { start_ns: 0, interval_ns: S, duration_ns })
    }

    #[test]
    fn a_stall_is_told_once_and_again_after_twice_the_time() {
        let mut watch = watch(None);
        let notices: Vec<u64> =
            (1..=50).filter(|&s| watch.stalled(s * S, 7, 32).is_some()).collect();
        // The first look sees that 7 have ended.
        assert_eq!(notices, [11, 21, 41]);
        assert_eq!(watch.stalled(51 * S, 8, 32), None);
        assert!(watch.stalled(61 * S, 8, 32).unwrap().contains("10 s"));
        assert_eq!(watch.stalled(500 * S, 8, 0), None);
    }

    #[test]
    fn a_time_in_which_the_program_stood_still_is_no_silence_of_the_target() {
        let mut w = watch(Some(10 * S));
        assert_eq!(w.stalled(S, 7, 32), None);
        w.stood_still(Duration::from_secs(100));
        assert_eq!(w.stalled(102 * S, 7, 32), None);
        assert!(!w.is_lost(102 * S, true, Level::None));
        w.stood_still(Duration::from_secs(100));
        assert!(!w.is_lost(202 * S, true, Level::None));
        assert!(w.stalled(212 * S, 7, 32).is_some());
        assert!(w.is_lost(252 * S, true, Level::None));
    }

    #[test]
    fn workers_that_should_have_ended_are_given_up_after_a_while() {
        let mut w = watch(Some(10 * S));
        assert!(!w.is_lost(9 * S, false, Level::None));
        assert!(!w.is_lost(10 * S, false, Level::None));
        assert!(!w.is_lost(59 * S, false, Level::None));
        assert!(w.is_lost(60 * S, false, Level::None));
        let mut w = watch(None);
        assert!(!w.is_lost(1000 * S, false, Level::None));
        assert!(!w.is_lost(1000 * S, true, Level::Finish));
        assert!(!w.is_lost(1005 * S, true, Level::Finish));
        assert!(w.is_lost(1005 * S, true, Level::Now));
        assert!(w.is_lost(1006 * S, true, Level::Finish));
    }
}
