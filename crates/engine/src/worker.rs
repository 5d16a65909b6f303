//! One worker: keeps its backend at its depth until the load ends, then waits for what is in flight.
//!
//! Each turn: fill the buffers of free slots, a portion of them at a time; stamp; submit and, when no slot is free any more,
//! wait; stamp; take all completions. After warm-up a turn
//! allocates nothing and makes no other system call; only threads that share a job lock it, for random reads once for many.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sys::interrupt::{Interrupt, Level};
use sys::stamps::Stamps;

use crate::backend::{Backend, Reaped, Transfer, Wait};
use crate::board::{Board, Halt};
use crate::ended::{Depth, Ended};
use crate::error::EngineError;
use crate::gate::Ask;
use crate::hold::Hold;
use crate::job::{self, Next};
use crate::pace::Pace;
use crate::record::{Completion, Recorder, SHORT};
use crate::verify::Hand;

/// The longest wait for a completion, after which the worker looks at the clock and at the board.
const PATIENCE: Duration = Duration::from_millis(100);
/// Failures in a row after which a worker gives the target up.
const FAILURES: u64 = 1_000;
/// Time without any success after which failures of a whole depth are enough, nanoseconds.
const FAILING_NS: u64 = 10_000_000_000;
/// How often one I/O that the kernel turns away (EAGAIN, EINTR) is asked again.
const RETRIES: u32 = 1_000;
/// How long the next of the I/Os in flight is waited for at the end, nanoseconds; longer than the stalls of 30 s that
/// disks have.
const DRAIN_NS: u64 = 45_000_000_000;
/// The same after Ctrl-C.
const DRAIN_FINISH_NS: u64 = 4_000_000_000;
/// How long all of them are waited for when the user wants to stop at once, nanoseconds.
const DRAIN_NOW_NS: u64 = 2_000_000_000;

/// How long a worker waits at its end, nanoseconds.
fn drain_ns(level: Level) -> u64 {
    match level {
        Level::None => DRAIN_NS,
        Level::Finish => DRAIN_FINISH_NS,
        Level::Now => DRAIN_NOW_NS,
    }
}

/// What a worker shares with the rest, and its limits.
pub(crate) struct Setting {
    /// Which of all workers it is.
    pub index: usize,
    pub board: Arc<Board>,
    pub stamps: Stamps,
    pub interrupt: Interrupt,
    pub interval_ns: u64,
    pub duration_ns: Option<u64>,
    /// Time at the start that is not measured.
    pub ramp_ns: u64,
    /// I/Os that are submitted together, at least.
    pub batch: usize,
    /// Whether a stamp is taken after each submitting call.
    pub split: bool,
    /// What the rest of a short transfer must be aligned to, by target, bytes.
    pub alignments: Box<[u64]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    transfer: Transfer,
    operation: u32,
    attempts: u32,
    /// 0 until it is stamped, unless the load says when it should have started.
    intended_ns: u64,
    stamp_ns: u64,
    /// Just after the submitting call, where the load asks for it.
    submitted_ns: u64,
}

impl Slot {
    #[inline(always)]
    fn of(next: &Next) -> Self {
        let &Next { transfer, operation, intended_ns } = next;
        Self { transfer, operation: operation as u32, intended_ns, ..Self::default() }
    }
}

/// A worker that is ready to begin.
pub(crate) struct Worker<B, J> {
    setting: Setting,
    backend: B,
    job: J,
    recorder: Recorder,
    /// Keeps book of what is written, and checks what is read.
    hand: Option<Hand>,
    slots: Box<[Slot]>,
    free: Vec<u32>,
    /// Slots that were pushed and not yet stamped.
    fresh: Vec<u32>,
    /// So many are pushed before they are submitted, at most.
    portion: usize,
    reaped: Vec<Reaped>,
    /// The next I/O, when it is meant to start later.
    reserved: Option<Next>,
    /// Whether it pauses between I/Os.
    pauses: bool,
    measured_from_ns: u64,
    ended: u64,
    bytes: u64,
    failures: u64,
    succeeded_ns: u64,
    depth: Depth,
    outcome: Ended,
}

/// What is left to be submitted.
enum Left {
    /// More, when slots are free again.
    More,
    /// More, as soon as the portion that was taken has been submitted.
    Portion,
    /// The next one not before this time, nanoseconds.
    NotBefore(u64),
    Nothing,
}

