//! Profiles: what is made from one has the reducibility that the profile says.

use std::collections::HashMap;

use content::{
    BLOCK, ContentSpec, Profile, ProfileBlocks, ProfileReuse, ProfileSize, ProfileSource,
};
use reduce::{Fingerprint, Lz4, Packer, is_zero};

use crate::grid::blocks_of;

#[derive(Default, Clone, Copy)]
struct Seen {
    copies: u64,
    last: u64,
    /// Sum of the binary logarithms of its distances.
    distances: f64,
}

/// The profile of blocks, taken as `fathom estimate` takes it.
fn take(blocks: impl Iterator<Item = [u8; BLOCK]>) -> Profile {
    let mut seen: HashMap<Fingerprint, Seen> = HashMap::new();
    let mut sizes: HashMap<u32, u64> = HashMap::new();
    let (mut lz4, mut packer) = (Lz4::new(), Packer::new());
    let mut count = ProfileBlocks { total: 0, zero: 0, duplicate: 0, unique: 0 };
    for block in blocks {
        count.total += 1;
        if is_zero(&block) {
            count.zero += 1;
            continue;
        }
        let entry = seen.entry(Fingerprint::of(&block)).or_default();
        entry.copies += 1;
        if entry.copies == 1 {
            count.unique += 1;
            let size = lz4.size(&block).unwrap();
            packer.add(size);
            *sizes.entry(size as u32).or_default() += 1;
        } else {
            count.duplicate += 1;
            entry.distances += ((count.unique - entry.last + 1) as f64).log2();
        }
        entry.last = count.unique;
    }
    let mut bins: HashMap<(u32, u32), (u64, u64)> = HashMap::new();
    for entry in seen.values().filter(|entry| entry.copies > 1) {
        let duplicates = entry.copies - 1;
        let distance = (entry.distances / duplicates as f64).floor() as u32;
        let bin = bins.entry((entry.copies.ilog2(), distance)).or_default();
        *bin = (bin.0 + 1, bin.1 + duplicates);
    }
    let reuse = bins.into_iter().map(|((copies, distance), (contents, duplicates))| ProfileReuse {
        copies_from: 1 << copies,
        copies_to: (2 << copies) - 1,
        distance_from: 1 << distance,
        distance_to: (2 << distance) - 1,
        contents,
        duplicates,
    });
    let mut reuse: Vec<_> = reuse.collect();
    reuse.sort_by_key(|row| (row.copies_from, row.distance_from));
    let mut sizes: Vec<_> = sizes
        .into_iter()
        .map(|(lz4_bytes, blocks)| ProfileSize { lz4_bytes, blocks, near: 0 })
        .collect();
    sizes.sort_by_key(|size| size.lz4_bytes);
    Profile {
        fathom_profile: Profile::VERSION,
        block_bytes: BLOCK as u64,
        blocks: count,
        sizes,
        neighbours: None,
        reuse,
        packer_saving_percent: packer.finish().saving_percent(),
        texture: None,
    }
}

/// Duplicates at least this far away, of all duplicates, percent; and contents that come at least this often, of all.
fn tails(profile: &Profile) -> Vec<(String, f64)> {
    let rows = |far: &dyn Fn(&ProfileReuse) -> bool, what: fn(&ProfileReuse) -> u64, of: u64| {
        100.0 * profile.reuse.iter().filter(|r| far(r)).map(what).sum::<u64>() as f64 / of as f64
    };
    let mut tails = Vec::new();
    for distance in [64, 256, 512, 8192] {
        let share =
            rows(&|r| r.distance_from >= distance, |r| r.duplicates, profile.blocks.duplicate);
        tails.push((format!("distance from {distance}"), share));
    }
    for copies in [2, 4, 8, 16] {
        let share = rows(&|r| r.copies_from >= copies, |r| r.contents, profile.blocks.unique);
        tails.push((format!("copies from {copies}"), share));
    }
    let small = |limit: u32| {
        let under: u64 =
            profile.sizes.iter().filter(|s| s.lz4_bytes < limit).map(|s| s.blocks).sum();
        100.0 * under as f64 / profile.blocks.unique as f64
    };
    tails.extend(
        [500, 1354, 2031, 4000].map(|limit| (format!("sizes below {limit}"), small(limit))),
    );
    tails.push(("duplicates".into(), 100.0 * profile.blocks.duplicate_share()));
    tails.push(("zero".into(), 100.0 * profile.blocks.zero_share()));
    tails.push(("saving".into(), profile.packer_saving_percent.unwrap()));
    tails
}

fn reproduced(profile: &Profile, blocks: usize) -> Profile {
    // Through the text, as it travels.
    let read = Profile::read(&profile.to_json().unwrap(), "test").unwrap();
    let profile = Some(ProfileSource::Loaded(Box::new(read)));
    let spec = ContentSpec { profile, ..ContentSpec::default() };
    spec.validate().unwrap();
    take(blocks_of(&spec, 77).take(blocks))
}

fn compare(what: &str, profile: &Profile, again: &Profile, tolerance: f64) {
    for ((name, wanted), (_, got)) in tails(profile).into_iter().zip(tails(again)) {
        println!("{what}: {name}: {wanted:.2} -> {got:.2}");
        if (wanted - got).abs() > tolerance {
            panic!("{what}: {name}: {wanted} became {got}\n{:?}\n{:?}", profile.reuse, again.reuse);
        }
    }
}

#[test]
fn what_is_made_from_a_profile_has_that_profile() {
    for toml in [
        "dedupe = 40\nzero = 5\ndistance = \"64..255=40,256..1023=60\"\ncompress = \"normal:1800,700\"",
        "dedupe = 60\ndistance = \"256..511=100\"\ncompress = \"600=30,1900=30,4096=40\"",
        "vdo_saving = 66",
    ] {
        let spec: ContentSpec = toml::from_str(toml).unwrap();
        let blocks = 200_000;
        let profile = take(blocks_of(&spec, 5).take(blocks));
        let once = reproduced(&profile, blocks);
        let what = toml.lines().next().unwrap();
        let main = |p: &Profile| tails(p).into_iter().rev().take(7).collect::<Vec<_>>();
        for ((name, wanted), (_, got)) in main(&profile).into_iter().zip(main(&once)) {
            println!("{what}: {name}: {wanted:.2} -> {got:.2}");
            assert!((wanted - got).abs() <= 1.0, "{what}: {name}: {wanted} became {got}");
        }
        compare(what, &once, &reproduced(&once, blocks), 1.0);
    }
}
