//! One worker's part in verification: it records the worker's writes in the table and checks its reads.
//!
//! The worker calls it before each submission and after each completion. Writes go to the shared [`Table`](super::table::Table); reads are compared
//! with it, first by the [`FastCheck`], and blocks that are not plainly right go to the [`Verifier`] for an explanation.

use std::sync::Arc;

use content::ContentId;
use results::model::VerifyFigures;

use super::expectations::Snapshot;
use super::expected_block::{DISCARDED, ExpectedBlock, Tag, UNCERTAIN, ZERO};
use super::fast_check::{FastCheck, PendingRead};
use super::table::Fit;
use super::verifier::Verifier;

/// The effect of an I/O in flight on its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Doing {
    #[default]
    Nothing,
    Reading,
    Changing,
}

/// One I/O in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    doing: Doing,
    target: usize,
    offset: u64,
    length: u64,
    /// Its first block in the table.
    first: usize,
    /// Number of blocks of the table that it touches.
    blocks: usize,
}

/// The verifier of one worker, with a slot for each of its I/Os in flight.
pub struct WorkerVerifier {
    /// The fast check of whole blocks, for a load that changes nothing.
    fast_check: Option<FastCheck>,
    verifier: Arc<Verifier>,
    slots: Vec<Slot>,
    /// For each slot, snapshots of the blocks taken when their read began.
    seen: Vec<Snapshot>,
    /// For each slot, the table's entries of the blocks that it writes, and the tags of their new contents.
    in_flight: Vec<(ExpectedBlock, Tag)>,
    /// Most blocks that one I/O touches.
    most: usize,
    /// Tells whether reads are checked.
    checks: bool,
    /// Tells whether this load changes nothing: reads then need no snapshots.
    quiet: bool,
    /// Number of the job.
    job: usize,
    /// Number of I/Os begun on each target, without those of `fast_check`.
    made: Vec<u64>,
    /// Figures of the blocks that were checked, without those counted in `fast_check`.
    figures: VerifyFigures,
}

impl WorkerVerifier {
    /// A verifier for `depth` I/Os of up to `length` bytes.
    pub fn new(verifier: Arc<Verifier>, depth: usize, length: usize) -> Self {
        let most = length / verifier.unit() + 2;
        Self {
            slots: vec![Slot::default(); depth],
            seen: vec![Snapshot::default(); depth * most],
            in_flight: vec![(ExpectedBlock(0), 0); depth * most],
            most,
            checks: true,
            quiet: false,
            fast_check: None,
            job: 0,
            made: vec![0; verifier.targets.len()],
            verifier,
            figures: VerifyFigures::default(),
        }
    }

    /// Sets the number of the worker's job.
    #[must_use]
    pub(crate) fn for_job(self, job: usize) -> Self {
        let mut this = self;
        this.job = job;
        this
    }

    /// Makes it record writes without checking reads.
    #[must_use]
    pub(crate) fn record_only(self) -> Self {
        let mut this = self;
        (this.checks, this.fast_check) = (false, None);
        this
    }

    /// Prepares it for a load that changes nothing: the table is read after the I/O and only prefetched before it, since its entries are rarely in a
    /// cache.
    #[must_use]
    pub fn read_only(self) -> Self {
        let mut this = self;
        this.quiet = true;
        let fast_check = || FastCheck::of(&this.verifier, this.slots.len());
        this.fast_check = this.checks.then(fast_check).flatten();
        this
    }

    /// Counts so far.
    pub fn figures(&self) -> VerifyFigures {
        let mut all = self.figures.clone();
        let right = self.fast_check.as_ref().map_or(0, FastCheck::right);
        all.read += right;
        all.checked += right;
        all.correct += right;
        all
    }

    fn occupy(
        &mut self,
        slot: usize,
        doing: Doing,
        target: usize,
        offset: u64,
        length: u64,
    ) -> Slot {
        let (first, blocks) = self.verifier.blocks(target, offset, length);
        let blocks = blocks.min(self.most);
        let slot_is = Slot { doing, target, offset, length, first, blocks };
        self.slots[slot] = slot_is;
        slot_is
    }

