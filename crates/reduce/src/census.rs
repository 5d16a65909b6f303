//! The census: counts copies and LZ4 sizes among written blocks, in bounded memory, from their bytes alone.
//!
//! It starts with every block. Above its budget of distinct contents it raises its sampling shift by one and drops what no longer passes;
//! samples are nested and picked by content, so that the rest is exactly what the final shift alone would have kept. Estimates follow
//! from the share that is sampled, with standard errors.
//!
//! A small sample may hold none of the contents that are repeated most. While every block is seen these are known: when sampling begins,
//! their copies above the mean are set aside, counted as they are, and stand for no others.

mod beginning;
mod reservoir;

use std::sync::Arc;

use rustc_hash::FxHashMap as HashMap;

use self::beginning::{Beginning, gained_by_order, packed};
use self::reservoir::Reservoir;
use crate::achieved::Achieved;
use crate::addresses::Addresses;
use crate::live::{LIVE_ADDRESSES, Live, Place};
use crate::lz4::Lz4;
use crate::name::Name;
use crate::pick::{MAX_SHIFT, passes};
use crate::room::make_room;
use crate::{BLOCK, Fingerprint, is_zero};

pub use self::beginning::BEGINNING;
pub use self::reservoir::most_sized;

/// Contents with more than this many times the mean number of copies are repeated often; their copies above the mean are set aside.
const OFTEN: u64 = 4;

/// Number of parts into which the sample of sizes is divided for the packer's standard error, and (in the next line) least number of sizes in each
/// part.
const PARTS: usize = 16;
const LEAST_PART: usize = 32;

/// A content of the sample: the number that decides about its sampling, and its number of copies.
struct Seen {
    pick: u64,
    copies: u64,
}

/// Counts the contents of written blocks.
pub struct Census {
    /// Bytes of a block.
    unit: usize,
    /// Most distinct contents that the sample holds.
    budget: usize,
    shift: u32,
    seen: HashMap<Fingerprint, Seen>,
    /// The reservoir of blocks whose size will be measured at the end.
    reservoir: Reservoir,
    /// The first blocks, in order.
    beginning: Beginning,
    written: u64,
    zeros: u64,
    /// Duplicates set aside while every block was seen; not part of the sample.
    aside: u64,
    /// Contents that the addresses hold, if the callers report where blocks go.
    live: Option<Live>,
    /// log2 of the factor by which the sample of live blocks may be larger than that of written ones.
    ahead: u32,
}

impl Census {
    /// A census of blocks of 4096 bytes that holds at most `budget_blocks` distinct contents (some 80 bytes each).
    pub fn new(budget_blocks: usize) -> Self {
        Self::of_blocks(BLOCK, budget_blocks)
    }

    /// A census of blocks of `unit` bytes.
    pub fn of_blocks(unit: usize, budget_blocks: usize) -> Self {
        let unit = unit.max(1);
        Self {
            unit,
            budget: budget_blocks.max(1),
            shift: 0,
            seen: HashMap::default(),
            reservoir: Reservoir::new(unit),
            beginning: Beginning::default(),
            written: 0,
            zeros: 0,
            aside: 0,
            live: None,
            ahead: 0,
        }
    }

    /// Also counts the contents that `addresses` hold at the end. Only the last content of an overwritten address is live, so the sample of live
    /// blocks may be up to 2^`ahead` times as large as that of written ones.
    pub fn and_live(self, addresses: Arc<Addresses>, ahead: u32) -> Self {
        self.and_live_within(addresses, ahead, LIVE_ADDRESSES)
    }

    fn and_live_within(self, addresses: Arc<Addresses>, ahead: u32, budget: usize) -> Self {
        let live = (!addresses.is_empty()).then(|| Live::new(addresses, budget));
        Self { live, ahead, ..self }
    }

    /// The sampling shift: blocks that [`crate::picked`] refuses at it need not be passed in. It never falls.
    pub fn shift(&self) -> u32 {
        let live = self.live.as_ref();
        live.map_or(self.shift, |live| live.shift().max(self.shift.saturating_sub(self.ahead)))
    }

    /// Raises the sampling shift to at least `shift`. The caller must have given all blocks of that sample; others do no harm.
    pub fn tighten_to(&mut self, shift: u32) {
        self.tighten(shift);
        if let Some(live) = &mut self.live {
            live.tighten_to(shift);
        }
    }

    fn tighten(&mut self, shift: u32) {
        let shift = shift.min(MAX_SHIFT);
        if shift > self.shift {
            if self.shift == 0 {
                self.set_aside();
            }
            self.shift = shift;
            self.seen.retain(|_, seen| passes(seen.pick, shift));
            self.reservoir.tighten(shift);
        }
    }

