//! What one job does next.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use units::Seed;

use crate::deck::Deck;
use crate::lane::Lane;
use crate::{BATCH, LoadSpec, OpName, Range, Share, Sync, SyncHow};

/// One I/O to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// What it does; its figures go by this name.
    pub op: OpName,
    /// A write that has to be durable when it ends (FUA).
    pub fua: bool,
    /// A flush that the sync cadence added: it is no part of the mix, and counts in no amount.
    pub added: bool,
    /// Its length, bytes; 0 for a flush.
    pub length: u32,
    /// Which pass over the range this is, counted from 0; always 0 for patterns without passes.
    pub pass: u32,
    /// Where it starts on the target, bytes; 0 for a flush.
    pub offset: u64,
}

/// The I/Os of one job, in order; ends with the passes, I/Os or bytes asked for, never by time. Deterministic from what
/// it is made of (with [`Share::Shared`], all jobs together are); takes no memory while it runs.
#[derive(Debug, Clone)]
pub struct Stream {
    deck: Deck,
    /// Operation and lane of each kind of card.
    kinds: Box<[(OpName, Option<usize>)]>,
    lanes: Vec<Lane>,
    /// I/Os of the mix that were made, added flushes aside.
    at: u64,
    /// The I/O that is the first not to be made.
    end: u64,
    shared: Option<Chunks>,
    cadence: Cadence,
    ios: Box<[Io; BATCH]>,
    read: usize,
    filled: usize,
}

/// The chunks that jobs take of one stream.
#[derive(Debug, Clone)]
struct Chunks {
    cursor: Arc<AtomicU64>,
    /// I/Os in a chunk.
    size: u64,
    /// Where the present chunk ends.
    end: u64,
}

/// Durability at a cadence.
#[derive(Debug, Clone, Copy)]
struct Cadence {
    sync: Option<Sync>,
    /// Changes since the last.
    changed: u32,
    /// A flush that is due.
    due: bool,
}

const NOTHING: Io =
    Io { op: OpName::Flush, fua: false, added: false, length: 0, pass: 0, offset: 0 };

impl Stream {
    /// The I/Os of job number `job` of `jobs` (counted from 0). `range` comes from [`LoadSpec::check_target`]. Jobs of
    /// [`Share::Shared`] have to be made together, by [`Stream::for_jobs`]: one alone does everything.
    pub fn new(spec: &LoadSpec, range: &Range, seed: Seed, job: u32, jobs: u32) -> Self {
        let (number, count) = (u64::from(job), u64::from(jobs.max(1)));
        let together = spec.share == Share::Shared;
        let seeded = if together { 0 } else { job };
        let mut lanes = Vec::new();
        let mut heads: Vec<OpName> = Vec::new();
        let mut lane_of = |op: OpName| {
            let head = spec.head_of(op);
            if let Some(lane) = heads.iter().position(|&other| other == head) {
                return Some(lane);
            }
            let own = if spec.each.of(op).is_some() { op.name() } else { "" };
            let name = format!("{own} {}", spec.pattern_of(op));
            lanes.push(Lane::new(spec, op, range, seed, &name, (number, count))?);
            heads.push(head);
            Some(heads.len() - 1)
        };
        let kinds = spec.ops.names().map(|op| (op, op.has_place().then(|| lane_of(op)).flatten()));
        let kinds: Box<[_]> = kinds.collect();
        let shares = spec.ops.shares().map(|(_, share)| share.0).collect::<Vec<_>>();
        let deck = Deck::of_shares(shares.iter().copied(), seed.derive(&format!("deck {seeded}")));
        let size = deck.len() * (BATCH as u64).div_ceil(deck.len());
        let mut stream = Self {
            deck,
            kinds,
            lanes,
            at: 0,
            end: u64::MAX,
            shared: together.then(|| Chunks { cursor: Arc::default(), size, end: 0 }),
            cadence: Cadence { sync: spec.sync, changed: 0, due: false },
            ios: Box::new([NOTHING; BATCH]),
            read: 0,
            filled: 0,
        };
        stream.end = stream.end_of(spec, if together { (0, 1) } else { (number, count) });
        stream
    }

