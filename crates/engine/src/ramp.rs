//! The end of a load's ramp, reported once.

use std::time::Duration;

/// The ramp of a running load.
pub(crate) struct Ramp {
    /// Its end, nanoseconds of the clock; `None` once it is over, and for a load without a ramp.
    ends_ns: Option<u64>,
}

impl Ramp {
    /// Begins a ramp of `ramp_ns` that ends at `ends_ns`.
    pub(crate) fn new(ramp_ns: u64, ends_ns: u64) -> Self {
        Self { ends_ns: (ramp_ns > 0).then_some(ends_ns) }
    }

    /// Returns how long to wait at `now_ns`: `look`, or less if the ramp ends before that.
    pub(crate) fn wait(&self, look: Duration, now_ns: u64) -> Duration {
        let left = |end: u64| Duration::from_nanos(end.saturating_sub(now_ns) + 1);
        self.ends_ns.map_or(look, |end| look.min(left(end)))
    }

    /// Tells whether the ramp has ended by `now_ns`; true only once.
    pub(crate) fn ends(&mut self, now_ns: u64) -> bool {
        let ends = self.ends_ns.is_some_and(|end| now_ns >= end);
        if ends {
            self.ends_ns = None;
        }
        ends
    }
}
