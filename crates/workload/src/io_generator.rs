//! Generates the I/Os of one job: draws operations by their shares, asks the offset stream of each for offset and size, adds flushes, and finds the
//! end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use units::Seed;

use crate::deck::Deck;
use crate::offset_stream::OffsetStream;
use crate::{BATCH, Io, LoadSpec, OpName, Range, Share, SyncMethod, SyncPolicy};

/// Generates the I/Os of a stream, a batch at a time.
#[derive(Debug, Clone)]
pub(crate) struct IoGenerator {
    deck: Deck,
    /// Operation and index of the offset stream of each kind of card.
    kinds: Box<[(OpName, Option<usize>)]>,
    offsets: Vec<OffsetStream>,
    /// Number of I/Os of the mix that were generated, without added flushes.
    at: u64,
    /// Number of I/Os after which generation ends.
    end: u64,
    shared: Option<Chunks>,
    cadence: Cadence,
}

/// The chunks of a shared stream, which the jobs take in turn.
#[derive(Debug, Clone)]
struct Chunks {
    cursor: Arc<AtomicU64>,
    /// I/Os in a chunk.
    size: u64,
    /// The end of the current chunk: the number of the first I/O behind it.
    end: u64,
}

/// Durability after every n-th change.
#[derive(Debug, Clone, Copy)]
struct Cadence {
    sync: Option<SyncPolicy>,
    /// Number of changes since they were last made durable.
    changed: u32,
    /// Tells whether a flush is due.
    due: bool,
}

impl IoGenerator {
    pub(crate) fn new(spec: &LoadSpec, range: &Range, seed: Seed, job: u32, jobs: u32) -> Self {
        let (number, count) = (u64::from(job), u64::from(jobs.max(1)));
        let together = spec.share == Share::Shared;
        let mut offsets = Vec::new();
        let mut heads: Vec<OpName> = Vec::new();
        let mut offsets_of = |op: OpName| {
            let head = spec.head_of(op);
            if let Some(stream) = heads.iter().position(|&other| other == head) {
                return Some(stream);
            }
            let prefix = if spec.each.of(op).is_some() { op.name() } else { "" };
            let name = format!("{prefix} {}", spec.pattern_of(op));
            offsets.push(OffsetStream::new(spec, op, range, seed, &name, (number, count))?);
            heads.push(head);
            Some(heads.len() - 1)
        };
        let kinds =
            spec.ops.names().map(|op| (op, op.has_place().then(|| offsets_of(op)).flatten()));
        let kinds: Box<[_]> = kinds.collect();
        let shares = spec.ops.shares().map(|(_, share)| share.0).collect::<Vec<_>>();
        let deck_seed = seed.derive(&format!("deck {}", if together { 0 } else { job }));
        let deck = Deck::of_shares(shares.iter().copied(), deck_seed);
        // A chunk consists of whole decks, so that it can be found without dealing the cards before it.
        let size = deck.len() * (BATCH as u64).div_ceil(deck.len());
        let mut generator = Self {
            deck,
            kinds,
            offsets,
            at: 0,
            end: u64::MAX,
            shared: together.then(|| Chunks { cursor: Arc::default(), size, end: 0 }),
            cadence: Cadence { sync: spec.sync, changed: 0, due: false },
        };
        generator.end = generator.end_of(spec, if together { (0, 1) } else { (number, count) });
        generator
    }

    /// Takes chunks from a counter that it shares with other jobs.
    pub(crate) fn share(&mut self, cursor: &Arc<AtomicU64>) {
        if let Some(shared) = &mut self.shared {
            shared.cursor = Arc::clone(cursor);
        }
    }

    /// The offset stream, if there is only one.
    #[inline]
    pub(crate) fn only_offsets(&self) -> Option<&OffsetStream> {
        match &self.offsets[..] {
            [stream] => Some(stream),
            _ => None,
        }
    }

    pub(crate) fn total_ios(&self) -> Option<u64> {
        (self.end != u64::MAX).then_some(self.end)
    }

    /// Number of I/Os that were not generated yet; for a shared stream, by any job.
    pub(crate) fn left(&self) -> Option<u64> {
        let begun = match &self.shared {
            Some(shared) => {
                let taken = shared.cursor.load(Ordering::Relaxed).saturating_mul(shared.size);
                taken.min(self.end) - (shared.end - self.at.min(shared.end))
            }
            None => self.at,
        };
        self.total_ios().map(|end| end - begun)
    }

    /// Number of I/Os of one offset stream among the first `n`.
    fn share_of(&self, stream: usize, n: u64) -> u64 {
        self.deck.sum(n, |card| u64::from(self.kinds[usize::from(card)].1 == Some(stream)))
    }

    /// Bytes of the first `n` I/Os.
    pub(crate) fn bytes(&self, n: u64) -> u64 {
        let offsets = self.offsets.iter().enumerate();
        offsets.map(|(i, stream)| stream.bytes(self.share_of(i, n))).fold(0, u64::saturating_add)
    }

