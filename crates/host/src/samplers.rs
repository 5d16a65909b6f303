//! Probes read at their cadence: quick ones by one thread, slow ones each by a separate thread; in virtual time all are read by whoever advances
//! the clock.

mod background;
mod reading;

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use layers::probe::{Probe, Reading};
use results::model::SampleRow;
use sys::clock::Clock;

use background::Background;
use reading::{Meter, OnSample, Spawn, lock, sample, spawn};

use crate::sources::{Reader, SourceReader};
use crate::{Executor, StepError};

/// Resolved probes and when each is due, nanoseconds since the epoch.
#[derive(Clone)]
struct Schedule {
    probes: Vec<Probe>,
    due_ns: Vec<u64>,
}

impl Schedule {
    fn new(probes: &[Probe], executor: &Executor, now_ns: u64) -> Result<Self, StepError> {
        let probes = probes
            .iter()
            .map(|p| Ok(Probe { source: executor.resolve_source(&p.source)?, ..p.clone() }))
            .collect::<Result<Vec<_>, StepError>>()?;
        let due_ns = vec![now_ns; probes.len()];
        Ok(Self { probes, due_ns })
    }

    /// Quick probes with their times, and slow ones.
    fn apart(self) -> (Self, Vec<Probe>) {
        let all = self.probes.into_iter().zip(self.due_ns);
        let (quick, slow): (Vec<_>, Vec<_>) =
            all.partition(|(probe, _)| probe.reading == Reading::Edge);
        let (probes, due_ns) = quick.into_iter().unzip();
        (Self { probes, due_ns }, slow.into_iter().map(|(probe, _)| probe).collect())
    }

    /// Returns when the next probe is due.
    fn next_ns(&self) -> Option<u64> {
        self.due_ns.iter().min().copied()
    }

    /// Returns the next probe that is due at `now_ns`, and sets its next time; times that were missed are left out.
    fn take(&mut self, now_ns: u64) -> Option<&Probe> {
        let due = self.due_ns.iter().enumerate().filter(|(_, due)| **due <= now_ns);
        let (index, _) = due.min_by_key(|(_, due)| **due)?;
        let every = (self.probes[index].every_ms * 1_000_000).max(1);
        let late = now_ns - self.due_ns[index];
        self.due_ns[index] += every * (late / every + 1);
        self.probes.get(index)
    }
}

/// Samplers of a real machine: one thread that reads every quick probe at its cadence, and one for each slow probe.
pub struct Samplers {
    shared: Arc<Shared>,
    /// The quick ones.
    probes: Vec<Probe>,
    clock: Clock,
    /// The thread, or the error that kept it from starting.
    thread: Result<JoinHandle<()>, io::Error>,
    slow: Vec<Background>,
    /// Slow probes without a thread, and why.
    idle: Vec<(Probe, io::Error)>,
}

struct Shared {
    stopped: Mutex<bool>,
    wake: Condvar,
    reader: Mutex<Box<dyn SourceReader>>,
    meter: Arc<Meter>,
}

impl Samplers {
    /// Starts the thread on this machine's sources; `on` gets every sample, in the thread.
    ///
    /// # Errors
    /// When a probe names a placeholder that no step has bound.
    pub fn start(
        probes: &[Probe],
        executor: &Executor,
        clock: &Clock,
        on: impl FnMut(SampleRow) + Send + 'static,
    ) -> Result<Self, StepError> {
        Self::with_reader(Box::new(Reader::default()), probes, executor, clock, on)
    }

    /// Starts the thread on sources that `reader` reads.
    ///
    /// # Errors
    /// When a probe names a placeholder that no step has bound.
    pub fn with_reader(
        reader: Box<dyn SourceReader>,
        probes: &[Probe],
        executor: &Executor,
        clock: &Clock,
        on: impl FnMut(SampleRow) + Send + 'static,
    ) -> Result<Self, StepError> {
        Self::on_thread(spawn, reader, probes, executor, clock, on)
    }

