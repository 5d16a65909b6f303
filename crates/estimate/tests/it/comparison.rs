//! The saving of other file systems, compared with that of records that are compressed here.

use std::fs;
use std::path::Path;

use estimate::Answer;
use units::Seed;

use super::images::{Cluster, image};
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

/// The records are those of the guest's disk: the same in an image of any clusters, in one that rests on another, and in a plain file.
#[test]
fn the_records_of_an_image_are_those_of_the_disk_whatever_its_clusters_are() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    // Each record is 64 KiB that come twice: halves of it repeat, and no whole one. The last is short.
    let half = |id: u64| (16 * id..16 * id + 16).flat_map(|id| block(id, 600)).collect::<Vec<_>>();
    let halves: Vec<Vec<u8>> = (0..33).map(|id| half(id / 2)).collect();
    fs::write(at("raw"), halves.concat()).unwrap();
    let data = |keep: &dyn Fn(usize) -> bool| -> Vec<Cluster> {
        let all = halves.iter().enumerate();
        let of = |(id, half): (usize, &Vec<u8>)| {
            if keep(id) { Cluster::Data(half.clone()) } else { Cluster::None }
        };
        all.map(of).collect()
    };
    image(&at("64k"), &data(&|_| true), None);
    image(&at("base"), &data(&|id| id % 3 != 0), None);
    image(&at("top"), &data(&|id| id % 3 == 0), Some("base"));
    let raw = of(&at("raw"));
    assert_eq!((raw.comparison.records, raw.comparison.lz4.error_points), (17, Some(0.0)));
    assert_eq!(raw.comparison.dedupe.unwrap().saving_percent, Some(0.0));
    let mut images = vec!["64k".to_owned(), "top".to_owned()];
    for bytes in ["512", "4k", "2M"] {
        let size = format!("cluster_size={bytes}");
        let made = std::process::Command::new("qemu-img")
            .args(["convert", "-f", "raw", "-O", "qcow2", "-o", &size, "raw", bytes])
            .current_dir(dir.path())
            .status();
        match made.is_ok_and(|status| status.success()) {
            true => images.push(bytes.to_owned()),
            false => println!("SKIP clusters of {bytes}: no qemu-img"),
        }
    }
    for name in images {
        let got = of(&at(&name));
        assert_eq!(got.comparison, raw.comparison, "{name}");
        assert_eq!((got.blocks, got.bytes), (raw.blocks, raw.bytes), "{name}");
    }
}

/// A lost cluster takes no more than itself out of the records around it, and those beside stay whole.
#[test]
fn a_lost_cluster_costs_itself_alone_though_records_are_longer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    let data =
        |id: u64| Cluster::Data((16 * id..16 * id + 16).flat_map(|id| block(id, 4096)).collect());
    image(&path, &(0..8).map(data).collect::<Vec<_>>(), None);
    // The entry of the third cluster names a place that is not there.
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let entry = (99u64 << 16).to_be_bytes();
    std::os::unix::fs::FileExt::write_all_at(&file, &entry, (2 << 16) + 2 * 8).unwrap();
    let got = of(&path);
    assert_eq!((got.sources.unreadable, got.blocks.unique), (1, 7 * 16));
    assert_eq!(got.comparison.records, 4);
}
