//! The rate of the processor's time-stamp counter, which an emulated guest sees unchanged but cannot measure well.

use std::arch::x86_64::_rdtsc;
use std::time::{Duration, Instant};

/// Number of times that both clocks are read; the closest pair of readings counts.
const TRIES: usize = 16;
/// Shortest time between the two moments: an error of 1 us is then 33 ppm.
const SPAN: Duration = Duration::from_millis(30);

/// One moment, as read from the clock and from the counter.
#[derive(Clone, Copy, Debug)]
pub struct ClockPair {
    clock: Instant,
    counter: u64,
}

impl ClockPair {
    /// Reads both clocks several times, and keeps the pair that was least disturbed.
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

    /// Returns the counter's rate in kHz between this moment and now; waits until 30 ms have passed. `None` if the processor's counter does not run
    /// at a constant rate.
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