    fn on_thread(
        spawn: Spawn,
        reader: Box<dyn SourceReader>,
        probes: &[Probe],
        executor: &Executor,
        clock: &Clock,
        on: impl FnMut(SampleRow) + Send + 'static,
    ) -> Result<Self, StepError> {
        let all = Schedule::new(probes, executor, clock.now().0)?;
        let (quick, background) = all.apart();
        let mut schedule = quick;
        let probes = schedule.probes.clone();
        let hand: OnSample = Arc::new(Mutex::new(on));
        let started = background.into_iter().map(|p| Background::start(spawn, p, clock, &hand));
        let (mut slow, mut idle) = (Vec::new(), Vec::new());
        for started in started {
            match started {
                Ok(thread) => slow.push(thread),
                Err(lost) => idle.push(*lost),
            }
        }
        let shared = Arc::new(Shared {
            stopped: Mutex::new(false),
            wake: Condvar::new(),
            reader: Mutex::new(reader),
            meter: Arc::default(),
        });
        let (theirs, time) = (Arc::clone(&shared), clock.clone());
        let run = move || theirs.run(&mut schedule, &time, &mut |row| lock(&hand)(row));
        let thread = spawn(Box::new(run));
        Ok(Self { shared, probes, clock: clock.clone(), thread, slow, idle })
    }

    /// Returns the reason why something is read at marks only, or not at all: its thread could not be started.
    pub fn trouble(&self) -> Option<String> {
        let quick = self.thread.as_ref().err().map(|error| {
            let sources: Vec<_> = self.probes.iter().map(|probe| probe.id.as_str()).collect();
            format!(
                "the thread that samples {} could not be started: {error}; they are read before and after stages only",
                sources.join(", ")
            )
        });
        let slow = self.idle.iter().map(|(probe, error)| {
            format!(
                "the thread that samples {} could not be started: {error}; it is not read",
                probe.id
            )
        });
        let all: Vec<_> = quick.into_iter().chain(slow).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Reads every quick probe now, in the calling thread, and returns the samples with this mark. Slow probes are only asked, and their samples come
    /// later. Slow readings that are missing since the mark before are included, with the reason.
    pub fn mark(&self, mark: &str) -> Vec<SampleRow> {
        let late: Vec<_> = self.slow.iter().filter_map(|slow| slow.ask(mark)).collect();
        late.into_iter().chain(self.look(mark)).collect()
    }

    /// Reads every quick probe now and returns the samples with this mark; slow ones are not asked.
    pub fn look(&self, mark: &str) -> Vec<SampleRow> {
        let mut reader = lock(&self.shared.reader);
        reader.look();
        let mut read = |probe| sample(probe, Some(mark), &self.clock, |source| reader.read(source));
        let rows = self.probes.iter().map(&mut read).collect();
        if layers::begins_figures(mark) {
            reader.begin();
        }
        rows
    }

    /// CPU time of the threads so far as (user, kernel).
    pub fn cpu(&self) -> (Duration, Duration) {
        Meter::sum(&self.meters())
    }

    /// Returns a function that reads the same, and that outlives the borrow.
    pub fn cpu_meter(&self) -> impl Fn() -> (Duration, Duration) + Send + Sync + 'static {
        let meters = self.meters();
        move || Meter::sum(&meters)
    }

    fn meters(&self) -> Vec<Arc<Meter>> {
        let slow = self.slow.iter().map(|slow| Arc::clone(slow.meter()));
        slow.chain([Arc::clone(&self.shared.meter)]).collect()
    }

    /// Ends the threads; a sample of a quick probe that is being read is still handed over. Requested readings of slow probes are waited for, five
    /// seconds in all at most; the missing ones are returned, each with the reason.
    pub fn stop(mut self) -> Vec<SampleRow> {
        self.end()
    }

    fn end(&mut self) -> Vec<SampleRow> {
        self.slow.iter().for_each(Background::stopping);
        *lock(&self.shared.stopped) = true;
        self.shared.wake.notify_all();
        let ended = Err(io::Error::other("it has ended"));
        if let Ok(thread) = std::mem::replace(&mut self.thread, ended) {
            // A thread that panicked has nothing more to say.
            let _ = thread.join();
        }
        let patience = Instant::now() + background::PATIENCE;
        self.slow.drain(..).flat_map(|slow| slow.finish(patience)).collect()
    }
}

