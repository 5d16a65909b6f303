//! The sequence of one worker's operations.

use units::{Seed, SplitMix64};
use workload::{Ziggurat, nth_seed};

use crate::books::Books;
use crate::distribution::Places;
use crate::log::Log;
use crate::mix::Chooser;
use crate::plan::Names;
use crate::step::{Expectation, Skip, Step, StepOutcome, Sync, Verdict};
use crate::{Pick, Size, TreeError, TreeOp, TreeSpec};

/// Most draws of a name; after that the next suitable name behind the last one drawn is taken.
const TRIES: u32 = 32;

/// The operations of one worker, and the state of its files. Each operation has separate random numbers, derived from seed, worker and number, so
/// that the outcome of one changes what later ones find, but never what they attempt.
#[derive(Debug, Clone)]
pub struct Stream {
    books: Books,
    chooser: Chooser,
    places: Places,
    normal: Ziggurat,
    size: Size,
    record: Size,
    pick: Pick,
    /// Bounds for a random number: below the first it asks for fsync, below the second for fdatasync.
    syncs: [u128; 2],
    seed: Seed,
    worker: u64,
    workers: u64,
    number: u64,
    /// The operation after the last one that was given out, drawn early so that its memory is prefetched in time.
    ahead: Option<Draw>,
    log: Log,
}

/// An operation as it was drawn, whatever is there.
#[derive(Debug, Clone)]
struct Draw {
    op: TreeOp,
    names: Names,
    rng: SplitMix64,
}

impl Stream {
    /// The operations of worker number `worker`.
    ///
    /// # Errors
    /// Fails if the load cannot be run as specified.
    pub fn new(spec: &TreeSpec, seed: Seed, worker: u32) -> Result<Self, TreeError> {
        spec.validate()?;
        let seed = nth_seed(seed.derive("tree"), u64::from(worker));
        let names = spec.names_of(worker);
        let below = |percent: f64| (percent / 100.0 * (1u128 << 64) as f64) as u128;
        let fsync = below(spec.fsync_percent);
        let rest = ((1u128 << 64) - fsync) as f64 * spec.fdatasync_percent / 100.0;
        Ok(Self {
            books: Books::new(names, &spec.ops),
            chooser: Chooser::new(&spec.ops),
            places: Places::new(spec.distribution, names, spec.workers, seed.derive("order")),
            normal: Ziggurat::new(),
            size: spec.size,
            record: spec.record,
            pick: spec.pick,
            syncs: [fsync, fsync + rest as u128],
            seed,
            worker: u64::from(worker),
            workers: u64::from(spec.workers),
            number: 0,
            ahead: None,
            log: Log::default(),
        })
    }

    /// The state of its files.
    pub fn books(&self) -> &Books {
        &self.books
    }

    /// The log of surprises, with which the stream can be replayed.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Number of operations that were given out.
    pub fn operations(&self) -> u64 {
        self.number
    }

    /// The index of a name of this worker.
    pub fn index(&self, name: u32) -> u64 {
        u64::from(name) * self.workers + self.worker
    }

    /// The next operation. Its outcome has to be given to [`Self::record`] before the one after it is asked for.
    pub fn next_step(&mut self) -> Step {
        let number = self.number;
        let draw = self.ahead.take().unwrap_or_else(|| self.draw(number));
        self.number += 1;
        if self.pick == Pick::Any {
            let ahead = self.draw(self.number);
            self.books.prefetch(ahead.names.first);
            if ahead.op.has_second() {
                self.books.prefetch(ahead.names.second);
            }
            self.ahead = Some(ahead);
        }
        self.plan(number, draw)
    }

    fn draw(&self, number: u64) -> Draw {
        let mut rng = nth_seed(self.seed, number).generator();
        let op = self.chooser.choose(rng.next_u64());
        let first = self.place(&mut rng, number, op == TreeOp::Create);
        let second =
            if op.has_second() { self.place(&mut rng, number, op.copies()) } else { first };
        Draw { op, names: Names { first, second }, rng }
    }