    /// Notes that a read is about to be submitted.
    #[inline]
    pub fn read(&mut self, slot: usize, target: usize, offset: u64, length: u64) {
        let began = |fast_check: &mut FastCheck| fast_check.begins(slot, offset, length);
        // The usual case: one whole block.
        if !self.fast_check.as_mut().is_some_and(began) {
            self.read_any(slot, target, offset, length);
        }
    }

    #[inline(never)]
    fn read_any(&mut self, slot: usize, target: usize, offset: u64, length: u64) {
        self.made[target] += 1;
        if !self.checks {
            return;
        }
        let Slot { first, blocks, .. } = self.occupy(slot, Doing::Reading, target, offset, length);
        let table = &self.verifier.targets[target].table;
        if self.quiet {
            return (first..first + blocks).for_each(|block| table.prefetch(block));
        }
        let seen = &mut self.seen[slot * self.most..][..blocks];
        for (block, seen) in (first..).zip(seen) {
            *seen = table.snapshot(block);
        }
    }

    /// Notes that a write is about to be submitted; [`WorkerVerifier::writes`] follows for each of its contents.
    #[inline]
    pub fn write(&mut self, slot: usize, target: usize, offset: u64, length: u64) {
        self.made[target] += 1;
        let blocks = self.occupy(slot, Doing::Changing, target, offset, length).blocks;
        self.in_flight[slot * self.most..][..blocks].fill((ExpectedBlock(0), UNCERTAIN));
    }

    /// Notes that the write holds `length` bytes of content `id`, `at` bytes from its start.
    #[inline]
    pub fn writes(&mut self, slot: usize, at: u64, length: usize, id: ContentId) {
        let Slot { target, offset, first, .. } = self.slots[slot];
        if let Some(block) = self.verifier.exact_block(target, offset + at, length) {
            let tag = self.verifier.targets[target].table.tag(id);
            self.in_flight[slot * self.most + block - first].1 = tag;
        }
    }

    /// Notes that all contents of the write were given and it is about to be submitted: from now on reads may find them.
    #[inline]
    pub fn begin(&mut self, slot: usize) {
        let Slot { target, first, blocks, .. } = self.slots[slot];
        let table = &self.verifier.targets[target].table;
        if table.expectations.as_computed().is_some() {
            return;
        }
        let in_flight = &mut self.in_flight[slot * self.most..][..blocks];
        for (block, (expected, tag)) in (first..).zip(in_flight) {
            *expected = table.begin(block, *tag);
        }
    }

    /// Notes that a range is about to be zeroed without data (`zeroes`), or discarded.
    pub fn clear(&mut self, slot: usize, target: usize, offset: u64, length: u64, zeroes: bool) {
        self.write(slot, target, offset, length);
        let Slot { first, blocks, .. } = self.slots[slot];
        let tag = if zeroes { ZERO } else { DISCARDED };
        for block in first..first + blocks {
            if self.verifier.covers(target, block, offset, length) {
                self.in_flight[slot * self.most + block - first].1 = tag;
            }
        }
        self.begin(slot);
    }

    /// Notes that the I/O of `slot` has ended; `done` tells whether all bytes were moved without error. `buffer` holds the data that were read.
    #[inline]
    pub fn ended(&mut self, slot: usize, done: bool, buffer: &[u8], now_ns: u64) {
        if let Some(fast_check) = &mut self.fast_check
            && let Some(pending) = fast_check.ended(slot)
        {
            if done && !fast_check.is_right(pending, buffer) {
                self.check_pending(slot, pending, buffer, now_ns);
            }
            return;
        }
        self.any_ended(slot, done, buffer, now_ns);
    }

