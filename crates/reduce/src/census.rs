//! The census: counts copies and sizes among written blocks, in bounded memory, by looking at their bytes only.
//!
//! It starts with every block. When it holds more distinct contents than its budget, it doubles its strictness and
//! drops what no longer passes. Because samples are nested and picked by content, what is left is exactly what a
//! census with the final strictness from the start would hold.
//!
//! A sample of contents may hold none of those that come most often. As long as the census sees every block it knows them, so
//! that, when it stops to, it sets the copies above the usual aside: they are counted as they are, and stand for no others.

use std::collections::HashMap;

use crate::achieved::Achieved;
use crate::lz4::Lz4;
use crate::packer::Packer;
use crate::pick::{MAX_SHIFT, passes, pick};
use crate::{BLOCK, Fingerprint, is_zero};

/// Most blocks whose LZ4 size is taken, when they are of 4096 bytes.
pub const SIZED_BLOCKS: usize = 2048;
/// Bytes of these that are kept until the end; of larger blocks so many fewer are, but one always.
const SIZED_BYTES: usize = SIZED_BLOCKS * BLOCK;

/// Contents that come this many times as often as others, and at least this often, have their further copies set aside.
const OFTEN: u64 = 4;

/// What is known of one content.
struct Seen {
    pick: u64,
    copies: u64,
}

/// Whether the size of a block with this number is taken. By other bits than the sample, so that a strict
/// census still keeps blocks to size.
fn sized(pick: u64, shift: u32) -> bool {
    passes(pick.swap_bytes(), shift)
}

/// Counts what written blocks hold.
pub struct Census {
    /// Bytes of a block.
    unit: usize,
    /// Distinct contents that it may hold.
    budget: usize,
    shift: u32,
    seen: HashMap<Fingerprint, Seen>,
    /// Contents whose size will be taken, under a strictness of their own.
    kept: HashMap<Fingerprint, Kept>,
    kept_shift: u32,
    written: u64,
    zeros: u64,
    /// Duplicates that were counted while every block was seen, and that the sample does not stand for.
    aside: u64,
}

struct Kept {
    pick: u64,
    block: Box<[u8]>,
}

impl Census {
    /// A census of blocks of 4096 bytes that holds at most `budget_blocks` distinct contents (some 80 bytes each).
    pub fn new(budget_blocks: usize) -> Self {
        Self::of_blocks(BLOCK, budget_blocks)
    }

    /// The same of blocks of `unit` bytes.
    pub fn of_blocks(unit: usize, budget_blocks: usize) -> Self {
        Self {
            unit: unit.max(1),
            budget: budget_blocks.max(1),
            shift: 0,
            seen: HashMap::new(),
            kept: HashMap::new(),
            kept_shift: 0,
            written: 0,
            zeros: 0,
            aside: 0,
        }
    }

    /// The present strictness: blocks that [`crate::picked`] refuses for it need not be handed over.
    /// It never falls.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Makes the census at least as strict as `shift`: for a caller that handed over all blocks of the sample this leaves, and any
    /// others.
    pub fn tighten_to(&mut self, shift: u32) {
        let shift = shift.min(MAX_SHIFT);
        if shift > self.shift {
            if self.shift == 0 {
                self.set_aside();
            }
            self.shift = shift;
            self.seen.retain(|_, seen| passes(seen.pick, shift));
            self.kept.retain(|_, kept| passes(kept.pick, shift));
        }
    }

    /// Takes the copies above the mean from contents that come much more often.
    fn set_aside(&mut self) {
        let copies: u64 = self.seen.values().map(|seen| seen.copies).sum();
        let mean = copies.div_ceil((self.seen.len() as u64).max(1));
        for seen in self.seen.values_mut().filter(|seen| seen.copies > OFTEN * mean) {
            self.aside += seen.copies - mean;
            seen.copies = mean;
        }
    }

    /// All blocks handed to the kernel, zero blocks and those outside the sample included. Call it for every write:
    /// percentages are of these.
    pub fn written(&mut self, blocks: u64) {
        self.written += blocks;
    }

    /// Zero blocks that were written. Not to be given to [`Census::add`] as well.
    pub fn add_zero(&mut self, blocks: u64) {
        self.zeros += blocks;
    }

