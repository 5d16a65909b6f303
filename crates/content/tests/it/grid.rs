//! Duplicates x saving: a grid of asks, judged by fingerprints, LZ4 and the packer over every block.

use std::collections::HashSet;

use content::{BLOCK, ContentSpec, Source};
use reduce::{Fingerprint, Lz4, Packer};
use units::{Percent, Seed};

/// The figures of written blocks: all of them are looked at, in the order of writing.
#[derive(Debug, Default, PartialEq)]
pub struct Found {
    pub blocks: f64,
    pub zero: f64,
    pub duplicates: f64,
    /// Saving of the packer on distinct blocks, percent.
    pub saving: f64,
    /// LZ4 sizes of distinct blocks, in the order of their first writing.
    pub sizes: Vec<usize>,
}

pub fn look(blocks: &mut dyn Iterator<Item = [u8; BLOCK]>) -> Found {
    let (mut lz4, mut packer, mut seen) = (Lz4::new(), Packer::new(), HashSet::new());
    let mut found = Found::default();
    for block in blocks {
        found.blocks += 1.0;
        if reduce::is_zero(&block) {
            found.zero += 1.0;
        } else if !seen.insert(Fingerprint::of(&block)) {
            found.duplicates += 1.0;
        } else {
            let size = lz4.size(&block).unwrap();
            packer.add(size);
            found.sizes.push(size);
        }
    }
    found.saving = packer.finish().saving_percent().unwrap_or(0.0);
    found
}

pub fn blocks_of(spec: &ContentSpec, seed: u64) -> impl Iterator<Item = [u8; BLOCK]> {
    let mut source = Source::new(spec, Seed(seed), 0, 1);
    std::iter::repeat_with(move || {
        let mut block = [0; BLOCK];
        source.fill_next(&mut block);
        block
    })
}

fn check(dedupe: f64, saving: f64, zero: f64, blocks: usize) {
    let spec = ContentSpec {
        dedupe: Percent(dedupe),
        vdo_saving: Some(Percent(saving)),
        zero: Percent(zero),
        ..ContentSpec::default()
    };
    spec.validate().unwrap();
    let found = look(&mut blocks_of(&spec, 11).take(blocks));
    let percent = |n: f64| 100.0 * n / found.blocks;
    let what = format!("{dedupe}/{saving}/{zero} in {blocks}");
    // Within one block, and 0.1 points.
    let exact = (100.0 / blocks as f64 + 1e-9).max(if blocks >= 4096 { 0.0 } else { 0.1 }).min(0.5);
    let (duplicates, zeros) = (percent(found.duplicates), percent(found.zero));
    assert!((duplicates - dedupe).abs() <= 2.0 * exact, "{what}: {duplicates}");
    assert!((zeros - zero).abs() <= exact, "{what}: {zeros} zero");
    // What is still in the packer's last bin has found no company: at most 13 blocks of those that are distinct.
    let tail = 100.0 * 14.0 / found.sizes.len() as f64;
    assert!((found.saving - saving).abs() <= 0.03 + tail, "{what}: {}", found.saving);
    println!("{what}: duplicates {duplicates:.3}, saving {:.3}", found.saving);
}

#[test]
fn a_grid_of_duplicates_and_savings_is_met_from_256_blocks_on() {
    for dedupe in [0.0, 25.0, 50.0, 75.0, 90.0] {
        for saving in [0.0, 33.0, 50.0, 66.0, 80.0, 92.0] {
            for blocks in [256, 4096, 16_384] {
                check(dedupe, saving, 0.0, blocks);
            }
        }
    }
    check(30.0, 66.0, 10.0, 16_384);
}

#[test]
fn every_saving_is_met_in_a_longer_load() {
    for saving in [5.0, 20.0, 45.0, 60.0, 70.0, 77.7, 85.0, 88.8, 91.0, 92.8] {
        check(0.0, saving, 0.0, 65_536);
    }
}
