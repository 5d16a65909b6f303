//! The census against a naive count.

use super::reservoir::SIZED_BLOCKS;
use super::*;
use crate::addresses::AddressState;
use crate::pick::pick;
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
    // Half of the first 4000 blocks come from ten contents; half of the others repeat a content that was new 4001 blocks before.
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
            let block = block(1 + (seed << 32) + if n < 4000 { content(n) } else { n / 2 * 2 }, 64);
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
fn the_stated_errors_of_sizes_cover_what_all_sizes_would_have_given() {
    // Numbers of random bytes in a block, and the LZ4 sizes of blocks with that many followed by zeros.
    let kinds = [200, 900, 1600, 4096];
    let mut lz4 = Lz4::new();
    let sizes = kinds.map(|random| lz4.size(&block(7, random)).unwrap());
    const BLOCKS: usize = 9000;
    let mut covered = [0; 2];
    for seed in 0..40u64 {
        let mut census = Census::new(100_000);
        let kind = |n: usize| (Seed(seed).derive(&n.to_string()).0 % 4) as usize;
        for n in 0..BLOCKS {
            census.written(1);
            census.add(&block(seed << 32 | n as u64, kinds[kind(n)]));
        }
        let found = census.finish();
        assert!((256..=SIZED_BLOCKS as u64).contains(&found.blocks_sized), "{found:?}");
        let all: Vec<_> = (0..BLOCKS).map(|n| sizes[kind(n)]).collect();
        let mean = all.iter().sum::<usize>() as f64 / BLOCKS as f64;
        let truth = [
            100.0 * (1.0 - mean / BLOCK as f64),
            packed(all.iter().copied()).saving_percent().unwrap(),
        ];
        let got = [
            (found.lz4_saving_percent.unwrap(), found.lz4_saving_error_points.unwrap()),
            (found.packer_saving_percent.unwrap(), found.packer_saving_error_points.unwrap()),
        ];
        for (covered, (truth, (got, error))) in covered.iter_mut().zip(truth.iter().zip(got)) {
            assert!(error > 0.1 && error < 3.0, "{error}");
            *covered += u32::from((got - truth).abs() <= 1.96 * error);
        }
    }
    // 38 of 40 on average; fewer than 34 happen once in a hundred.
    assert!(covered.iter().all(|&covered| covered >= 34), "{covered:?}");
    // If nothing is left out, or all sizes are equal, there is no error.
    let few = census(1000, 1..500);
    assert_eq!(few.lz4_saving_error_points, Some(0.0));
    assert_eq!(few.packer_saving_error_points, Some(0.0));
    assert_eq!(census(100_000, 1..9000).packer_saving_error_points, Some(0.0));
}

/// Numbers of random bytes per block, in stretches of similar blocks, as files have them.
fn stretches(seed: u64) -> impl Iterator<Item = usize> {
    let mut rng = Seed(seed).derive("stretches").generator();
    let (mut left, mut level) = (0, 0);
    std::iter::repeat_with(move || {
        if left == 0 {
            (left, level) = (1 + rng.below(60), 300 + rng.below(3000) as usize);
        }
        left -= 1;
        level + rng.below(200) as usize
    })
}

#[test]
fn the_packer_gets_neighbours_as_they_were_written_and_the_stated_error_covers_all_of_them() {
    const BLOCKS: usize = 20_000;
    let mut lz4 = Lz4::new();
    let (mut covered, mut off) = (0, 0.0);
    for seed in 0..24u64 {
        let (mut census, mut sizes) = (Census::new(100_000), Vec::new());
        for (n, random) in stretches(seed).take(BLOCKS).enumerate() {
            let block = block(seed << 32 | n as u64, random);
            census.written(1);
            census.add(&block);
            sizes.push(lz4.size(&block).unwrap());
        }
        let truth = packed(sizes.iter().copied()).saving_percent().unwrap();
        let mut rng = Seed(seed).generator();
        (1..BLOCKS).rev().for_each(|i| sizes.swap(i, rng.below(i as u64 + 1) as usize));
        off += packed(sizes).saving_percent().unwrap() - truth;
        let found = census.finish();
        let saving = found.packer_saving_percent.unwrap();
        let error = found.packer_saving_error_points.unwrap();
        assert!(error < 3.0, "{error}");
        covered += u32::from((saving - truth).abs() <= 1.96 * error);
    }
    assert!(off / 24.0 > 3.0, "random neighbours pack better by {}", off / 24.0);
    // 23 of 24 on average; fewer than 20 happen once in a hundred.
    assert!(covered >= 20, "{covered}");
}

