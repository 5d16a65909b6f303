//! One worker: keeps its ring at its depth until the load ends, then waits for what is in flight.
//!
//! Each turn: fill the buffers of free slots; stamp; submit and wait for one completion, one system call;
//! stamp; take all completions. After warm-up a turn allocates nothing, takes no lock and makes no other call.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sys::interrupt::{Interrupt, Level};
use sys::stamps::Stamps;

use crate::board::{Board, Halt};
use crate::error::EngineError;
use crate::job::Job;
use crate::pace::Pace;
use crate::record::{Completion, Recorder, SHORT};
use crate::ring::{Ring, Transfer};
use crate::sample::Counts;

/// The longest wait for a completion, after which the worker looks at the clock and at the board.
const PATIENCE: Duration = Duration::from_millis(100);
/// Failures in a row after which a worker gives the target up.
const FAILURES: u64 = 1_000;
/// Time without any success after which failures of a whole depth are enough, nanoseconds.
const FAILING_NS: u64 = 10_000_000_000;
/// How often one I/O that the kernel turns away (EAGAIN, EINTR) is asked again.
const RETRIES: u32 = 1_000;
/// How long the next of the I/Os in flight is waited for at the end, nanoseconds; and all of them when the user wants
/// to stop at once.
const DRAIN_NS: u64 = 30_000_000_000;
const DRAIN_NOW_NS: u64 = 2_000_000_000;

/// What a worker shares with the rest, and its limits.
pub(crate) struct Setting {
    pub index: usize,
    pub board: Arc<Board>,
    pub stamps: Stamps,
    pub interrupt: Interrupt,
    pub interval_ns: u64,
    pub duration_ns: Option<u64>,
}

/// How a worker ended.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// First stamp before a submission and last stamp after reaping, nanoseconds; `None` when nothing was submitted.
    pub span_ns: Option<(u64, u64)>,
    /// Ended because the duration was over.
    pub by_time: bool,
    /// Blocks handed to the kernel.
    pub counts: Counts,
    /// Transfers that moved less than asked, whose rest was submitted again.
    pub short: u64,
    /// I/Os that were turned away and asked again.
    pub retried: u64,
    /// I/Os that never completed.
    pub unfinished: usize,
    /// Completions that the kernel lost.
    pub overflowed: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    transfer: Transfer,
    operation: usize,
    stamp_ns: u64,
    attempts: u32,
}

/// A worker that is ready to begin.
pub(crate) struct Worker {
    setting: Setting,
    ring: Ring,
    job: Job,
    recorder: Recorder,
    slots: Box<[Slot]>,
    free: Vec<usize>,
    /// Slots that were pushed and not yet stamped.
    fresh: Vec<usize>,
    reaped: Vec<(usize, i32)>,
    alignment: u64,
    ended: u64,
    bytes: u64,
    failures: u64,
    succeeded_ns: u64,
    outcome: Ended,
}

impl Worker {
    pub(crate) fn new(
        setting: Setting,
        ring: Ring,
        job: Job,
        recorder: Recorder,
        alignment: u64,
    ) -> Self {
        let depth = ring.depth();
        Self {
            setting,
            ring,
            job,
            recorder,
            slots: vec![Slot::default(); depth].into_boxed_slice(),
            free: (0..depth).rev().collect(),
            fresh: Vec::with_capacity(depth),
            reaped: Vec::with_capacity(depth),
            alignment,
            ended: 0,
            bytes: 0,
            failures: 0,
            succeeded_ns: 0,
            outcome: Ended::default(),
        }
    }

    /// Runs the load to its end. An error is the ring's, not the target's.
    pub(crate) fn run(mut self) -> Result<Ended, EngineError> {
        let result = self.drive();
        if result.is_err() {
            self.setting.board.halt(Halt::Errors);
        }
        self.outcome.unfinished = self.ring.in_flight();
        if let (true, Some((_, last))) = (self.outcome.unfinished > 0, &mut self.outcome.span_ns) {
            // The time that was spent waiting in vain is part of the load.
            *last = self.setting.stamps.now_ns();
        }
        self.outcome.overflowed = self.ring.overflowed();
        self.outcome.counts = self.job.counts();
        while !self.recorder.close() {
            std::thread::sleep(Duration::from_millis(1));
        }
        result.map(|()| std::mem::take(&mut self.outcome))
    }