    /// The I/Os of all jobs of a load. Jobs that work on one stream take chunks of it from one counter.
    pub fn for_jobs(spec: &LoadSpec, range: &Range, seed: Seed) -> Vec<Self> {
        let cursor = Arc::new(AtomicU64::new(0));
        let job = |job| {
            let mut stream = Self::new(spec, range, seed, job, spec.jobs);
            if let Some(shared) = &mut stream.shared {
                shared.cursor = Arc::clone(&cursor);
            }
            stream
        };
        (0..spec.jobs.max(1)).map(job).collect()
    }

    /// I/Os of the mix that are left, added flushes aside; `None` when only time ends it. Of a stream that jobs share,
    /// what is left for all of them.
    pub fn left(&self) -> Option<u64> {
        let unread = &self.ios[self.read..self.filled];
        let unread = unread.iter().filter(|io| !io.added).count() as u64;
        let begun = match &self.shared {
            Some(shared) => {
                let taken = shared.cursor.load(Ordering::Relaxed).saturating_mul(shared.size);
                taken.min(self.end) - (shared.end - self.at.min(shared.end))
            }
            None => self.at,
        };
        (self.end != u64::MAX).then(|| self.end - begun + unread)
    }

    /// Goes to I/O number `n` of the mix, in no time. Without effect on jobs that share a stream.
    pub fn seek(&mut self, n: u64) {
        if self.shared.is_none() {
            self.go(n.min(self.end));
            (self.read, self.filled) = (0, 0);
        }
    }

    /// Puts the next I/Os into `out`; gives how many there were, fewer than asked for only at the end.
    pub fn fill(&mut self, out: &mut [Io]) -> usize {
        let mut done = 0;
        while done < out.len() {
            if self.read == self.filled {
                self.refill();
            }
            let count = (self.filled - self.read).min(out.len() - done);
            if count == 0 {
                break;
            }
            out[done..done + count].copy_from_slice(&self.ios[self.read..self.read + count]);
            self.read += count;
            done += count;
        }
        done
    }

    /// Which I/O of this job, of those that its pattern makes in pass number `pass`, covers the byte at `offset` of the
    /// target: known for one pattern with passes and one block size, `None` where another job or no I/O goes there.
    pub fn index_in_pass(&self, pass: u32, offset: u64) -> Option<u64> {
        match &self.lanes[..] {
            [lane] => lane.index_of(pass, offset),
            _ => None,
        }
    }

    /// I/Os of this job in a pass; `None` without passes, and where several patterns or sizes leave it open.
    pub fn pass_ios(&self) -> Option<u64> {
        match &self.lanes[..] {
            [lane] => lane.share(),
            _ => None,
        }
    }

    /// I/Os of one lane among the first `n`.
    fn share_of(&self, lane: usize, n: u64) -> u64 {
        self.deck.sum(n, |card| u64::from(self.kinds[usize::from(card)].1 == Some(lane)))
    }

    /// Bytes of the first `n` I/Os.
    fn bytes(&self, n: u64) -> u64 {
        let lanes = self.lanes.iter().enumerate();
        lanes.map(|(i, lane)| lane.bytes(self.share_of(i, n))).fold(0, u64::saturating_add)
    }

    /// Bytes of all its I/Os; `None` when only time ends it.
    pub fn total_bytes(&self) -> Option<u64> {
        (self.end != u64::MAX).then(|| self.bytes(self.end))
    }

    /// I/Os of the mix in all; `None` when only time ends it.
    pub fn total_ios(&self) -> Option<u64> {
        (self.end != u64::MAX).then_some(self.end)
    }

