//! Time stamps for latencies: as cheap as the machine allows, on the scale of a [`Clock`].
//!
//! If the kernel itself keeps time by the time-stamp counter (TSC), so do the stamps: one instruction instead of a vDSO call. The counter's rate
//! is measured against CLOCK_MONOTONIC once per process, the counters of the CPUs are compared with each other, and the drift over a load is reported
//! at its end. Otherwise the stamps come from the clock.

use crate::clock::Clock;
use crate::tsc::{self, Tsc};

/// Least time before a drift is reported: reading the two clocks is uncertain by some tens of nanoseconds.
const DRIFT_AFTER_NS: u64 = 100_000_000;

/// The source of stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampSource {
    /// The time-stamp counter.
    Tsc,
    /// CLOCK_MONOTONIC through the vDSO.
    Monotonic,
    /// Virtual time.
    Virtual,
}

impl StampSource {
    /// Its name in results: `TSC`, `CLOCK_MONOTONIC`, `virtual`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tsc => "TSC",
            Self::Monotonic => "CLOCK_MONOTONIC",
            Self::Virtual => "virtual",
        }
    }
}

/// A source of stamps on the scale of a clock. All clones show the same time.
#[derive(Debug, Clone)]
pub struct Stamps {
    clock: Clock,
    ticks: Option<Ticks>,
    reason: &'static str,
}

/// Converts ticks to nanoseconds of the clock.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    tsc: Tsc,
    /// A tick, and (in the next field) the time of the clock at that tick.
    anchor: u64,
    anchor_ns: u64,
}

/// Facts about how far stamps can be trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct StampCheck {
    /// The source of the stamps.
    pub source: StampSource,
    /// The reason for this source, in words.
    pub reason: String,
    /// Ticks of the TSC per second, as measured.
    pub tsc_hz: Option<f64>,
    /// Largest difference between the counters of the CPUs, nanoseconds.
    pub cpus_apart_ns: Option<u64>,
    /// Number of CPUs that were compared.
    pub cpus: Option<u32>,
    /// Drift against CLOCK_MONOTONIC since these stamps were made, parts per million; `None` if that was too recent.
    pub drift_ppm: Option<f64>,
}

impl Stamps {
    /// Stamps on the scale of `clock`. The first call in a process takes some 20 ms, to measure the counter's rate.
    pub fn of(clock: &Clock) -> Self {
        if clock.is_simulated() {
            return Self { clock: clock.clone(), ticks: None, reason: "virtual time" };
        }
        match tsc::trusted() {
            Ok(tsc) => {
                let (anchor, anchor_ns) = tsc::pair(|| clock.now().0);
                let ticks = Some(Ticks { tsc, anchor, anchor_ns });
                let reason = "the kernel keeps its own time by it";
                Self { clock: clock.clone(), ticks, reason }
            }
            Err(reason) => Self::slow(clock, reason),
        }
    }

    /// Stamps that come from the clock itself, with the reason.
    fn slow(clock: &Clock, reason: &'static str) -> Self {
        Self { clock: clock.clone(), ticks: None, reason }
    }

    /// Nanoseconds since the clock's epoch.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match &self.ticks {
            Some(ticks) => ticks.now_ns(),
            None => self.clock.now().0,
        }
    }

    /// Returns the facts about how far the stamps can be trusted, including the drift; `None` in virtual time.
    pub fn check(&self) -> Option<StampCheck> {
        if self.clock.is_simulated() {
            return None;
        }
        let Some(ticks) = self.ticks else {
            return Some(StampCheck {
                source: StampSource::Monotonic,
                reason: self.reason.to_owned(),
                tsc_hz: None,
                cpus_apart_ns: None,
                cpus: None,
                drift_ppm: None,
            });
        };
        let (tick, clock_ns) = tsc::pair(|| self.clock.now().0);
        let went_ns = clock_ns.saturating_sub(ticks.anchor_ns);
        let drift_ns = ticks.at_ns(tick) as f64 - clock_ns as f64;
        Some(StampCheck {
            source: StampSource::Tsc,
            reason: self.reason.to_owned(),
            tsc_hz: Some(ticks.tsc.hz),
            cpus_apart_ns: Some(ticks.tsc.apart_ns),
            cpus: Some(ticks.tsc.cpus),
            drift_ppm: (went_ns >= DRIFT_AFTER_NS).then(|| drift_ns * 1e6 / went_ns as f64),
        })
    }
}

impl Ticks {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.at_ns(tsc::read())
    }

    /// Converts a tick. A tick before the anchor (the counter of another CPU may be a little behind) counts as the anchor.
    #[inline]
    fn at_ns(&self, tick: u64) -> u64 {
        let ticks = tick.wrapping_sub(self.anchor);
        let ticks = if ticks > i64::MAX as u64 { 0 } else { ticks };
        self.anchor_ns + self.tsc.nanos(ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    #[test]
    fn stamps_and_their_clock_tell_the_same_time() {
        let clock = Clock::real();
        let stamps = Stamps::of(&clock);
        for _ in 0..1000 {
            let before = clock.now().0;
            let stamp = stamps.now_ns();
            let after = clock.now().0;
            // A rate that is 100 ppm off in the first second, and CPUs that are 1 µs apart, would still pass.
            assert!(
                stamp + 100_000 >= before && stamp <= after + 100_000,
                "{before} {stamp} {after}"
            );
        }
    }

    #[test]
    fn stamps_never_run_backwards_on_one_thread() {
        let stamps = Stamps::of(&Clock::real());
        let mut last = 0;
        for _ in 0..100_000 {
            let now = stamps.now_ns();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn where_stamps_come_from_is_said_and_fits_what_the_kernel_uses() {
        let check = Stamps::of(&Clock::real()).check().unwrap();
        match check.source {
            StampSource::Tsc => {
                let kernel = std::fs::read_to_string(tsc::CURRENT).unwrap();
                assert_eq!(kernel.trim(), "tsc");
                assert!(check.tsc_hz.unwrap() > 1e8 && check.cpus.unwrap() >= 1, "{check:?}");
            }
            _ => assert!(!check.reason.is_empty()),
        }
    }

    #[test]
    fn a_clock_without_a_counter_gives_its_own_time() {
        let clock = Clock::simulated(None);
        let stamps = Stamps::of(&clock);
        clock.advance(Nanos(77));
        assert_eq!((stamps.now_ns(), stamps.check()), (77, None));
        let slow = Stamps::slow(&Clock::real(), "a test");
        assert_eq!(slow.check().unwrap().source, StampSource::Monotonic);
        assert!(slow.now_ns() <= slow.now_ns());
    }

    #[test]
    fn a_tick_before_the_anchor_counts_as_the_anchor() {
        let Ok(tsc) = tsc::trusted() else {
            println!("SKIP a_tick_before_the_anchor: the TSC is not trusted here");
            return;
        };
        let ticks = Ticks { tsc, anchor: 1_000, anchor_ns: 500 };
        assert_eq!((ticks.at_ns(999), ticks.at_ns(1_000)), (500, 500));
        assert!(ticks.at_ns(1_000_000) > 500);
    }
}
