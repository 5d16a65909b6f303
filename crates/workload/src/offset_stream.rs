//! Offsets and sizes of one job's I/Os by one access pattern. Operations with the same pattern and block size share one stream.

use units::Seed;

use crate::grid::Grid;
use crate::order::Order;
use crate::pieces::Pieces;
use crate::sizes::Sizes;
use crate::{BATCH, Io, LoadSpec, OpName, Range, Share, divided};

/// Offset and length of one I/O.
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

/// Offsets and sizes of one job's I/Os by one pattern.
#[derive(Debug, Clone)]
pub(crate) struct OffsetStream {
    grid: Grid,
    order: Order,
    sizes: Sizes,
    /// The pieces, if sizes differ and there are passes.
    pieces: Option<Box<Pieces>>,
    /// Number of this job's I/Os in one pass; `None` without passes.
    share: Option<u64>,
    places: Box<[u64; BATCH]>,
    at: usize,
    /// Number of the batch that comes next.
    batch: u64,
    pass: u32,
    /// I/Os left in the pass.
    left: u64,
}

impl OffsetStream {
    /// The stream of `op` for job `job` of `jobs`; `name` distinguishes the seeds of streams with the same pattern. `None` if the range holds no I/O.
    pub(crate) fn new(
        spec: &LoadSpec,
        op: OpName,
        range: &Range,
        seed: Seed,
        name: &str,
        (job, jobs): (u64, u64),
    ) -> Option<Self> {
        let grid = Grid::of(spec, op, range, (job, jobs))?;
        let pattern = spec.pattern_of(op);
        let seeded = if spec.share == Share::Shared { 0 } else { job };
        let sizes_seed = seed.derive(&format!("sizes {name} {seeded}"));
        let sizes = Sizes::new(spec.block_size_of(op), grid.align, sizes_seed);
        let divided = if spec.share == Share::Split { (job, jobs) } else { (0, 1) };
        let alone = matches!(spec.share, Share::OperationOverride | Share::Parts);
        let common = seed.derive(&format!("{name}{}", if alone { job } else { 0 }));
        let own_seed = seed.derive(&format!("{name} {seeded}"));
        let hot = (spec.hot_of(op), spec.hot_seed.unwrap_or(seed).derive("hot"));
        let (order, share) = Order::new(
            &pattern,
            (grid.places, grid.align),
            spec.last_block,
            (common, own_seed),
            hot,
            divided,
        );
        let pieces = grid.cut.then(|| {
            let seed = common.derive("pieces");
            Box::new(Pieces::new(spec.block_size_of(op), grid.align, grid.bytes, seed))
        });
        let left = share.unwrap_or(u64::MAX);
        let places = Box::new([0; BATCH]);
        Some(Self { grid, order, sizes, pieces, share, places, at: BATCH, batch: 0, pass: 0, left })
    }

    /// Returns offset and length of the next I/O.
    #[inline]
    pub(crate) fn next(&mut self) -> Spot {
        self.supply();
        let place = self.places[self.at];
        let (offset, length) = match &self.pieces {
            Some(pieces) => {
                let (start, length) = pieces.at(place);
                (self.grid.start + start, length)
            }
            None => {
                let length = self.sizes.next();
                (self.grid.offset(place, u64::from(length)), length)
            }
        };
        let spot = Spot { offset, length, pass: self.pass };
        self.advance(1);
        spot
    }

    /// Gets the next batch of places if the current one is used up.
    #[inline]
    fn supply(&mut self) {
        if self.at == BATCH {
            self.order.batch(self.batch, &mut self.places);
            self.batch += 1;
            self.at = 0;
        }
    }

    /// Moves on by `count` places, which must all be in the current batch and pass.
    #[inline]
    fn advance(&mut self, count: usize) {
        self.at += count;
        self.left -= count as u64;
        if self.left == 0 {
            self.pass = self.pass.wrapping_add(1);
            self.left = self.share.unwrap_or(u64::MAX);
        }
    }

    /// Puts the next I/Os into `out`, all of the operation `op`: the same as calling [`OffsetStream::next`] for each, but faster.
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
            let (start, cell, pass) = (self.grid.start, self.grid.cell, self.pass);
            for (io, place) in now.iter_mut().zip(&self.places[self.at..]) {
                // Since all sizes are equal, no place is too near the end of the range.
                *io = Spot { offset: start + place * cell, length, pass }.io(op);
            }
            self.advance(count);
            out = later;
        }
    }

    /// Moves to I/O number `n` of this stream.
    pub(crate) fn seek(&mut self, n: u64) {
        if self.pieces.is_none() {
            self.sizes.seek(n);
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

    /// Tells whether [`OffsetStream::bytes`] is fast; if sizes differ and a pass is not in plain order, it adds them up one by one.
    pub(crate) fn sums(&self) -> bool {
        self.pieces.is_none() || self.order.is_straight()
    }

    /// Bytes of the first `n` I/Os.
    pub(crate) fn bytes(&self, n: u64) -> u64 {
        let Some((pieces, share)) = self.pieces.as_ref().zip(self.share) else {
            return self.sizes.sum(n, |length| length);
        };
        let mut order = self.order.clone();
        let mut places = [0; BATCH];
        order.batch(0, &mut places);
        if order.is_straight() {
            let sum = |ios: u64| pieces.before(places[0] + ios) - pieces.before(places[0]);
            return (n / share).saturating_mul(sum(share)) + sum(n % share);
        }
        // A pass that visits every piece has all bytes, whatever its order.
        let (whole, from) = match share == pieces.count() {
            true => ((n / share).saturating_mul(pieces.bytes()), n - n % share),
            false => (0, 0),
        };
        let mut walked = 0;
        let (mut at, batch) = (from, BATCH as u64);
        while at < n {
            let (first, end) = (at % batch, batch.min(n - at / batch * batch));
            order.batch(at / batch, &mut places);
            let wanted = &places[first as usize..end as usize];
            walked += wanted.iter().map(|&place| u64::from(pieces.at(place).1)).sum::<u64>();
            at += end - first;
        }
        whole.saturating_add(walked)
    }

    /// Tells whether the first `n` I/Os complete `passes` passes.
    pub(crate) fn has_passed(&self, n: u64, passes: u64) -> bool {
        self.share.is_none_or(|share| n >= share.saturating_mul(passes))
    }

    /// Number of this job's I/Os in a pass; `None` without passes.
    #[inline]
    pub(crate) fn share(&self) -> Option<u64> {
        self.share
    }

    /// Returns offset and length of its first I/O, bytes, if each I/O of a pass begins where the one before it ended.
    pub(crate) fn contiguous_run(&self) -> Option<(u64, u64)> {
        let Sizes::Fixed(size) = self.sizes else { return None };
        let closed = self.grid.cell == u64::from(size);
        (closed && self.order.is_row()).then_some((self.grid.start, u64::from(size)))
    }

    /// Returns the number, within pass `pass`, of this job's I/O that covers the byte at `offset` of the target; `None` if no I/O does, or it cannot
    /// be computed for this pattern or these sizes.
    #[inline]
    pub(crate) fn index_of(&self, pass: u32, offset: u64) -> Option<u64> {
        let share = self.share()?;
        let Sizes::Fixed(size) = self.sizes else { return None };
        let at = offset.checked_sub(self.grid.start)?;
        let (place, within) = divided(at, self.grid.cell);
        if within >= u64::from(size) || place >= self.grid.places {
            return None;
        }
        self.order.index_of(u64::from(pass), place, share)
    }
}