    fn end_of(&self, spec: &LoadSpec, (job, jobs): (u64, u64)) -> u64 {
        let portion = |all: u64| all / jobs + u64::from(job < all % jobs);
        let by_ios = spec.ios.map(portion);
        let by_bytes = spec.bytes.map(|bytes| {
            let unit = spec
                .placed()
                .map(|op| spec.block_size_of(op).smallest().0)
                .min()
                .unwrap_or(1)
                .max(1);
            let wanted = portion(bytes.0.div_ceil(unit)) * unit;
            first(|n| self.bytes(n) >= wanted)
        });
        let by_passes = spec.passes.map(|passes| {
            let passed = |n| {
                let mut lanes = self.lanes.iter().enumerate();
                lanes.all(|(i, lane)| lane.has_passed(self.share_of(i, n), passes.into()))
            };
            first(passed)
        });
        [by_ios, by_bytes, by_passes].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    fn go(&mut self, n: u64) {
        if n == self.at {
            return;
        }
        for i in 0..self.lanes.len() {
            let count = self.share_of(i, n);
            self.lanes[i].seek(count);
        }
        if let Some(Sync { every, .. }) = self.cadence.sync {
            let changes =
                self.deck.sum(n, |card| u64::from(self.kinds[usize::from(card)].0.changes()));
            self.cadence.changed = (changes % u64::from(every.max(1))) as u32;
            self.cadence.due = false;
        }
        self.deck.seek(n);
        self.at = n;
    }

    /// How many I/Os may be made now.
    fn room(&mut self) -> u64 {
        if let Some(shared) = &mut self.shared {
            if self.at == shared.end {
                let begin =
                    shared.cursor.fetch_add(1, Ordering::Relaxed).saturating_mul(shared.size);
                let begin = begin.min(self.end);
                shared.end = begin.saturating_add(shared.size).min(self.end);
                self.go(begin);
            }
            return self.shared.as_ref().map_or(0, |shared| shared.end - self.at);
        }
        self.end - self.at
    }

    #[inline(never)]
    fn refill(&mut self) {
        (self.read, self.filled) = (0, 0);
        let room = self.room().min(BATCH as u64) as usize;
        if let (None, [(op, Some(_))]) = (self.cadence.sync, &self.kinds[..]) {
            let (op, lane) = (*op, &mut self.lanes[0]);
            for io in &mut self.ios[..room] {
                let spot = lane.next();
                *io = Io {
                    op,
                    fua: false,
                    added: false,
                    length: spot.length,
                    pass: spot.pass,
                    offset: spot.offset,
                };
            }
            (self.filled, self.at) = (room, self.at + room as u64);
            return;
        }
        let mut room = room;
        while self.filled < BATCH {
            let io = if std::mem::take(&mut self.cadence.due) {
                Io { added: true, ..NOTHING }
            } else if room > 0 {
                room -= 1;
                self.at += 1;
                self.deal()
            } else {
                break;
            };
            self.ios[self.filled] = io;
            self.filled += 1;
        }
    }

    /// The next I/O of the mix.
    #[inline]
    fn deal(&mut self) -> Io {
        let (op, lane) = self.kinds[usize::from(self.deck.draw())];
        let Some(lane) = lane else { return Io { op, ..NOTHING } };
        let spot = self.lanes[lane].next();
        let fua = self.cadence.fua_after(op);
        Io { op, fua, added: false, length: spot.length, pass: spot.pass, offset: spot.offset }
    }
}

impl Cadence {
    /// Counts a change; gives whether this write itself has to be durable.
    #[inline]
    fn fua_after(&mut self, op: OpName) -> bool {
        let Some(sync) = self.sync.filter(|_| op.changes()) else { return false };
        self.changed += 1;
        if self.changed < sync.every {
            return false;
        }
        self.changed = 0;
        self.due = sync.adds_flushes();
        sync.how == SyncHow::Fua && op.is_write()
    }
}

/// The first number for which `is` holds, which holds for all after it.
fn first(is: impl Fn(u64) -> bool) -> u64 {
    let mut above = 1;
    while !is(above) && above < u64::MAX / 2 {
        above *= 2;
    }
    let (mut below, mut above) = (0, above);
    while below < above {
        let middle = below + (above - below) / 2;
        if is(middle) { above = middle } else { below = middle + 1 }
    }
    below
}

impl Iterator for Stream {
    type Item = Io;

    #[inline]
    fn next(&mut self) -> Option<Io> {
        if self.read == self.filled {
            self.refill();
            if self.filled == 0 {
                return None;
            }
        }
        let io = self.ios[self.read & (BATCH - 1)];
        self.read += 1;
        Some(io)
    }
}