    /// Sets aside the copies above the mean of contents that are repeated much more often.
    fn set_aside(&mut self) {
        let copies: u64 = self.seen.values().map(|seen| seen.copies).sum();
        let mean = copies.div_ceil((self.seen.len() as u64).max(1));
        for seen in self.seen.values_mut().filter(|seen| seen.copies > OFTEN * mean) {
            self.aside += seen.copies - mean;
            seen.copies = mean;
        }
    }

    /// Counts blocks handed to the kernel, including zero blocks and those outside the sample: they are the total for percentages.
    pub fn written(&mut self, blocks: u64) {
        self.written += blocks;
    }

    /// Counts zero blocks, which must not be passed to [`Census::add`] as well.
    pub fn add_zero(&mut self, blocks: u64) {
        self.zeros += blocks;
    }

    /// Counts one written block. A block that the sample leaves out is ignored, unless it is a zero block.
    pub fn add(&mut self, block: &[u8]) {
        if is_zero(block) {
            self.zeros += 1;
            return;
        }
        let name = Name::of(block);
        if self.shift() == 0 {
            self.begin(name, block);
        } else {
            self.beginning.close();
        }
        self.add_named(name, None);
        self.keep(name, block);
    }

    /// Keeps one of the first blocks, in order, to measure what the order does to the packer. Callers that name blocks themselves give it
    /// every block that is not zero, from the first on; the first [`BEGINNING`] are enough.
    pub fn begin(&mut self, name: Name, block: &[u8]) {
        self.beginning.add(name, block);
    }

    /// Counts a block that is not zero by its name. Its size is measured only if its bytes are passed to [`Census::keep`], too.
    pub fn add_named(&mut self, name: Name, place: Option<Place>) {
        if let (Some(live), Some(place)) = (&mut self.live, place) {
            let looked_at = name.passes(live.shift().max(self.shift.saturating_sub(self.ahead)));
            live.add(place, looked_at.then_some(name.print), name.level());
        }
        if name.passes(self.shift) {
            self.count(name);
        }
    }

    fn count(&mut self, name: Name) {
        make_room(&mut self.seen, self.budget.saturating_add(1));
        let seen = self.seen.entry(name.print).or_insert(Seen { pick: name.pick, copies: 0 });
        seen.copies += 1;
        if seen.copies == 1 {
            while self.seen.len() > self.budget && self.shift < MAX_SHIFT {
                self.tighten(self.shift + 1);
            }
        }
    }

    /// The sampling shift of sizes: blocks that [`Name::is_sized`] refuses at it need not be passed to [`Census::keep`]. It never falls.
    pub fn sized_shift(&self) -> u32 {
        self.reservoir.shift()
    }

    /// Raises the sampling shift of sizes to at least `shift`. The caller must have given all blocks of that sample.
    pub fn tighten_sizes_to(&mut self, shift: u32) {
        self.reservoir.tighten_to(shift);
    }

    /// Keeps a block until its size is measured, if it is in the sample. It may come before or after its name, and more than once.
    pub fn keep(&mut self, name: Name, block: &[u8]) {
        if name.passes(self.shift) && block.len() == self.unit {
            self.reservoir.keep(name, block);
        }
    }

    /// Returns the result. LZ4 sizes are measured only now, since that is slow and the load has ended.
    pub fn finish(self) -> Achieved {
        let sampled: u64 = self.seen.values().map(|seen| seen.copies).sum();
        let written = self.written.max(sampled + self.aside + self.zeros);
        let of_written = |share: f64, of: u64| 100.0 * share * of as f64 / written as f64;
        let data = written - self.zeros;
        let mut achieved = Achieved {
            blocks_written: written,
            blocks_zero: self.zeros,
            blocks_sampled: sampled,
            distinct_sampled: self.seen.len() as u64,
            sample_shift: self.shift,
            zero_percent: (written > 0).then(|| of_written(1.0, self.zeros)),
            ..Achieved::default()
        };
        if let Some(live) = &self.live {
            let found = live.finish(self.shift());
            achieved.blocks_live = Some(found.blocks);
            achieved.live_duplicate_percent = found.duplicate_percent;
            achieved.live_duplicate_error_points = found.error_points;
        }
        if sampled > 0 {
            let share = 1.0 - self.seen.len() as f64 / sampled as f64;
            let others = data - self.aside;
            let aside = of_written(1.0, self.aside);
            achieved.duplicate_percent = Some(aside + of_written(share, others));
            achieved.duplicate_error_points = Some(of_written(self.error(share, sampled), others));
        } else if written > 0 && data == 0 {
            achieved.duplicate_percent = Some(0.0);
            achieved.duplicate_error_points = Some(0.0);
        }
        self.measure_sizes(&mut achieved);
        achieved
    }

