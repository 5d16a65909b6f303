//! Measures how much work LZ4 and zstd have with data, and with what its profile makes: `cost FILE...`.
//!
//! Each file is data of one kind, in whole blocks. Times are per block of 4 KiB; LZ4 packs with liblz4 1.8.0, and unpacks with `lz4_flex`.
//! In each round the data and what is made take turns; for each slice the shortest time of some rounds counts.
#![allow(clippy::print_stdout, clippy::expect_used, reason = "an example")]

use std::path::PathBuf;
use std::time::Instant;

use content::{BLOCK, ContentSpec, Profile, ProfileSource, Source, Texture};
use estimate::Request;
use reduce::Lz4;
use units::Seed;

const RECORD: usize = 128 << 10;
/// Blocks of a slice.
const SLICE: usize = 128;
const ROUNDS: usize = 15;

fn made(profile: &Profile, texture: Texture, blocks: usize) -> Vec<u8> {
    let spec = ContentSpec {
        profile: Some(ProfileSource::Loaded(Box::new(profile.clone()))),
        texture: Some(texture),
        ..ContentSpec::default()
    };
    let start = Instant::now();
    let mut source = Source::new(&spec, Seed(5), 0, 1);
    let built = start.elapsed();
    let mut bytes = vec![0; blocks * BLOCK];
    source.fill_next(&mut bytes);
    let (mut room, mut least) = (vec![0; SLICE * BLOCK], f64::INFINITY);
    for _ in 0..200 {
        let start = Instant::now();
        source.fill_next(&mut room);
        least = least.min(start.elapsed().as_nanos() as f64 / SLICE as f64);
    }
    println!("  {texture}: built in {built:?}, {least:.0} ns a block");
    bytes
}

/// Blocks that are not zero, and the packed ones of those that LZ4 makes smaller.
fn packed(bytes: &[u8]) -> (Vec<[u8; BLOCK]>, Vec<Vec<u8>>) {
    let mut lz4 = Lz4::new();
    let blocks: Vec<_> = bytes
        .as_chunks::<BLOCK>()
        .0
        .iter()
        .filter(|block| !reduce::is_zero(&block[..]))
        .copied()
        .collect();
    let packed = blocks.iter().map(|block| lz4.compressed(block).expect("LZ4").to_vec());
    let packed = packed.filter(|packed| packed.len() < BLOCK).collect();
    (blocks, packed)
}

struct Data {
    blocks: Vec<[u8; BLOCK]>,
    packed: Vec<Vec<u8>>,
    /// Least time of each slice so far, nanoseconds: of packing, and of unpacking.
    least: [Vec<f64>; 2],
}

fn note(least: &mut Vec<f64>, slice: usize, start: Instant) {
    let time = start.elapsed().as_nanos() as f64;
    match least.get_mut(slice) {
        Some(least) => *least = least.min(time),
        None => least.push(time),
    }
}

impl Data {
    fn of(bytes: &[u8]) -> Self {
        let (blocks, packed) = packed(bytes);
        Self { blocks, packed, least: Default::default() }
    }

    /// Packs and unpacks a slice of the data.
    fn measure(&mut self, slice: usize, lz4: &mut Lz4) {
        if let Some(blocks) = self.blocks.chunks(SLICE).nth(slice) {
            let start = Instant::now();
            for block in blocks {
                std::hint::black_box(lz4.library_size(block).expect("LZ4"));
            }
            note(&mut self.least[0], slice, start);
        }
        let Some(packed) = self.packed.chunks(SLICE).nth(slice) else { return };
        let mut room = [0u8; BLOCK];
        let start = Instant::now();
        for packed in packed {
            assert!(reduce::expand(packed, std::hint::black_box(&mut room)));
        }
        note(&mut self.least[1], slice, start);
    }

    /// Nanoseconds for each block.
    fn times(&self) -> [f64; 2] {
        let of = |least: &[f64], count: usize| least.iter().sum::<f64>() / count as f64;
        [of(&self.least[0], self.blocks.len()), of(&self.least[1], self.packed.len())]
    }
}

fn zstd(bytes: &[u8]) -> f64 {
    let mut zstd = zstd::bulk::Compressor::new(3).expect("zstd");
    let sizes = bytes.chunks(RECORD).map(|record| {
        zstd.compress(record).expect("zstd").len().div_ceil(BLOCK).min(record.len() / BLOCK)
    });
    100.0 * (1.0 - (sizes.sum::<usize>() * BLOCK) as f64 / bytes.len() as f64)
}

fn lz4_saving(bytes: &[u8]) -> f64 {
    let mut lz4 = Lz4::new();
    let sizes = bytes
        .chunks(RECORD)
        .map(|record| lz4.size_of(record).expect("lz4").div_ceil(BLOCK).min(record.len() / BLOCK));
    100.0 * (1.0 - (sizes.sum::<usize>() * BLOCK) as f64 / bytes.len() as f64)
}

fn main() {
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let mut bytes = std::fs::read(&path).expect("a file");
        bytes.truncate(bytes.len() / RECORD * RECORD);
        let request = Request { paths: vec![path.clone()], ..Request::default() };
        let interrupt = sys::interrupt::Interrupt::new();
        let found = estimate::estimate(&request, &interrupt, None).expect("an estimate");
        let mut profile = found.profile.expect("a profile");
        let target = found.answer.comparison.zstd.saving_percent.expect("zstd");
        let start = Instant::now();
        estimate::share_vocabulary(&mut profile, target);
        let texture = profile.texture.as_ref().expect("a texture");
        println!(
            "{}: shared {} %, found in {:?}",
            path.display(),
            texture.shared_percent,
            start.elapsed()
        );
        let blocks = bytes.len() / BLOCK;
        let all = [
            bytes,
            made(&profile, Texture::Natural, blocks),
            made(&profile, Texture::Tail, blocks),
        ];
        let mut data: Vec<_> = all.iter().map(|bytes| Data::of(bytes)).collect();
        let mut lz4 = Lz4::new();
        for slice in (0..ROUNDS).flat_map(|_| 0..blocks.div_ceil(SLICE)) {
            data.iter_mut().for_each(|data| data.measure(slice, &mut lz4));
        }
        let [pack, unpack] = data[0].times();
        for (index, (name, bytes)) in ["data", "natural", "tail"].iter().zip(&all).enumerate() {
            let data = &data[index];
            let mut counter = content::SequenceCounter::default();
            data.packed.iter().for_each(|packed| counter.add(packed, 1));
            let classes = counter.classes();
            let all = classes.iter().flat_map(|class| &class.literals).map(|(_, count)| count);
            let sequences = all.sum::<u64>() as f64 / data.packed.len() as f64;
            let times = data.times();
            let mean =
                data.packed.iter().map(Vec::len).sum::<usize>() as f64 / data.packed.len() as f64;
            println!(
                "  {name:8} {mean:5.0} B, {sequences:.0} sequences in each of {} packed blocks; pack {:5.0} ns ({:.2}), unpack {:5.0} ns ({:.2}); at 128 KiB zstd {:.1} %, LZ4 {:.1} %",
                data.packed.len(),
                times[0],
                times[0] / pack,
                times[1],
                times[1] / unpack,
                zstd(bytes),
                lz4_saving(bytes)
            );
        }
    }
}
