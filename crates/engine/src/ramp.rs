//! The end of the ramp of a load, told once.

use std::time::Duration;

/// The ramp of a load that is under way.
pub(crate) struct Ramp {
    /// Its end, nanoseconds of the clock; `None` once it is over, and of a load without one.
    ends_ns: Option<u64>,
}

impl Ramp {
    /// Begins a ramp of `ramp_ns` that ends at `ends_ns`.
    pub(crate) fn new(ramp_ns: u64, ends_ns: u64) -> Self {
        Self { ends_ns: (ramp_ns > 0).then_some(ends_ns) }
    }

    /// Returns how long to wait from `now_ns` on: `look`, or until it ends.
    pub(crate) fn wait(&self, look: Duration, now_ns: u64) -> Duration {
        let left = |end: u64| Duration::from_nanos(end.saturating_sub(now_ns) + 1);
        self.ends_ns.map_or(look, |end| look.min(left(end)))
    }

    /// Tells whether it has ended by `now_ns` and that was not told before.
    pub(crate) fn ends(&mut self, now_ns: u64) -> bool {
        let ends = self.ends_ns.is_some_and(|end| now_ns >= end);
        if ends {
            self.ends_ns = None;
        }
        ends
    }
}
