//! The time at which the next I/O of a job may start: arrivals of an open loop, the cap of a token bucket ([`Limiter`]), pauses.

use workload::{Arrivals, Limiter, ThinkTimes};

use crate::load::Load;

/// Delays a job's I/Os for arrivals, caps and pauses. Times are nanoseconds of the load's clock.
pub(crate) struct Pacer {
    start_ns: u64,
    arrivals: Option<Arrivals>,
    limiter: Option<Limiter>,
    pauses: Option<ThinkTimes>,
    paused_until_ns: u64,
    /// Tells whether a cap or pauses can hold I/Os back.
    shut: bool,
}

impl Pacer {
    pub(crate) fn new(load: &Load, job: u32) -> Self {
        let spec = &load.spec;
        let (limiter, pauses) = (spec.limiter(job), spec.think_times());
        Self {
            start_ns: 0,
            arrivals: spec.arrivals(load.seed, job),
            shut: limiter.is_some() || pauses.is_some(),
            limiter,
            pauses,
            paused_until_ns: 0,
        }
    }

    /// Notes that the load begins.
    pub(crate) fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// Returns the time at which the next I/O may start, if that is after `now_ns`.
    #[inline]
    pub(crate) fn not_before(&self, now_ns: u64) -> Option<u64> {
        if !self.shut {
            return None;
        }
        let paid_ns = self.limiter.as_ref().map_or(0, |l| self.start_ns + l.ready_ns());
        Some(paid_ns.max(self.paused_until_ns)).filter(|&at_ns| at_ns > now_ns)
    }

    /// Counts an I/O of `length` bytes that is taken at `now_ns`; returns the time at which it is meant to start, or 0 where it may start whenever it
    /// is submitted.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now_ns: u64, length: u32) -> u64 {
        if !self.shut && self.arrivals.is_none() {
            return 0;
        }
        self.count(now_ns, length)
    }

    fn count(&mut self, now_ns: u64, length: u32) -> u64 {
        if let Some(limiter) = &mut self.limiter {
            limiter.take(now_ns.saturating_sub(self.start_ns), length);
        }
        self.arrivals.as_mut().map_or(0, |a| self.start_ns + a.take(length))
    }

    /// Tells whether [`Pacer::ended`] has to be called.
    pub(crate) fn counts_ends(&self) -> bool {
        self.pauses.is_some()
    }

    /// Notes that an I/O has ended.
    pub(crate) fn ended(&mut self, now_ns: u64) {
        if let Some(pause) = self.pauses.as_mut().and_then(ThinkTimes::after_io) {
            // I/Os that were in flight may end during a pause and cause the next one. That pause is added after the current one, since otherwise a
            // deep queue would rarely pause.
            self.paused_until_ns = self.paused_until_ns.max(now_ns).saturating_add(pause.0);
        }
    }
}