impl Drop for Samplers {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn run(&self, schedule: &mut Schedule, clock: &Clock, on: &mut dyn FnMut(SampleRow)) {
        while let Some(next) = schedule.next_ns() {
            if self.wait_until(next, clock, &mut || lock(&self.reader).drain()) {
                return;
            }
            while let Some(probe) = schedule.take(clock.now().0) {
                let row = {
                    let mut reader = lock(&self.reader);
                    sample(probe, None, clock, |source| reader.read(source))
                };
                on(row);
                if *lock(&self.stopped) {
                    break;
                }
            }
            self.meter.set();
        }
    }

    /// Waits for a moment of the clock, and drains sources that cannot wait while it waits; returns true when it is time to stop.
    fn wait_until(
        &self,
        at_ns: u64,
        clock: &Clock,
        drain: &mut dyn FnMut() -> Option<Duration>,
    ) -> bool {
        loop {
            let more = drain();
            self.meter.set();
            let stopped = lock(&self.stopped);
            let left = Duration::from_nanos(at_ns.saturating_sub(clock.now().0));
            if *stopped || left.is_zero() {
                return *stopped;
            }
            let left = more.map_or(left, |more| more.min(left));
            let woken = self.wake.wait_timeout(stopped, left);
            let stopped = woken.unwrap_or_else(PoisonError::into_inner).0;
            if *stopped {
                return true;
            }
        }
    }
}

/// Samplers in virtual time: whoever advances the clock asks for what has become due.
pub struct TickedSamplers {
    schedule: Schedule,
    clock: Clock,
}

impl TickedSamplers {
    /// Samplers of these probes; all are due now.
    ///
    /// # Errors
    /// When a probe names a placeholder that no step has bound.
    pub fn new(probes: &[Probe], executor: &Executor, clock: &Clock) -> Result<Self, StepError> {
        let schedule = Schedule::new(probes, executor, clock.now().0)?;
        Ok(Self { schedule, clock: clock.clone() })
    }

    /// Reads every probe that has become due, each once.
    pub fn tick(&mut self, executor: &mut Executor) -> Vec<SampleRow> {
        let mut rows = Vec::new();
        while let Some(probe) = self.schedule.take(self.clock.now().0) {
            rows.push(sample(probe, None, &self.clock, |source| executor.read(source)));
        }
        rows
    }

    /// Reads every quick probe now and returns the samples with this mark.
    pub fn look(&mut self, executor: &mut Executor, mark: &str) -> Vec<SampleRow> {
        let quick = self.schedule.probes.iter().filter(|probe| probe.reading == Reading::Edge);
        let read = |probe| sample(probe, Some(mark), &self.clock, |source| executor.read(source));
        quick.map(read).collect()
    }

    /// Reads every probe now and returns the samples with this mark.
    pub fn mark(&mut self, executor: &mut Executor, mark: &str) -> Vec<SampleRow> {
        let mut read =
            |probe| sample(probe, Some(mark), &self.clock, |source| executor.read(source));
        self.schedule.probes.iter().map(&mut read).collect()
    }
}

#[cfg(test)]
mod tests {
    use layers::probe::Source;

    use super::*;
    use crate::SimulatedMachine;

    struct Nothing;

    impl SourceReader for Nothing {
        fn read(&mut self, _: &Source) -> io::Result<String> {
            Ok(String::new())
        }
    }

    fn samplers(spawn: Spawn) -> Samplers {
        let clock = Clock::real();
        let interrupt = sys::interrupt::Interrupt::new();
        let executor = Executor::new(SimulatedMachine::new(Vec::new(), &clock), &clock, &interrupt);
        let probes = layers::machine::probes(&[]);
        Samplers::on_thread(spawn, Box::new(Nothing), &probes, &executor, &clock, |_| {}).unwrap()
    }

    #[test]
    fn samplers_whose_thread_does_not_start_say_so_and_are_read_at_marks_all_the_same() {
        let samplers = samplers(|_| Err(io::Error::from_raw_os_error(libc::EAGAIN)));
        let trouble = samplers.trouble().unwrap();
        assert!(trouble.contains("machine.diskstats"), "{trouble}");
        assert!(trouble.contains("Resource temporarily unavailable"), "{trouble}");
        assert!(!samplers.mark("settled").is_empty());
        samplers.stop();
    }

    #[test]
    fn samplers_that_run_have_nothing_to_say() {
        assert_eq!(samplers(spawn).trouble(), None);
    }
}
