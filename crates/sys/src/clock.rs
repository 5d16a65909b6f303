//! The clock of a run: real, or virtual and shared by all twins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use units::Nanos;

use crate::interrupt::{Interrupt, Level};

/// Longest time that a real sleep goes on before it checks for an interrupt again.
const SLICE: Duration = Duration::from_millis(20);

/// Time since an epoch, in nanoseconds. All clones tell the same time.
#[derive(Debug, Clone)]
pub struct Clock(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    /// Real time; the clock showed `from` at the moment `at`.
    Real {
        at: Instant,
        from: Nanos,
    },
    Simulated {
        now: AtomicU64,
        pace: Option<f64>,
    },
}

impl Clock {
    /// CLOCK_MONOTONIC, with its epoch now.
    pub fn real() -> Self {
        Self::real_from(Nanos(0))
    }

    /// CLOCK_MONOTONIC, with an epoch that was `from` ago, for instance that of another machine's clock.
    pub fn real_from(from: Nanos) -> Self {
        Self(Arc::new(Kind::Real { at: Instant::now(), from }))
    }

    /// Virtual time from 0, which moves only when someone sleeps on it or advances it.
    ///
    /// With a `pace` each virtual second also takes that many real seconds (0.01 is a hundredth), so that
    /// a test can interrupt or kill a simulated run at a moment of its choice.
    pub fn simulated(pace: Option<f64>) -> Self {
        Self(Arc::new(Kind::Simulated { now: AtomicU64::new(0), pace }))
    }

    /// Nanoseconds since the epoch.
    #[inline]
    pub fn now(&self) -> Nanos {
        match &*self.0 {
            Kind::Real { at, from } => Nanos(from.0 + at.elapsed().as_nanos() as u64),
            Kind::Simulated { now, .. } => Nanos(now.load(Ordering::Acquire)),
        }
    }

    /// Waits for `duration`, or less if `interrupt` is raised; returns the interrupt's level at the end.
    ///
    /// A teardown that must wait even though the user interrupted uses a separate [`Interrupt`].
    pub fn sleep(&self, duration: Nanos, interrupt: &Interrupt) -> Level {
        match &*self.0 {
            Kind::Real { .. } => really_sleep(duration.into(), interrupt),
            Kind::Simulated { .. } if interrupt.level() != Level::None => interrupt.level(),
            Kind::Simulated { now, pace } => {
                now.fetch_add(duration.0, Ordering::AcqRel);
                let real = duration.as_secs_f64() * pace.unwrap_or(0.0);
                really_sleep(Duration::try_from_secs_f64(real).unwrap_or_default(), interrupt)
            }
        }
    }

    /// Moves virtual time on without any real waiting; a real clock moves by itself.
    pub fn advance(&self, duration: Nanos) {
        if let Kind::Simulated { now, .. } = &*self.0 {
            now.fetch_add(duration.0, Ordering::AcqRel);
        }
    }

    /// Tells whether time is virtual.
    pub fn is_simulated(&self) -> bool {
        matches!(&*self.0, Kind::Simulated { .. })
    }
}

fn really_sleep(duration: Duration, interrupt: &Interrupt) -> Level {
    let start = Instant::now();
    loop {
        let left = duration.saturating_sub(start.elapsed());
        if left.is_zero() || interrupt.level() != Level::None {
            return interrupt.level();
        }
        std::thread::sleep(left.min(SLICE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clones_of_a_virtual_clock_tell_the_same_time_and_none_really_waits() {
        let (clock, real) = (Clock::simulated(None), Instant::now());
        let twin = clock.clone();
        clock.sleep(Nanos::from_secs(3600), &Interrupt::new());
        twin.advance(Nanos(5));
        assert_eq!(clock.now(), Nanos(3_600_000_000_005));
        assert_eq!(twin.now(), clock.now());
        assert!(real.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_clock_goes_on_from_what_another_one_showed() {
        let before = Nanos::from_secs(100);
        let now = Clock::real_from(before).now();
        assert!(now >= before && now < Nanos::from_secs(160), "{now}");
    }

    #[test]
    fn a_paced_virtual_clock_really_takes_its_share_of_the_time() {
        let (clock, real) = (Clock::simulated(Some(0.01)), Instant::now());
        clock.sleep(Nanos::from_secs(5), &Interrupt::new());
        assert_eq!(clock.now(), Nanos::from_secs(5));
        assert!(real.elapsed() >= Duration::from_millis(50));
    }

    #[test]
    fn a_sleep_ends_early_when_it_is_interrupted() {
        for clock in [Clock::real(), Clock::simulated(Some(1.0))] {
            let (interrupt, real) = (Interrupt::new(), Instant::now());
            let other = interrupt.clone();
            let thread = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                other.request(Level::Finish);
            });
            assert_eq!(clock.sleep(Nanos::from_secs(600), &interrupt), Level::Finish);
            assert!(real.elapsed() < Duration::from_secs(300));
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_real_clock_starts_at_its_creation_and_is_not_moved_by_hand() {
        let clock = Clock::real();
        clock.advance(Nanos::from_secs(1 << 20));
        assert!(clock.now() < Nanos::from_secs(1 << 19));
        assert!(!clock.is_simulated() && Clock::simulated(None).is_simulated());
    }
}
