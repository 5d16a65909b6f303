//! The live scope: what the addresses hold after overwrites.

use std::collections::HashMap;

use content::{BLOCK, ContentId, ContentSpec, Contents, Part, Source};
use reduce::{Bins, Fragment, Lz4};
use units::{Percent, Seed, SplitMix64};

/// Addresses and what they hold.
struct Volume {
    source: Source,
    held: Vec<ContentId>,
    rng: SplitMix64,
}

impl Volume {
    fn new(spec: &ContentSpec, blocks: u64) -> Self {
        let part = Part { generator: 3, jobs: 1, blocks };
        let contents = Contents::new(spec, Seed(21), part).unwrap();
        let mut volume = Self {
            source: contents.source(0),
            held: vec![ContentId::ZERO; blocks as usize],
            rng: Seed(22).generator(),
        };
        (0..blocks).for_each(|address| {
            volume.write(address);
        });
        volume
    }

    fn write(&mut self, address: u64) -> (ContentId, ContentId) {
        let id = self.source.next_id(address);
        (std::mem::replace(&mut self.held[address as usize], id), id)
    }

    fn overwrite(&mut self) -> (ContentId, ContentId) {
        let address = self.rng.below(self.held.len() as u64);
        self.write(address)
    }

    /// Shares of duplicates and of zero blocks, percent, and the most addresses that hold one content.
    fn shares(&self) -> (f64, f64, u64) {
        let mut copies: HashMap<ContentId, u64> = HashMap::new();
        self.held.iter().for_each(|&id| *copies.entry(id).or_default() += 1);
        let zeros = copies.remove(&ContentId::ZERO).unwrap_or(0);
        let all = self.held.len() as f64;
        let duplicates = all - zeros as f64 - copies.len() as f64;
        let most = copies.values().max().copied().unwrap_or(0);
        (100.0 * duplicates / all, 100.0 * zeros as f64 / all, most)
    }
}

fn spec(dedupe: f64, zero: f64) -> ContentSpec {
    ContentSpec {
        dedupe: Percent(dedupe),
        zero: Percent(zero),
        scope: content::Scope::Live,
        ..ContentSpec::default()
    }
}

#[test]
fn the_live_share_stays_under_random_overwrites() {
    for blocks in [4096, 20_000, 100_000] {
        for (dedupe, zero) in [(49.0, 0.0), (88.2, 0.0), (25.0, 10.0), (0.0, 50.0), (60.0, 30.0)] {
            let mut volume = Volume::new(&spec(dedupe, zero), blocks);
            for times in 0..=5 {
                let (duplicates, zeros, most) = volume.shares();
                let what = format!("{dedupe}/{zero} of {blocks} after {times}");
                println!("{what}: {duplicates:.3}, {zeros:.3}, at most {most}");
                let tolerance = 0.1 + 100.0 * 2.0 / blocks as f64;
                assert!((duplicates - dedupe).abs() < tolerance, "{what}: {duplicates}");
                assert!((zeros - zero).abs() < tolerance, "{what}: {zeros} zero");
                assert!(most <= 77, "{what}: {most} references");
                (0..blocks).for_each(|_| {
                    volume.overwrite();
                });
            }
        }
    }
}

#[test]
fn a_mebibyte_has_its_live_share_within_a_few_blocks() {
    for dedupe in [25.0, 50.0, 75.0] {
        let mut volume = Volume::new(&spec(dedupe, 0.0), 256);
        for _ in 0..4 {
            let (duplicates, ..) = volume.shares();
            assert!((duplicates - dedupe).abs() <= 100.0 * 2.0 / 256.0, "{dedupe}: {duplicates}");
            (0..256).for_each(|_| {
                volume.overwrite();
            });
        }
    }
}

#[test]
fn too_small_a_target_for_a_pool_is_refused() {
    let part = Part { generator: 0, jobs: 1, blocks: 4 };
    let error = Contents::new(&spec(20.0, 0.0), Seed(1), part).unwrap_err();
    assert_eq!(error.key(), "dedupe");
}

/// A model of VDO: the physical block that each content lies in, and the number of addresses that refer to it.
#[derive(Default)]
struct Packed {
    bins: Bins,
    /// Content -> its number, its references.
    contents: HashMap<ContentId, (u32, u64)>,
    /// By number: physical block.
    places: HashMap<u32, usize>,
    /// Live fragments of each physical block.
    blocks: Vec<u32>,
    next: u32,
}

impl Packed {
    fn write(&mut self, before: ContentId, id: ContentId, size: usize) {
        if id != ContentId::ZERO {
            let next = &mut self.next;
            let entry = self.contents.entry(id).or_insert_with(|| {
                *next += 1;
                (*next, 0)
            });
            entry.1 += 1;
            if entry.1 == 1 {
                let (tag, places, blocks) = (entry.0, &mut self.places, &mut self.blocks);
                let mut write = |fragments: &[Fragment]| {
                    fragments.iter().for_each(|f| _ = places.insert(f.tag, blocks.len()));
                    blocks.push(fragments.len() as u32);
                };
                if size >= BLOCK {
                    write(&[Fragment { lz4_bytes: size, tag }]);
                } else {
                    self.bins.add(Fragment { lz4_bytes: size, tag }, &mut write);
                }
            }
        }
        if before != ContentId::ZERO {
            let entry = self.contents.get_mut(&before).unwrap();
            entry.1 -= 1;
            if entry.1 == 0 {
                let (tag, _) = self.contents.remove(&before).unwrap();
                match self.places.remove(&tag) {
                    Some(block) => self.blocks[block] -= 1,
                    None => _ = self.bins.remove(tag),
                }
            }
        }
    }

    /// Saving on distinct blocks, percent.
    fn saving(&self) -> f64 {
        let physical = self.blocks.iter().filter(|&&live| live > 0).count() as f64;
        let pending = (self.contents.len() - self.places.len()) as f64;
        100.0 * (1.0 - physical / (self.contents.len() as f64 - pending))
    }
}

#[test]
fn the_live_saving_is_what_was_asked_after_random_overwrites() {
    for (saving, dedupe) in [(25.0, 0.0), (50.0, 0.0), (66.0, 0.0), (76.7, 0.0), (50.0, 50.0)] {
        let spec = ContentSpec { vdo_saving: Some(Percent(saving)), ..spec(dedupe, 0.0) };
        spec.validate().unwrap();
        let blocks = 40_000;
        let mut volume = Volume::new(&spec, blocks);
        let (mut packed, mut lz4) = (Packed::default(), Lz4::new());
        let contents = volume.source.contents().clone();
        let mut block = [0; BLOCK];
        let mut size = |id| {
            contents.fill(id, &mut block);
            lz4.size(&block).unwrap()
        };
        volume.held.iter().for_each(|&id| packed.write(ContentId::ZERO, id, size(id)));
        let first = packed.saving();
        for _ in 0..6 * blocks {
            let (before, id) = volume.overwrite();
            packed.write(before, id, size(id));
        }
        let settled = packed.saving();
        println!("{saving} with {dedupe}: {first:.2} written once, {settled:.2} overwritten");
        assert!(first > settled + 5.0, "{saving}: {first} at first");
        assert!((settled - saving).abs() < 0.7, "{saving} with {dedupe}: {settled}");
    }
}
