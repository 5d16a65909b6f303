//! What one job does next.

use units::Seed;

use crate::deck::Deck;
use crate::order::Order;
use crate::{LoadSpec, OpName, Pattern, Range};

/// One I/O to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// What it does; its figures go by this name.
    pub op: OpName,
    /// Whether it changes the target.
    pub is_write: bool,
    /// The block of the range it goes to; [`Range::offset`] says where that is.
    pub block: u64,
}

/// The I/Os of one job, in order; ends with the passes or bytes asked for, never by time. Deterministic from what it
/// is made of; takes no memory while it runs.
#[derive(Debug, Clone)]
pub struct Stream {
    deck: Deck,
    /// The order of sequential operations, and of all when there is one pattern.
    ordered: Order,
    /// The order of random operations where they have their own.
    random: Option<Order>,
    left: Option<u64>,
}

impl Stream {
    /// The I/Os of job number `job` of `jobs` (counted from 0). `range` comes from [`LoadSpec::check_target`].
    pub fn new(spec: &LoadSpec, range: &Range, seed: Seed, job: u32, jobs: u32) -> Self {
        let (number, count) = (u64::from(job), u64::from(jobs.max(1)));
        let order = |pattern: Pattern| {
            Order::new(pattern, range.blocks, spec.last_block, seed, (number, count))
        };
        let ordered = order(spec.pattern_of(false));
        let random = spec.pattern.is_none().then(|| order(spec.pattern_of(true)));
        let by_bytes = spec.bytes.map(|bytes| {
            let ios = bytes.0 / range.block_size.max(1);
            ios / count + u64::from(number < ios % count)
        });
        let by_passes = spec.passes.map(|passes| ordered.share() * u64::from(passes));
        Self {
            deck: Deck::new(&spec.ops, seed.derive(&format!("deck {job}"))),
            ordered,
            random,
            left: [by_bytes, by_passes].into_iter().flatten().min(),
        }
    }

    /// I/Os that are left; `None` when only time ends it.
    pub fn left(&self) -> Option<u64> {
        self.left
    }
}

impl Iterator for Stream {
    type Item = Io;

    #[inline]
    fn next(&mut self) -> Option<Io> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        let op = self.deck.draw()?;
        let block = match &mut self.random {
            Some(random) if op.is_random() => random.next(),
            _ => self.ordered.next(),
        };
        Some(Io { op, is_write: op.is_write(), block })
    }
}
