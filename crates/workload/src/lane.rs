//! A lane: what goes over the range in one order. Operations with the same pattern and block size share one.

use units::Seed;

use crate::order::Order;
use crate::sizes::Sizes;
use crate::{BATCH, Io, LoadSpec, OpName, Pattern, Range, Share, divided, walk};

/// Where the places of a lane are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Where the first place is on the target, bytes.
    start: u64,
    /// From one place to the next, bytes.
    cell: u64,
    /// How many there are.
    places: u64,
    /// Starts are multiples of this, bytes, counted from `start`.
    align: u64,
    /// Bytes of the range of the lane.
    bytes: u64,
    /// Sizes differ and follow each other without gaps: places are units of `align`.
    run: bool,
}

impl Layout {
    /// The places of `op` for job `job` of `jobs` on `range`; `None` when not one I/O fits.
    pub(crate) fn of(spec: &LoadSpec, op: OpName, range: &Range, job: (u64, u64)) -> Option<Self> {
        let size = spec.block_size_of(op);
        let (smallest, largest) = (size.smallest().0.max(1), size.largest().0.max(1));
        let align = spec.align_of(op).max(1);
        let pattern = spec.pattern_of(op);
        let run = pattern == Pattern::Sequential && size.fixed().is_none();
        let ordered = pattern.has_passes() && pattern != Pattern::Permutation;
        let grid = largest.div_ceil(align) * align;
        let part = range.part(spec.share, job, grid);
        let room = |size: u64| part.bytes.checked_sub(size);
        room(largest)?;
        let (cell, places) = match (run, ordered) {
            (true, _) => (align, part.bytes / align),
            (_, true) => (grid, room(largest)? / grid + 1),
            _ => (align, room(smallest)? / align + 1),
        };
        Some(Self { start: part.start, cell, places, align, bytes: part.bytes, run })
    }

    /// How many places there are; all jobs together, unless jobs have parts of their own.
    pub(crate) fn places(&self) -> u64 {
        self.places
    }

    /// Where an I/O of `length` bytes at `place` starts: earlier than the place where it would reach beyond the end.
    #[inline]
    fn offset(&self, place: u64, length: u64) -> u64 {
        let at = place * self.cell;
        if at + length <= self.bytes {
            return self.start + at;
        }
        self.start + (self.bytes - length) / self.align * self.align
    }
}

/// Where one I/O goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot {
    pub offset: u64,
    pub length: u32,
    pub pass: u32,
}

impl Spot {
    #[inline]
    pub(crate) fn io(self, op: OpName) -> Io {
        let Self { offset, length, pass } = self;
        Io { op, fua: false, added: false, length, pass, offset }
    }
}

/// The order of one job's I/Os in one lane, with their sizes.
#[derive(Debug, Clone)]
pub(crate) struct Lane {
    layout: Layout,
    order: Order,
    sizes: Sizes,
    /// I/Os of this job in one pass (units of the layout where sizes follow each other); `None` without passes.
    share: Option<u64>,
    places: Box<[u64; BATCH]>,
    at: usize,
    /// The batch that comes next.
    batch: u64,
    pass: u32,
    /// I/Os left in the pass; where sizes follow each other, the unit of the part that comes next.
    left: u64,
    /// The first unit of this job's part, and units in it, where sizes follow each other.
    part: (u64, u64),
}

impl Lane {
    /// The lane of `op` for job `job` of `jobs`; `name` sets lanes with the same pattern apart. `None` when the range
    /// holds no I/O.
    pub(crate) fn new(
        spec: &LoadSpec,
        op: OpName,
        range: &Range,
        seed: Seed,
        name: &str,
        (job, jobs): (u64, u64),
    ) -> Option<Self> {
        let layout = Layout::of(spec, op, range, (job, jobs))?;
        let pattern = spec.pattern_of(op);
        let seeded = if spec.share == Share::Shared { 0 } else { job };
        let sizes_seed = seed.derive(&format!("sizes {name} {seeded}"));
        let sizes = Sizes::new(spec.block_size_of(op), layout.align, sizes_seed);
        let divided = if spec.share == Share::Split { (job, jobs) } else { (0, 1) };
        let alone = matches!(spec.share, Share::Own | Share::Parts);
        let common = seed.derive(&format!("{name}{}", if alone { job } else { 0 }));
        let own = seed.derive(&format!("{name} {seeded}"));
        let hot = (spec.hot_of(op), seed.derive("hot"));
        let (order, share) = Order::new(
            &pattern,
            (layout.places, layout.align),
            spec.last_block,
            (common, own),
            hot,
            divided,
        );
        let part = walk::portion(layout.places, divided);
        let share = if layout.run { Some(part.1) } else { share };
        let left = if layout.run { 0 } else { share.unwrap_or(u64::MAX) };
        let places = Box::new([0; BATCH]);
        Some(Self { layout, order, sizes, share, places, at: BATCH, batch: 0, pass: 0, left, part })
    }

