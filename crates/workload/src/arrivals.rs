//! The arrivals of an open loop: the times at which I/Os are meant to start, whether or not earlier ones have ended. Latencies count from these
//! times, which avoids coordinated omission.

use units::{Seed, SplitMix64};

use crate::exact_time::{Cost, ExactTime};
use crate::{Arrival, LoadSpec, Rate};

/// The intended starts of one job's I/Os. All jobs together keep the rate that was asked for: with fixed distances the jobs take turns; as a Poisson
/// process each job has its share of the rate (the sum of these is again a Poisson process).
#[derive(Debug, Clone)]
pub struct Arrivals {
    kind: Kind,
    cost: Cost,
    next: ExactTime,
}

#[derive(Debug, Clone)]
enum Kind {
    Fixed,
    /// Random arrivals; `rest` is the fraction of a nanosecond that was cut off the last gap.
    Poisson {
        rng: SplitMix64,
        rest: f64,
        mean_ns: [f64; 2],
    },
}

impl Arrivals {
    /// Arrivals of job `job` of `jobs` (counted from 0); `rate` is that of all jobs together.
    pub fn new(rate: Rate, arrival: Arrival, seed: Seed, job: u32, jobs: u32) -> Self {
        let cost = Cost::new(rate, jobs);
        let mut next = ExactTime::new(cost.denominator);
        let kind = match arrival {
            Arrival::Fixed => {
                // The job's turn: it starts later by `job` I/Os of the whole load, of 4 KiB each where the rate is in bytes.
                let turn = cost.parts(4096) / u128::from(jobs.max(1)) * u128::from(job);
                let (whole, rest) = cost.split(turn);
                next.add(whole, rest);
                Kind::Fixed
            }
            Arrival::Poisson => {
                let rng = seed.derive(&format!("arrivals {job}")).generator();
                let per = |length| cost.parts(length) as f64 / cost.denominator as f64;
                let byte = per(4096) / 4096.0 - per(0) / 4096.0;
                Kind::Poisson { rng, rest: 0.0, mean_ns: [per(0), byte] }
            }
        };
        let mut arrivals = Self { kind, cost, next };
        if arrival == Arrival::Poisson {
            arrivals.advance(4096);
        }
        arrivals
    }

    /// Returns the time at which the next I/O is meant to start, nanoseconds since the start of the load.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next.ns
    }

    /// Takes the next arrival, for an I/O of `length` bytes; returns the time at which it was meant to start, nanoseconds since the start of the
    /// load.
    #[inline]
    pub fn take(&mut self, length: u32) -> u64 {
        let now = self.next.ns;
        self.advance(length);
        now
    }

    fn advance(&mut self, length: u32) {
        match &mut self.kind {
            Kind::Fixed => self.next.pay(&self.cost, length),
            Kind::Poisson { rng, rest, mean_ns: [io, byte] } => {
                let mean = *io + *byte * f64::from(length);
                // 1 - u is above 0. The fraction is kept, so that the mean is not rounded.
                let gap = *rest - mean * (1.0 - rng.unit()).ln();
                let whole = gap as u64;
                *rest = gap - whole as f64;
                self.next.set(self.next.ns.saturating_add(whole));
            }
        }
    }
}

