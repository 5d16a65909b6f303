//! One worker: asks its stream for the next operation, has it carried out, and reports the outcome to the stream and the recorder.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sys::stamps::Stamps;
use tree::{Books, Expectation, Stream, Sync, TreeOp, Verdict};

use crate::interval_recorder::IntervalRecorder;
use crate::load_status::{LoadStatus, StopReason};
use crate::pace::Pace;
use crate::record::{SHORT, UNFORESEEN};
use crate::tally::Outcome;
use crate::tree::calls::{Calls, Carried};
use crate::tree::rest::Rest;
use crate::tree::writer::Synced;

/// Number of failures, with no success between them, after which a worker gives the tree up.
const FAILURES: u64 = 1_000;

/// The limits of a worker.
pub(crate) struct Limits {
    pub interval_ns: u64,
    pub duration_ns: Option<u64>,
    /// Most operations that it does.
    pub operations: u64,
    /// Tells whether it ends when its part of the tree has come to rest.
    pub at_rest: bool,
}

/// A worker that is ready to begin.
pub(crate) struct Worker {
    pub index: usize,
    pub limits: Limits,
    pub status: Arc<LoadStatus>,
    pub stamps: Stamps,
    pub stream: Stream,
    pub calls: Calls,
    pub recorder: IntervalRecorder,
    /// Index of each operation among those of the load, by its place in [`TreeOp::ALL`].
    pub places: [usize; TreeOp::ALL.len()],
    /// Tells for each operation of the load whether it counts in CPU time per operation.
    pub costly: Box<[bool]>,
    pub rest: Rest,
}

/// The reason why a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Time,
    Operations,
    /// Its part of the tree had come to rest, or the time for that was over.
    Rest,
    /// The load was halted.
    Halted,
}

/// The state of a worker and its part of the tree when it ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub worker: usize,
    pub why: Why,
    /// Time at which it ended, nanoseconds; `None` when it never began.
    pub at_ns: Option<u64>,
    pub files: u64,
    pub directories: u64,
    pub bytes: u64,
    /// Number of operations after which the files, and their bytes, were seen at rest.
    pub at_rest: [Option<u64>; 2],
}

/// The result of one operation.
struct Stepped {
    now_ns: u64,
    /// Number of failures in a row, including this operation.
    failures: u64,
    /// Bytes that it moved.
    bytes: u64,
    /// Tells whether it was tried and counts in CPU time per operation.
    costly: bool,
}

impl Worker {
    /// Works until the load ends.
    pub(crate) fn run(mut self) -> Ended {
        let (mut why, mut at_ns) = (Why::Halted, None);
        if let Some(start_ns) = self.status.wait() {
            let end_ns;
            (end_ns, why) = self.work(start_ns);
            at_ns = Some(end_ns);
        }
        self.status.gauges[self.index].in_flight.store(0, Ordering::Relaxed);
        while !self.recorder.close() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let books: &Books = self.stream.books();
        Ended {
            worker: self.index,
            why,
            at_ns,
            files: books.files().into(),
            directories: books.directories().into(),
            bytes: books.bytes(),
            at_rest: self.rest.seen(),
        }
    }

    /// Works until the load ends; returns the time at which it ended, and the reason.
    fn work(&mut self, start_ns: u64) -> (u64, Why) {
        let Limits { interval_ns, duration_ns, operations, at_rest } = self.limits;
        let pace = Pace { start_ns, interval_ns, duration_ns };
        let (mut edge_ns, deadline_ns) = (pace.edge_ns(0), pace.deadline_ns());
        let (mut now_ns, mut failures) = (start_ns, 0);
        let status = self.status.clone();
        let progress = &status.gauges[self.index];
        progress.in_flight.store(1, Ordering::Relaxed);
        let (mut done, mut bytes, mut costly) = (0, 0, 0);
        loop {
            let ends = [
                (Why::Operations, done >= operations),
                (Why::Rest, at_rest && self.rest.is_over(done)),
                (Why::Time, now_ns >= deadline_ns),
                (Why::Halted, status.halted() != StopReason::None),
            ];
            if let Some((why, _)) = ends.into_iter().find(|(_, is)| *is) {
                return (now_ns, why);
            }
            let ended = self.step(failures);
            (now_ns, failures) = (ended.now_ns, ended.failures);
            bytes += ended.bytes;
            costly += u64::from(ended.costly);
            done += 1;
            progress.ended.store(done, Ordering::Relaxed);
            progress.bytes.store(bytes, Ordering::Relaxed);
            progress.costly.store(costly, Ordering::Relaxed);
            if failures >= FAILURES {
                status.halt(StopReason::Errors);
            }
            if now_ns >= edge_ns {
                let books: &Books = self.stream.books();
                progress.tree.0.store(books.files().into(), Ordering::Relaxed);
                progress.tree.1.store(books.bytes(), Ordering::Relaxed);
                let interval = pace.interval(now_ns);
                self.recorder.enter(interval);
                edge_ns = pace.edge_ns(interval);
            }
        }
    }

    /// Does one operation; `failures` operations in a row have failed before it.
    #[inline]
    fn step(&mut self, failures: u64) -> Stepped {
        let step = self.stream.next_step();
        let operation = self.places[step.op as usize];
        if let Expectation::Skip(_) = step.expected {
            self.stream.record(&step, tree::StepOutcome::default());
            self.rest.note(self.stream.books());
            self.recorder.tally().ended(operation, Outcome::Skipped, 0);
            return Stepped { now_ns: self.stamps.now_ns(), failures, bytes: 0, costly: false };
        }
        let Carried { outcome: actual, latency_ns, now_ns, synced } = self.calls.carry_out(&step);
        let verdict = self.stream.record(&step, actual);
        self.rest.note(self.stream.books());
        let outcome = match (verdict, actual.errno) {
            (Verdict::Done, _) => Outcome::Done(latency_ns),
            (Verdict::Skipped, _) => Outcome::Skipped,
            (Verdict::Expected, errno) => Outcome::Expected(errno),
            (Verdict::Unexpected, 0) if step.expected == Expectation::Done => {
                Outcome::Unexpected(SHORT)
            }
            (Verdict::Unexpected, 0) => Outcome::Unexpected(UNFORESEEN),
            (Verdict::Unexpected, errno) => Outcome::Unexpected(errno),
        };
        self.recorder.tally().ended(operation, outcome, actual.bytes);
        if let Some(synced) = synced {
            self.count_sync(synced);
        }
        let failures = match outcome {
            Outcome::Done(_) => 0,
            Outcome::Unexpected(_) => failures + 1,
            // These do not reset the count: a worker that fails at everything else still meets expected failures and skips.
            Outcome::Expected(_) | Outcome::Skipped => failures,
        };
        Stepped { now_ns, failures, bytes: actual.bytes, costly: self.costly[operation] }
    }

    fn count_sync(&mut self, synced: Synced) {
        let op = match synced.sync {
            Sync::Fsync => TreeOp::Fsync,
            Sync::Fdatasync => TreeOp::Fdatasync,
        };
        let outcome = match synced.errno {
            0 => Outcome::Done(synced.latency_ns),
            errno @ (libc::ENOSPC | libc::EDQUOT) => Outcome::Expected(errno),
            errno => Outcome::Unexpected(errno),
        };
        self.recorder.tally().ended(self.places[op as usize], outcome, 0);
    }
}
