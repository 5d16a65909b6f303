//! The next I/O of a worker, and the bytes that it writes.

use content::{ContentId, Source};
use workload::{OpKind, OpName, Pattern, Range, Stream, SyncMethod};

use crate::backend::{Transfer, Verb};
use crate::load::Load;
use crate::pacer::Pacer;
use crate::sample::{BlockSampler, Counts};
use crate::verify::WorkerVerifier;
use crate::weighted_round_robin::WeightedRoundRobin;

/// The source of written bytes: the content source, or in tests a broken stand-in.
pub(crate) trait Fill: Send {
    /// Fills `buffer` with the next contents; it goes to the target from block `address` on. Calls `on_block` with each block's number in the buffer
    /// and its content id.
    fn fill(&mut self, address: u64, buffer: &mut [u8], on_block: &mut dyn FnMut(usize, ContentId));
}

impl Fill for Source {
    fn fill(
        &mut self,
        address: u64,
        buffer: &mut [u8],
        on_block: &mut dyn FnMut(usize, ContentId),
    ) {
        self.fill_at(address, buffer, on_block);
    }
}

/// Makes the source of written bytes for one job on one target from the source of its content.
pub(crate) type MakeFill<'a> = &'a dyn Fn(Source) -> Box<dyn Fill>;

/// The source of written bytes outside of tests.
pub(crate) fn content(source: Source) -> Box<dyn Fill> {
    Box::new(source)
}

/// One I/O to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Next {
    /// Index of its operation in the load.
    pub operation: usize,
    pub transfer: Transfer,
    /// Time at which it is meant to start, nanoseconds; 0 where it may start whenever it is submitted.
    pub intended_ns: u64,
}

/// A job's answer when it is asked for its next I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextIo {
    /// The next I/O; in an open loop it may be meant to start later, and then waits until that time.
    Io(Next),
    /// Not yet: ask again at this time, nanoseconds.
    NotBefore(u64),
    /// No I/O is left.
    Over,
}

/// The part of a job that concerns one target.
struct JobTarget {
    stream: Stream,
    /// Offset of the range that it works on, bytes.
    start: u64,
    /// Number of its first block when the blocks of all targets are numbered together.
    first: u64,
    fill: Box<dyn Fill>,
}

/// The operations and the content of one worker.
pub(crate) struct Job {
    targets: Vec<JobTarget>,
    shares: WeightedRoundRobin,
    /// Index in the load and verb of each operation, by its place in [`OpName::ALL`].
    places: [(usize, Verb); OpName::ALL.len()],
    /// Tells whether every write is durable when it ends.
    durable: bool,
    /// Bytes in a block of content.
    unit: u64,
    sampler: BlockSampler,
    pub(crate) gate: Pacer,
    /// Tells whether its next I/Os may begin in any order and none waits for a time.
    unordered: bool,
}

impl Job {
    /// Job number `number` of `load`: for each target its operations, its range and the content that it writes.
    pub(crate) fn new(
        load: &Load,
        number: u32,
        targets: Vec<(Stream, Range, Source, u64)>,
        sampler: BlockSampler,
        make: MakeFill,
    ) -> Self {
        let spec = &load.spec;
        let how = spec.sync.map(|sync| sync.how);
        let flush = if how == Some(SyncMethod::Fsync) { Verb::Fsync } else { Verb::Fdatasync };
        let place = |op: OpName| {
            let place = spec.operations().position(|other| other == op).unwrap_or_default();
            (place, verb(op, flush))
        };
        let job_target = |(stream, range, source, first): (Stream, Range, Source, u64)| JobTarget {
            stream,
            start: range.start,
            first,
            fill: make(source),
        };
        Self {
            targets: targets.into_iter().map(job_target).collect(),
            shares: WeightedRoundRobin::new(load.targets.iter().map(|aim| aim.share.0)),
            places: OpName::ALL.map(place),
            durable: how == Some(SyncMethod::Dsync),
            unit: spec.content.unit() as u64,
            gate: Pacer::new(load, number),
            unordered: is_unordered(load),
            sampler,
        }
    }

