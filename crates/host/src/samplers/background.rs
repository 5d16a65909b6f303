//! Slow probes: each in a separate thread, which nobody waits for.
//!
//! At an edge a reading is requested without waiting for it. The reading carries the edge's mark and moment when it begins soon after; one that
//! cannot, since the one before is still under way, is reported missing at that mark.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use layers::probe::Probe;
use results::model::{Fields, SampleRow};
use sys::clock::Clock;
use sys::interrupt::{Interrupt, Level};

use super::reading::{Meter, OnSample, Spawn, lock, sample};
use crate::sources::{Reader, SourceReader};

/// Time after an edge within which a reading must begin to be one of that edge.
const SOON: Duration = Duration::from_secs(1);
/// Longest time that the end of a run waits for a reading that was asked for.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Longest time that it waits for a command that it has killed.
const KILLED: Duration = Duration::from_secs(1);

/// The thread of one slow probe.
pub(super) struct Background {
    probe: Probe,
    clock: Clock,
    mailbox: Arc<Mailbox>,
    interrupt: Interrupt,
    meter: Arc<Meter>,
}

/// Messages between the thread and its owner.
#[derive(Default)]
struct Mailbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// A reading that was asked for: its mark and moment.
    requested: Option<(String, u64)>,
    /// The mark of the reading under way.
    reading: Option<Option<String>>,
    /// Tells whether only the reading that was asked for is still made.
    stopping: bool,
    /// Tells whether the reading under way is not wanted any more.
    gone: bool,
    ended: bool,
}

impl Background {
    /// Starts the thread.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(
        spawn: Spawn,
        probe: Probe,
        clock: &Clock,
        hand: &OnSample,
    ) -> Result<Self, Box<(Probe, io::Error)>> {
        let (interrupt, meter) = (Interrupt::new(), Arc::new(Meter::default()));
        let this = Self { probe, clock: clock.clone(), mailbox: Arc::default(), interrupt, meter };
        let reader = Reader::patient(&this.interrupt);
        let (mailbox, meter) = (Arc::clone(&this.mailbox), Arc::clone(&this.meter));
        let (probe, clock, hand) = (this.probe.clone(), clock.clone(), Arc::clone(hand));
        let work = Box::new(move || mailbox.run(&probe, &clock, reader, &hand, &meter));
        // Nobody joins it: a source that hangs in the kernel would hold up whoever does.
        match spawn(work) {
            Ok(_) => Ok(this),
            Err(error) => Err(Box::new((this.probe, error))),
        }
    }

    pub(super) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Asks for a reading at this moment; returns the one asked for before, as missing, when that never began.
    pub(super) fn ask(&self, mark: &str) -> Option<SampleRow> {
        let now = self.clock.now().0;
        let before = lock(&self.mailbox.state).requested.replace((mark.to_owned(), now));
        self.mailbox.changed.notify_all();
        let why = || "the reading before was still under way at the next mark".to_owned();
        before.map(|(mark, at)| missing(&self.probe, &mark, at, why()))
    }

    /// Begins no more readings except one already asked for.
    pub(super) fn stopping(&self) {
        let mut state = lock(&self.mailbox.state);
        state.stopping = true;
        // A reading that nobody asked for must not delay the end.
        if state.requested.is_none() && matches!(state.reading, Some(None)) {
            state.gone = true;
            self.interrupt.request(Level::Now);
        }
        drop(state);
        self.mailbox.changed.notify_all();
    }

    /// Waits until `end` for the reading that was asked for; then gives up, and returns what is missing.
    pub(super) fn finish(&self, end: Instant) -> Vec<SampleRow> {
        let overdue = !self.wait(end);
        let (mut marks, now) = (Vec::new(), self.clock.now().0);
        if overdue {
            let mut state = lock(&self.mailbox.state);
            marks.extend(state.reading.clone().flatten().map(|mark| (mark, now)));
            marks.extend(state.requested.take());
            state.gone = true;
            drop(state);
            self.interrupt.request(Level::Now);
            self.wait(Instant::now() + KILLED);
        }
        let why = format!("it was still being read {} s after the last stage", PATIENCE.as_secs());
        marks.iter().map(|(mark, at)| missing(&self.probe, mark, *at, why.clone())).collect()
    }

    /// Waits for the thread's end; false when that has not come.
    fn wait(&self, end: Instant) -> bool {
        let mut state = lock(&self.mailbox.state);
        while !state.ended {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.mailbox.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Mailbox {
    fn run(
        &self,
        probe: &Probe,
        clock: &Clock,
        mut reader: impl SourceReader,
        hand: &OnSample,
        meter: &Meter,
    ) {
        let every = (probe.every_ms * 1_000_000).max(1);
        let mut due = clock.now().0;
        while let Some(request) = self.next(clock, due) {
            let began = clock.now().0;
            // Times that were missed are left out.
            due += every * (began.saturating_sub(due) / every + u64::from(began >= due));
            let late = request
                .as_ref()
                .is_some_and(|(_, at)| u128::from(began.saturating_sub(*at)) > SOON.as_nanos());
            let mark = request.as_ref().filter(|_| !late).map(|(mark, _)| mark.as_str());
            let mut row = sample(probe, mark, clock, |source| reader.read(source));
            let mut rows = Vec::new();
            match &request {
                Some((mark, at)) if late => {
                    let why = "the reading before was still under way 1 s after it".to_owned();
                    rows.push(missing(probe, mark, *at, why));
                }
                // The reading belongs to the edge at which it was asked for.
                Some((_, at)) => row.at_ns = *at,
                None => {}
            }
            rows.push(row);
            meter.set();
            let mut state = lock(&self.state);
            state.reading = None;
            if !state.gone {
                rows.into_iter().for_each(|row| lock(hand)(row));
            }
        }
        lock(&self.state).ended = true;
        self.changed.notify_all();
    }

    /// Waits for the next reading: one that was asked for, or the next in turn; `None` when it is time to end.
    fn next(&self, clock: &Clock, due: u64) -> Option<Option<(String, u64)>> {
        let mut state = lock(&self.state);
        loop {
            if state.gone {
                return None;
            }
            if let Some(request) = state.requested.take() {
                state.reading = Some(Some(request.0.clone()));
                return Some(Some(request));
            }
            if state.stopping {
                return None;
            }
            let left = due.saturating_sub(clock.now().0);
            if left == 0 {
                state.reading = Some(None);
                return Some(None);
            }
            let woken = self.changed.wait_timeout(state, Duration::from_nanos(left));
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A reading that was asked for and is not there.
pub(super) fn missing(probe: &Probe, mark: &str, at_ns: u64, why: String) -> SampleRow {
    SampleRow {
        at_ns,
        source: probe.id.clone(),
        cost_ns: 0,
        cost_cpu_ns: 0,
        mark: Some(mark.to_owned()),
        fields: Fields::new(),
        error: Some(why),
    }
}
