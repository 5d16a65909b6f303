//! One worker: keeps its backend at its depth until the load ends, then waits for the I/Os in flight.
//!
//! Each turn: fill the buffers of free slots, a portion of them at a time; stamp; submit and, when no slot is free any more, wait; stamp; take all
//! completions. After warm-up a turn allocates nothing and makes no other system call. Only threads that share a job take a lock, for random reads
//! once for several I/Os.

mod completed;
mod refill;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sys::interrupt::{Interrupt, Level};
use sys::stamps::Stamps;

use crate::backend::{Backend, Reaped, Transfer, Wait};
use crate::ended::{Depth, Ended};
use crate::error::EngineError;
use crate::job::Next;
use crate::job_handle::JobHandle;
use crate::load_status::{LoadStatus, StopReason};
use crate::pace::Pace;
use crate::record::Recorder;
use crate::verify::WorkerVerifier;

/// Longest wait for a completion before the worker checks the clock and the load's status again.
const PATIENCE: Duration = Duration::from_millis(100);
/// Number of consecutive failures after which a worker ends the load.
const FAILURES: u64 = 1_000;
/// Time without any success after which as many consecutive failures as the depth end the load, nanoseconds.
const FAILING_NS: u64 = 10_000_000_000;
/// Longest wait at the end for the next of the I/Os in flight, nanoseconds: longer than the 30 s for which disks may stall.
const DRAIN_NS: u64 = 45_000_000_000;
/// Longest wait for the next of the I/Os in flight after Ctrl-C, nanoseconds.
const DRAIN_FINISH_NS: u64 = 4_000_000_000;
/// Longest wait for all I/Os in flight when the user wants to stop at once, nanoseconds.
const DRAIN_NOW_NS: u64 = 2_000_000_000;

/// Returns the longest wait of a worker at its end, nanoseconds: for the next I/O, or with [`Level::Now`] for all of them.
fn drain_ns(level: Level) -> u64 {
    match level {
        Level::None => DRAIN_NS,
        Level::Finish => DRAIN_FINISH_NS,
        Level::Now => DRAIN_NOW_NS,
    }
}

/// The setting of a worker: state that it shares with the rest, and its limits.
pub(crate) struct Setting {
    /// Its index among all workers.
    pub index: usize,
    pub status: Arc<LoadStatus>,
    pub stamps: Stamps,
    pub interrupt: Interrupt,
    pub interval_ns: u64,
    pub duration_ns: Option<u64>,
    /// Time at the start that is not measured.
    pub ramp_ns: u64,
    /// Smallest number of I/Os that are submitted together.
    pub batch: usize,
    /// Tells whether a stamp is taken after each submitting call.
    pub split: bool,
    /// Alignment at which a short transfer is continued, bytes, by target.
    pub alignments: Box<[u64]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    transfer: Transfer,
    operation: u32,
    attempts: u32,
    /// Time at which the I/O should have started; 0 until it is stamped, unless the load determines it.
    intended_ns: u64,
    stamp_ns: u64,
    /// Time just after the submitting call, where the load asks for it.
    submitted_ns: u64,
}

impl Slot {
    #[inline(always)]
    fn of(next: &Next) -> Self {
        let &Next { transfer, operation, intended_ns } = next;
        Self { transfer, operation: operation as u32, intended_ns, ..Self::default() }
    }
}

/// The I/Os that are left to be submitted.
enum Remaining {
    /// There is more, to be submitted when slots are free again.
    More,
    /// There is more, to be prepared as soon as the current portion has been submitted.
    Portion,
    /// The next I/O may not start before this time, nanoseconds.
    NotBefore(u64),
    Nothing,
}

/// A worker that is ready to begin.
pub(crate) struct Worker<B, J> {
    setting: Setting,
    backend: B,
    job: J,
    recorder: Recorder,
    /// Records writes and checks reads, where the load is verified.
    worker_verifier: Option<WorkerVerifier>,
    slots: Box<[Slot]>,
    free: Vec<u32>,
    /// Slots that were pushed and not yet stamped.
    fresh: Vec<u32>,
    /// Tells whether all I/Os that may start are submitted together rather than in portions.
    whole: bool,
    reaped: Vec<Reaped>,
    /// The next I/O, when it is meant to start later.
    reserved: Option<Next>,
    /// Tells whether it pauses between I/Os.
    pauses: bool,
    measured_from_ns: u64,
    ended: u64,
    bytes: u64,
    failures: u64,
    succeeded_ns: u64,
    depth: Depth,
    outcome: Ended,
}

impl<B: Backend, J: JobHandle> Worker<B, J> {
    pub(crate) fn new(
        setting: Setting,
        backend: B,
        mut job: J,
        recorder: Recorder,
        worker_verifier: Option<WorkerVerifier>,
    ) -> Self {
        let depth = backend.depth();
        Self {
            pauses: job.with(|job| job.gate.counts_ends()),
            // A load that asks for batches gets them whole.
            whole: setting.batch > 1,
            setting,
            backend,
            job,
            recorder,
            worker_verifier,
            slots: vec![Slot::default(); depth].into_boxed_slice(),
            free: (0..depth as u32).rev().collect(),
            fresh: Vec::with_capacity(depth),
            reaped: Vec::with_capacity(2 * depth),
            reserved: None,
            measured_from_ns: 0,
            ended: 0,
            bytes: 0,
            failures: 0,
            succeeded_ns: 0,
            depth: Depth::default(),
            outcome: Ended::default(),
        }
    }

