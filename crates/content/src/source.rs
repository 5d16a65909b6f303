//! Sources: the content of one job's writes, id after id.

use std::sync::atomic::Ordering;

use units::Seed;

use crate::contents::Order;
use crate::live::{Live, LiveBlock};
use crate::look_ahead::LookAhead;
use crate::next_block::ROW;
use crate::rounds::Cursor;
use crate::{BlockLayout, ContentId, ContentKind, ContentSpec, Contents, Mismatch, Part, Path};

/// Positions that a job takes at a time where all jobs take theirs from one counter: those that it looks ahead at.
const CHUNK: u64 = ROW as u64;

impl Contents {
    /// Returns what job number `job`, counted from 0, writes.
    pub fn source(&self, job: u32) -> Source {
        Source::of(self.clone(), job)
    }
}

/// The content of one job's writes: content ids in order, and the bytes that they stand for. It is deterministic: it follows from
/// what it is made of alone.
///
/// With [`crate::Domain::Job`], each job refers to its own blocks only. So the share of duplicates is right (within one
/// block a job) whatever the jobs' speeds are, and jobs that stop at different moments leave no duplicate without its
/// original. In the other domains jobs take chunks of one order; at the end a job may leave a part of a chunk unwritten.
#[derive(Debug, Clone)]
pub struct Source {
    contents: Contents,
    job: u32,
    series: u16,
    position: u64,
    /// End of the positions that are this job's.
    end: u64,
    place: Cursor,
    /// The next blocks of the written scope.
    ahead: LookAhead,
}

impl Source {
    /// The content of job number `job` of `jobs` (counted from 0) under `seed`, on a target of unknown size. For a spec
    /// that was validated: impossible values are cut to the nearest possible ones. Where jobs share an order, use [`Contents::source`].
    pub fn new(spec: &ContentSpec, seed: Seed, job: u32, jobs: u32) -> Self {
        Self::with_path(spec, seed, job, jobs, Path::best())
    }

    /// A source whose contents are made by the given code path.
    pub fn with_path(spec: &ContentSpec, seed: Seed, job: u32, jobs: u32, path: Path) -> Self {
        let part = Part { generator: 0, jobs, blocks: 0 };
        Contents::build(spec, seed, part, path).source(job)
    }

    pub(crate) fn of(contents: Contents, job: u32) -> Self {
        let shared = contents.0.shared;
        Self {
            job,
            series: if shared { 0 } else { job as u16 },
            position: 0,
            end: if shared { 0 } else { u64::MAX },
            place: Cursor::default(),
            ahead: LookAhead::none(),
            contents,
        }
    }

    /// The contents that it writes.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Number of blocks that this job has got so far, if each job has a separate order: the state that a restart needs. If jobs share an order, see
    /// [`Contents::position`].
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Goes on from `position`; the rest of a chunk is given up.
    pub fn seek(&mut self, position: u64) {
        if self.contents.0.shared {
            self.contents.seek(position);
            self.end = self.position;
            self.ahead = LookAhead::none();
        } else {
            self.position = position;
        }
    }

    /// The content of the next block, which goes to block number `address` of the target. The address decides in the live
    /// scope, and does not matter in the written one.
    #[inline]
    pub fn next_id(&mut self, address: u64) -> ContentId {
        let place = self.next(address);
        self.ahead.at(place).0
    }

    /// Index in the look-ahead row of the next block's content.
    #[inline]
    fn next(&mut self, address: u64) -> usize {
        // No row reaches beyond a chunk.
        let place = self.ahead.place_of(self.position).unwrap_or_else(|| self.look_ahead(address));
        self.position += 1;
        place
    }