impl LoadSpec {
    /// The intended starts of the I/Os of one job; `None` for a closed loop.
    pub fn arrivals(&self, seed: Seed, job: u32) -> Option<Arrivals> {
        self.rate.map(|rate| Arrivals::new(rate, self.arrival, seed, job, self.jobs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chi;

    fn arrivals(rate: &str, arrival: Arrival, job: u32, jobs: u32) -> Arrivals {
        Arrivals::new(rate.parse().unwrap(), arrival, Seed(1), job, jobs)
    }

    #[test]
    fn fixed_arrivals_are_exact_after_a_thousand_million() {
        // 7 per second: a gap is not a whole number of nanoseconds.
        let mut fixed = arrivals("7000003/s", Arrival::Fixed, 0, 1);
        for hundredth in 1..=100u64 {
            (0..10_000_000).for_each(|_| _ = fixed.take(4096));
            let exact = u128::from(hundredth) * 10u128.pow(16) / 7_000_003;
            assert_eq!(u128::from(fixed.next_ns()), exact, "{hundredth}");
        }
    }

    #[test]
    fn jobs_take_turns_at_fixed_arrivals() {
        for jobs in [1, 2, 3, 7] {
            let mut jobs: Vec<_> =
                (0..jobs).map(|job| arrivals("3333/s", Arrival::Fixed, job, jobs)).collect();
            let mut times: Vec<_> = jobs
                .iter_mut()
                .flat_map(|job| (0..1000).map(|_| job.take(4096)).collect::<Vec<_>>())
                .collect();
            times.sort_unstable();
            for (n, time) in times.into_iter().enumerate() {
                let exact = n as u64 * 1_000_000_000 / 3333;
                assert!(time.abs_diff(exact) <= 1, "{n}: {time} for {exact}");
            }
        }
    }

    #[test]
    fn a_rate_in_bytes_spaces_ios_by_their_length() {
        let mut bytes = arrivals("1M/s", Arrival::Fixed, 0, 1);
        let lengths = [4096u32, 65_536, 512, 4096];
        let starts: Vec<_> = lengths.iter().map(|&length| bytes.take(length)).collect();
        let mut before = 0u64;
        for (start, length) in starts.into_iter().zip(lengths) {
            assert_eq!(start, before * 1_000_000_000 / (1 << 20));
            before += u64::from(length);
        }
    }

    #[test]
    fn poisson_arrivals_have_exponential_gaps_and_the_mean_that_was_asked() {
        for (rate, mean) in [("5000/s", 200_000.0), ("3000000/s", 1000.0 / 3.0), ("0.5/s", 2e9)] {
            let mut poisson = arrivals(rate, Arrival::Poisson, 0, 1);
            let (n, cells) = (400_000, 100);
            let mut counts = vec![0u64; cells];
            let mut last = 0;
            for _ in 0..n {
                let start = poisson.take(4096);
                // Cells of equal probability; half a nanosecond for the rounding of both ends.
                let gap = (start - last) as f64;
                let cell = (1.0 - (-gap / mean).exp()) * cells as f64;
                counts[(cell as usize).min(cells - 1)] += 1;
                last = start;
            }
            // Standard error of the mean: 0.16 %.
            assert!((last as f64 / n as f64 / mean - 1.0).abs() < 0.008, "{rate}");
            if mean > 10_000.0 {
                chi::holds(&counts, &vec![1.0; cells], rate);
            }
        }
    }

    #[test]
    fn jobs_of_a_poisson_process_are_one_together_and_independent() {
        let jobs = 4;
        let mut times = Vec::new();
        for job in 0..jobs {
            let mut poisson = arrivals("8000/s", Arrival::Poisson, job, jobs);
            times.extend((0..50_000).map(|_| poisson.take(4096)));
        }
        times.sort_unstable();
        // Until the first job ends, the gaps between the arrivals of all jobs are exponential again.
        let end = times.len() * 9 / 10;
        let mut counts = vec![0u64; 50];
        for pair in times[..end].windows(2) {
            let u = 1.0 - (-((pair[1] - pair[0]) as f64) / 125_000.0).exp();
            counts[((u * 50.0) as usize).min(49)] += 1;
        }
        chi::holds(&counts, &[1.0; 50], "gaps of all jobs");
        // Arrivals in windows of a millisecond: 8 on average, variance 8.
        let mut windows = vec![0u64; (times[end] / 1_000_000) as usize];
        for time in &times[..end] {
            if let Some(n) = windows.get_mut((time / 1_000_000) as usize) {
                *n += 1;
            }
        }
        let mean = windows.iter().sum::<u64>() as f64 / windows.len() as f64;
        let variance =
            windows.iter().map(|&n| (n as f64 - mean).powi(2)).sum::<f64>() / windows.len() as f64;
        assert!(
            (mean - 8.0).abs() < 0.1 && (variance / mean - 1.0).abs() < 0.06,
            "{mean} {variance}"
        );
    }

    #[test]
    fn arrivals_follow_from_seed_and_job() {
        let first = |seed, job| {
            let mut poisson =
                Arrivals::new(Rate::Ios(1_000_000), Arrival::Poisson, Seed(seed), job, 2);
            (0..10).map(|_| poisson.take(0)).collect::<Vec<_>>()
        };
        assert_eq!(first(1, 0), first(1, 0));
        assert!(first(1, 0) != first(2, 0) && first(1, 0) != first(1, 1));
    }
}