    fn drive(&mut self) -> Result<(), EngineError> {
        let Some(start_ns) = self.setting.board.wait() else { return Ok(()) };
        let (interval_ns, duration_ns) = (self.setting.interval_ns, self.setting.duration_ns);
        let pace = Pace { start_ns, interval_ns, duration_ns };
        let mut edge_ns = pace.edge_ns(0);
        let mut drain_since_ns = None;
        self.succeeded_ns = start_ns;
        loop {
            if drain_since_ns.is_none() && !self.refill() {
                drain_since_ns = Some(self.setting.stamps.now_ns());
            }
            if self.ring.in_flight() == 0 {
                return Ok(());
            }
            self.publish();
            self.stamp();
            self.ring.turn(PATIENCE)?;
            let now_ns = self.setting.stamps.now_ns();
            if now_ns >= edge_ns {
                let interval = pace.interval(now_ns);
                self.recorder.enter(interval);
                edge_ns = pace.edge_ns(interval);
            }
            let progressed = self.take(now_ns);
            if drain_since_ns.is_none() && self.is_over(now_ns, pace.deadline_ns()) {
                drain_since_ns = Some(now_ns);
            }
            let level = self.setting.interrupt.level();
            if progressed && drain_since_ns.is_some() && level != Level::Now {
                drain_since_ns = Some(now_ns);
            }
            let patience_ns = if level == Level::Now { DRAIN_NOW_NS } else { DRAIN_NS };
            if drain_since_ns.is_some_and(|since| now_ns >= since + patience_ns) {
                return Ok(());
            }
        }
    }

    /// Fills every free slot with the next I/O; false when there is none left.
    fn refill(&mut self) -> bool {
        while let Some(&slot) = self.free.last() {
            let Some(next) = self.job.next() else { return false };
            if next.transfer.write {
                self.job.fill(&mut self.ring.slot(slot)[..next.transfer.length as usize]);
            }
            self.free.pop();
            let (transfer, operation) = (next.transfer, next.operation);
            self.slots[slot] = Slot { transfer, operation, stamp_ns: 0, attempts: 0 };
            self.ring.push(slot, transfer);
            self.fresh.push(slot);
        }
        true
    }

    /// Gives every I/O that was filled since the last turn its stamp: one clock read, just before they are submitted.
    fn stamp(&mut self) {
        if self.fresh.is_empty() {
            return;
        }
        let now_ns = self.setting.stamps.now_ns();
        for slot in self.fresh.drain(..) {
            self.slots[slot].stamp_ns = now_ns;
        }
        self.outcome.span_ns.get_or_insert((now_ns, now_ns));
    }

    /// Takes every completion that is there, all with the stamp `now_ns`; tells whether there was any.
    fn take(&mut self, now_ns: u64) -> bool {
        let reaped = &mut self.reaped;
        self.ring.reap(|slot, result| reaped.push((slot, result)));
        if self.reaped.is_empty() {
            return false;
        }
        let before = self.ended;
        for at in 0..self.reaped.len() {
            let (slot, result) = self.reaped[at];
            self.complete(slot, result, now_ns);
        }
        self.reaped.clear();
        if let Some((_, last)) = &mut self.outcome.span_ns {
            *last = now_ns;
        }
        if self.ended == before {
            // Everything was turned away: the kernel is short of something, which asking at once does not mend.
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    fn complete(&mut self, slot: usize, result: i32, now_ns: u64) {
        let Slot { transfer, attempts, .. } = self.slots[slot];
        let left = transfer.length - transfer.done;
        let moved = u32::try_from(result).unwrap_or(0);
        if moved == left {
            self.recorder.record(&Self::completion(self.slots[slot], now_ns, 0));
            self.failures = 0;
            self.succeeded_ns = now_ns;
        } else if moved > 0 && moved < left && u64::from(moved).is_multiple_of(self.alignment) {
            self.outcome.short += 1;
            self.slots[slot].transfer.done += moved;
            return self.ring.push(slot, self.slots[slot].transfer);
        } else if [-libc::EAGAIN, -libc::EINTR].contains(&result) && attempts < RETRIES {
            self.outcome.retried += 1;
            self.slots[slot].attempts += 1;
            return self.ring.push(slot, transfer);
        } else {
            let error = if result < 0 { -result } else { SHORT };
            self.recorder.record(&Self::completion(self.slots[slot], now_ns, error));
            self.failures += 1;
        }
        self.ended += 1;
        self.bytes += u64::from(transfer.length);
        self.free.push(slot);
    }

    fn completion(slot: Slot, reaped_ns: u64, error: i32) -> Completion {
        Completion {
            operation: slot.operation,
            target: 0,
            offset: slot.transfer.offset,
            length: slot.transfer.length,
            intended_ns: slot.stamp_ns,
            submit_ns: slot.stamp_ns,
            submitted_ns: slot.stamp_ns,
            reaped_ns,
            error,
        }
    }

    /// Whether nothing more is to be submitted.
    fn is_over(&mut self, now_ns: u64, deadline_ns: u64) -> bool {
        let board = &self.setting.board;
        if now_ns >= deadline_ns {
            self.outcome.by_time = true;
            return true;
        }
        if self.setting.interrupt.level() != Level::None {
            board.halt(Halt::Interrupted);
        }
        let failing = now_ns.saturating_sub(self.succeeded_ns) >= FAILING_NS
            && self.failures >= self.slots.len() as u64;
        if self.failures >= FAILURES || failing {
            board.halt(Halt::Errors);
        }
        board.halted() != Halt::None
    }

    fn publish(&self) {
        let gauge = &self.setting.board.gauges[self.setting.index];
        gauge.ended.store(self.ended, Ordering::Relaxed);
        gauge.bytes.store(self.bytes, Ordering::Relaxed);
        gauge.in_flight.store(self.ring.in_flight() as u64, Ordering::Relaxed);
    }
}
