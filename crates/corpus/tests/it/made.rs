//! Corpora that are made, counted again from their bytes.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use content::ContentSpec;
use corpus::{Alike, CorpusError, CorpusSpec};
use units::{Bytes, Percent, Seed};

fn spec() -> CorpusSpec {
    CorpusSpec {
        size: Bytes(8 << 20),
        file_size: "4k..256k".parse().unwrap(),
        files_per_directory: 8,
        levels: 2,
        duplicate_files: Percent(0.0),
        content: ContentSpec::default(),
        alike: Alike::Alone,
        seed: Seed(1),
    }
}

fn made(spec: &CorpusSpec) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    corpus::write(spec, dir.path(), &mut |_| ControlFlow::Continue(())).unwrap();
    dir
}

/// All files with their bytes, by path.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut open, mut found) = (vec![dir.to_owned()], BTreeMap::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().display().to_string();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// Share of 4 KiB blocks that repeat an earlier one, percent; the ends of files that fill no block are left out.
fn duplicate_percent<'a>(files: impl IntoIterator<Item = &'a Vec<u8>>) -> f64 {
    let mut seen: HashMap<&[u8], u64> = HashMap::new();
    files
        .into_iter()
        .flat_map(|bytes| bytes.chunks_exact(4096))
        .for_each(|b| *seen.entry(b).or_default() += 1);
    let all: u64 = seen.values().sum();
    100.0 * (all - seen.len() as u64) as f64 / all as f64
}

#[test]
fn equal_specs_give_equal_files_of_the_size_and_the_content_that_was_asked_for() {
    let content = ContentSpec { dedupe: Percent(50.0), ..ContentSpec::default() };
    let spec = CorpusSpec { content, ..spec() };
    let all = files(made(&spec).path());
    assert_eq!(all, files(made(&spec).path()));
    assert_eq!(all.values().map(|bytes| bytes.len() as u64).sum::<u64>(), spec.size.0);
    assert!(all.keys().all(|path| path.split('/').count() == 3), "two levels above each file");
    let found = duplicate_percent(all.values());
    assert!((found - 50.0).abs() < 3.0, "{found}");
    let other = CorpusSpec { seed: Seed(2), ..spec.clone() };
    assert!(other.id() != spec.id() && files(made(&other).path()) != all);
}

#[test]
fn duplicate_files_are_whole_files_again() {
    let spec = CorpusSpec { duplicate_files: Percent(25.0), ..spec() };
    let all = files(made(&spec).path());
    let mut seen: HashMap<&[u8], u64> = HashMap::new();
    all.values().for_each(|bytes| *seen.entry(bytes).or_default() += 1);
    let again = all.len() - seen.len();
    // The last file may have been cut.
    assert!(again.abs_diff(all.len() / 4) <= 2, "{again} of {}", all.len());
}

#[test]
fn copies_differ_in_the_share_of_blocks_that_was_asked_for_each_in_its_own() {
    let alike = Alike::Copies { trees: 3, changed_blocks: Percent(5.0) };
    let spec = CorpusSpec { file_size: "2M".parse().unwrap(), alike, ..spec() };
    let all = files(made(&spec).path());
    let tree = |n: u32| -> Vec<u8> {
        let own = all.iter().filter(|(path, _)| path.starts_with(&format!("copy-{n}/")));
        own.flat_map(|(_, bytes)| bytes.clone()).collect()
    };
    let differing = |a: &[u8], b: &[u8]| {
        let pairs = a.chunks(4096).zip(b.chunks(4096));
        100.0 * pairs.filter(|(a, b)| a != b).count() as f64 / (a.len() / 4096) as f64
    };
    let [first, second, third] = [0, 1, 2].map(tree);
    assert_eq!(first.len() as u64, spec.size.0);
    let (a, b) = (differing(&first, &second), differing(&second, &third));
    assert!((a - 5.0).abs() < 0.2 && (5.0..=10.1).contains(&b), "{a} and {b}");
    // Of three trees the first is new, of each other one only what changed: (2 - 0.1) / 3.
    let found = duplicate_percent(all.values());
    assert!((found - 190.0 / 3.0).abs() < 0.3, "{found}");
}

#[test]
fn generations_are_hard_links_but_for_what_changed() {
    let alike = Alike::Generations { trees: 4, changed_files: Percent(10.0) };
    let spec = CorpusSpec { alike, ..spec() };
    let dir = made(&spec);
    let all = files(dir.path());
    let inode = |path: &str| fs::metadata(dir.path().join(path)).unwrap().ino();
    let (mut same, mut other) = (0_usize, 0_usize);
    for path in all.keys().filter(|path| !path.starts_with("generation-0/")) {
        let (of, rest) = path.split_once('/').unwrap();
        let number: u32 = of.rsplit_once('-').unwrap().1.parse().unwrap();
        let before = format!("generation-{}/{rest}", number - 1);
        if inode(path) == inode(&before) {
            same += 1;
        } else {
            assert!(all[path] != all[&before] && all[path].len() == all[&before].len(), "{path}");
            other += 1;
        }
    }
    assert!(other.abs_diff((same + other) / 10) <= 3, "{other} of {}", same + other);
}

#[test]
fn the_own_blocks_of_copies_have_their_share_of_duplicates_too() {
    let content = ContentSpec { dedupe: Percent(50.0), ..ContentSpec::default() };
    let alike = Alike::Copies { trees: 2, changed_blocks: Percent(50.0) };
    let spec = CorpusSpec {
        size: Bytes(32 << 20),
        file_size: "32M".parse().unwrap(),
        content,
        alike,
        ..spec()
    };
    let all = files(made(&spec).path());
    let [first, second] = [0, 1].map(|n| &all[&format!("copy-{n}/d00/d00/f000000")]);
    let own: Vec<u8> = (first.chunks(4096).zip(second.chunks(4096)))
        .filter(|(a, b)| a != b)
        .flat_map(|(_, own)| own.to_vec())
        .collect();
    let found = duplicate_percent([&own]);
    assert!((found - 50.0).abs() < 3.0, "{found}");
}

#[test]
fn a_corpus_that_somebody_wrote_to_is_not_whole() {
    let dir = made(&spec());
    assert!(corpus::is_whole(&spec(), dir.path()));
    let path = dir.path().join(&spec().files().next().unwrap().path);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes).unwrap();
    assert!(!corpus::is_whole(&spec(), dir.path()), "the same bytes, written again");
    fs::remove_file(&path).unwrap();
    assert!(!corpus::is_whole(&spec(), dir.path()));
}

#[test]
fn what_is_too_large_is_refused_and_who_asks_to_stop_is_heard() {
    let large = CorpusSpec { size: Bytes(5 << 30), ..spec() };
    assert!(matches!(large.check(), Err(CorpusError::TooLarge { .. })));
    let alike = Alike::Copies { trees: 9, changed_blocks: Percent(0.0) };
    let copies =
        CorpusSpec { size: Bytes(1 << 30), file_size: "64M".parse().unwrap(), alike, ..spec() };
    assert!(matches!(copies.check(), Err(CorpusError::TooLarge { bytes: Bytes(0x2_4000_0000) })));
    let many = CorpusSpec { size: Bytes(1 << 30), file_size: "1k".parse().unwrap(), ..spec() };
    assert!(matches!(many.check(), Err(CorpusError::TooMany)));
    assert!(matches!(CorpusSpec { size: Bytes(0), ..spec() }.check(), Err(CorpusError::Empty)));
    let dir = tempfile::tempdir().unwrap();
    let stopped = corpus::write(&spec(), dir.path(), &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(CorpusError::Stopped)));
}
