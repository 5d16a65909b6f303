//! Round trips: estimates of data, and of the content made from its profile, agree.

use std::time::Duration;

use content::{ContentId, ContentSpec, Profile, ProfileSource, Source};
use reduce::{BLOCK, Lz4, Policy, WrittenBlock};
use units::Seed;

use crate::compare::Records;
use crate::extrapolate::{Estimate, Parts};
use crate::ordered_model::OrderedModel;
use crate::worker::{Done, Run};
use crate::{Request, Sources};

/// 96 MiB.
const BLOCKS: usize = 24 << 10;

/// Largest differences on unique data, in points: of the saving, the packer's saving, duplicates, zeros, fragments.
const UNIQUE: [f64; 5] = [0.5, 0.5, 0.1, 0.1, 1.5];
/// Largest differences on data with duplicates.
const MAX_DUPLICATE_DIFFERENCES: [f64; 5] = [0.5, 1.0, 0.1, 0.1, 2.0];
/// Largest differences at any share of duplicates.
const ANY: [f64; 5] = [1.0, 1.0, 0.1, 0.1, 2.5];

/// Blocks as (name, LZ4 size), in order; name 0 is a zero block.
fn estimate(blocks: &[(u64, u16)]) -> Estimate {
    let mut order = OrderedModel::new(Policy::default());
    for (number, blocks) in (0..).zip(blocks.chunks(64)) {
        let zeros = blocks.iter().filter(|block| block.0 == 0).count() as u32;
        let data = blocks.iter().filter(|block| block.0 != 0);
        let data =
            data.map(|&(name, size)| WrittenBlock { name, lz4_bytes: Some(size), size_shift: 0 });
        let blocks: Vec<_> = data.collect();
        let runs = vec![Run { directory: 0, zeros, data: blocks.len() as u32 }];
        order.take(Done { number, runs, blocks, ..Done::default() });
    }
    let parts = Parts {
        whole: order.finish(),
        names: vec!["/".into()],
        sources: Sources::default(),
        comparison: Records::default().comparison(),
        sequences: Vec::new(),
        complete: true,
        elapsed: Duration::ZERO,
    };
    Estimate::of(&Request::default(), parts).unwrap()
}

fn name(id: u64) -> u64 {
    Seed(id).derive("name").0 | 1
}

/// Makes content from a profile; returns (name, LZ4 size) of its blocks, found from their bytes.
fn make_content(profile: &Profile, blocks: usize, seed: u64) -> Vec<(u64, u16)> {
    let profile = Profile::read(&profile.to_json().unwrap(), "p").unwrap();
    let profile = Some(ProfileSource::Loaded(Box::new(profile)));
    let spec = ContentSpec { profile, ..ContentSpec::default() };
    let mut source = Source::new(&spec, Seed(seed), 0, 1);
    let (mut lz4, mut block) = (Lz4::new(), [0; BLOCK]);
    let mut sizes = std::collections::HashMap::new();
    let blocks = (0..blocks as u64).map(|address| {
        let id = source.next_id(address);
        if id == ContentId::ZERO {
            return (0, 0);
        }
        let size = *sizes.entry(id).or_insert_with(|| {
            source.fill(id, &mut block);
            lz4.size(&block).unwrap() as u16
        });
        (name(id.0), size)
    });
    blocks.collect()
}

/// Files of made-up data: blocks of a file have similar sizes, the last one is small; some files come twice in a row, some again later.
fn files(spread: u64, near: u64, far: u64, zero: u64, seed: u64) -> Vec<(u64, u16)> {
    let mut rng = Seed(seed).derive("files").generator();
    let (mut blocks, mut next) = (Vec::new(), 1);
    while blocks.len() < BLOCKS {
        let (level, length) = (300 + rng.below(3000), 1 + rng.below(40).min(rng.below(40)));
        // Near files are short and compress well, as headers do.
        let twice = rng.below(100) < near;
        let (level, length) =
            if twice { (300 + level / 4, 1 + length / 8) } else { (level, length) };
        let file: Vec<_> = (0..length)
            .map(|at| {
                next += 1;
                let size = if at + 1 == length { level / 3 + 40 } else { level };
                (name(next), (size + rng.below(spread)).min(4096) as u16)
            })
            .collect();
        blocks.extend(&file);
        if twice {
            blocks.extend(&file);
        }
        if rng.below(100) < far && blocks.len() > 8000 {
            let from = rng.below(blocks.len() as u64 - 4000) as usize;
            let again = blocks[from..from + 30].to_vec();
            blocks.extend(again);
        }
        if rng.below(100) < zero {
            blocks.resize(blocks.len() + 5, (0, 0));
        }
    }
    blocks.truncate(BLOCKS);
    blocks
}

