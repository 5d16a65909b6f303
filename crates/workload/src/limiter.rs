//! Rate caps and pauses of a closed loop: they decide when a job may start its next I/O. A cap is a token bucket, stored as the time at which its
//! next token is available.

use units::Nanos;

use crate::exact_time::{Cost, ExactTime};
use crate::{Limit, LoadSpec, Rate, Think};

/// Capacity of a bucket as time at its rate, nanoseconds: a job that was slower than its cap may catch up by this much.
const CATCH_UP_NS: u64 = 10_000_000;

/// The cap of one job on I/Os, bytes or both, each a token bucket. An I/O may start when those before it have been paid for. Each job has its share
/// of the cap, and the jobs' first I/Os are staggered as if one job with the whole cap made them. A bucket holds 10 ms of its rate, so that no burst
/// follows a stall.
#[derive(Debug, Clone)]
pub struct Limiter {
    caps: Vec<(Cost, ExactTime)>,
}

impl Limiter {
    /// Creates the cap of job number `job` of `jobs`; its first I/O waits as if each job before it had started one of `length` bytes.
    pub fn new(limit: Limit, (job, jobs): (u32, u32), length: u32) -> Self {
        let rates = [limit.ios.map(Rate::Ios), limit.bytes.map(Rate::Bytes)];
        let cap = |rate| {
            let (cost, whole) = (Cost::new(rate, jobs), Cost::new(rate, 1));
            let mut first = ExactTime::new(cost.denominator);
            (0..job).for_each(|_| first.pay(&whole, length));
            (cost, first)
        };
        Self { caps: rates.into_iter().flatten().map(cap).collect() }
    }

    /// Returns the time at which the next I/O may start, nanoseconds since the start of the load.
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
pub struct ThinkTimes {
    think: Think,
    done: u32,
}

impl ThinkTimes {
    /// Creates the think times of a job that has just begun.
    pub fn new(think: Think) -> Self {
        Self { think, done: 0 }
    }

    /// Counts one completed I/O; returns how long the job pauses now, if it does.
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
    /// Returns the cap of job number `job`; `None` if the load has none.
    pub fn limiter(&self, job: u32) -> Option<Limiter> {
        let longest = self.largest_io().0.try_into().unwrap_or(u32::MAX);
        self.limit.map(|limit| Limiter::new(limit, (job, self.jobs), longest))
    }

    /// Returns the think times of each job; `None` if the load has none.
    pub fn think_times(&self) -> Option<ThinkTimes> {
        self.think.map(ThinkTimes::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts of `n` I/Os on a target that never delays them.
    fn starts(limit: &str, jobs: u32, n: u64, length: u32) -> Vec<u64> {
        let mut limiter = Limiter::new(limit.parse().unwrap(), (0, jobs), length);
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
    fn many_jobs_keep_a_cap_from_the_first_io_on() {
        for (limit, length, each_s) in [("10/s", 4096, 10), ("1M/s", 1 << 20, 1)] {
            for jobs in [1, 3, 16, 200] {
                let limiter = |job| Limiter::new(limit.parse().unwrap(), (job, jobs), length);
                let starts = (0..jobs).flat_map(|job| {
                    let mut limiter = limiter(job);
                    (0..20).map(move |_| {
                        let now = limiter.ready_ns();
                        limiter.take(now, length);
                        now
                    })
                });
                let in_five = starts.filter(|&ns| ns < 5_000_000_000).count() as u32;
                assert_eq!(in_five, (5 * each_s).min(20 * jobs), "{limit}, {jobs} jobs");
            }
        }
    }

    #[test]
    fn no_burst_follows_a_stall() {
        let mut limiter = Limiter::new("1000/s".parse().unwrap(), (0, 1), 4096);
        limiter.take(0, 4096);
        // Ten seconds in which no I/O ended: of 10,000 missed I/Os only ten may be made up for.
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
        let mut pauses = ThinkTimes::new("1ms:3".parse().unwrap());
        let seen: Vec<_> = (0..7).map(|_| pauses.after_io().is_some()).collect();
        assert_eq!(seen, [false, false, true, false, false, true, false]);
        assert_eq!(ThinkTimes::new("2ms".parse().unwrap()).after_io(), Some(Nanos(2_000_000)));
    }
}
