//! The bytes of blocks, on every code path.

use super::fan::*;
use super::generator::*;
use super::*;
use crate::ContentId;
use reduce::BLOCK;
use units::Seed;

fn made(path: Path, id: u64, random: usize) -> [u8; BLOCK] {
    let mut block = [0xee; BLOCK];
    Generator::with_path(path).fill(ContentId(id), BlockLayout::head(random), &mut block);
    block
}

/// A layout, a length, and the place of its bytes in memory, drawn.
fn drawn(rng: &mut units::SplitMix64) -> (BlockLayout, usize, usize) {
    let length = [512, 1000, 4096, 4096, 16384, 65536][rng.below(6) as usize];
    let random = rng.below(length as u64 + 1) as usize;
    let layout = match rng.below(3) {
        0 => BlockLayout::head(random),
        1 => BlockLayout::head(length),
        _ => BlockLayout::interleaved(random, 256 << rng.below(5)),
    };
    (layout, length, rng.below(64) as usize)
}

#[test]
fn every_path_makes_and_knows_every_layout() {
    let mut rng = Seed(2).generator();
    for round in 1..1500 {
        let (layout, length, shift) = drawn(&mut rng);
        let id = ContentId(if round % 50 == 0 { 0 } else { rng.next_u64() });
        let mut expected = vec![0xee; length];
        Generator::with_path(Path::Portable).fill(id, layout, &mut expected);
        for &path in Path::available() {
            let generator = Generator::with_path(path);
            let mut space = vec![0xee; length + 128];
            generator.fill(id, layout, &mut space[shift..shift + length]);
            assert!(space[shift..shift + length] == expected, "{path:?} {layout:?} {length}");
            assert!(space[..shift].iter().chain(&space[shift + length..]).all(|&b| b == 0xee));
            assert_eq!(generator.matches(id, layout, &space[shift..shift + length]), Ok(()));
        }
    }
}

#[test]
fn every_path_finds_the_first_wrong_byte() {
    let mut rng = Seed(3).generator();
    for _ in 0..1500 {
        let (layout, length, _) = drawn(&mut rng);
        let id = ContentId(rng.next_u64());
        let mut block = vec![0; length];
        Generator::best().fill(id, layout, &mut block);
        let mut at = [rng.below(length as u64) as usize, rng.below(length as u64) as usize];
        at.sort_unstable();
        let expected = block[at[0]];
        block[at[1]] ^= 1 << rng.below(8);
        block[at[0]] ^= if at[0] == at[1] { 0 } else { 0x80 };
        let found = block[at[0]];
        for &path in Path::available() {
            let answer = Generator::with_path(path).matches(id, layout, &block);
            assert_eq!(answer, Err(Mismatch { offset: at[0], found, expected }), "{path:?}");
        }
    }
}

#[test]
fn every_path_stores_every_length_at_every_place() {
    for &path in Path::available() {
        for (length, shift) in (0..300).flat_map(|length| [(length, 0), (length, length % 67)]) {
            let mut space = [0xee; 500];
            Generator::with_path(path).store(7, &mut space[shift..shift + length]);
            let (before, rest) = space.split_at(shift);
            let (stored, after) = rest.split_at(length);
            assert!(stored.iter().all(|&byte| byte == 7), "{path:?} {length} {shift}");
            assert!(before.iter().chain(after).all(|&byte| byte == 0xee), "{path:?} {length}");
        }
    }
}

#[test]
fn a_path_that_the_processor_lacks_falls_back_to_the_best() {
    for path in [Path::Portable, Path::AesNi, Path::Vaes256, Path::Vaes512] {
        let taken = Generator::with_path(path).path();
        let there = Path::available().contains(&path);
        assert_eq!(taken, if there { path } else { Path::best() });
    }
}

#[test]
fn every_path_makes_the_same_bytes() {
    let mut rng = Seed(1).generator();
    if Path::available().len() == 1 {
        println!("SKIP every_path_makes_the_same_bytes: this processor has one path only");
    }
    for round in 0..2000 {
        let id = if round < 64 { 1 << round } else { rng.next_u64() };
        let random = rng.below(BLOCK as u64 + 1) as usize;
        for &path in Path::available() {
            let block = made(path, id, random);
            assert!(block == made(Path::Portable, id, random), "{path:?} {id:#x} {random}");
            assert!(block[random..].iter().all(|&byte| byte == 0));
        }
    }
}

#[test]
fn the_bytes_are_those_of_every_release() {
    let print = reduce::Fingerprint::of(&made(Path::best(), 42, BLOCK));
    assert_eq!(format!("{:032x}", print.0), GOLDEN);
}

