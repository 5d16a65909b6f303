//! The rate of the processor's time-stamp counter, which an emulated guest sees as it is and cannot measure well.

use std::arch::x86_64::_rdtsc;
use std::time::{Duration, Instant};

/// Number of times that a pair of readings is tried; the closest pair counts.
const TRIES: usize = 16;
/// The least time between the two moments: 1 us of error is then 33 millionths.
const SPAN: Duration = Duration::from_millis(30);

/// One moment, as the clock and as the counter show it.
#[derive(Clone, Copy, Debug)]
pub struct ClockPair {
    clock: Instant,
    counter: u64,
}

impl ClockPair {
    /// Now. Reads both several times and keeps the pair that was interrupted least.
    pub fn now() -> Self {
        let read = || {
            let before = counter();
            let clock = Instant::now();
            let after = counter();
            let middle = before + after.wrapping_sub(before) / 2;
            (after.wrapping_sub(before), Self { clock, counter: middle })
        };
        let mut best = read();
        for _ in 1..TRIES {
            let next = read();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }

    /// The counter's rate in kHz, from this moment to now; waits until 30 ms have passed.
    /// `None` when the processor's counter does not run at a constant rate.
    pub fn rate_khz(self) -> Option<u64> {
        if !constant() {
            return None;
        }
        let passed = self.clock.elapsed();
        if passed < SPAN {
            std::thread::sleep(SPAN - passed);
        }
        let now = Self::now();
        let ticks = now.counter.checked_sub(self.counter)?;
        let seconds = now.clock.duration_since(self.clock).as_secs_f64();
        Some((ticks as f64 / seconds / 1e3).round() as u64)
    }
}

fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and it touches no memory. Where the kernel forbids it to
    // programs (prctl PR_SET_TSC), nothing here asks for that.
    unsafe { _rdtsc() }
}

fn constant() -> bool {
    std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| {
        let flags = text.lines().find(|line| line.starts_with("flags"));
        flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "constant_tsc"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_measurements_of_the_rate_agree() {
        let rate = || ClockPair::now().rate_khz();
        let (Some(one), Some(other)) = (rate(), rate()) else {
            println!("SKIP two_measurements_of_the_rate_agree: no constant time-stamp counter");
            return;
        };
        assert!(one > 100_000, "{one} kHz");
        assert!(one.abs_diff(other) < one / 200, "{one} and {other} kHz");
    }
}
