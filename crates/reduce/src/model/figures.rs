//! The counts of a model.

use super::table::Entry;
use crate::BLOCK;
use crate::index::{Geometry, IndexMemory};

/// Number of recent sizes that are kept: a copy without a size uses one of them in the packer.
pub const RECENT_SIZES: usize = 8;
/// Number of powers of two that distances are counted by.
const STEPS: usize = 48;
/// Number of chapters of the smallest index; ages are counted in windows of this many of them.
const CHAPTERS: u64 = 1024;

/// Duplicates of contents that were written about equally often and repeated at about equal distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reuse {
    /// log2 of the number of times that such a content was written, rounded down.
    pub copies_log2: u8,
    /// log2 of the mean number of distinct blocks between one write of such a content and the next, rounded down.
    pub distance_log2: u8,
    /// Number of such contents.
    pub contents: f64,
    /// Number of their duplicates.
    pub duplicates: f64,
}

/// Costs of the last copies whose size is known, for the variance among neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct NeighbourVariance {
    costs: [f64; RECENT_SIZES],
    noted: usize,
}

impl NeighbourVariance {
    /// Estimates the variance among neighbours from one more cost: its squared distance from the mean of those before it, corrected because
    /// that mean varies too.
    fn add(&mut self, cost: f64) -> f64 {
        let there = self.noted.min(RECENT_SIZES);
        let sum: f64 = self.costs[..there].iter().sum();
        self.costs[self.noted % RECENT_SIZES] = cost;
        self.noted += 1;
        let n = there as f64;
        // The first has no predecessors: its deviation is unknown, at most 1.
        if there == 0 { 1.0 } else { (cost - sum / n).powi(2) * n / (n + 1.0) }
    }
}

/// The counts of a model. Where contents or sizes were sampled, the counts are estimates for all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Zero blocks.
    pub zeros: u64,
    /// Blocks that are not zero; counted, not sampled.
    pub data: u64,
    /// Blocks whose content was never written before.
    pub unique: u64,
    /// All other blocks that are not zero.
    pub duplicates: u64,
    /// Duplicates that the index did not find.
    pub missed: u64,
    /// Duplicates stored again because their block could take no more references.
    pub capped: u64,
    /// Blocks that were stored: unique, missed and capped ones.
    pub stored: u64,
    /// Duplicates by log2 of their distance, which is the number of new contents since the last write of theirs, plus 1.
    pub distances: [u64; STEPS],
    /// Duplicates by the age of their record, in windows of the smallest index (the first entry is within one window).
    pub windows: Vec<u64>,
    /// Contents in the sample at its end, and all that passed through it.
    pub contents: u64,
    /// Standard error of the share of duplicates among data blocks, as a fraction; 0 when nothing was sampled.
    pub duplicate_error: f64,
    /// Weighted number of contents by LZ4 size (the last entry: not made smaller).
    pub sizes: Box<[f64; BLOCK + 1]>,
    /// Number of contents whose size was measured.
    pub sized: u64,
    /// Stored copies whose size was measured; the others went through the packer with the size of an earlier one.
    pub sized_copies: u64,
    /// Physical blocks.
    pub physical: u64,
    /// Stored copies that share a physical block.
    pub fragments: u64,
    /// Physical blocks that are shared.
    pub compressed_blocks: u64,
    /// Copies that left the packer because their content was written again while they waited.
    pub cancelled: u64,
    /// Costs of the last sized copies.
    near: NeighbourVariance,
    /// Sums over sized copies: of their weights, and (in the next field) of their contributions to the variance.
    weights: f64,
    variance: f64,
    /// Contents grouped by how often and how far apart they were written.
    pub reuse: Vec<Reuse>,
    /// Contents by log2 of the number of times that they were written.
    pub references: [f64; 40],
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            zeros: 0,
            data: 0,
            unique: 0,
            duplicates: 0,
            missed: 0,
            capped: 0,
            stored: 0,
            distances: [0; STEPS],
            windows: Vec::new(),
            contents: 0,
            duplicate_error: 0.0,
            sizes: Box::new([0.0; BLOCK + 1]),
            sized: 0,
            sized_copies: 0,
            physical: 0,
            fragments: 0,
            compressed_blocks: 0,
            cancelled: 0,
            near: NeighbourVariance::default(),
            weights: 0.0,
            variance: 0.0,
            reuse: Vec::new(),
            references: [0.0; 40],
        }
    }
}

impl Figures {
    /// Mean LZ4 size of a distinct block, bytes; `None` if none was measured.
    pub fn lz4_size_mean_bytes(&self) -> Option<f64> {
        let weight: f64 = self.sizes.iter().sum();
        let bytes: f64 = self.sizes.iter().enumerate().map(|(size, n)| size as f64 * n).sum();
        (weight > 0.0).then(|| bytes / weight)
    }

