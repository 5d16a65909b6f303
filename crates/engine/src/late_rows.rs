//! Rows that are late because the kernel holds a worker: what can be reported about their intervals until then.
//!
//! A thread in a plain call reads the clock only when the call returns. Until then it owns its buffer, and no row can be given for an
//! interval that it may have counted in. The board still says how many I/Os have ended and are in flight.

use crate::pace::Pace;

/// Time that a row may be late before a report takes its place, nanoseconds: workers with a queue are back every 0.1 s.
const LATE_NS: u64 = 500_000_000;

/// Intervals that are over and have no rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LateIntervals {
    /// Their start and end, nanoseconds of the clock.
    pub span_ns: (u64, u64),
    /// I/Os that ended in that time; the next field is their bytes.
    pub ios: u64,
    pub bytes: u64,
}

/// Watches for late rows.
#[derive(Debug)]
pub(crate) struct LateRows {
    pace: Pace,
    /// The first interval that nothing was reported about.
    next: u64,
    /// I/Os and bytes that had ended when the interval before it was reported.
    done: (u64, u64),
}

impl LateRows {
    pub(crate) fn new(pace: Pace) -> Self {
        Self { pace, next: 0, done: (0, 0) }
    }

    /// Returns the intervals to report at `now_ns`, when the rows of all intervals before number `rows` are out; `done` are all I/Os and bytes so
    /// far.
    pub(crate) fn check(
        &mut self,
        now_ns: u64,
        rows: u64,
        done: (u64, u64),
    ) -> Option<LateIntervals> {
        if rows > self.next {
            (self.next, self.done) = (rows, done);
        }
        let late_ns = LATE_NS.max(self.pace.interval_ns / 2);
        let over = self.pace.interval(now_ns.saturating_sub(late_ns));
        if over <= self.next {
            return None;
        }
        let (start_ns, end_ns) =
            (self.pace.span_ns(self.next, None).0, self.pace.span_ns(over, None).0);
        let (ios, bytes) = (done.0 - self.done.0, done.1 - self.done.1);
        (self.next, self.done) = (over, done);
        Some(LateIntervals { span_ns: (start_ns, end_ns), ios, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn late_rows(duration_ns: Option<u64>) -> LateRows {
        LateRows::new(Pace { start_ns: 100 * S, interval_ns: S, duration_ns })
    }

    #[test]
    fn nothing_is_told_while_rows_come() {
        let mut late_rows = late_rows(None);
        for second in 0..20 {
            // The row of the second before came 0.4 s after its end.
            let now_ns = (100 + second) * S + S * 4 / 10;
            assert_eq!(late_rows.check(now_ns, second, (second * 7, 0)), None);
        }
    }

    #[test]
    fn each_interval_without_a_row_is_told_once_with_what_ended_in_it() {
        let mut late_rows = late_rows(None);
        assert_eq!(late_rows.check(102 * S + S / 10, 2, (50, 500)), None);
        assert_eq!(late_rows.check(103 * S + S / 10, 2, (60, 600)), None, "it may still come");
        let late = LateIntervals { span_ns: (102 * S, 103 * S), ios: 10, bytes: 100 };
        assert_eq!(late_rows.check(103 * S + S / 2, 2, (60, 600)), Some(late));
        assert_eq!(late_rows.check(103 * S + S * 3 / 4, 2, (60, 600)), None);
        // A call that comes late covers all intervals that have passed.
        let late = LateIntervals { span_ns: (103 * S, 106 * S), ios: 0, bytes: 0 };
        assert_eq!(late_rows.check(106 * S + S / 2, 2, (60, 600)), Some(late));
        // The rows are there, and then one is missing again.
        assert_eq!(late_rows.check(107 * S, 7, (90, 900)), None);
        let late = LateIntervals { span_ns: (107 * S, 108 * S), ios: 5, bytes: 50 };
        assert_eq!(late_rows.check(108 * S + S / 2, 7, (95, 950)), Some(late));
    }

    #[test]
    fn the_last_interval_waits_for_what_is_in_flight_and_is_no_gap() {
        let mut late_rows = late_rows(Some(2 * S));
        assert!(late_rows.check(101 * S + S / 2, 0, (0, 0)).is_some());
        assert_eq!(late_rows.check(150 * S, 0, (0, 0)), None);
    }
}