    /// Runs the load to its end. An error is one of the backend, not of the target.
    pub(crate) fn run(mut self) -> Result<Ended, EngineError> {
        let result = self.drive();
        if result.is_err() {
            self.setting.status.halt(StopReason::Errors);
        }
        self.outcome.worker = self.setting.index;
        self.outcome.unfinished = self.backend.in_flight();
        if let (true, Some((_, last))) = (self.outcome.unfinished > 0, &mut self.outcome.span_ns) {
            // The time that was spent waiting in vain is part of the load.
            *last = self.setting.stamps.now_ns();
        }
        if self.outcome.unfinished > 0 {
            // These I/Os have had their time: the backend must not wait for them again.
            self.backend.give_up();
        }
        self.outcome.overflowed = self.backend.overflowed();
        self.outcome.depth = self.depth;
        self.outcome.counts = self.job.with(|job| job.take_counts());
        while !self.recorder.close() {
            std::thread::sleep(Duration::from_millis(1));
        }
        result.map(|()| std::mem::take(&mut self.outcome))
    }

    #[inline(always)]
    fn drive(&mut self) -> Result<(), EngineError> {
        let Some(start_ns) = self.setting.status.wait() else { return Ok(()) };
        let Setting { interval_ns, duration_ns, ramp_ns, .. } = self.setting;
        self.measured_from_ns = start_ns + ramp_ns;
        self.depth = Depth::new(self.measured_from_ns);
        let pace = Pace { start_ns: self.measured_from_ns, interval_ns, duration_ns };
        let mut edge_ns = pace.edge_ns(0);
        let mut drain_since_ns = None;
        self.succeeded_ns = start_ns;
        self.job.with(|job| job.gate.begin(start_ns));
        let mut now_ns = start_ns;
        loop {
            let mut wait = Wait { completions: 1, patience: PATIENCE };
            if drain_since_ns.is_none() {
                match self.refill(now_ns) {
                    Remaining::More => wait.completions = self.wanted(),
                    Remaining::Portion => wait.completions = 0,
                    Remaining::NotBefore(at_ns) => {
                        wait.patience = Duration::from_nanos(at_ns - now_ns).min(PATIENCE);
                    }
                    Remaining::Nothing => drain_since_ns = Some(now_ns),
                }
            }
            if self.backend.in_flight() > 0 {
                self.publish();
                self.stamp();
                if self.setting.split && !self.fresh.is_empty() {
                    self.submit()?;
                }
                self.fresh.clear();
                self.backend.turn(wait)?;
            } else if drain_since_ns.is_some() {
                return Ok(());
            } else {
                std::thread::sleep(wait.patience);
            }
            now_ns = self.setting.stamps.now_ns();
            if now_ns >= edge_ns {
                let interval = pace.interval(now_ns);
                self.recorder.enter(interval);
                edge_ns = pace.edge_ns(interval);
            }
            let progressed = self.take(now_ns);
            if drain_since_ns.is_none() && self.is_over(now_ns, pace.deadline_ns()) {
                drain_since_ns = Some(now_ns);
                // The worker may have slept past the deadline, or may have had nothing in flight for a long time before it.
                self.outcome.over_ns = Some(now_ns.min(pace.deadline_ns()));
            }
            if let Some(since_ns) = &mut drain_since_ns {
                let level = self.setting.interrupt.level();
                if progressed && level != Level::Now {
                    *since_ns = now_ns;
                }
                if now_ns >= *since_ns + drain_ns(level) {
                    return Ok(());
                }
            }
        }
    }

    /// Tells whether nothing more is to be submitted.
    fn is_over(&mut self, now_ns: u64, deadline_ns: u64) -> bool {
        let status = &self.setting.status;
        if now_ns >= deadline_ns {
            self.outcome.by_time = true;
            return true;
        }
        if self.setting.interrupt.level() != Level::None {
            status.halt(StopReason::Interrupted);
        }
        if self.failures > 0 {
            let failing = now_ns.saturating_sub(self.succeeded_ns) >= FAILING_NS
                && self.failures >= self.slots.len() as u64;
            if self.failures >= FAILURES || failing {
                status.halt(StopReason::Errors);
            }
        }
        status.halted() != StopReason::None
    }

    #[inline]
    fn publish(&self) {
        let gauge = &self.setting.status.gauges[self.setting.index];
        gauge.ended.store(self.ended, Ordering::Relaxed);
        gauge.bytes.store(self.bytes, Ordering::Relaxed);
        gauge.in_flight.store(self.backend.in_flight() as u64, Ordering::Relaxed);
    }
}