/// Fingerprint of block 42. Results of one seed are comparable between releases only while it stays.
const GOLDEN: &str = "e67d266bac1161a018d5b2b1ac10858d";

/// As QEMU's VAES does: both halves of 32 bytes are the first.
#[test]
fn a_path_that_makes_other_bytes_or_overlooks_them_is_not_used() {
    let fill = |id, batches: &mut [[u8; BATCH]]| portable::fill(&portable::root(id), 0, batches);
    let wrong = |id, batches: &[[u8; BATCH]]| portable::wrong(&portable::root(id), 0, batches);
    assert!(makes_the_bytes(fill, wrong));
    let halved = |id, batches: &mut [[u8; BATCH]]| {
        fill(id, batches);
        batches.as_flattened_mut().chunks_mut(32).for_each(|two| two.copy_within(..16, 16));
    };
    assert!(!makes_the_bytes(halved, wrong));
    assert!(!makes_the_bytes(fill, |_, _| None));
    assert!(!makes_the_bytes(fill, |_, _| Some(0)));
    assert!(Path::available().contains(&Path::Portable));
}

#[test]
fn random_bytes_never_end_in_a_zero_before_zeros_and_a_zero_there_is_found() {
    let chunks = BlockLayout::interleaved(2000, 1024);
    for (layout, last) in
        [(BlockLayout::head(1000), 999), (BlockLayout::head(522), 521), (chunks, 3023)]
    {
        let mut replaced = 0;
        for id in 1..=2000 {
            let mut whole = [0; BLOCK];
            Generator::best().fill(ContentId(id), BlockLayout::head(BLOCK), &mut whole);
            replaced += u32::from(whole[last] == 0);
            for path in Path::available() {
                let generator = Generator::with_path(*path);
                let mut block = [1; BLOCK];
                generator.fill(ContentId(id), layout, &mut block);
                assert_ne!(block[last], 0);
                assert_eq!(block[last + 1], 0);
                assert_eq!(generator.matches(ContentId(id), layout, &block), Ok(()));
                assert!(generator.holds(ContentId(id), layout, &block));
                assert_eq!(generator.identify_whole(layout, &block), Some(ContentId(id)));
                let before = std::mem::take(&mut block[last]);
                let wrong = Mismatch { offset: last, found: 0, expected: before };
                assert_eq!(generator.matches(ContentId(id), layout, &block), Err(wrong));
                assert!(!generator.holds(ContentId(id), layout, &block));
            }
        }
        assert!((1..30).contains(&replaced), "one in 256: {replaced}");
    }
}

#[test]
fn fewer_random_bytes_are_the_head_of_more() {
    let whole = made(Path::best(), 7, BLOCK);
    for random in [0, 1, 16, 255, 256, 257, 1600, 4095] {
        assert!(made(Path::best(), 7, random)[..random] == whole[..random]);
    }
}

/// Dense and strided ids, as loads make them.
fn ids(count: u64) -> impl Iterator<Item = u64> {
    (1..count / 2).chain((0..count / 2).map(|i| i << 32 | 1 << 63))
}

#[test]
fn byte_values_are_even() {
    let mut counts = [0u64; 256];
    for id in ids(4096) {
        made(Path::best(), id, BLOCK).iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    }
    let mean = counts.iter().sum::<u64>() as f64 / 256.0;
    let chi: f64 = counts.iter().map(|&n| (n as f64 - mean).powi(2) / mean).sum();
    // 255 degrees of freedom: 99.99 % lie between 179 and 347.
    assert!((179.0..347.0).contains(&chi), "chi-square {chi}");
}

#[test]
fn lanes_of_neighbours_share_half_their_bits() {
    // XOR of neighbouring lanes, of lanes two apart (same kind), and of the same lane in blocks with near ids.
    let mut sums = [[0u32; 128]; 3];
    let mut n = 0u32;
    let lane = |block: &[u8; BLOCK], at: usize| {
        u128::from_le_bytes(std::array::from_fn(|i| block[16 * at + i]))
    };
    for id in ids(256) {
        let (a, b) = (made(Path::best(), id, BLOCK), made(Path::best(), id ^ 1, BLOCK));
        for at in 0..254 {
            let x = lane(&a, at);
            for (kind, y) in [lane(&a, at + 1), lane(&a, at + 2), lane(&b, at)].iter().enumerate() {
                let difference = x ^ y;
                (0..128).for_each(|bit| sums[kind][bit] += (difference >> bit & 1) as u32);
            }
            n += 1;
        }
    }
    // 384 counts of n coins: beyond 4.5 standard deviations once in 400 runs of unlucky constants; ids are fixed.
    let (mean, deviation) = (f64::from(n) / 2.0, f64::from(n).sqrt() / 2.0);
    for (kind, bits) in sums.iter().enumerate() {
        for (bit, &ones) in bits.iter().enumerate() {
            let z = (f64::from(ones) - mean) / deviation;
            assert!(z.abs() < 4.5, "kind {kind} bit {bit}: {z}");
        }
    }
}

