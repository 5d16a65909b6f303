//! Blocks of other sizes, textures, distributions of sizes, and duplicates out of line.

use std::collections::HashSet;

use content::{BLOCK, ContentSpec, Contents, Part, Source};
use reduce::{Fingerprint, Lz4};
use units::Seed;

use crate::grid::{blocks_of, look};

fn spec(toml: &str) -> ContentSpec {
    let spec: ContentSpec = toml::from_str(toml).unwrap();
    spec.validate().unwrap_or_else(|error| panic!("{toml}: {error}"));
    spec
}

#[test]
fn duplicates_zeros_and_sizes_count_in_the_block_that_was_asked_for() {
    for block in [512usize, 1024, 8192, 65_536] {
        let spec = spec(&format!("dedupe = 40\nzero = 10\ncompress = \"3x\"\nblock = {block}"));
        let mut source = Source::new(&spec, Seed(3), 0, 1);
        // I/Os of several blocks.
        let mut buffer = vec![0; block * 8];
        let (mut lz4, mut seen) = (Lz4::new(), HashSet::new());
        let (mut zeros, mut duplicates, blocks) = (0, 0, 2048);
        for _ in 0..blocks / 8 {
            source.fill_next(&mut buffer);
            for block in buffer.chunks(block) {
                if reduce::is_zero(block) {
                    zeros += 1;
                } else if !seen.insert(Fingerprint::of(block)) {
                    duplicates += 1;
                } else {
                    let size = lz4.size_of(block).unwrap() as f64;
                    let target = block.len() as f64 / 3.0;
                    assert!(size <= target + 4.0 && size >= target - 14.0, "{size} of {target}");
                }
            }
        }
        let off = |count: i32, percent: f64| {
            (f64::from(count) - percent / 100.0 * f64::from(blocks)).abs()
        };
        assert!(
            off(zeros, 10.0) <= 1.0 && off(duplicates, 40.0) <= 2.0,
            "{block}: {zeros} {duplicates}"
        );
    }
}

#[test]
fn interleaved_textures_have_the_size_that_was_asked_for() {
    let asks = [("2.5x", 2.0), ("1.3x", 1.0), ("4.2x", 4.0)];
    for ((compress, k), chunk) in
        asks.into_iter().zip([1024; 3]).chain(asks.into_iter().zip([512, 2048, 512]))
    {
        let spec = spec(&format!("compress = \"{compress}\"\ntexture = \"interleaved:{chunk}\""));
        let found = look(&mut blocks_of(&spec, 4).take(2000));
        let target = spec.expected().lz4_size_mean_bytes.round() as i64;
        let near = found.sizes.iter().filter(|&&s| (s as i64 - target).abs() <= 6).count();
        assert!(near >= 1980, "{compress}: {near} of 2000 near {target}");
        assert!(
            (found.saving - 100.0 * (1.0 - 1.0 / k)).abs() < 0.5,
            "{compress}: {}",
            found.saving
        );
        let block = blocks_of(&spec, 4).next().unwrap();
        for chunk in block.chunks(chunk) {
            assert!(chunk[0] != 0 || chunk[1] != 0, "a chunk starts with zeros");
            assert_eq!(chunk[chunk.len() - 1], 0, "a chunk ends with random bytes");
        }
    }
}

#[test]
fn distributions_of_sizes_are_met_and_their_saving_is_foretold() {
    for toml in [
        "compress = \"normal:1600,300\"",
        "compress = \"normal:900,400\"",
        "compress = \"500=20,1300=30,2500=30,4096=20\"",
        "compress = \"2537=50,1433=50\"",
    ] {
        let spec = spec(toml);
        let found = look(&mut blocks_of(&spec, 6).take(16_384));
        let mean = found.sizes.iter().sum::<usize>() as f64 / found.sizes.len() as f64;
        let expected = spec.expected();
        assert!((mean - expected.lz4_size_mean_bytes).abs() < 4.0, "{toml}: mean {mean}");
        let foretold = expected.packer_saving_percent.unwrap();
        println!("{toml}: mean {mean:.1}, saving {:.2}, foretold {foretold:.2}", found.saving);
        assert!((found.saving - foretold).abs() < 0.5, "{toml}: {} {foretold}", found.saving);
    }
    let listed = spec("compress = \"500=25,1300=75\"");
    for blocks in [256usize, 4096] {
        let found = look(&mut blocks_of(&listed, 6).take(blocks));
        let small = found.sizes.iter().filter(|&&size| size < 600).count() as f64;
        assert!((small - 0.25 * blocks as f64).abs() <= 1.0, "{small} of {blocks}");
    }
}

#[test]
fn misaligned_duplicates_are_the_same_bytes_out_of_line_with_blocks() {
    for shift in [512usize, 1000] {
        let spec = spec(&format!("dedupe = 40\nmisaligned = {shift}\ncompress = \"1.5x\""));
        let found = look(&mut blocks_of(&spec, 8).take(4096));
        assert_eq!(found.duplicates, 0.0, "found in line");
        // The same bytes, looked for at the shift: the head of each content, from its second byte of the shift on.
        let mut written = Vec::new();
        Source::new(&spec, Seed(8), 0, 1).fill_next({
            written.resize(4096 * BLOCK, 0);
            &mut written
        });
        let part = |block: &[u8], from: usize| block[from..from + 1000].to_vec();
        let heads: HashSet<_> = written.chunks(BLOCK).map(|block| part(block, shift)).collect();
        let again = written.chunks(BLOCK).filter(|block| heads.contains(&part(block, 0))).count();
        assert!((again as f64 / 4096.0 - 0.4).abs() < 0.01, "{again} of 4096");
        let part = Part { generator: 0, jobs: 1, blocks: 0 };
        let contents = Contents::new(&spec, Seed(8), part).unwrap();
        let mut source = contents.source(0);
        for block in written.chunks(BLOCK).take(200) {
            let id = source.next_id(0);
            assert_eq!(contents.matches(id, block), Ok(()));
            assert_eq!(contents.identify(block), Some(id));
            let mut torn = block.to_vec();
            torn[17] ^= 1;
            assert_eq!(contents.matches(id, &torn).map_err(|m| m.offset), Err(17));
        }
    }
}
