//! What one worker does next, and the bytes it writes.

use std::sync::{Arc, Mutex, PoisonError};

use workload::{OpKind, OpName, Stream, SyncHow};

use crate::backend::{Transfer, Verb};
use crate::gate::Ask;
use crate::load::Load;
use crate::sample::{Counts, Sampler};
use crate::shares::Shares;

/// The source of written bytes: the real one, or in tests one that is broken on purpose.
pub(crate) trait Fill: Send {
    /// Fills `buffer` with the next contents.
    fn fill(&mut self, buffer: &mut [u8]);
}

impl Fill for content::Source {
    fn fill(&mut self, buffer: &mut [u8]) {
        self.fill_next(buffer);
    }
}

/// Makes the source of bytes of one job on the target of that place.
pub(crate) type MakeFill<'a> = &'a dyn Fn(&Load, u32, usize) -> Box<dyn Fill>;

/// The source that loads have outside of tests.
pub(crate) fn content(load: &Load, job: u32, target: usize) -> Box<dyn Fill> {
    let spec = &load.spec;
    let seed = load.seed_of(target);
    Box::new(content::Source::new(&spec.content, seed, job, spec.jobs))
}

/// One I/O to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Next {
    /// Index of its operation in the load.
    pub operation: usize,
    pub transfer: Transfer,
    /// When it should start, nanoseconds; 0 when that is just as it is submitted.
    pub intended_ns: u64,
}

/// What a job does on one target.
struct Lane {
    stream: Stream,
    fill: Box<dyn Fill>,
}

/// The operations and the content of one worker.
pub(crate) struct Job {
    lanes: Vec<Lane>,
    shares: Shares,
    /// Index in the load of each operation and what it asks for, by its place in [`OpName::ALL`].
    places: [(usize, Verb); OpName::ALL.len()],
    /// Whether every write is durable when it ends.
    durable: bool,
    sampler: Sampler,
}

impl Job {
    /// Job number `number` of `load`, which does what `streams` say, one for each target.
    pub(crate) fn new(
        load: &Load,
        streams: Vec<Stream>,
        number: u32,
        sampler: Sampler,
        make: MakeFill,
    ) -> Self {
        let spec = &load.spec;
        let how = spec.sync.map(|sync| sync.how);
        let flush = if how == Some(SyncHow::Fsync) { Verb::Fsync } else { Verb::Fdatasync };
        let place = |op: OpName| {
            let place = spec.operations().position(|other| other == op).unwrap_or_default();
            (place, verb(op, flush))
        };
        let lane = |(target, stream)| Lane { stream, fill: make(load, number, target) };
        Self {
            lanes: streams.into_iter().enumerate().map(lane).collect(),
            shares: Shares::new(load.targets.iter().map(|aim| aim.share.0)),
            places: OpName::ALL.map(place),
            durable: how == Some(SyncHow::Dsync),
            sampler,
        }
    }

    /// The next I/O, if it may start at `now_ns`; over when bytes or passes are done on every target.
    #[inline]
    pub(crate) fn next(&mut self, _now_ns: u64) -> Ask {
        loop {
            let Some(target) = self.shares.draw() else { return Ask::Over };
            let lane = &mut self.lanes[target];
            let Some(io) = lane.stream.next() else {
                self.shares.close(target);
                continue;
            };
            let (operation, verb) = self.places[io.op as usize];
            let transfer = Transfer {
                verb,
                durable: io.fua || self.durable,
                target: target as u16,
                length: io.length,
                done: 0,
                offset: io.offset,
            };
            return Ask::Io(Next { operation, transfer, intended_ns: 0 });
        }
    }

    /// Makes the memory of an I/O ready that is about to be pushed from `slot`: fills what is written, and lets the census see it.
    #[inline]
    pub(crate) fn prepare(&mut self, _slot: usize, transfer: &Transfer, buffer: &mut [u8]) {
        if transfer.is_write() {
            let buffer = &mut buffer[..transfer.length as usize];
            self.lanes[usize::from(transfer.target)].fill.fill(buffer);
            self.sampler.see(buffer);
        }
    }

    /// Whether [`Job::ended`] is to be called.
    pub(crate) fn watches(&self) -> bool {
        false
    }

    /// An I/O from `slot` has ended for good: with `error` 0, or [`crate::record::SHORT`], or a positive error number.
    /// `buffer` is its memory, before it is used again. What was given up unfinished ends with `ECANCELED`.
    pub(crate) fn ended(
        &mut self,
        _slot: usize,
        _transfer: &Transfer,
        _error: i32,
        _buffer: &[u8],
    ) {
    }

    /// Blocks handed to the kernel since this was last asked.
    pub(crate) fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.sampler.counts)
    }
}

/// What an operation asks of a target, when a flush means `flush`.
fn verb(op: OpName, flush: Verb) -> Verb {
    match op.kind() {
        OpKind::Read => Verb::Read,
        OpKind::Write => Verb::Write,
        OpKind::Discard => Verb::Discard,
        OpKind::WriteZeroes => Verb::WriteZeroes,
        OpKind::Flush => flush,
    }
}

/// A job as its workers hold it: alone, or together with other threads.
pub(crate) trait Hold: Send {
    fn with<R>(&mut self, work: impl FnOnce(&mut Job) -> R) -> R;
}

impl Hold for Job {
    #[inline]
    fn with<R>(&mut self, work: impl FnOnce(&mut Job) -> R) -> R {
        work(self)
    }
}

/// Threads that share a job take its I/Os one by one in its order.
impl Hold for Arc<Mutex<Job>> {
    #[inline]
    fn with<R>(&mut self, work: impl FnOnce(&mut Job) -> R) -> R {
        work(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