    #[inline]
    fn place(&self, rng: &mut SplitMix64, number: u64, creates: bool) -> u32 {
        self.places.draw(rng, &self.normal, self.books.names(), number, creates)
    }

    /// Finds a name that has a file (`live`) or has none, beginning with the one that was drawn.
    fn find(&self, rng: &mut SplitMix64, number: u64, drawn: u32, live: bool) -> Option<u32> {
        if !self.books.any(live) {
            return None;
        }
        let mut name = drawn;
        for _ in 0..TRIES {
            if self.books.has(name) == live {
                return Some(name);
            }
            name = self.place(rng, number, !live);
        }
        self.books.next(name, live)
    }

    /// The names of an operation that works on existing files; `None` if there are none.
    fn live_names(&self, draw: &mut Draw, number: u64) -> Option<Names> {
        let Names { first, second } = draw.names;
        match draw.op {
            TreeOp::Mkdir | TreeOp::Rmdir | TreeOp::Readdir => return Some(draw.names),
            TreeOp::Create => {
                let first = self.find(&mut draw.rng, number, first, false)?;
                return Some(Names { first, second });
            }
            _ => {}
        }
        let first = self.find(&mut draw.rng, number, first, true)?;
        let second = match draw.op {
            TreeOp::Rename | TreeOp::Reflink | TreeOp::CopyFileRange => {
                self.find(&mut draw.rng, number, second, false)?
            }
            _ => second,
        };
        Some(Names { first, second })
    }

    fn plan(&mut self, number: u64, mut draw: Draw) -> Step {
        let live = self.pick == Pick::Live;
        let found = if live { self.live_names(&mut draw, number) } else { Some(draw.names) };
        let Draw { op, names, mut rng } = draw;
        let names = found.unwrap_or(names);
        let mut expected = self.books.expect(op, names);
        if found.is_none() {
            expected = Expectation::Skip(Skip::NoName);
        }
        let second = op.has_second().then(|| self.index(names.second));
        let mut step = Step {
            number,
            op,
            index: self.index(names.first),
            second,
            expected,
            size: 0,
            links: 0,
            amount: 0,
            offset: 0,
            record: self.record.draw(&mut rng, &self.normal),
            sync: None,
            soft: false,
            other_links: 0,
            seed: Seed(rng.next_u64()),
        };
        let drawn = self.size.draw(&mut rng, &self.normal);
        self.books.measure(&mut step, names, drawn, rng.next_u64());
        if op.writes() && expected == Expectation::Done {
            let random = u128::from(rng.next_u64());
            step.sync = match self.syncs {
                [fsync, _] if random < fsync => Some(Sync::Fsync),
                [_, either] if random < either => Some(Sync::Fdatasync),
                _ => None,
            };
        }
        step
    }

    /// Enters the outcome of the operation that was given out last into the books, and judges it.
    pub fn record(&mut self, step: &Step, outcome: StepOutcome) -> Verdict {
        let name = |index: u64| (index / self.workers) as u32;
        let names =
            Names { first: name(step.index), second: name(step.second.unwrap_or(step.index)) };
        if outcome != StepOutcome::expected(step) {
            self.log.surprise(step.number, outcome);
        }
        self.books.book(step, names, outcome)
    }

    /// Replays the first `operations` of a worker without doing them, with the surprises of its log.
    ///
    /// # Errors
    /// Fails if the load cannot be run as specified.
    pub fn replay(
        spec: &TreeSpec,
        seed: Seed,
        worker: u32,
        operations: u64,
        log: &Log,
    ) -> Result<Self, TreeError> {
        let mut stream = Self::new(spec, seed, worker)?;
        let mut reader = log.reader();
        for number in 0..operations {
            let step = stream.next_step();
            let outcome = reader.outcome(number).unwrap_or_else(|| StepOutcome::expected(&step));
            stream.record(&step, outcome);
        }
        Ok(stream)
    }
}
