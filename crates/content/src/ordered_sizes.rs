//! The sizes of a profile's contents in an order like the data's, and, kept separately, those of contents that come again at once.

use reduce::{BLOCK, LARGEST_FRAGMENT};
use units::Seed;

use crate::near::{Near, Numbered};
use crate::neighbours::{self, Between};
use crate::quantiles::{mean, quantiles};
use crate::repeats::Shared;
use crate::strata::{STRATUM, Strata, mix};
use crate::{Profile, ProfileNeighbours, ProfileSize};

/// A value for every content, by its place in the order of writing; the sequence of values repeats.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InOrder<T> {
    others: Vec<T>,
    nears: Vec<T>,
    near: Near,
}

/// The sizes of contents.
pub(crate) type OrderedSizes = InOrder<u32>;

impl<T: Copy + Default> InOrder<T> {
    /// The value for a job's new block with this ordinal.
    #[inline]
    pub fn at(&self, ordinal: u64, job: u16) -> T {
        match self.near.content(ordinal) {
            Numbered::Near(near) => self.nears[(near % STRATUM) as usize],
            Numbered::Other(other) => self.other(other, job),
        }
    }

    /// The value for the job's new block that is number `other` of those that do not come again at once.
    #[inline]
    pub fn other(&self, other: u64, job: u16) -> T {
        self.others.get(turned(other, job)).copied().unwrap_or_default()
    }

    /// All values.
    pub fn all(&self) -> impl Iterator<Item = T> {
        self.others.iter().chain(&self.nears).copied()
    }

    /// The same order with each value mapped by `to`.
    pub fn map<U>(&self, to: impl Fn(T) -> U) -> InOrder<U> {
        InOrder {
            others: self.others.iter().map(|&one| to(one)).collect(),
            nears: self.nears.iter().map(|&one| to(one)).collect(),
            near: self.near.clone(),
        }
    }
}

impl OrderedSizes {
    /// The sizes of a profile, ordered so that the packer saves `saving` percent on the blocks that do not leave it. `shares` are those of
    /// duplicates and of zero blocks.
    pub fn of(
        profile: &Profile,
        neighbours: &ProfileNeighbours,
        saving: f64,
        shares: (f64, f64),
    ) -> Self {
        let Shared { near, held, whole, .. } = Shared::of(profile, shares);
        let sum = |count: fn(&ProfileSize) -> u64| {
            profile.sizes.iter().map(count).sum::<u64>().max(1) as f64
        };
        let (left, wholes) = (sum(|s| s.near), sum(|s| if s.is_whole() { s.blocks } else { 0 }));
        let of_near = |size: &ProfileSize| {
            let kept = if size.is_whole() { whole * size.blocks as f64 / wholes } else { 0.0 };
            held * size.near as f64 / left + kept
        };
        let dealt = |count: &dyn Fn(&ProfileSize) -> f64| {
            let counts = profile.sizes.iter().map(|s| (f64::from(s.lz4_bytes), count(s).max(0.0)));
            quantiles(&counts.collect::<Vec<_>>(), BLOCK, STRATUM as usize)
        };
        let others = dealt(&|size| size.blocks as f64 - of_near(size));
        let (strata, nears) = (Strata::new(Seed(1).derive("near sizes")), dealt(&of_near));
        let nears: Vec<_> = (0..STRATUM).map(|n| nears[strata.at(n) as usize]).collect();
        // Contents that leave the packer are stored as they are.
        let unique = profile.blocks.unique.max(1) as f64;
        let saving = saving * (1.0 - held / unique).max(0.0);
        let per_new = near.per_new();
        let between = Between { sizes: &nears, each: per_new / (1.0 - per_new).max(1e-3) };
        let others = neighbours::in_order(&others, between, neighbours, saving);
        Self { others, nears, near }
    }

    /// Mean size, bytes.
    pub fn mean_bytes(&self) -> f64 {
        let near = self.near.per_new();
        near * mean(&self.nears) + (1.0 - near) * mean(&self.others)
    }

    /// The smallest size, bytes.
    pub fn least(&self) -> u32 {
        self.all().min().unwrap_or(LARGEST_FRAGMENT as u32)
    }
}

/// Position of a job's block among the strata that repeat. Their order differs in each cycle and for each job, so that jobs in step do not
/// write similar sizes at the same time.
#[inline]
fn turned(n: u64, job: u16) -> usize {
    const TURNS: u64 = neighbours::STRATA as u64;
    let (stratum, place) = (n / STRATUM, n % STRATUM);
    let (turn, cycle) = (stratum % TURNS, stratum / TURNS);
    let order = mix(cycle << 12 | u64::from(job)) % TURNS;
    ((turn ^ order) * STRATUM + place) as usize
}
