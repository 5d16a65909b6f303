//! Asked and achieved: duplicates, zero blocks and LZ4 sizes of one job or several.

use content::{BLOCK, ContentId, ContentSpec, Path, Source, identify};
use reduce::{Achieved, Census};
use units::{Percent, Seed};

/// A block that this much below its target is one in which four random bytes happened to come twice.
const COINCIDENCE: u64 = 13;

fn spec(dedupe: f64, zero: f64, compress: &str) -> ContentSpec {
    ContentSpec {
        dedupe: Percent(dedupe),
        zero: Percent(zero),
        compress: compress.parse().unwrap(),
        ..ContentSpec::default()
    }
}

/// Measures `blocks` blocks that several jobs write in turn, each as many at a time as its entry in `turns` says.
fn achieved(spec: &ContentSpec, blocks: u64, turns: &[usize], budget: usize) -> Achieved {
    let jobs = turns.len() as u32;
    let mut sources: Vec<_> = (0..jobs).map(|job| Source::new(spec, Seed(7), job, jobs)).collect();
    let mut census = Census::new(budget);
    let mut left = blocks;
    while left > 0 {
        for (source, &turn) in sources.iter_mut().zip(turns) {
            let mut buffer = vec![0xee; (turn as u64).min(left) as usize * BLOCK];
            source.fill_next(&mut buffer);
            for block in buffer.as_chunks::<BLOCK>().0 {
                census.written(1);
                census.add(block);
                left -= 1;
            }
        }
    }
    census.finish()
}

fn close(got: Option<f64>, wanted: f64, tolerance: f64, what: &str) {
    let got = got.unwrap_or_else(|| panic!("{what}: no figure"));
    assert!((got - wanted).abs() <= tolerance, "{what}: {got} instead of {wanted}");
}

#[test]
fn what_was_asked_is_what_the_bytes_show() {
    for dedupe in [0.0, 10.0, 25.0, 50.0, 75.0, 90.0] {
        for zero in [0.0, 5.0] {
            for compress in ["none", "2.5x", "60%", "3x", "75%", "1.2x", "20x"] {
                let spec = spec(dedupe, zero, compress);
                spec.validate().unwrap();
                let expected = spec.expected();
                let got = achieved(&spec, 4096, &[1], usize::MAX);
                let what = format!("{dedupe}/{zero}/{compress}");
                close(got.duplicate_percent, expected.duplicate_percent, 0.05, &what);
                close(got.zero_percent, expected.zero_percent, 0.03, &what);
                close(got.lz4_saving_percent, expected.lz4_saving_percent, 0.08, &what);
                let target = expected.lz4_size_mean_bytes.round() as u64;
                assert!(got.lz4_size_min_bytes.unwrap() + COINCIDENCE >= target, "{what}: {got:?}");
                assert!(got.lz4_size_max_bytes.unwrap() <= target + 3, "{what}: {got:?}");
            }
        }
    }
}

#[test]
fn sizes_lie_within_3_bytes_but_for_coincidences() {
    let mut lz4 = reduce::Lz4::new();
    let mut block = [0; BLOCK];
    for compress in ["2.5x", "1.02x", "14x"] {
        let spec = spec(0.0, 0.0, compress);
        let target = spec.expected().lz4_size_mean_bytes.round() as usize;
        let mut source = Source::new(&spec, Seed(9), 0, 1);
        let (mut below, mut least) = (0, BLOCK);
        let mut sizes = std::collections::HashMap::new();
        for _ in 0..50_000 {
            source.fill_next(&mut block);
            let size = lz4.size(&block).unwrap();
            assert!(size <= target + 3, "{compress}: {size} instead of {target}");
            below += u32::from(size + 3 < target);
            *sizes.entry(size).or_insert(0) += 1;
            least = least.min(size);
        }
        println!(
            "{compress}: {sizes:?}; {below} of 50000 more than 3 B below {target}, least {least}"
        );
        // VDO's packer holds bins back in which one block is smaller than the others.
        let alike = sizes.values().max().copied().unwrap_or(0);
        assert!(alike >= 49_900, "{compress}: {sizes:?}");
        assert!(
            below <= 10 && least + COINCIDENCE as usize >= target,
            "{compress}: {below}, {least}"
        );
    }
}

#[test]
fn the_packer_does_what_the_size_promises() {
    for (compress, fragments) in [("2.5x", 2.0), ("4.1x", 4.0), ("20x", 14.0)] {
        let spec = spec(0.0, 0.0, compress);
        let got = achieved(&spec, 4096, &[1], usize::MAX);
        assert_eq!(f64::from(spec.expected().fragments_per_block), fragments);
        close(got.fragments_per_packed_block, fragments, 0.05 * fragments, compress);
        close(got.packer_saving_percent, 100.0 * (1.0 - 1.0 / fragments), 1.0, compress);
    }
    let useless = achieved(&spec(0.0, 0.0, "2x"), 4096, &[1], usize::MAX);
    close(useless.packer_saving_percent, 0.0, 0.0, "2x");
    close(useless.lz4_saving_percent, 50.0, 0.08, "2x");
}