    /// Looks at one written block. Zero blocks are counted; others that the sample leaves out are passed over.
    pub fn add(&mut self, block: &[u8]) {
        let pick = pick(block);
        if is_zero(block) {
            self.zeros += 1;
        } else if passes(pick, self.shift) {
            let print = Fingerprint::of(block);
            let seen = self.seen.entry(print).or_insert(Seen { pick, copies: 0 });
            seen.copies += 1;
            if seen.copies == 1 {
                self.keep(print, pick, block);
                while self.seen.len() > self.budget && self.shift < MAX_SHIFT {
                    self.tighten_to(self.shift + 1);
                }
            }
        }
    }

    fn keep(&mut self, print: Fingerprint, pick: u64, block: &[u8]) {
        if !sized(pick, self.kept_shift) {
            return;
        }
        self.kept.insert(print, Kept { pick, block: block.into() });
        let most = (SIZED_BYTES / self.unit).clamp(1, SIZED_BLOCKS);
        while self.kept.len() > most && self.kept_shift < MAX_SHIFT {
            self.kept_shift += 1;
            let shift = self.kept_shift;
            self.kept.retain(|_, kept| sized(kept.pick, shift));
        }
    }

    /// What was achieved. Takes the LZ4 sizes now, so that nothing slow happens while a load runs.
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