    /// Refills the look-ahead from the next position on; in the live scope, where the next address is not known, with one block. Returns
    /// the index of the next block.
    #[inline(never)]
    fn look_ahead(&mut self, address: u64) -> usize {
        if self.position == self.end {
            self.position = self.contents.0.counter.fetch_add(CHUNK, Ordering::Relaxed);
            self.end = self.position + CHUNK;
        }
        let position = self.position;
        let (contents, place) = (&self.contents, &mut self.place);
        let first_ids = contents.first_ids(self.series);
        match &contents.0.order {
            Order::Written(written) => self.ahead.refill(position, contents, |ids| {
                written.row(position, first_ids, ids, place);
            }),
            Order::Live(live) => {
                let id = self.live(live, position, address);
                self.ahead.only(id, contents);
            }
        }
        0
    }

    /// The content that `position` in this job's order of writing has at block number `address`.
    #[inline]
    pub fn id_at(&mut self, position: u64, address: u64) -> ContentId {
        self.at(position, address)
    }

    /// The content id at a position, without a cursor: for random access and several threads.
    #[inline]
    pub fn id_of(&self, position: u64, address: u64) -> ContentId {
        match &self.contents.0.order {
            Order::Written(written) => {
                let next = written.at_anywhere(position, &self.contents.0.nowhere);
                self.contents.first_ids(self.series).id_of(next)
            }
            Order::Live(live) => self.live(live, position, address),
        }
    }

    /// The content at position 0 where ids are consecutive: every block new, none zero or duplicate.
    pub fn row(&self) -> Option<ContentId> {
        match &self.contents.0.order {
            Order::Written(written) if written.all_new() => {
                Some(self.contents.first_ids(self.series).new)
            }
            _ => None,
        }
    }

    #[inline]
    fn at(&mut self, position: u64, address: u64) -> ContentId {
        match &self.contents.0.order {
            Order::Written(written) => {
                let next = written.at(position, &mut self.place);
                self.contents.first_ids(self.series).id_of(next)
            }
            Order::Live(live) => self.live(live, position, address),
        }
    }

    #[inline]
    fn live(&self, live: &Live, position: u64, address: u64) -> ContentId {
        // A number that no other write of any job has.
        let write = position * u64::from(self.contents.0.jobs) + u64::from(self.job);
        match live.at(address, write) {
            LiveBlock::Zero => ContentId::ZERO,
            LiveBlock::New(size) => self.contents.id_of(ContentKind::New, size, write),
            LiveBlock::Pool(content) => self.contents.id_of(ContentKind::Pool, 0, content),
        }
    }

    /// Fills `block`, a whole block or the head of one, with the bytes of `id`.
    #[inline]
    pub fn fill(&self, id: ContentId, block: &mut [u8]) {
        self.contents.fill(id, block);
    }

    /// Tells whether `block` holds the bytes of `id`, found out without a second buffer.
    ///
    /// # Errors
    /// The first byte that differs.
    #[inline]
    pub fn matches(&self, id: ContentId, block: &[u8]) -> Result<(), Mismatch> {
        self.contents.matches(id, block)
    }

    /// Fills a buffer that goes to the target from block number `address` on with the next contents, and passes the number of each block
    /// in the buffer and its id to `on_block`; a part of a block at the end gets the head of one more content.
    #[inline]
    pub fn fill_at(
        &mut self,
        address: u64,
        buffer: &mut [u8],
        mut on_block: impl FnMut(usize, ContentId),
    ) {
        let unit = self.contents.0.unit;
        for (n, block) in buffer.chunks_mut(unit).enumerate() {
            let place = self.next(address + n as u64);
            let (id, root) = self.ahead.at(place);
            self.contents.grow(id, root, block);
            on_block(n, id);
        }
    }

    /// Fills a buffer with the next contents, as if blocks were written to the target in order.
    pub fn fill_next(&mut self, buffer: &mut [u8]) {
        self.fill_at(self.position, buffer, |_, _| {});
    }

    /// Returns how the bytes are made.
    pub fn path(&self) -> Path {
        self.contents.path()
    }

    /// Returns where in a block of `id` random bytes stand.
    pub fn layout(&self, id: ContentId) -> BlockLayout {
        self.contents.layout(id)
    }
}
