//! The live part of the census: the contents that the addresses hold at the end.
//!
//! For each address that got a sampled content, the last one is stored with its place in the order of writing; [`Addresses`] tells whether it is
//! still there. The table is bounded: first, overwritten addresses are dropped, then most addresses of contents that are at many addresses, and at
//! last the sample is halved.

use std::sync::Arc;

use rustc_hash::FxHashMap as HashMap;

use crate::Fingerprint;
use crate::addresses::{AddressState, Addresses};
use crate::pick::MAX_SHIFT;
use crate::room::make_room;

/// Most addresses in the table (some 40 bytes each).
pub const LIVE_ADDRESSES: usize = 1 << 17;

/// Number of addresses of one content that are enough to know whether it is still there.
const ENOUGH_ADDRESSES: usize = 64;

/// Place of a written block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its address, in blocks, as [`Addresses`] counts them.
    pub address: u64,
    /// Position in the order of writing, over all workers.
    pub order: u64,
}

/// The last sampled content of one address.
#[derive(Clone, Copy)]
struct LastContent {
    order: u64,
    name: u64,
    /// The largest shift whose sample still contains this content.
    level: u32,
}

/// Figures of the blocks that the addresses hold.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct LiveFigures {
    /// Number of blocks that they hold, zero blocks included.
    pub blocks: u64,
    /// Share of duplicates among these, percent.
    pub duplicate_percent: Option<f64>,
    /// Its standard error, points.
    pub error_points: Option<f64>,
}

/// The bounded table of last contents.
pub(crate) struct Live {
    addresses: Arc<Addresses>,
    budget: usize,
    shift: u32,
    got: HashMap<u64, LastContent>,
}

impl Live {
    pub(crate) fn new(addresses: Arc<Addresses>, budget: usize) -> Self {
        Self { addresses, budget: budget.max(1), shift: 0, got: HashMap::default() }
    }

    /// Number of addresses in the table.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.got.len()
    }

    /// The sampling shift of the table.
    pub(crate) fn shift(&self) -> u32 {
        self.shift
    }

    pub(crate) fn tighten_to(&mut self, shift: u32) {
        if shift > self.shift {
            self.shift = shift.min(MAX_SHIFT);
            let shift = self.shift;
            self.got.retain(|_, got| got.level >= shift);
        }
    }

    /// Notes that a content was written to an address; `level` is the largest shift whose sample contains the content.
    pub(crate) fn add(&mut self, place: Place, print: Option<Fingerprint>, level: u32) {
        let name = print.map_or(0, |print| print.0 as u64);
        let got = LastContent { order: place.order, name, level };
        match self.got.get_mut(&place.address) {
            // Each writer has its own queue, so that an entry that arrives later may have been written earlier.
            Some(held) if held.order > got.order => {}
            // A content outside the sample replaces what was there before.
            Some(held) => *held = got,
            None if level >= self.shift => {
                make_room(&mut self.got, self.budget);
                self.got.insert(place.address, got);
                self.bound();
            }
            None => {}
        }
    }

    fn bound(&mut self) {
        if self.got.len() <= self.budget {
            return;
        }
        let Self { addresses, got, .. } = self;
        got.retain(|&address, _| addresses.holds(address) == AddressState::Sampled);
        // A quarter has to become free, so that this is done rarely.
        let enough = self.budget - self.budget / 4;
        if self.got.len() > enough {
            self.thin_out();
        }
        while self.got.len() > enough && self.shift < MAX_SHIFT {
            self.tighten_to(self.shift + 1);
        }
    }

    /// Keeps only the newest addresses of contents that are at many addresses: what is counted is contents, not addresses.
    fn thin_out(&mut self) {
        let mut orders: HashMap<u64, Vec<u64>> = HashMap::default();
        for got in self.got.values() {
            orders.entry(got.name).or_default().push(got.order);
        }
        orders.retain(|_, orders| orders.len() > ENOUGH_ADDRESSES);
        let oldest = |orders: &mut Vec<u64>| {
            let at = orders.len() - ENOUGH_ADDRESSES;
            *orders.select_nth_unstable(at).1
        };
        let oldest: HashMap<u64, u64> =
            orders.iter_mut().map(|(&name, orders)| (name, oldest(orders))).collect();
        self.got.retain(|_, got| oldest.get(&got.name).is_none_or(|&oldest| got.order >= oldest));
    }

    /// Returns the share of duplicates, based on the contents that also pass `shift`.
    ///
    /// The number of blocks is known. The number of contents is estimated from those in the sample, each of which stands for 2^shift: an estimate
    /// that is valid however often contents repeat (Horvitz and Thompson, 1952), with the standard error of a sample that includes each content
    /// independently.
    pub(crate) fn finish(&self, shift: u32) -> LiveFigures {
        let shift = shift.max(self.shift);
        let held = self.addresses.held();
        let blocks = held.zeros + held.data;
        let there = |(&address, got): (&u64, &LastContent)| {
            let there =
                got.level >= shift && self.addresses.holds(address) == AddressState::Sampled;
            there.then_some(got.name)
        };
        let contents: std::collections::HashSet<u64> = self.got.iter().filter_map(there).collect();
        let sampled = contents.len() as f64;
        let each = 2f64.powi(shift as i32);
        let known = blocks > 0 && (sampled > 0.0 || held.data == 0);
        let share = |count: f64| 100.0 * count / blocks as f64;
        let distinct = (sampled * each).min(held.data as f64);
        LiveFigures {
            blocks,
            duplicate_percent: known.then(|| share(held.data as f64 - distinct)),
            error_points: known.then(|| share(each * (sampled * (1.0 - 1.0 / each)).sqrt())),
        }
    }
}