    /// Standard error of the share of duplicates: contents are clusters of copies, `share` a ratio of sums over them
    /// (Cochran, Sampling Techniques, 3rd ed., 6.4), with the correction for a finite population.
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
        // In the order of their fingerprints: random to the packer, and the same every time.
        let mut blocks: Vec<_> = self.kept.iter().collect();
        blocks.sort_by_key(|(print, _)| **print);
        let mut size = |block: &[u8]| match <&[u8; BLOCK]>::try_from(block) {
            Ok(block) => lz4.size(block).ok(),
            Err(_) => lz4.size_of(block).ok(),
        };
        let sizes: Vec<usize> = blocks.iter().filter_map(|(_, kept)| size(&kept.block)).collect();
        if sizes.is_empty() {
            return;
        }
        let mean = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        achieved.blocks_sized = sizes.len() as u64;
        achieved.lz4_size_mean_bytes = Some(mean);
        achieved.lz4_size_min_bytes = sizes.iter().min().map(|&size| size as u64);
        achieved.lz4_size_max_bytes = sizes.iter().max().map(|&size| size as u64);
        achieved.lz4_saving_percent = Some(100.0 * (1.0 - mean / self.unit as f64));
        // VDO's packer knows blocks of 4096 bytes only.
        if self.unit != BLOCK {
            return;
        }
        let mut packer = Packer::new();
        sizes.iter().for_each(|&size| packer.add(size));
        let packed = packer.finish();
        achieved.packer_saving_percent = packed.saving_percent();
        achieved.fragments_per_packed_block = (packed.packed_blocks > 0)
            .then(|| packed.fragments as f64 / packed.packed_blocks as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    fn block(id: u64, random: usize) -> [u8; BLOCK] {
        let mut rng = Seed(id).derive("block").generator();
        let mut block = [0; BLOCK];
        block[..random].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
        block
    }

    fn census(budget: usize, ids: impl Iterator<Item = u64>) -> Achieved {
        let mut census = Census::new(budget);
        for id in ids {
            census.written(1);
            if id == 0 { census.add_zero(1) } else { census.add(&block(id, 64)) }
        }
        census.finish()
    }

    #[test]
    fn nothing_written_gives_no_figures() {
        let achieved = Census::new(10).finish();
        assert_eq!(achieved, Achieved::default());
    }

    #[test]
    fn few_contents_that_come_very_often_are_counted_though_the_sample_may_hold_none() {
        // Half of the first 4000 blocks are of ten contents, half of the others of what was new 4001 blocks before.
        let ids = |seed: u64| {
            (0..64_000u64).map(move |n| {
                let content = match (n % 2, n < 4000) {
                    (0, _) => n,
                    (_, true) => (n / 2 % 10).min(n / 2) * 2,
                    (_, false) => n - 4001,
                };
                1 + content + (seed << 32)
            })
        };
        let found: Vec<_> = (0..20).map(|seed| census(2500, ids(seed))).collect();
        for found in &found {
            assert!(found.sample_shift >= 2, "{found:?}");
            let (got, error) =
                (found.duplicate_percent.unwrap(), found.duplicate_error_points.unwrap());
            assert!((got - 50.0).abs() < (4.0 * error).max(0.2), "{got} ± {error}");
        }
    }

    #[test]
    fn a_caller_that_becomes_stricter_before_the_census_does_loses_nothing_of_the_sample() {
        let content = |n: u64| if n.is_multiple_of(2) { n } else { n % 20 / 2 * 2 };
        for seed in 0..20u64 {
            let mut census = Census::new(100_000);
            for n in 0..20_000 {
                let block =
                    block(1 + (seed << 32) + if n < 4000 { content(n) } else { n / 2 * 2 }, 64);
                census.written(1);
                if n < 4500 || crate::picked(&block, 3) {
                    census.add(&block);
                }
            }
            census.tighten_to(3);
            let found = census.finish();
            let (got, error) =
                (found.duplicate_percent.unwrap(), found.duplicate_error_points.unwrap());
            assert!((got - 50.0).abs() < (4.0 * error).max(0.2), "{got} ± {error}");
            assert!(error < 1.0, "{got} ± {error}");
        }
    }

    #[test]
    fn writes_of_which_none_was_seen_give_no_share_of_duplicates() {
        let mut census = Census::new(10);
        census.written(1000);
        let achieved = census.finish();
        assert_eq!(achieved.duplicate_percent, None);
        assert_eq!(achieved.lz4_saving_percent, None);
        assert_eq!(achieved.zero_percent, Some(0.0));
    }

    #[test]
    fn zero_blocks_are_no_duplicates_but_count_among_all() {
        let achieved = census(100, [0, 0, 0, 0, 1, 1, 2, 3].into_iter());
        assert_eq!(achieved.duplicate_percent, Some(12.5));
        assert_eq!(achieved.zero_percent, Some(50.0));
        assert_eq!(achieved.distinct_sampled, 3);
        assert_eq!(achieved.duplicate_error_points, Some(0.0));
        let zeros = census(100, [0; 9].into_iter());
        assert_eq!((zeros.duplicate_percent, zeros.lz4_saving_percent), (Some(0.0), None));
    }

    #[test]
    fn a_zero_block_given_as_a_block_is_counted_as_one() {
        let mut census = Census::new(10);
        census.written(2);
        census.add(&[0; BLOCK]);
        census.add(&block(1, 10));
        let achieved = census.finish();
        assert_eq!((achieved.blocks_zero, achieved.blocks_sampled), (1, 1));
    }

    #[test]
    fn memory_stays_within_the_budget_and_the_share_stays_right() {
        let mut census = Census::new(500);
        for i in 0..20_000u64 {
            census.written(1);
            // Every content twice, far apart.
            census.add(&block(1 + i % 10_000, 32));
            assert!(census.seen.len() <= 500 && census.kept.len() <= 500);
        }
        let achieved = census.finish();
        assert!(achieved.sample_shift >= 4, "{achieved:?}");
        assert!((achieved.duplicate_percent.unwrap() - 50.0).abs() < 1e-9, "{achieved:?}");
    }

    #[test]
    fn sizes_come_from_a_bounded_number_of_blocks() {
        let mut census = Census::new(usize::MAX);
        (1..=10_000).for_each(|id| census.add(&block(id, 1000 + (id % 2) as usize * 500)));
        let achieved = census.finish();
        assert!(
            (SIZED_BLOCKS as u64 / 2 - 100..=SIZED_BLOCKS as u64).contains(&achieved.blocks_sized)
        );
        let mean = achieved.lz4_size_mean_bytes.unwrap();
        assert!((mean - 1280.0).abs() < 25.0, "{mean}");
        assert!(achieved.lz4_size_min_bytes.unwrap() < 1040);
        assert!(achieved.lz4_size_max_bytes.unwrap() > 1520);
    }

    #[test]
    fn the_stated_error_covers_the_truth() {
        let mut outside = 0;
        for seed in 0..60 {
            let mut rng = Seed(seed).derive("copies").generator();
            // Two kinds of content, with about 5 copies and 1: a binomial error would be too small.
            let ids: Vec<u64> = (0..8000)
                .map(|i| {
                    seed << 32
                        | (1 + if i % 2 == 0 { rng.below(800) } else { 1000 + rng.below(30_000) })
                })
                .collect();
            let distinct = ids.iter().collect::<std::collections::HashSet<_>>().len();
            let truth = 100.0 * (1.0 - distinct as f64 / ids.len() as f64);
            let achieved = census(300, ids.into_iter());
            let error = achieved.duplicate_error_points.unwrap();
            assert!(error > 0.0);
            outside += u32::from((achieved.duplicate_percent.unwrap() - truth).abs() > 2.0 * error);
        }
        assert!(outside <= 9, "{outside} of 60 beyond two standard errors");
    }

    #[test]
    fn blocks_of_other_sizes_are_counted_and_sized_as_they_are_and_memory_stays_bounded() {
        for (unit, kept) in [(512, SIZED_BLOCKS), (8192, 1024), (65_536, 128), (16 << 20, 1)] {
            let mut census = Census::of_blocks(unit, 1000);
            let distinct = if unit > BLOCK * 16 { 3 } else { 600 };
            for id in (0..distinct).chain(0..distinct) {
                let mut block = vec![0; unit];
                let mut rng = Seed(id).derive("unit").generator();
                block[..unit / 2].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
                census.written(1);
                census.add(&block);
                assert!(census.kept.len() <= kept, "{unit}: {}", census.kept.len());
            }
            let achieved = census.finish();
            assert_eq!(achieved.duplicate_percent, Some(50.0), "{unit}");
            assert_eq!(achieved.packer_saving_percent, None);
            if let Some(saving) = achieved.lz4_saving_percent {
                assert!((44.0..50.1).contains(&saving), "{unit}: {saving}");
            }
            assert!(unit > BLOCK * 16 || achieved.blocks_sized > 0);
        }
    }

    proptest::proptest! {
        #[test]
        fn agrees_with_a_naive_count_of_all_blocks(
            ids in proptest::collection::vec(0u64..300, 1..1500), budget in 1usize..400, asked in 0u32..4,
        ) {
            let mut census = Census::new(budget);
            let mut copies = HashMap::new();
            for &id in &ids {
                census.written(1);
                let block = block(id, 40);
                if id == 0 { census.add_zero(1) } else { census.add(&block) }
                *copies.entry(id).or_insert((0u64, pick(&block))) = {
                    let (n, p) = copies.get(&id).copied().unwrap_or((0, pick(&block)));
                    (n + 1, p)
                };
            }
            census.tighten_to(asked);
            let got = census.finish();
            let zeros = copies.remove(&0).map_or(0, |(n, _)| n);
            let sample: Vec<_> = copies.values().filter(|(_, p)| passes(*p, got.sample_shift)).collect();
            let sampled: u64 = sample.iter().map(|(n, _)| n).sum();
            proptest::prop_assert!(got.sample_shift >= asked);
            proptest::prop_assert!(sample.len() <= budget.max(1));
            proptest::prop_assert_eq!(got.blocks_sampled, sampled);
            proptest::prop_assert_eq!(got.distinct_sampled, sample.len() as u64);
            proptest::prop_assert_eq!(got.blocks_zero, zeros);
            proptest::prop_assert_eq!(got.blocks_written, ids.len() as u64);
            let all = ids.len() as f64;
            let expected = (sampled > 0).then(|| {
                100.0 * (1.0 - sample.len() as f64 / sampled as f64) * (all - zeros as f64) / all
            });
            match (got.duplicate_percent, expected) {
                (Some(got), Some(expected)) => proptest::prop_assert!((got - expected).abs() < 1e-9),
                (None, None) => {}
                (Some(got), None) => proptest::prop_assert!(got == 0.0 && zeros == ids.len() as u64),
                (None, Some(_)) => proptest::prop_assert!(false),
            }
        }
    }
}
