//! The saving of other file systems, beside records that are compressed here.

use std::fs;
use std::path::Path;

use estimate::Answer;
use units::Seed;

use super::{block, estimate, of, request};

const RECORD: usize = 128 << 10;

/// Compresses all records of all files of a tree; the share that LZ4 and zstd save, percent.
fn truth(dir: &Path) -> [f64; 2] {
    let mut lz4 = reduce::Lz4::new();
    let (mut all, mut made) = (0, [0, 0]);
    for entry in fs::read_dir(dir).unwrap() {
        for record in fs::read(entry.unwrap().path()).unwrap().chunks(RECORD) {
            let blocks = record.len().div_ceil(4096);
            let zstd = zstd::bulk::compress(record, 3).unwrap().len();
            let sizes = [lz4.size_of(record).unwrap(), zstd];
            all += blocks;
            [0, 1].iter().for_each(|&at| made[at] += sizes[at].div_ceil(4096).min(blocks));
        }
    }
    made.map(|made| 100.0 * (1.0 - made as f64 / all as f64))
}

fn assert_exact(got: &Answer, truth: [f64; 2]) {
    for (got, truth) in [got.comparison.lz4, got.comparison.zstd].into_iter().zip(truth) {
        assert_eq!(got.error_points, Some(0.0));
        assert!((got.saving_percent.unwrap() - truth).abs() < 1e-9, "{got:?}, {truth}");
    }
}

/// Makes files of all lengths up to `most` bytes, each of its own compressibility, of so many bytes together.
fn tree(dir: &Path, bytes: usize, most: u64) {
    let (mut rng, mut left) = (Seed(30).generator(), bytes);
    for file in 0.. {
        let length = (1 + rng.below(most) as usize).min(left);
        let random = rng.below(4097) as usize;
        let ids = 1 + rng.below(40);
        let blocks = (0..length.div_ceil(4096)).flat_map(|_| block(rng.below(ids), random));
        fs::write(dir.join(format!("{file:05}")), blocks.take(length).collect::<Vec<_>>()).unwrap();
        left -= length;
        if left == 0 {
            return;
        }
    }
}

#[test]
fn zeros_and_noise_count_alike_whatever_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let mut rng = Seed(1).generator();
    let noise: Vec<u8> = (0..11 << 17).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
    let zeros = vec![0; 4 << 20];
    for parts in [[&zeros, &noise], [&noise, &zeros]] {
        let path = dir.path().join("file");
        fs::write(&path, parts.map(|part| &part[..]).concat()).unwrap();
        let got = of(&path);
        assert_exact(&got, [100.0 * (1.0 - (11.0 * 32.0 + 4.0) / 480.0); 2]);
        assert_eq!(got.comparison.records, 120);
    }
}

#[test]
fn all_records_of_little_data_are_compressed_those_of_small_files_too() {
    let dir = tempfile::tempdir().unwrap();
    tree(dir.path(), 5 << 20, 30_000);
    let small = truth(dir.path());
    assert_exact(&of(dir.path()), small);
    tree(dir.path(), 17 << 20, 700_000);
    assert_exact(&of(dir.path()), truth(dir.path()));
}

#[test]
fn records_of_more_data_are_drawn_and_the_interval_holds_unless_all_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    tree(dir.path(), 90 << 20, 3 << 20);
    let truth = truth(dir.path());
    let mut want = request(&[dir.path()]);
    let got = estimate(&want).unwrap().comparison;
    assert!((100..800).contains(&got.records), "{got:?}");
    for (got, truth) in [got.lz4, got.zstd].into_iter().zip(truth) {
        let (saving, error) = (got.saving_percent.unwrap(), got.error_points.unwrap());
        assert!((saving - truth).abs() <= error && error <= 1.0, "{saving} ± {error}, {truth}");
    }
    want.exact = true;
    assert_exact(&estimate(&want).unwrap(), truth);
}

#[test]
fn records_of_128_kib_that_are_there_twice_are_told_with_the_table_that_finds_them() {
    let dir = tempfile::tempdir().unwrap();
    let noise = |records: u64, seed: u64| -> Vec<u8> {
        (0..32 * records).flat_map(|at| block(seed + at, 4096)).collect()
    };
    // Four records and the same again; the same blocks out of line with records; zeros, which take no space.
    let (first, other) = (noise(4, 1000), noise(8, 5000));
    fs::write(dir.path().join("1"), &first).unwrap();
    fs::write(dir.path().join("2"), &first).unwrap();
    fs::write(dir.path().join("3"), [&other[..4096], &first[..]].concat()).unwrap();
    fs::write(dir.path().join("4"), [&other[..], &vec![0; 4 * RECORD]].concat()).unwrap();
    let found = of(dir.path()).comparison.dedupe.unwrap();
    let all = (4.0 + 4.0 + 4.0 + 8.0) * 32.0 + 1.0;
    assert!((found.saving_percent.unwrap() - 100.0 * 4.0 * 32.0 / all).abs() < 1e-9, "{found:?}");
    assert_eq!((found.error_points, found.distinct_records), (Some(0.0), 4 + 5 + 8));
    assert_eq!(found.table_bytes, 17 * estimate::TABLE_ENTRY_BYTES);
}