    /// Physical blocks per stored block; `None` if no size was measured.
    pub fn physical_share(&self) -> Option<f64> {
        (self.sized_copies > 0).then(|| self.physical as f64 / self.stored as f64)
    }

    /// Standard error of [`Figures::physical_share`], estimated from how the cost of each sized copy differs from those just before it; 0 if all
    /// copies were sized.
    pub fn physical_share_error(&self) -> f64 {
        if self.weights > 0.0 { self.variance.sqrt() / self.weights } else { 0.0 }
    }

    /// Number of duplicates that an index of this geometry would miss, from the ages of records in the modelled index; meaningless if that one is
    /// sparse.
    pub fn missed_with(&self, index: Geometry) -> u64 {
        let within = usize::try_from(index.window_blocks() / Geometry::DEFAULT.window_blocks());
        self.windows.iter().skip(within.unwrap_or(usize::MAX)).sum()
    }

    pub(super) fn note_age(&mut self, chapters: u64, index: Geometry, each: u64) {
        let records = chapters * index.records_per_chapter();
        let smallest = Geometry { memory: IndexMemory::SMALLEST, sparse: false };
        let window = (records / (CHAPTERS * smallest.records_per_chapter())) as usize;
        if self.windows.len() <= window {
            self.windows.resize(window + 1, 0);
        }
        self.windows[window] += each;
    }

    pub(super) fn note_size(&mut self, size: u16, weight: f64) {
        self.sizes[usize::from(size).min(BLOCK)] += weight;
        self.sized += 1;
    }

    pub(super) fn note_block(&mut self, together: u64) {
        self.physical += 1;
        if together > 1 {
            self.fragments += together;
            self.compressed_blocks += 1;
        }
    }

    /// Notes the cost of a sized copy that stands for `weight` copies.
    ///
    /// A copy without a size uses one of the last [`RECENT_SIZES`] measured ones. So the figure follows the data, and its error comes only from the
    /// differences among neighbours. If one copy in w is sampled, each sampled copy lends its size d times: w - 1 times on average, with a variance
    /// of (w - 1) (7 + w) / 8, since the gaps between sampled copies are geometric and one of 8 sizes is drawn. The error of the figure is then d
    /// times the difference of the sampled copy from its neighbours, plus the differences of the w - 1 others. (Where the data changes, the last
    /// sizes lag behind by 4 w copies on average. Over all changes this adds up to at most 4 w copies, which is below 0.01 % of the data before the
    /// sample becomes that thin.)
    pub(super) fn note_cost(&mut self, weight: f64, cost: f64) {
        let off = self.near.add(cost);
        let last = RECENT_SIZES as f64;
        let lent = (weight - 1.0).powi(2) + (weight - 1.0) * (last - 1.0 + weight) / last;
        self.weights += weight;
        self.variance += (lent + weight - 1.0) * off;
    }

    /// Computes the figures that need all contents at the end: references, reuse, and the error of the share of duplicates.
    pub(super) fn sum_up(&mut self, entries: &[Entry], shift: u32) {
        let each = (1u64 << shift) as f64;
        let counted = (self.unique + self.duplicates) as f64;
        let share = if counted > 0.0 { self.duplicates as f64 / counted } else { 0.0 };
        let mut squares = 0.0;
        let mut copies_seen = 0.0;
        let mut bins = std::collections::BTreeMap::new();
        // Most contents were written once: these are counted without a branch.
        let mut once = 0u64;
        for entry in entries {
            once += u64::from(entry.copies == 1);
            if entry.copies < 2 {
                continue;
            }
            let copies = f64::from(entry.copies);
            copies_seen += copies;
            squares += (copies - 1.0 - share * copies).powi(2);
            let bucket = entry.copies.ilog2();
            self.references[bucket as usize] += each;
            let bin = bins.entry((bucket as u8, (entry.distance / 1024) as u8));
            let sums: &mut (f64, f64) = bin.or_default();
            sums.0 += each;
            sums.1 += each * (copies - 1.0);
        }
        let once = once as f64;
        copies_seen += once;
        squares += once * share.powi(2);
        self.references[0] += once * each;
        self.reuse = bins
            .into_iter()
            .map(|((copies_log2, distance_log2), (contents, duplicates))| Reuse {
                copies_log2,
                distance_log2,
                contents,
                duplicates,
            })
            .collect();
        // Contents are clusters of copies, and the share is a ratio of sums over the clusters (Cochran, Sampling Techniques, 6.4).
        if shift > 0 && copies_seen > 0.0 {
            self.duplicate_error = ((1.0 - 1.0 / each) * squares).sqrt() / copies_seen;
        }
    }
}