#[test]
fn duplicates_are_right_early_and_in_a_sample() {
    for blocks in [256, 1000, 4096, 262_144] {
        let got = achieved(&spec(50.0, 0.0, "2.5x"), blocks, &[1], 16_384);
        close(got.duplicate_percent, 50.0, 0.5, &format!("{blocks} blocks"));
        assert_eq!(got.duplicate_error_points == Some(0.0), got.sample_shift == 0, "{got:?}");
    }
}

#[test]
fn jobs_of_any_speed_keep_the_share() {
    for turns in [&[1usize, 1, 1, 1][..], &[32, 32], &[1, 2, 3, 7], &[100, 1]] {
        let got = achieved(&spec(50.0, 10.0, "none"), 20_000, turns, usize::MAX);
        let tolerance = 100.0 * 2.0 * turns.len() as f64 / 20_000.0;
        close(got.duplicate_percent, 50.0, tolerance, &format!("{turns:?}"));
        close(got.zero_percent, 10.0, tolerance, &format!("{turns:?}"));
    }
}

/// A generator that is wrong in a way its own counters cannot know: two ids, one block.
#[test]
fn a_generator_that_maps_two_ids_to_one_block_is_found_out() {
    let spec = spec(50.0, 0.0, "none");
    let mut source = Source::new(&spec, Seed(1), 0, 1);
    let mut census = Census::new(2000);
    let mut block = [0; BLOCK];
    for _ in 0..40_000 {
        let ContentId(id) = source.next_id(0);
        source.fill(ContentId(id & !1), &mut block);
        census.written(1);
        census.add(&block);
    }
    let got = census.finish();
    assert!(got.sample_shift > 0, "the sample is not put to the test: {got:?}");
    close(got.duplicate_percent, 75.0, 1.0, "broken generator");
}

#[test]
fn content_is_a_function_of_seed_and_job() {
    let spec = spec(30.0, 5.0, "3x");
    let ids = |seed, job, jobs| {
        let mut source = Source::new(&spec, Seed(seed), job, jobs);
        (0..5000).map(|_| source.next_id(0)).collect::<Vec<_>>()
    };
    assert_eq!(ids(1, 0, 2), ids(1, 0, 2));
    let set = |seed, job| {
        ids(seed, job, 2)
            .into_iter()
            .filter(|id| id.0 != 0)
            .collect::<std::collections::HashSet<_>>()
    };
    assert!(set(1, 0).is_disjoint(&set(1, 1)), "jobs share content");
    assert!(set(1, 0).is_disjoint(&set(2, 0)), "seeds share content");
}

#[test]
fn every_path_writes_the_same_load() {
    let spec = spec(30.0, 5.0, "3x");
    let bytes = |path| {
        let mut source = Source::with_path(&spec, Seed(1), 0, 1, path);
        let mut buffer = vec![0; 200 * BLOCK];
        source.fill_next(&mut buffer);
        buffer
    };
    for &path in Path::available() {
        assert!(bytes(path) == bytes(Path::Portable), "{path:?}");
    }
}

#[test]
fn blocks_identify_themselves_and_none_is_zero_by_accident() {
    let spec = spec(30.0, 5.0, "90x");
    spec.validate().unwrap();
    let mut source = Source::new(&spec, Seed(1), 0, 1);
    let mut block = [0; BLOCK];
    for _ in 0..10_000 {
        let id = source.next_id(0);
        source.fill(id, &mut block);
        assert_eq!(identify(&block), Some(id));
        assert_eq!(reduce::is_zero(&block), id == ContentId::ZERO);
    }
}

#[test]
fn io_of_any_size_is_filled_to_its_end() {
    let spec = ContentSpec::default();
    for size in [512, 4096, 6144, 131_072] {
        let mut buffer = vec![0; size];
        let mut source = Source::new(&spec, Seed(1), 0, 1);
        source.fill_next(&mut buffer);
        assert!(buffer.chunks(64).all(|chunk| chunk.iter().any(|&byte| byte != 0)), "{size}");
        assert_eq!(source.next_id(0), {
            let mut other = Source::new(&spec, Seed(1), 0, 1);
            (0..size.div_ceil(BLOCK)).for_each(|_| _ = other.next_id(0));
            other.next_id(0)
        });
    }
}

#[test]
fn a_spec_reads_as_people_write_it_and_refuses_what_it_does_not_know() {
    let read: ContentSpec = toml::from_str("dedupe = \"25%\"\ncompress = \"2.5x\"").unwrap();
    assert_eq!(read, spec(25.0, 0.0, "2.5x"));
    let stored = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<ContentSpec>(&stored).unwrap(), read);
    let error = toml::from_str::<ContentSpec>("dedup = 25").unwrap_err().to_string();
    assert!(error.contains("dedup") && error.contains("window"), "{error}");
}

#[test]
fn compression_that_no_packer_can_use_is_warned_of() {
    let warning = spec(0.0, 0.0, "2x").warnings().remove(0).to_string();
    assert!(warning.contains("2048 B") && warning.contains("2.02x"), "{warning}");
    assert!(spec(0.0, 0.0, "50%").warnings()[0].to_string().contains("50.5%"));
    for fine in ["none", "2.02x", "50.5%", "2.5x", "20x"] {
        assert_eq!(spec(50.0, 0.0, fine).warnings(), [], "{fine}");
    }
    let often = spec(99.7, 0.0, "none").warnings().remove(0).to_string();
    assert!(often.contains("254"), "{often}");
}
