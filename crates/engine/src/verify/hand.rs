//! One job's part in verification: what its I/Os write and read.

use std::sync::Arc;

use content::ContentId;
use results::model::VerifyFigures;

use super::cells::Seen;
use super::quick::{Awaited, Quick};
use super::table::Fit;
use super::verifier::Verifier;
use super::word::{DISCARDED, Tag, UNCERTAIN, Word, ZERO};

/// What an I/O in flight does to its blocks.
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
    /// Its first block, by the table.
    first: usize,
    /// Blocks it touches that the table knows.
    blocks: usize,
}

/// What one job tells the verifier. It has a slot for each of its I/Os in flight.
pub struct Hand {
    /// How it looks at a block, where nobody changes anything.
    quick: Option<Quick>,
    verifier: Arc<Verifier>,
    slots: Vec<Slot>,
    /// For each slot: what its blocks were when it began to read them.
    seen: Vec<Seen>,
    /// For each slot: what its writes made of its blocks, and what they write.
    words: Vec<(Word, Tag)>,
    /// Blocks that one slot may touch.
    most: usize,
    /// Whether reads are checked.
    checks: bool,
    /// Nobody changes anything while reads of this load are in flight.
    quiet: bool,
    /// Number of the job.
    job: usize,
    /// I/Os that were begun on each target, but for those of `quick`.
    made: Vec<u64>,
    /// What was found, but for what is in `quick`.
    figures: VerifyFigures,
}

impl Hand {
    /// For `depth` I/Os of up to `length` bytes.
    pub fn new(verifier: Arc<Verifier>, depth: usize, length: usize) -> Self {
        let most = length / verifier.unit() + 2;
        Self {
            slots: vec![Slot::default(); depth],
            seen: vec![Seen::default(); depth * most],
            words: vec![(Word(0), 0); depth * most],
            most,
            checks: true,
            quiet: false,
            quick: None,
            job: 0,
            made: vec![0; verifier.targets.len()],
            verifier,
            figures: VerifyFigures::default(),
        }
    }

    /// The same, of job number `job`.
    #[must_use]
    pub(crate) fn of_job(self, job: usize) -> Self {
        let mut hand = self;
        hand.job = job;
        hand
    }

    /// The same, which keeps book of what is written and checks no read.
    #[must_use]
    pub(crate) fn that_checks(self, checks: bool) -> Self {
        let mut hand = self;
        hand.checks = checks;
        hand.quick = hand.quick.take().filter(|_| checks);
        hand
    }

    /// The same, for a load that changes nothing (`quiet`): what a block must hold is then looked up when it was read. Until
    /// then nothing waits for the table, whose cells are seldom in a cache.
    #[must_use]
    pub fn that_only_reads(self, quiet: bool) -> Self {
        let mut hand = self;
        hand.quiet = quiet;
        let quick = || Quick::of(&hand.verifier, hand.slots.len());
        hand.quick = (quiet && hand.checks).then(quick).flatten();
        hand
    }