    fn end_of(&self, spec: &LoadSpec, (job, jobs): (u64, u64)) -> u64 {
        let portion = |all: u64| all / jobs + u64::from(job < all % jobs);
        let by_ios = spec.ios.map(portion);
        let by_bytes = spec.bytes.map(|bytes| {
            let sizes = spec.placed().map(|op| spec.block_size_of(op).smallest().0);
            let unit = sizes.min().unwrap_or(1).max(1);
            let wanted = portion(bytes.0.div_ceil(unit)) * unit;
            if self.offsets.iter().all(OffsetStream::sums) {
                return first(|n| self.bytes(n) >= wanted);
            }
            self.walk(wanted)
        });
        let by_passes = spec.passes.map(|passes| {
            first(|n| {
                let mut offsets = self.offsets.iter().enumerate();
                offsets.all(|(i, stream)| stream.has_passed(self.share_of(i, n), passes.into()))
            })
        });
        [by_ios, by_bytes, by_passes].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// Number of I/Os after which `wanted` bytes are reached, found by generating them.
    fn walk(&self, wanted: u64) -> u64 {
        let mut generator = Self { shared: None, ..self.clone() };
        generator.cadence.sync = None;
        let (mut out, mut bytes) = ([Io::FLUSH; BATCH], 0);
        loop {
            let made = generator.make(&mut out);
            for (i, io) in out[..made].iter().enumerate() {
                bytes += u64::from(io.length);
                if bytes >= wanted {
                    return generator.at - made as u64 + i as u64 + 1;
                }
            }
            if made == 0 || (bytes == 0 && generator.offsets.is_empty()) {
                return u64::MAX;
            }
        }
    }

    /// Moves to I/O number `n`; returns false if other jobs share the stream.
    pub(crate) fn seek(&mut self, n: u64) -> bool {
        if self.shared.is_some() {
            return false;
        }
        self.go(n.min(self.end));
        true
    }

    fn go(&mut self, n: u64) {
        for i in 0..self.offsets.len() {
            let count = self.share_of(i, n);
            self.offsets[i].seek(count);
        }
        if let Some(SyncPolicy { every, .. }) = self.cadence.sync {
            let changes = |card| u64::from(self.kinds[usize::from(card)].0.changes());
            self.cadence.changed = (self.deck.sum(n, changes) % u64::from(every.max(1))) as u32;
            self.cadence.due = false;
        }
        self.deck.seek(n);
        self.at = n;
    }

    /// Returns how many I/Os may be generated now.
    fn room(&mut self) -> u64 {
        let Some(shared) = &mut self.shared else { return self.end - self.at };
        if self.at == shared.end {
            let chunk = shared.cursor.fetch_add(1, Ordering::Relaxed);
            let begin = chunk.saturating_mul(shared.size).min(self.end);
            shared.end = begin.saturating_add(shared.size).min(self.end);
            if begin != self.at {
                self.go(begin);
            }
        }
        self.shared.as_ref().map_or(0, |shared| shared.end - self.at)
    }

    /// Puts the next I/Os into `out`; returns their number, 0 at the end.
    pub(crate) fn make(&mut self, out: &mut [Io; BATCH]) -> usize {
        let due = std::mem::take(&mut self.cadence.due);
        let mut filled = 0;
        if due {
            out[0] = Io { added: true, ..Io::FLUSH };
            filled = 1;
        }
        let room = self.room().min((BATCH - filled) as u64) as usize;
        if let (None, [(op, Some(_))]) = (self.cadence.sync, &self.kinds[..]) {
            self.offsets[0].fill(*op, &mut out[..room]);
            self.at += room as u64;
            return room;
        }
        for _ in 0..room {
            if filled == BATCH {
                break;
            }
            self.at += 1;
            out[filled] = self.deal();
            filled += 1;
            if self.cadence.due && filled < BATCH {
                self.cadence.due = false;
                out[filled] = Io { added: true, ..Io::FLUSH };
                filled += 1;
            }
        }
        filled
    }

    /// The next I/O of the mix.
    #[inline]
    fn deal(&mut self) -> Io {
        let (op, stream) = self.kinds[usize::from(self.deck.draw())];
        let Some(stream) = stream else { return Io { op, ..Io::FLUSH } };
        let io = self.offsets[stream].next().io(op);
        Io { fua: self.cadence.fua_after(op), ..io }
    }
}

impl Cadence {
    /// Counts a change; tells whether this write itself has to be durable.
    #[inline]
    fn fua_after(&mut self, op: OpName) -> bool {
        let Some(sync) = self.sync.filter(|_| op.changes()) else { return false };
        self.changed += 1;
        if self.changed < sync.every {
            return false;
        }
        self.changed = 0;
        self.due = sync.adds_flushes();
        sync.how == SyncMethod::Fua && op.is_write()
    }
}

/// The smallest number for which `is` holds; it must hold for all larger numbers.
fn first(is: impl Fn(u64) -> bool) -> u64 {
    let mut above = 1;
    while !is(above) && above < u64::MAX / 2 {
        above *= 2;
    }
    let mut below = 0;
    while below < above {
        let middle = below + (above - below) / 2;
        if is(middle) {
            above = middle;
        } else {
            below = middle + 1;
        }
    }
    below
}