#[test]
fn all_that_was_written_is_packed_as_it_was_written_and_without_order_nothing_is_said() {
    let blocks: Vec<_> = (0..3000u64).zip(stretches(5)).map(|(n, r)| block(n, r)).collect();
    let mut lz4 = Lz4::new();
    let truth = packed(blocks.iter().map(|block| lz4.size(block).unwrap()));
    let mut whole = Census::new(100_000);
    blocks.iter().chain(&blocks[..500]).for_each(|block| {
        whole.written(1);
        whole.add(block);
    });
    let found = whole.finish();
    assert_eq!(found.packer_saving_percent, truth.saving_percent());
    assert_eq!(found.packer_saving_error_points, Some(0.0));
    // Named by a caller that kept nothing of the beginning.
    let mut named = Census::new(100_000);
    for block in &blocks {
        named.written(1);
        named.add_named(Name::of(block), None);
        named.keep(Name::of(block), block);
    }
    let found = named.finish();
    assert!(found.lz4_saving_percent.is_some());
    assert_eq!((found.packer_saving_percent, found.packer_saving_error_points), (None, None));
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
        assert!(census.seen.len() <= 500 && census.reservoir.len() <= 500);
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
    assert!((SIZED_BLOCKS as u64 / 2 - 100..=SIZED_BLOCKS as u64).contains(&achieved.blocks_sized));
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
    for (unit, reservoir) in [(512, SIZED_BLOCKS), (8192, 1024), (65_536, 128), (16 << 20, 1)] {
        let mut census = Census::of_blocks(unit, 1000);
        let distinct = if unit > BLOCK * 16 { 3 } else { 600 };
        for id in (0..distinct).chain(0..distinct) {
            let mut block = vec![0; unit];
            let mut rng = Seed(id).derive("unit").generator();
            block[..unit / 2].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
            census.written(1);
            census.add(&block);
            assert!(census.reservoir.len() <= reservoir, "{unit}: {}", census.reservoir.len());
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

/// Removes the copies above the mean of contents that are repeated often, and returns how many these were: what a census that saw every block does
/// when it starts sampling, computed from the definition.
fn without_the_often(copies: &mut HashMap<u64, u64>) -> u64 {
    let mean = copies.values().sum::<u64>().div_ceil((copies.len() as u64).max(1));
    let often = copies.values_mut().filter(|n| **n > OFTEN * mean);
    often.map(|n| std::mem::replace(n, mean) - mean).sum()
}

proptest::proptest! {
    #[test]
    fn agrees_with_a_naive_count_of_all_blocks(
        ids in proptest::collection::vec(0u64..300, 1..1500), heavy in 0u64..300, budget in 1usize..400, least_shift in 0u32..4,
    ) {
        // Some contents come much more often than others.
        let ids: Vec<u64> = ids.into_iter().map(|id| if id < heavy { id % 3 } else { id }).collect();
        let mut census = Census::new(budget);
        let (mut copies, mut zeros, mut aside) = (HashMap::default(), 0, None);
        for &id in &ids {
            census.written(1);
            if id == 0 {
                census.add_zero(1);
                zeros += 1;
                continue;
            }
            census.add(&block(id, 40));
            *copies.entry(id).or_insert(0u64) += 1;
            if copies.len() > budget && aside.is_none() {
                aside = Some(without_the_often(&mut copies));
            }
        }
        census.tighten_to(least_shift);
        if least_shift > 0 && aside.is_none() {
            aside = Some(without_the_often(&mut copies));
        }
        let aside = aside.unwrap_or(0);
        let got = census.finish();
        let sample: Vec<_> =
            copies.iter().filter(|(id, _)| passes(pick(&block(**id, 40)), got.sample_shift)).collect();
        let sampled: u64 = sample.iter().map(|(_, n)| **n).sum();
        proptest::prop_assert!(got.sample_shift >= least_shift);
        proptest::prop_assert!(sample.len() <= budget);
        proptest::prop_assert_eq!(got.blocks_sampled, sampled);
        proptest::prop_assert_eq!(got.distinct_sampled, sample.len() as u64);
        proptest::prop_assert_eq!(got.blocks_zero, zeros);
        proptest::prop_assert_eq!(got.blocks_written, ids.len() as u64);
        let (all, others) = (ids.len() as f64, (ids.len() as u64 - zeros - aside) as f64);
        let expected = (sampled > 0).then(|| {
            let share = 1.0 - sample.len() as f64 / sampled as f64;
            100.0 * (aside as f64 + share * others) / all
        });
        match (got.duplicate_percent, expected) {
            (Some(got), Some(expected)) => proptest::prop_assert!((got - expected).abs() < 1e-9),
            (None, None) => {}
            (Some(got), None) => proptest::prop_assert!(got == 0.0 && zeros == ids.len() as u64),
            (None, Some(_)) => proptest::prop_assert!(false),
        }
    }
}

/// A census together with what the addresses really hold: content numbers, 0 for a zero block.
struct Volume {
    census: Census,
    addresses: Arc<Addresses>,
    holds: HashMap<u64, u64>,
    order: u64,
}

/// Counts a block that is not zero with its address.
fn add_at(census: &mut Census, place: Place, block: &[u8]) {
    let name = Name::of(block);
    census.add_named(name, Some(place));
    census.keep(name, block);
}

impl Volume {
    fn new(addresses: u64, budgets: (usize, usize), ahead: u32) -> Self {
        let words = (0..Addresses::words(addresses)).map(|_| Default::default()).collect();
        let addresses = Arc::new(Addresses::over(words, false));
        let census = Census::new(budgets.0).and_live_within(addresses.clone(), ahead, budgets.1);
        Self { census, addresses, holds: HashMap::default(), order: 0 }
    }

    fn write(&mut self, address: u64, id: u64) {
        self.census.written(1);
        self.holds.insert(address, id);
        if id == 0 {
            self.census.add_zero(1);
            return self.addresses.set(address, AddressState::Zero);
        }
        let block = block(id, 48);
        if !crate::picked(&block, self.census.shift()) {
            return self.addresses.set(address, AddressState::Data);
        }
        self.addresses.set(address, AddressState::Sampled);
        self.order += 1;
        add_at(&mut self.census, Place { address, order: self.order }, &block);
    }

    fn discard(&mut self, from: u64, to: u64) {
        self.addresses.empty(from..to);
        self.holds.retain(|address, _| !(from..to).contains(address));
    }

    /// Share of duplicates among the blocks that are there, percent, and the number of blocks.
    fn truth(&self) -> (Option<f64>, u64) {
        let data = self.holds.values().filter(|&&id| id != 0);
        let distinct = data.clone().collect::<std::collections::HashSet<_>>().len();
        let blocks = self.holds.len();
        let share = 100.0 * (data.count() - distinct) as f64 / blocks as f64;
        ((blocks > 0).then_some(share), blocks as u64)
    }
}

proptest::proptest! {
    #[test]
    fn what_the_addresses_hold_is_exact_as_long_as_everything_fits(
        changes in proptest::collection::vec((0u64..120, 0u64..60, 0u64..20), 0..600), ahead in 0u32..3,
    ) {
        let mut volume = Volume::new(120, (1000, 1000), ahead);
        for (address, id, what) in changes {
            if what == 0 {
                volume.discard(address, address + id);
            } else {
                volume.write(address, id);
            }
        }
        let (share, blocks) = volume.truth();
        let got = volume.census.finish();
        proptest::prop_assert_eq!(got.blocks_live, Some(blocks));
        proptest::prop_assert_eq!(got.live_duplicate_percent, share);
        proptest::prop_assert_eq!(got.live_duplicate_error_points, share.map(|_| 0.0));
    }
}

#[test]
fn the_stated_error_of_what_the_addresses_hold_covers_the_truth_under_overwrites() {
    let mut outside = 0;
    for seed in 0..40 {
        let mut rng = Seed(seed).derive("live").generator();
        let mut volume = Volume::new(6000, (800, 1000), 2);
        // Half of the addresses draw from a pool, with a heavy content among it; some are zero, some are given back.
        for turn in 0..24_000u64 {
            let address = rng.below(6000);
            let id = match address % 8 {
                0 => 0,
                1 => 1,
                2..5 => 2 + rng.below(90),
                _ => 1000 + turn,
            };
            volume.write(address, if id == 0 { 0 } else { id + (seed << 32) });
            if turn % 1000 == 999 {
                volume.discard(address, address + 20);
            }
            let live = volume.census.live.as_ref().unwrap();
            assert!(live.len() <= 1000);
        }
        let (share, blocks) = volume.truth();
        let got = volume.census.finish();
        assert_eq!(got.blocks_live, Some(blocks));
        let (found, error) =
            (got.live_duplicate_percent.unwrap(), got.live_duplicate_error_points.unwrap());
        assert!((0.1..4.0).contains(&error), "{found} ± {error}");
        outside += u32::from((found - share.unwrap()).abs() > 2.0 * error);
    }
    assert!(outside <= 6, "{outside} of 40 beyond two standard errors");
}

#[test]
fn a_content_that_is_everywhere_is_not_lost_for_want_of_room() {
    let mut volume = Volume::new(20_000, (500, 500), 0);
    (0..40_000).for_each(|turn| volume.write(turn * 7 % 20_000, 1 + turn % 3));
    let got = volume.census.finish();
    assert_eq!(got.live_duplicate_error_points, Some(0.0));
    let share = 100.0 * (1.0 - 3.0 / 20_000.0);
    assert!((got.live_duplicate_percent.unwrap() - share).abs() < 1e-9, "{got:?}");
}

#[test]
fn what_was_written_later_counts_however_queues_were_emptied() {
    let mut volume = Volume::new(10, (100, 100), 0);
    let mut add = |address, order, id| {
        volume.addresses.set(address, AddressState::Sampled);
        add_at(&mut volume.census, Place { address, order }, &block(id, 48));
    };
    add(0, 5, 1);
    add(1, 3, 1);
    // Handed over before what the census knows already.
    add(0, 2, 2);
    assert_eq!(volume.census.finish().live_duplicate_percent, Some(50.0));
}

#[test]
fn without_addresses_nothing_is_said_of_what_they_hold() {
    let mut census = Census::new(10).and_live(Arc::default(), 2);
    census.written(1);
    census.add(&block(1, 10));
    let got = census.finish();
    assert_eq!((got.live_duplicate_percent, got.blocks_live), (None, None));
}
