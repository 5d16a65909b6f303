//! The end of a load, and the intervals that moments belong to.

/// The times of a load, in nanoseconds since the clock's epoch or as durations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    pub start_ns: u64,
    pub interval_ns: u64,
    /// `None` when the load does not end by time.
    pub duration_ns: Option<u64>,
}

impl Pace {
    /// Returns the time after which nothing more is submitted.
    pub(crate) fn deadline_ns(&self) -> u64 {
        self.duration_ns.map_or(u64::MAX, |d| self.start_ns.saturating_add(d))
    }

    /// The interval that `now_ns` is in. I/Os that end after the deadline count for the last interval: a row of only the few that were in flight then
    /// would be meaningless.
    pub(crate) fn interval(&self, now_ns: u64) -> u64 {
        let interval = now_ns.saturating_sub(self.start_ns) / self.interval_ns;
        interval.min(self.last().unwrap_or(u64::MAX))
    }

    /// Returns the time at which the interval after `interval` begins, or the largest number if `interval` is the last.
    pub(crate) fn edge_ns(&self, interval: u64) -> u64 {
        if self.last().is_some_and(|last| interval >= last) {
            return u64::MAX;
        }
        self.start_ns.saturating_add((interval + 1).saturating_mul(self.interval_ns))
    }

    /// Start and end of an interval of a load that ended at `end_ns`, or that is still running (`None`).
    pub(crate) fn span_ns(&self, interval: u64, end_ns: Option<u64>) -> (u64, u64) {
        let start = self.start_ns + interval * self.interval_ns;
        let edge = self.edge_ns(interval);
        let end = end_ns.map_or(edge, |end| edge.min(end)).max(start + 1);
        (start, end)
    }

    fn last(&self) -> Option<u64> {
        self.duration_ns.map(|d| d.div_ceil(self.interval_ns).saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn intervals_meet_at_their_edges_and_the_last_takes_what_drains_after_the_deadline() {
        let pace = Pace { start_ns: 100, interval_ns: 10, duration_ns: Some(25) };
        let of = |now| pace.interval(now);
        assert_eq!((of(0), of(100), of(109), of(110), of(124), of(999)), (0, 0, 0, 1, 2, 2));
        assert_eq!((pace.edge_ns(0), pace.edge_ns(1), pace.edge_ns(2)), (110, 120, u64::MAX));
        assert_eq!(pace.span_ns(1, None), (110, 120));
        assert_eq!(pace.span_ns(2, Some(127)), (120, 127));
        assert_eq!(pace.deadline_ns(), 125);
    }

    #[test]
    fn without_a_duration_intervals_go_on_and_the_last_is_cut_at_the_end() {
        let pace = Pace { start_ns: 0, interval_ns: 10, duration_ns: None };
        assert_eq!((pace.interval(1_000_005), pace.deadline_ns()), (100_000, u64::MAX));
        assert_eq!(pace.span_ns(3, Some(34)), (30, 34));
    }
}