    /// What was found so far, in numbers.
    pub fn figures(&self) -> VerifyFigures {
        let mut all = self.figures.clone();
        let right = self.quick.as_ref().map_or(0, Quick::right);
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

    /// A read is about to be submitted.
    #[inline]
    pub fn read(&mut self, slot: usize, target: usize, offset: u64, length: u64) {
        let began = |quick: &mut Quick| quick.begins(slot, offset, length);
        // The usual case: one block.
        if !self.quick.as_mut().is_some_and(began) {
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
            return (first..first + blocks).for_each(|block| table.expect(block));
        }
        let seen = &mut self.seen[slot * self.most..][..blocks];
        for (block, seen) in (first..).zip(seen) {
            *seen = table.look(block);
        }
    }

    /// A write is about to be submitted; [`Hand::writes`] follows for each of its contents.
    #[inline]
    pub fn write(&mut self, slot: usize, target: usize, offset: u64, length: u64) {
        self.made[target] += 1;
        let blocks = self.occupy(slot, Doing::Changing, target, offset, length).blocks;
        self.words[slot * self.most..][..blocks].fill((Word(0), UNCERTAIN));
    }

    /// `id` stands `at` bytes from the start of the write, `length` bytes of it.
    #[inline]
    pub fn writes(&mut self, slot: usize, at: u64, length: usize, id: ContentId) {
        let Slot { target, offset, first, .. } = self.slots[slot];
        if let Some(block) = self.verifier.whole(target, offset + at, length) {
            let tag = self.verifier.targets[target].table.tag(id);
            self.words[slot * self.most + block - first].1 = tag;
        }
    }

    /// All contents of the write have been told: from now on reads may see it. Before it is submitted.
    #[inline]
    pub fn begin(&mut self, slot: usize) {
        let Slot { target, first, blocks, .. } = self.slots[slot];
        let table = &self.verifier.targets[target].table;
        if table.cells.as_known().is_some() {
            return;
        }
        let words = &mut self.words[slot * self.most..][..blocks];
        for (block, (word, tag)) in (first..).zip(words) {
            *word = table.begin(block, *tag);
        }
    }

    /// Zeros are about to be written without data (`zeroes`), or a range is about to be discarded.
    pub fn clear(&mut self, slot: usize, target: usize, offset: u64, length: u64, zeroes: bool) {
        self.write(slot, target, offset, length);
        let Slot { first, blocks, .. } = self.slots[slot];
        let tag = if zeroes { ZERO } else { DISCARDED };
        for block in first..first + blocks {
            if self.verifier.covers(target, block, offset, length) {
                self.words[slot * self.most + block - first].1 = tag;
            }
        }
        self.begin(slot);
    }

    /// The I/O of `slot` has ended; `done` when all of it was moved without error. `buffer` holds what was read.
    #[inline]
    pub fn ended(&mut self, slot: usize, done: bool, buffer: &[u8], now_ns: u64) {
        if let Some(quick) = &mut self.quick
            && let Some(awaited) = quick.ended(slot)
        {
            if done && !quick.is_right(awaited, buffer) {
                self.check_awaited(slot, awaited, buffer, now_ns);
            }
            return;
        }
        self.any_ended(slot, done, buffer, now_ns);
    }

    /// A block that is not plainly right, the long way.
    #[cold]
    fn check_awaited(&mut self, slot: usize, awaited: Awaited, buffer: &[u8], now_ns: u64) {
        let (first, length) = (awaited.block(), self.verifier.unit() as u64);
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
                if let Some(known) = table.cells.as_known() {
                    if !done {
                        known.fail(is.first..is.first + is.blocks);
                    }
                    return;
                }
                let words = &self.words[slot * self.most..][..is.blocks];
                for (block, &(begun, tag)) in (is.first..).zip(words) {
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
        before: Option<Seen>,
        bytes: &[u8],
        now_ns: u64,
    ) {
        let figures = &mut self.figures;
        figures.checked += 1;
        let table = &self.verifier.targets[target].table;
        let known = table.cells.as_known().and_then(|known| known.held(block).ok());
        let right = match known {
            // The one content that it must hold: no tag can be mistaken for it.
            Some((id, contents)) => contents.holds(id, bytes),
            None => {
                let found = self.verifier.makers.whole(target, bytes).map(|id| table.tag(id));
                let seen = || before.unwrap_or_else(|| table.look(block));
                let fits =
                    |tag| table.holds(block, tag) || table.fit(block, seen(), tag) == Fit::Right;
                found.is_some_and(fits)
            }
        };
        if right {
            figures.correct += 1;
            return;
        }
        let before = before.unwrap_or_else(|| table.look(block));
        match self.verifier.explain(target, block, before, bytes, now_ns) {
            Ok(Fit::Unchecked) => figures.unwritten += 1,
            Ok(Fit::Right) => figures.correct += 1,
            Ok(Fit::Unsure | Fit::Wrong) => figures.unsure += 1,
            Err(kind) => figures.add(kind),
        }
    }
}

impl Drop for Hand {
    /// I/Os that never ended leave their blocks in doubt.
    fn drop(&mut self) {
        for slot in 0..self.slots.len() {
            self.ended(slot, false, &[], 0);
        }
        if let Some(quick) = &self.quick {
            self.made[0] += quick.begun();
        }
        self.verifier.take(&self.figures(), self.job, &self.made);
    }
}