#[test]
fn lanes_are_linearly_independent() {
    // 1024 bits of a block against 1024 blocks and lanes: rank over GF(2) within 8 of full, as of random bits.
    for offset in [0usize, 16, 1024, 3904] {
        let mut rows: Vec<[u64; 16]> = (0..1024u64)
            .map(|i| {
                let block = made(Path::best(), i / 2 + 1, BLOCK);
                let start = offset + (i % 2) as usize * 64;
                std::array::from_fn(|w| {
                    u64::from_le_bytes(std::array::from_fn(|b| block[start + 8 * w + b]))
                })
            })
            .collect();
        assert!(rank(&mut rows) >= 1016, "offset {offset}");
    }
}

fn rank(rows: &mut [[u64; 16]]) -> usize {
    let mut rank = 0;
    for bit in 0..1024 {
        let set = |row: &[u64; 16]| row[bit / 64] >> (bit % 64) & 1 == 1;
        let Some(pivot) = (rank..rows.len()).find(|&r| set(&rows[r])) else { continue };
        rows.swap(rank, pivot);
        let pivot = rows[rank];
        for row in &mut rows[rank + 1..] {
            if set(row) {
                row.iter_mut().zip(pivot).for_each(|(a, b)| *a ^= b);
            }
        }
        rank += 1;
    }
    rank
}

#[test]
fn a_block_is_named_whole_by_every_path_and_a_flipped_bit_anywhere_unnames_it() {
    let heads = [4096, 4095, 4032, 1612, 577, 576, 513, 512, 511, 65, 64, 60, 17, 16];
    let layouts = heads.map(BlockLayout::head);
    for &path in Path::available() {
        let generator = Generator::with_path(path);
        for layout in layouts.into_iter().chain([BlockLayout::chunks(1024, 256, 1024)]) {
            let mut block = [0; 4096];
            assert_eq!(generator.identify_whole(layout, &block), Some(ContentId::ZERO));
            generator.fill(ContentId(77), layout, &mut block);
            assert_eq!(
                generator.identify_whole(layout, &block),
                Some(ContentId(77)),
                "{path:?} {layout:?}"
            );
            assert_eq!(generator.identify_whole(layout, &block[..512]), Some(ContentId(77)));
            assert!(generator.holds(ContentId(77), layout, &block));
            assert!(!generator.holds(ContentId(78), layout, &block));
            for bit in (0..4096 * 8).step_by(37).chain([0, 127, 4096 * 8 - 1]) {
                block[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(
                    generator.identify_whole(layout, &block),
                    None,
                    "{path:?} {layout:?} {bit}"
                );
                assert!(!generator.holds(ContentId(77), layout, &block), "{path:?} {bit}");
                block[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}

#[test]
fn a_look_at_a_block_finds_what_it_grows_from_on_every_path_and_a_flipped_bit_anywhere() {
    let layouts = [4096, 4095, 1612, 512, 64, 16].map(BlockLayout::head);
    for &path in Path::available() {
        let generator = Generator::with_path(path);
        for layout in layouts.into_iter().chain([BlockLayout::chunks(1024, 256, 1024)]) {
            let look = BlockCheck::new(generator, layout, 4096);
            let (root, other) = (Root::of(ContentId(77)), Root::of(ContentId(78)));
            assert_ne!(root, other);
            assert_eq!(root, portable::root(ContentId(77)));
            let mut block = [0; 4096];
            assert_eq!(look.number(&block), None, "{path:?} {layout:?}");
            assert!(!look.grows(root, &block) && !look.grows(Root::default(), &block));
            generator.fill(ContentId(77), layout, &mut block);
            assert_eq!(look.number(&block), Some(root.number()), "{path:?} {layout:?}");
            assert!(look.grows(root, &block) && !look.grows(other, &block));
            for bit in (0..4096 * 8).step_by(41).chain([0, 127, 4096 * 8 - 1]) {
                block[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(look.number(&block), None, "{path:?} {layout:?} {bit}");
                assert!(!look.grows(root, &block), "{path:?} {layout:?} {bit}");
                block[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}