impl<B: Backend, J: Hold> Worker<B, J> {
    pub(crate) fn new(
        setting: Setting,
        backend: B,
        mut job: J,
        recorder: Recorder,
        hand: Option<Hand>,
    ) -> Self {
        let depth = backend.depth();
        // Who asks for batches gets them whole.
        let portion = if setting.batch > 1 { usize::MAX } else { backend.portion() };
        Self {
            pauses: job.with(|job| job.gate.counts_ends()),
            setting,
            backend,
            job,
            recorder,
            hand,
            slots: vec![Slot::default(); depth].into_boxed_slice(),
            free: (0..depth as u32).rev().collect(),
            fresh: Vec::with_capacity(depth),
            portion,
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

    /// Runs the load to its end. An error is the backend's, not the target's.
    pub(crate) fn run(mut self) -> Result<Ended, EngineError> {
        let result = self.drive();
        if result.is_err() {
            self.setting.board.halt(Halt::Errors);
        }
        self.outcome.unfinished = self.backend.in_flight();
        if let (true, Some((_, last))) = (self.outcome.unfinished > 0, &mut self.outcome.span_ns) {
            // The time that was spent waiting in vain is part of the load.
            *last = self.setting.stamps.now_ns();
        }
        if self.outcome.unfinished > 0 {
            // They had their time: the backend is not to wait for them once more.
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

    fn drive(&mut self) -> Result<(), EngineError> {
        let Some(start_ns) = self.setting.board.wait() else { return Ok(()) };
        let Setting { interval_ns, duration_ns, ramp_ns, .. } = self.setting;
        self.measured_from_ns = start_ns + ramp_ns;
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
                    Left::More => wait.completions = self.wanted(),
                    Left::Portion => wait.completions = 0,
                    Left::NotBefore(at_ns) => {
                        wait.patience = Duration::from_nanos(at_ns - now_ns).min(PATIENCE);
                    }
                    Left::Nothing => drain_since_ns = Some(now_ns),
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

    /// Completions that have to come before a batch can be submitted.
    fn wanted(&self) -> usize {
        let missing = self.setting.batch.saturating_sub(self.free.len());
        missing.clamp(1, self.backend.in_flight().max(1))
    }

    /// Fills free slots with the next I/Os, as many as may start at `now_ns`.
    fn refill(&mut self, now_ns: u64) -> Left {
        if self.free.len() < self.setting.batch && self.backend.in_flight() > 0 {
            return Left::More;
        }
        if let Some(next) = self.reserved.filter(|next| next.intended_ns > now_ns) {
            return Left::NotBefore(next.intended_ns);
        }
        while let Some(&slot) = self.free.last()
            && self.fresh.len() < self.portion
            && let Some(next) = self.job.claimed()
        {
            if let Some(hand) = &mut self.hand {
                job::announce(hand, slot as usize, &next.transfer);
            }
            self.free.pop();
            self.slots[slot as usize] = Slot::of(&next);
            self.backend.push(slot as usize, &next.transfer);
            self.fresh.push(slot);
        }
        let Self { backend, job, hand, slots, free, fresh, reserved, portion, .. } = self;
        if free.is_empty() {
            return Left::More;
        }
        job.with(|job| {
            while let Some(&slot) = free.last() {
                if fresh.len() >= *portion {
                    return Left::Portion;
                }
                let ask = match *reserved {
                    Some(next) => {
                        *reserved = None;
                        Ask::Io(next)
                    }
                    None => job.next(now_ns),
                };
                let next = match ask {
                    Ask::Io(next) if next.intended_ns > now_ns => {
                        *reserved = Some(next);
                        return Left::NotBefore(next.intended_ns);
                    }
                    Ask::Io(next) => next,
                    Ask::NotBefore(at_ns) => return Left::NotBefore(at_ns),
                    Ask::Over => return Left::Nothing,
                };
                let at = slot as usize;
                job.prepare(at, &next.transfer, backend.slot(at), hand.as_mut());
                free.pop();
                slots[at] = Slot::of(&next);
                backend.push(at, &next.transfer);
                fresh.push(slot);
            }
            Left::More
        })
    }

    /// Gives every I/O that was filled since the last turn its stamp: one clock read, just before they are submitted.
    #[inline]
    fn stamp(&mut self) {
        let now_ns = self.setting.stamps.now_ns();
        self.depth.submitting(now_ns, self.fresh.len(), self.backend.in_flight());
        if self.fresh.is_empty() {
            return;
        }
        for &slot in &self.fresh {
            let slot = &mut self.slots[slot as usize];
            slot.stamp_ns = now_ns;
            if slot.intended_ns == 0 {
                slot.intended_ns = now_ns;
            }
        }
        if self.outcome.span_ns.is_none() {
            self.outcome.span_ns = Some((now_ns.max(self.measured_from_ns), now_ns));
        }
    }

    /// Submits without waiting, and gives what was submitted a stamp after the call.
    fn submit(&mut self) -> Result<(), EngineError> {
        self.backend.turn(Wait { completions: 0, patience: Duration::ZERO })?;
        let now_ns = self.setting.stamps.now_ns();
        for &slot in &self.fresh {
            self.slots[slot as usize].submitted_ns = now_ns;
        }
        Ok(())
    }

    /// Takes every completion that is there, all with the stamp `now_ns`; tells whether there was any.
    fn take(&mut self, now_ns: u64) -> bool {
        let before = self.backend.in_flight();
        self.backend.reap(&mut self.reaped);
        self.depth.reaped(now_ns, self.reaped.len(), before);
        if self.reaped.is_empty() {
            return false;
        }
        let before = self.ended;
        for at in 0..self.reaped.len() {
            let Reaped { slot, result } = self.reaped[at];
            self.complete(slot as usize, result, now_ns);
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

    #[inline]
    fn complete(&mut self, slot: usize, result: i32, now_ns: u64) {
        let length = self.slots[slot].transfer.length;
        if result == self.slots[slot].transfer.left() as i32 {
            self.record(slot, now_ns, 0);
            self.failures = 0;
            self.succeeded_ns = now_ns;
        } else {
            let Some(error) = self.go_on(slot, result) else { return };
            self.record(slot, now_ns, error);
            self.failures += 1;
            self.setting.board.failed();
        }
        self.ended += 1;
        self.bytes += u64::from(length);
        self.free.push(slot as u32);
    }

    /// Submits what is left of an I/O that was not done in full; its error when it is not to be asked again.
    #[cold]
    fn go_on(&mut self, slot: usize, result: i32) -> Option<i32> {
        let Slot { mut transfer, attempts, .. } = self.slots[slot];
        let moved = u32::try_from(result).unwrap_or(0);
        let alignment = self.setting.alignments[usize::from(transfer.target)];
        // Direct I/O cannot start where a sector has been moved in part: that one is moved again, whole.
        let moved = moved - (u64::from(moved) % alignment) as u32;
        if moved > 0 && moved < transfer.left() {
            self.outcome.short += 1;
            transfer.done += moved;
            self.slots[slot].transfer = transfer;
        } else if [-libc::EAGAIN, -libc::EINTR].contains(&result) && attempts < RETRIES {
            self.outcome.retried += 1;
            self.slots[slot].attempts += 1;
        } else {
            return Some(if result < 0 { -result } else { SHORT });
        }
        self.backend.push(slot, &transfer);
        None
    }

    #[inline]
    fn record(&mut self, slot: usize, reaped_ns: u64, error: i32) {
        let Slot { transfer, operation, intended_ns, stamp_ns, submitted_ns, .. } =
            self.slots[slot];
        if let Some(hand) = &mut self.hand {
            let read = self.backend.slot(slot).get(..transfer.length as usize);
            hand.ended(slot, error == 0, read.unwrap_or_default(), reaped_ns);
        }
        if self.pauses {
            self.job.with(|job| job.gate.ended(reaped_ns));
        }
        if reaped_ns < self.measured_from_ns {
            return;
        }
        self.recorder.record(&Completion {
            operation: operation as usize,
            target: transfer.target.into(),
            offset: transfer.offset,
            length: transfer.length,
            intended_ns,
            submit_ns: stamp_ns,
            submitted_ns,
            reaped_ns,
            error,
        });
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
        if self.failures > 0 {
            let failing = now_ns.saturating_sub(self.succeeded_ns) >= FAILING_NS
                && self.failures >= self.slots.len() as u64;
            if self.failures >= FAILURES || failing {
                board.halt(Halt::Errors);
            }
        }
        board.halted() != Halt::None
    }

    #[inline]
    fn publish(&self) {
        let gauge = &self.setting.board.gauges[self.setting.index];
        gauge.ended.store(self.ended, Ordering::Relaxed);
        gauge.bytes.store(self.bytes, Ordering::Relaxed);
        gauge.in_flight.store(self.backend.in_flight() as u64, Ordering::Relaxed);
    }
}