    /// Standard error of the share of duplicates: contents are clusters of copies, and `share` is a ratio of sums over the clusters (Cochran,
    /// Sampling Techniques, 3rd ed., 6.4), with the finite population correction.
    fn error(&self, share: f64, sampled: u64) -> f64 {
        let left_out = 1.0 - 0.5f64.powi(self.shift as i32);
        let squares: f64 = self
            .seen
            .values()
            .map(|seen| {
                let copies = seen.copies as f64;
                (copies - 1.0 - share * copies).powi(2)
            })
            .sum();
        (left_out * squares).sqrt() / sampled as f64
    }

    fn measure_sizes(&self, achieved: &mut Achieved) {
        let mut lz4 = Lz4::new();
        let size = |block: &[u8]| match <&[u8; BLOCK]>::try_from(block) {
            Ok(block) => lz4.size(block).ok(),
            Err(_) => lz4.size_of(block).ok(),
        };
        let sizes: Vec<usize> = self.reservoir.in_order().filter_map(size).collect();
        if sizes.is_empty() {
            return;
        }
        let mean = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        achieved.blocks_sized = sizes.len() as u64;
        achieved.lz4_size_mean_bytes = Some(mean);
        achieved.lz4_size_min_bytes = sizes.iter().min().map(|&size| size as u64);
        achieved.lz4_size_max_bytes = sizes.iter().max().map(|&size| size as u64);
        achieved.lz4_saving_percent = Some(100.0 * (1.0 - mean / self.unit as f64));
        let contents = self.seen.len() as f64 * 2f64.powi(self.shift as i32);
        let left_out = (1.0 - sizes.len() as f64 / contents).max(0.0);
        let savings = sizes.iter().map(|&size| 100.0 * (1.0 - size as f64 / self.unit as f64));
        achieved.lz4_saving_error_points = error_of_mean(savings, left_out);
        // VDO's packer handles only blocks of 4096 bytes.
        if self.unit == BLOCK {
            self.measure_packer(achieved, &sizes, left_out);
        }
    }

    /// Measures the saving of the packer on all contents in their order. If only a sample of sizes is known, this is the saving of the sample in
    /// random order, plus the gain or loss that the order caused in the first blocks.
    fn measure_packer(&self, achieved: &mut Achieved, sizes: &[usize], left_out: f64) {
        let beginning = self.beginning.sizes();
        let in_order = packed(beginning.iter().map(|&(_, size)| size));
        let all = self.beginning.len() as u64 == achieved.blocks_written - achieved.blocks_zero;
        let alike = achieved.lz4_size_min_bytes == achieved.lz4_size_max_bytes;
        let gained = if alike { Some((0.0, 0.0)) } else { gained_by_order(&beginning) };
        let shared = if beginning.is_empty() { packed(sizes.iter().copied()) } else { in_order };
        if all {
            achieved.packer_saving_percent = in_order.saving_percent();
            achieved.packer_saving_error_points = Some(0.0);
        } else if let Some((gained, gained_error)) = gained {
            // The sizes are in the order of fingerprints, so that every part is a random sample.
            let parts = sizes.chunks_exact((sizes.len() / PARTS).max(LEAST_PART));
            let savings = parts.filter_map(|part| packed(part.iter().copied()).saving_percent());
            let error = error_of_mean(savings, left_out);
            let random = packed(sizes.iter().copied()).saving_percent();
            achieved.packer_saving_percent = random.map(|s| (s + gained).clamp(0.0, 100.0));
            achieved.packer_saving_error_points = error.map(|error| error.hypot(gained_error));
        } else {
            return;
        }
        achieved.fragments_per_packed_block = (shared.packed_blocks > 0)
            .then(|| shared.fragments as f64 / shared.packed_blocks as f64);
    }
}

/// Standard error of the mean of a sample that leaves out the share `left_out` of the population (with the finite population correction); 0 if it
/// leaves out nothing, `None` if it has fewer than two values.
fn error_of_mean(sample: impl Iterator<Item = f64>, left_out: f64) -> Option<f64> {
    if left_out == 0.0 {
        return Some(0.0);
    }
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    // Welford's recurrence (1962): exactly 0 where all values are equal.
    for value in sample {
        let off = value - mean;
        n += 1.0;
        mean += off / n;
        squares += off * (value - mean);
    }
    (n > 1.0).then(|| (left_out * squares / (n * (n - 1.0))).sqrt())
}

#[cfg(test)]
mod tests;
