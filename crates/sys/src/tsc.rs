//! The CPU's time-stamp counter: its trustworthiness, its rate, and the agreement between CPUs.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// File with the clock source by which the kernel keeps time.
pub(crate) const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Time over which the rate is measured.
const MEASURED: Duration = Duration::from_millis(20);
/// Number of pairs of readings; only the closest pair counts.
const TRIES: u32 = 64;
/// Tolerated difference between CPUs, nanoseconds, in addition to the uncertainty of the readings.
const APART_NS: u64 = 1_000;
/// Most CPUs that are compared, spread over all of them.
const CPUS: usize = 64;

/// A time-stamp counter that can be trusted, with its rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tsc {
    /// Ticks per second.
    pub hz: f64,
    /// Nanoseconds per tick times 2^32.
    scale: u64,
    /// Largest difference between the counters of the CPUs, nanoseconds.
    pub apart_ns: u64,
    /// Number of CPUs that were compared.
    pub cpus: u32,
}

impl Tsc {
    /// The duration of `ticks`, nanoseconds.
    #[inline]
    pub(crate) fn nanos(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }
}

/// The counter, measured once per process; or the reason why it is not used.
pub(crate) fn trusted() -> Result<Tsc, &'static str> {
    static MEASUREMENT: OnceLock<Result<Tsc, &'static str>> = OnceLock::new();
    *MEASUREMENT.get_or_init(measure)
}

fn measure() -> Result<Tsc, &'static str> {
    if !is_invariant() {
        return Err("the CPU has no time-stamp counter of constant rate");
    }
    let current = std::fs::read_to_string(CURRENT)
        .map_err(|_| "the kernel does not tell which clock source it uses")?;
    if current.trim() != "tsc" {
        return Err("the kernel does not keep its time by the time-stamp counter");
    }
    let epoch = Instant::now();
    let clock = || epoch.elapsed().as_nanos() as u64;
    let (first, first_ns) = pair(clock);
    std::thread::sleep(MEASURED);
    let (last, last_ns) = pair(clock);
    let (ticks, nanos) = (last.wrapping_sub(first), last_ns.saturating_sub(first_ns));
    if ticks == 0 || nanos == 0 {
        return Err("the time-stamp counter stands still");
    }
    let hz = ticks as f64 * 1e9 / nanos as f64;
    let scale = ((u128::from(nanos) << 32) / u128::from(ticks)) as u64;
    let alone = Tsc { hz, scale, apart_ns: 0, cpus: 1 };
    // In a separate thread, so that the caller's thread keeps its CPU affinity.
    let compared = std::thread::spawn(move || compare(&alone, first, first_ns, epoch)).join();
    let (apart_ns, cpus) =
        compared.unwrap_or(Err("the counters of the CPUs could not be compared"))?;
    Ok(Tsc { apart_ns, cpus, ..alone })
}

/// Returns the largest difference between the counters of the CPUs, nanoseconds, and the number of CPUs compared.
fn compare(
    tsc: &Tsc,
    first: u64,
    first_ns: u64,
    epoch: Instant,
) -> Result<(u64, u32), &'static str> {
    let failed = "the counters of the CPUs could not be compared";
    let allowed = sched_getaffinity(None).map_err(|_| failed)?;
    let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let step = all.len().div_ceil(CPUS).max(1);
    let (mut low, mut high, mut cpus) = (i64::MAX, i64::MIN, 0);
    for &cpu in all.iter().step_by(step) {
        let mut only = CpuSet::new();
        only.set(cpu);
        if sched_setaffinity(None, &only).is_err() {
            continue;
        }
        let (tick, clock_ns) = pair(|| epoch.elapsed().as_nanos() as u64);
        let off = (first_ns + tsc.nanos(tick.wrapping_sub(first))) as i64 - clock_ns as i64;
        (low, high, cpus) = (low.min(off), high.max(off), cpus + 1);
    }
    if cpus == 0 {
        return Err(failed);
    }
    let apart_ns = (high - low).unsigned_abs();
    // The rate was measured only over a short time, so its error adds up while the CPUs are visited.
    let slack_ns = APART_NS + epoch.elapsed().as_nanos() as u64 / 20_000;
    if apart_ns > slack_ns {
        return Err("the counters of the CPUs disagree");
    }
    Ok((apart_ns, cpus))
}

/// A tick and the time of `clock` at it: of several tries, the one with the fewest ticks between the readings before and after.
pub(crate) fn pair(clock: impl Fn() -> u64) -> (u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..TRIES {
        let before = read();
        let now_ns = clock();
        let width = read().wrapping_sub(before);
        if width < best.0 {
            best = (width, before.wrapping_add(width / 2), now_ns);
        }
    }
    (best.1, best.2)
}

/// Reads the counter.
#[inline]
#[cfg(target_arch = "x86_64")]
pub(crate) fn read() -> u64 {
    // SAFETY: every x86-64 CPU has the instruction; it only reads a register. A kernel that forbids it to processes
    // does not keep its time by it through the vDSO either, and `trusted` is asked before.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// There is no such counter; this is never called, since `trusted` fails.
#[inline]
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn read() -> u64 {
    0
}

/// Tells whether the CPU reports that its counter always runs at the same rate (CPUID 8000_0007h, EDX bit 8).
#[cfg(target_arch = "x86_64")]
fn is_invariant() -> bool {
    // Older compilers regard the instruction as unsafe, newer ones do not.
    #[allow(unused_unsafe)]
    let cpuid = |leaf: u32| {
        // SAFETY: every x86-64 CPU has the instruction; it only reads.
        unsafe { core::arch::x86_64::__cpuid(leaf) }
    };
    cpuid(0x8000_0000).eax >= 0x8000_0007 && cpuid(0x8000_0007).edx & (1 << 8) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn is_invariant() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_hours_turn_into_nanoseconds_without_overflow() {
        let tsc = Tsc { hz: 2.5e9, scale: (4 << 32) / 10, apart_ns: 0, cpus: 1 };
        let day = 86_400 * 2_500_000_000u64;
        let nanos = tsc.nanos(day * 365);
        let expected = 86_400 * 1_000_000_000u64 * 365;
        assert!(nanos.abs_diff(expected) < expected / 1_000_000_000, "{nanos}");
    }

    #[test]
    fn the_rate_is_measured_to_a_hundred_parts_per_million() {
        let Ok(tsc) = trusted() else {
            println!("SKIP the_rate_is_measured: {}", trusted().unwrap_err());
            return;
        };
        let epoch = Instant::now();
        let clock = || epoch.elapsed().as_nanos() as u64;
        let (first, first_ns) = pair(clock);
        std::thread::sleep(Duration::from_millis(100));
        let (last, last_ns) = pair(clock);
        let (by_ticks, by_clock) = (tsc.nanos(last - first) as f64, (last_ns - first_ns) as f64);
        assert!((by_ticks / by_clock - 1.0).abs() < 1e-4, "{by_ticks} {by_clock}");
    }
}
