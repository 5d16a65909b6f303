//! Caps and pauses of a closed loop: when a job may start its next I/O. A cap is a token bucket that is kept as the time at which it
//! has a token again.

use units::Nanos;

use crate::exact_time::{Cost, ExactTime};
use crate::{Limit, LoadSpec, Rate, Think};

/// What a bucket holds: what a job may make up for when it was slower than its cap for a while, nanoseconds.
const CATCH_UP_NS: u64 = 10_000_000;

/// The cap of one job, of I/Os, of bytes, or of both: a token bucket for each. An I/O may start when those before it have been paid
/// for. Each job has its part of the cap. A bucket holds 10 ms of its rate, so that no burst follows a stall.
#[derive(Debug, Clone)]
pub struct Limiter {
    caps: Vec<(Cost, ExactTime)>,
}

impl Limiter {
    /// The cap of one of `jobs` jobs.
    pub fn new(limit: Limit, jobs: u32) -> Self {
        let rates = [limit.ios.map(Rate::Ios), limit.bytes.map(Rate::Bytes)];
        let cap = |rate| {
            let cost = Cost::new(rate, jobs);
            (cost, ExactTime::new(cost.denominator))
        };
        Self { caps: rates.into_iter().flatten().map(cap).collect() }
    }

    /// Returns when the next I/O may start, nanoseconds since the start of the load.
    #[inline]
    pub fn ready_ns(&self) -> u64 {
        self.caps.iter().map(|(_, next)| next.ns).max().unwrap_or(0)
    }

    /// Pays for an I/O of `length` bytes that starts at `now_ns`, nanoseconds since the start of the load.
    #[inline]
    pub fn take(&mut self, now_ns: u64, length: u32) {
        for (cost, next) in &mut self.caps {
            let earliest = now_ns.saturating_sub(CATCH_UP_NS);
            if next.ns < earliest {
                next.set(earliest);
            }
            next.pay(cost, length);
        }
    }
}

/// The think times of one job.
#[derive(Debug, Clone)]
pub struct Pauses {
    think: Think,
    done: u32,
}

impl Pauses {
    /// Those of a job that has just begun.
    pub fn new(think: Think) -> Self {
        Self { think, done: 0 }
    }

    /// Counts one I/O that has ended; gives how long the job pauses now, if it does.
    #[inline]
    pub fn after_io(&mut self) -> Option<Nanos> {
        self.done += 1;
        if self.done < self.think.every {
            return None;
        }
        self.done = 0;
        Some(self.think.time)
    }
}

impl LoadSpec {
    /// The cap of each job; `None` without one.
    pub fn limiter(&self) -> Option<Limiter> {
        self.limit.map(|limit| Limiter::new(limit, self.jobs))
    }

    /// The pauses of each job; `None` without them.
    pub fn pauses(&self) -> Option<Pauses> {
        self.think.map(Pauses::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts of `n` I/Os of a target that is never in the way.
    fn starts(limit: &str, jobs: u32, n: u64, length: u32) -> Vec<u64> {
        let mut limiter = Limiter::new(limit.parse().unwrap(), jobs);
        let mut now = 0;
        let mut start = || {
            now = limiter.ready_ns().max(now);
            limiter.take(now, length);
            now
        };
        (0..n).map(|_| start()).collect()
    }

    #[test]
    fn a_cap_on_ios_is_kept_exactly_and_divided_between_jobs() {
        for (jobs, each) in [(1, 5000), (4, 1250), (3, 0)] {
            let starts = starts("5000/s", jobs, 100_001, 4096);
            let exact = 100_000u128 * 1_000_000_000 * u128::from(jobs) / 5000;
            assert_eq!(u128::from(starts[100_000]), exact);
            if each > 0 {
                let in_a_second = starts.iter().filter(|&&ns| ns < 1_000_000_000).count();
                assert_eq!(in_a_second, each);
            }
        }
    }

    #[test]
    fn a_cap_on_bytes_counts_lengths_and_of_two_caps_the_lower_holds() {
        let by_bytes = starts("4M/s", 1, 2049, 4096);
        assert_eq!(by_bytes[1024], 1_000_000_000);
        assert_eq!(starts("4M/s", 1, 100, 65_536)[64], 1_000_000_000);
        assert_eq!(starts("500/s,4M/s", 1, 600, 4096)[500], 1_000_000_000);
        assert_eq!(starts("5000/s,4M/s", 1, 2000, 4096)[1024], 1_000_000_000);
    }

    #[test]
    fn no_burst_follows_a_stall() {
        let mut limiter = Limiter::new("1000/s".parse().unwrap(), 1);
        limiter.take(0, 4096);
        // Ten seconds in which nothing ended: 10,000 I/Os are lost, ten may be made up for.
        let stalled = 10_000_000_000;
        let mut now = stalled;
        let mut early = 0;
        for _ in 0..100 {
            now = now.max(limiter.ready_ns());
            early += u32::from(now == stalled);
            limiter.take(now, 4096);
        }
        assert_eq!(early, 11);
        assert_eq!(now, stalled + 89_000_000);
    }

    #[test]
    fn a_job_pauses_after_each_so_many_ios() {
        let mut pauses = Pauses::new("1ms:3".parse().unwrap());
        let seen: Vec<_> = (0..7).map(|_| pauses.after_io().is_some()).collect();
        assert_eq!(seen, [false, false, true, false, false, true, false]);
        assert_eq!(Pauses::new("2ms".parse().unwrap()).after_io(), Some(Nanos(2_000_000)));
    }
}