/// Data with `percent` percent duplicates: files that come again at once, some that pack and some that do not, blocks
/// that come many times in a row, and stretches repeated from long ago.
fn with_duplicates(percent: u64, blocks: usize) -> Vec<(u64, u16)> {
    let mut rng = Seed(percent).derive("duplicates").generator();
    let (mut all, mut next, mut again) = (Vec::new(), 1, 0);
    while all.len() < blocks {
        let (level, length) = (300 + rng.below(3000), 1 + rng.below(30).min(rng.below(30)));
        let packed = rng.below(4) > 0;
        let file: Vec<_> = (0..length)
            .map(|_| {
                next += 1;
                (name(next), if packed { (level + rng.below(200)).min(4096) as u16 } else { 4096 })
            })
            .collect();
        all.extend(&file);
        while again * 100 < percent * all.len() as u64 {
            let from = all.len();
            match rng.below(4) {
                0 => all.extend(&file),
                1 if packed => all.extend(&file),
                1 => (0..4).for_each(|_| all.extend(&file)),
                2 => all.extend([file[0]; 5]),
                _ => {
                    let at = rng.below(from as u64) as usize;
                    all.extend_from_within(at..(at + 30).min(from));
                }
            }
            again += (all.len() - from) as u64;
        }
    }
    all.truncate(blocks);
    all
}

fn compare(what: &str, blocks: &[(u64, u16)], most: [f64; 5]) {
    let Estimate { answer, profile } = estimate(blocks);
    let profile = profile.unwrap();
    for seed in 0..2 {
        let again = estimate(&make_content(&profile, blocks.len(), seed)).answer;
        let figures = |a: &crate::Answer| {
            let part = |n: u64| 100.0 * n as f64 / a.blocks.total as f64;
            let packed = part(a.vdo.packer.fragments);
            let (all, packer) = (a.vdo.saving_percent, a.vdo.packer.saving_percent);
            let (again, zero) = (part(a.blocks.duplicate), part(a.blocks.zero));
            [all.unwrap(), packer.unwrap(), again, zero, packed]
        };
        let (wanted, got) = (figures(&answer), figures(&again));
        println!("{what}, seed {seed}: {wanted:.2?} became {got:.2?}");
        for ((wanted, got), most) in wanted.into_iter().zip(got).zip(most) {
            assert!((wanted - got).abs() <= most, "{what}: {wanted:.2} became {got:.2}");
        }
    }
}

#[test]
fn what_a_profile_makes_of_unique_data_is_estimated_alike() {
    for spread in [1, 60, 400, 1500] {
        compare(&format!("files, spread {spread}"), &files(spread, 0, 0, 0, spread), UNIQUE);
    }
    let mut rng = Seed(1).generator();
    let mixed = [280, 700, 1300, 1500, 2100, 2600, 3500, 4096];
    let drawn: Vec<_> =
        (0..BLOCKS as u64).map(|n| (name(n), mixed[rng.below(8) as usize])).collect();
    compare("no likeness", &drawn, UNIQUE);
    let pairs: Vec<_> =
        (0..BLOCKS as u64).map(|n| (name(n), 1433 + 1104 * (n % 2) as u16)).collect();
    compare("pairs that fit", &pairs, UNIQUE);
    let archive = |n: u64| if n % 6000 < 5000 { 4096 } else { 900 + rng.below(900) as u16 };
    let archive: Vec<_> =
        (0..BLOCKS as u64).map(name).zip((0..BLOCKS as u64).map(archive)).collect();
    compare("archives and text", &archive, UNIQUE);
}

#[test]
fn what_a_profile_makes_of_duplicates_and_zeros_is_estimated_alike() {
    for (near, far, zero) in [(10, 0, 0), (0, 30, 10), (20, 30, 5)] {
        let what = format!("files, {near} % near, {far} % far, {zero} % with zeros");
        compare(&what, &files(200, near, far, zero, 7 + near), MAX_DUPLICATE_DIFFERENCES);
    }
}

#[test]
fn what_a_profile_makes_is_within_a_point_at_any_share_of_duplicates() {
    for percent in [0, 5, 20, 23, 50, 80] {
        compare(&format!("{percent} % duplicates"), &with_duplicates(percent, BLOCKS), ANY);
    }
}