    /// The next I/O, if it may start at `now_ns`; over when bytes or passes are done on every target.
    ///
    /// Always inlined: a result passed through memory is written field by field and read whole, which stalls the processor.
    #[inline(always)]
    pub(crate) fn next(&mut self, now_ns: u64) -> NextIo {
        if let Some(at_ns) = self.gate.not_before(now_ns)
            && self.is_anything_left()
        {
            return NextIo::NotBefore(at_ns);
        }
        loop {
            let Some(target) = self.shares.draw() else { return NextIo::Over };
            let job_target = &mut self.targets[target];
            let Some(io) = job_target.stream.next() else {
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
            // What the sync cadence adds comes with the write before it.
            let intended_ns = if io.added { 0 } else { self.gate.pass(now_ns, io.length) };
            return NextIo::Io(Next { operation, transfer, intended_ns });
        }
    }

    /// Tells whether an I/O of the mix is to come. Flushes that follow the last write wait for nothing.
    #[cold]
    fn is_anything_left(&self) -> bool {
        self.targets.iter().any(|job_target| job_target.stream.left() != Some(0))
    }

    /// Returns how many of its next I/Os one of `threads` threads may claim in advance, at most `most`: none where order or time matters, fewer near
    /// the end, so that all threads share the last ones.
    pub(crate) fn claimable(&self, threads: usize, most: usize) -> usize {
        if !self.unordered {
            return 0;
        }
        let left = self.targets.first().and_then(|job_target| job_target.stream.left());
        let share = |left: u64| (left / (4 * threads as u64)).clamp(1, most as u64) as usize;
        left.map_or(most, share)
    }

    /// Prepares the memory of an I/O before it is pushed: fills the buffer of a write, shows it to the census, and announces the I/O to the worker
    /// verifier.
    #[inline(always)]
    pub(crate) fn prepare(
        &mut self,
        slot: usize,
        transfer: &Transfer,
        buffer: &mut [u8],
        worker_verifier: Option<&mut WorkerVerifier>,
    ) {
        if transfer.is_write() {
            let buffer = &mut buffer[..transfer.length as usize];
            let address = self.fill(slot, transfer, buffer, worker_verifier);
            self.sampler.count_blocks(buffer, address);
            return;
        }
        if matches!(transfer.verb, Verb::Discard | Verb::WriteZeroes) {
            self.empties(transfer);
        }
        if let Some(worker_verifier) = worker_verifier {
            announce(worker_verifier, slot, transfer);
        }
    }

    /// Marks content blocks that are discarded or zeroed, even in part, as holding no content.
    #[inline(never)]
    fn empties(&mut self, transfer: &Transfer) {
        let job_target = &self.targets[usize::from(transfer.target)];
        let at = transfer.offset - job_target.start;
        let end = (at + u64::from(transfer.length)).div_ceil(self.unit);
        self.sampler.note_emptied(job_target.first + at / self.unit..job_target.first + end);
    }

    /// Fills the buffer of a write; returns the number of its first block, counted over the blocks of all targets.
    #[inline(never)]
    fn fill(
        &mut self,
        slot: usize,
        transfer: &Transfer,
        buffer: &mut [u8],
        worker_verifier: Option<&mut WorkerVerifier>,
    ) -> u64 {
        let (target, unit) = (usize::from(transfer.target), self.unit);
        let JobTarget { fill, start, first, .. } = &mut self.targets[target];
        let address = (transfer.offset - *start) / unit;
        self.sampler.prefetch(*first + address);
        let Some(worker_verifier) = worker_verifier else {
            fill.fill(address, buffer, &mut |_, _| {});
            return *first + address;
        };
        let length = u64::from(transfer.length);
        worker_verifier.write(slot, target, transfer.offset, length);
        fill.fill(address, buffer, &mut |number, id| {
            let at = number as u64 * unit;
            worker_verifier.writes(slot, at, unit.min(length - at) as usize, id);
        });
        worker_verifier.begin(slot);
        *first + address
    }

    /// Blocks handed to the kernel since the last call.
    pub(crate) fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.sampler.counts)
    }
}

/// Tells whether the order of its I/Os does not matter: random reads of one target, without a rate, cap or pauses. Writes are ordered, since
/// distances of duplicates count in the order of writing.
fn is_unordered(load: &Load) -> bool {
    let spec = &load.spec;
    let random = |op: OpName| {
        let pattern = spec.pattern_of(op);
        op.kind() == OpKind::Read && (pattern.is_drawn() || pattern == Pattern::Permutation)
    };
    load.targets.len() == 1
        && spec.operations().all(random)
        && spec.rate.is_none()
        && spec.limit.is_none()
        && spec.think_times().is_none()
}

/// Announces an I/O that writes no content to the worker verifier.
#[inline]
pub(crate) fn announce(worker_verifier: &mut WorkerVerifier, slot: usize, transfer: &Transfer) {
    let (target, length) = (transfer.target.into(), transfer.length.into());
    match transfer.verb {
        Verb::Read => worker_verifier.read(slot, target, transfer.offset, length),
        Verb::Discard => worker_verifier.clear(slot, target, transfer.offset, length, false),
        Verb::WriteZeroes => worker_verifier.clear(slot, target, transfer.offset, length, true),
        _ => {}
    }
}

/// Returns the verb that an operation is carried out with; flushes become `flush`.
fn verb(op: OpName, flush: Verb) -> Verb {
    match op.kind() {
        OpKind::Read => Verb::Read,
        OpKind::Write => Verb::Write,
        OpKind::Discard => Verb::Discard,
        OpKind::WriteZeroes => Verb::WriteZeroes,
        OpKind::Flush => flush,
    }
}