    /// Where the next I/O goes.
    #[inline]
    pub(crate) fn next(&mut self) -> Spot {
        let length = self.sizes.next();
        if self.layout.run {
            return self.follow(length);
        }
        self.supply();
        let place = self.places[self.at];
        let spot =
            Spot { offset: self.layout.offset(place, u64::from(length)), length, pass: self.pass };
        self.advance(1);
        spot
    }

    /// Makes sure that there is a place.
    #[inline]
    fn supply(&mut self) {
        if self.at == BATCH {
            self.order.batch(self.batch, &mut self.places);
            self.batch += 1;
            self.at = 0;
        }
    }

    /// Leaves `count` places behind, none of them beyond the batch or the pass.
    #[inline]
    fn advance(&mut self, count: usize) {
        self.at += count;
        self.left -= count as u64;
        if self.left == 0 {
            self.pass = self.pass.wrapping_add(1);
            self.left = self.share.unwrap_or(u64::MAX);
        }
    }

    /// Puts the next I/Os into `out`, all of them `op`: the same as [`Lane::next`] for each, and faster.
    #[inline]
    pub(crate) fn fill(&mut self, op: OpName, mut out: &mut [Io]) {
        let Sizes::Fixed(length) = self.sizes else {
            for io in out {
                *io = self.next().io(op);
            }
            return;
        };
        while !out.is_empty() {
            self.supply();
            let count = out.len().min(BATCH - self.at);
            let count = usize::try_from(self.left).unwrap_or(count).min(count);
            let (now, later) = std::mem::take(&mut out).split_at_mut(count);
            let (start, cell, pass) = (self.layout.start, self.layout.cell, self.pass);
            for (io, place) in now.iter_mut().zip(&self.places[self.at..]) {
                // All sizes are equal: no place is so near the end that it has to be moved.
                *io = Spot { offset: start + place * cell, length, pass }.io(op);
            }
            self.advance(count);
            out = later;
        }
    }

    /// Units that an I/O of `length` bytes takes.
    fn units(&self, length: u64) -> u64 {
        length.div_ceil(self.layout.align)
    }

    /// The next I/O starts where the last one ended; what would cross the end of the part ends there.
    fn follow(&mut self, length: u32) -> Spot {
        let units = self.units(u64::from(length));
        let (first, all) = self.part;
        let unit = first + self.left.min(all.saturating_sub(units));
        let spot =
            Spot { offset: self.layout.offset(unit, u64::from(length)), length, pass: self.pass };
        self.left += units;
        if self.left >= all {
            self.left = (self.left - all) % all.max(1);
            self.pass = self.pass.wrapping_add(1);
        }
        spot
    }

    /// Goes to this lane's I/O number `n`.
    pub(crate) fn seek(&mut self, n: u64) {
        self.sizes.seek(n);
        if self.layout.run {
            let all = self.part.1.max(1);
            let done = self.sizes.sum(n, |length| self.units(length));
            (self.left, self.pass) = (done % all, (done / all) as u32);
            return;
        }
        let share = self.share.unwrap_or(u64::MAX);
        self.pass = (n / share) as u32;
        self.left = share - n % share;
        let within = (n % BATCH as u64) as usize;
        self.batch = n / BATCH as u64;
        self.at = BATCH;
        if within > 0 {
            self.order.batch(self.batch, &mut self.places);
            self.batch += 1;
            self.at = within;
        }
    }

    /// Bytes of the first `n` I/Os.
    pub(crate) fn bytes(&self, n: u64) -> u64 {
        self.sizes.sum(n, |length| length)
    }

    /// Whether the first `n` I/Os make `passes` passes.
    pub(crate) fn has_passed(&self, n: u64, passes: u64) -> bool {
        let Some(share) = self.share else { return true };
        let done = if self.layout.run { self.sizes.sum(n, |length| self.units(length)) } else { n };
        done >= share.saturating_mul(passes)
    }

    /// I/Os of this job in a pass; `None` without passes, or when sizes that differ follow each other.
    #[inline]
    pub(crate) fn share(&self) -> Option<u64> {
        self.share.filter(|_| !self.layout.run)
    }

    /// Where its first I/O goes and how long each is, bytes, where each begins where the one before ended.
    pub(crate) fn row(&self) -> Option<(u64, u64)> {
        let Sizes::Fixed(size) = self.sizes else { return None };
        let closed = self.layout.cell == u64::from(size) && !self.layout.run;
        (closed && self.order.is_row()).then_some((self.layout.start, u64::from(size)))
    }

    /// Which I/O of this job in pass number `pass` covers the byte at `offset` of the target; `None` when none does, or
    /// the pattern or sizes do not say.
    #[inline]
    pub(crate) fn index_of(&self, pass: u32, offset: u64) -> Option<u64> {
        let share = self.share()?;
        let Sizes::Fixed(size) = self.sizes else { return None };
        let at = offset.checked_sub(self.layout.start)?;
        let (place, within) = divided(at, self.layout.cell);
        if within >= u64::from(size) || place >= self.layout.places {
            return None;
        }
        self.order.index_of(u64::from(pass), place, share)
    }
}