    /// Checks again a block that the fast check did not find right.
    #[cold]
    fn check_pending(&mut self, slot: usize, pending: PendingRead, buffer: &[u8], now_ns: u64) {
        let (first, length) = (pending.block(), self.verifier.unit() as u64);
        let offset = self.verifier.offset(0, first);
        let is = Slot { doing: Doing::Reading, target: 0, offset, length, first, blocks: 1 };
        self.check(slot, is, buffer, now_ns);
    }

    #[inline(never)]
    fn any_ended(&mut self, slot: usize, done: bool, buffer: &[u8], now_ns: u64) {
        let is = self.slots[slot];
        self.slots[slot].doing = Doing::Nothing;
        match is.doing {
            Doing::Nothing => {}
            Doing::Changing => {
                let table = &self.verifier.targets[is.target].table;
                if let Some(computed) = table.expectations.as_computed() {
                    if !done {
                        computed.fail(is.first..is.first + is.blocks);
                    }
                    return;
                }
                let in_flight = &self.in_flight[slot * self.most..][..is.blocks];
                for (block, &(begun, tag)) in (is.first..).zip(in_flight) {
                    table.end(block, begun, tag, done);
                }
            }
            _ if done => self.check(slot, is, buffer, now_ns),
            _ => {}
        }
    }

    #[inline]
    fn check(&mut self, slot: usize, is: Slot, buffer: &[u8], now_ns: u64) {
        let unit = self.verifier.unit();
        let mut whole = 0;
        for n in 0..is.blocks {
            let block = is.first + n;
            if !self.verifier.covers(is.target, block, is.offset, is.length) {
                continue;
            }
            whole += unit as u64;
            let at = (self.verifier.offset(is.target, block) - is.offset) as usize;
            let before = (!self.quiet).then(|| self.seen[slot * self.most + n]);
            if let Some(bytes) = buffer.get(at..at + unit) {
                self.check_block(is.target, block, before, bytes, now_ns);
            }
        }
        self.figures.partial_bytes += is.length - whole;
    }

    #[inline]
    fn check_block(
        &mut self,
        target: usize,
        block: usize,
        before: Option<Snapshot>,
        bytes: &[u8],
        now_ns: u64,
    ) {
        let figures = &mut self.figures;
        figures.read += 1;
        let table = &self.verifier.targets[target].table;
        let computed =
            table.expectations.as_computed().and_then(|computed| computed.held(block).ok());
        let fit = match computed {
            // The expected content is known exactly and compared byte by byte, without tags.
            Some((id, contents)) if contents.holds(id, bytes) => Fit::Right,
            Some(_) => Fit::Wrong,
            None => {
                let seen = || before.unwrap_or_else(|| table.snapshot(block));
                let fits = |tag| match table.holds(block, before, tag) {
                    true => Fit::Right,
                    false => table.fit(block, seen(), tag),
                };
                let found = self.verifier.known_contents.identify_whole(target, bytes);
                found.map_or(Fit::Wrong, |id| fits(table.tag(id)))
            }
        };
        let explained = match fit {
            Fit::Wrong | Fit::Unsure => {
                let before = before.unwrap_or_else(|| table.snapshot(block));
                self.verifier.explain(target, block, before, bytes, now_ns)
            }
            sure => Ok(sure),
        };
        match explained {
            Ok(Fit::Right) => figures.judged(None),
            Ok(Fit::Untouched) => figures.untouched += 1,
            Ok(Fit::Unchecked) => figures.unwritten += 1,
            Ok(Fit::Discarded) => figures.discarded += 1,
            Ok(Fit::Unsure | Fit::Wrong) => figures.unsure += 1,
            Err(kind) => figures.judged(Some(kind)),
        }
    }
}

impl Drop for WorkerVerifier {
    /// Marks the blocks of I/Os that never ended as unknown.
    fn drop(&mut self) {
        for slot in 0..self.slots.len() {
            self.ended(slot, false, &[], 0);
        }
        if let Some(fast_check) = &self.fast_check {
            self.made[0] += fast_check.begun();
        }
        self.verifier.take(&self.figures(), self.job, &self.made);
    }
}
