//! Reads one probe and measures the cost of that; the threads that read.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use layers::probe::{Probe, Source};
use results::model::{Fields, SampleRow};
use rustix::time::{ClockId, clock_gettime};
use sys::clock::Clock;

/// The receiver of the samples.
pub(super) type OnSample = Arc<Mutex<dyn FnMut(SampleRow) + Send>>;

/// Work of a sampling thread, which a `Spawn` starts.
pub(super) type Work = Box<dyn FnOnce() + Send>;
pub(super) type Spawn = fn(Work) -> io::Result<JoinHandle<()>>;

pub(super) fn spawn(work: Work) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("samplers".into()).spawn(work)
}

/// CPU time of one thread so far, nanoseconds.
#[derive(Default)]
pub(super) struct Meter {
    user: AtomicU64,
    system: AtomicU64,
}

impl Meter {
    /// Notes the time of the calling thread.
    pub(super) fn set(&self) {
        let (user, system) = sys::usage::thread();
        self.user.store(user.as_nanos() as u64, Ordering::Relaxed);
        self.system.store(system.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(super) fn sum(meters: &[Arc<Self>]) -> (Duration, Duration) {
        let of = |counter: fn(&Self) -> &AtomicU64| {
            Duration::from_nanos(meters.iter().map(|m| counter(m).load(Ordering::Relaxed)).sum())
        };
        (of(|meter| &meter.user), of(|meter| &meter.system))
    }
}

/// Reads one probe now: its figures, and the cost of reading.
pub(super) fn sample(
    probe: &Probe,
    mark: Option<&str>,
    clock: &Clock,
    read: impl FnOnce(&Source) -> std::io::Result<String>,
) -> SampleRow {
    let (at, cpu) = (clock.now().0, thread_cpu_ns());
    let parsed = read(&probe.source)
        .map_err(|error| error.to_string())
        .and_then(|text| layers::parse(&probe.parser, &text).map_err(|error| error.to_string()));
    let (fields, error) = match parsed {
        Ok(mut parsed) => (parsed.numbers, parsed.texts.remove(layers::ABSENT)),
        Err(error) => (Fields::new(), Some(error)),
    };
    SampleRow {
        at_ns: at,
        source: probe.id.clone(),
        cost_ns: clock.now().0.saturating_sub(at),
        cost_cpu_ns: thread_cpu_ns().saturating_sub(cpu),
        mark: mark.map(str::to_owned),
        fields,
        error,
    }
}

/// CPU time of the calling thread, nanoseconds.
fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
