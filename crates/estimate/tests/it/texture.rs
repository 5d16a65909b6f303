//! Data, its profile, and what the profile makes: compressors have as much to do with both.

use std::fs;
use std::path::{Path, PathBuf};

use content::{BLOCK, ContentSpec, Profile, ProfileSource, SequenceCounter, Source, Texture};
use estimate::Comparison;
use reduce::Lz4;
use sys::interrupt::Interrupt;
use units::Seed;

/// Bytes of each kind of data at most.
const MOST: usize = 6 << 20;

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

/// Sequences in a block that LZ4 makes smaller.
fn sequences(bytes: &[u8]) -> f64 {
    let (mut lz4, mut counter, mut blocks) = (Lz4::new(), SequenceCounter::default(), 0);
    for block in bytes.as_chunks::<BLOCK>().0 {
        let packed = lz4.compressed(block).unwrap();
        blocks += u64::from(packed.len() < BLOCK);
        counter.add(packed, 1);
    }
    let classes = counter.classes();
    let counted = classes.iter().flat_map(|class| &class.literals).map(|(_, count)| count);
    counted.sum::<u64>() as f64 / blocks as f64
}

fn profile_of(bytes: &[u8]) -> (Profile, Comparison) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    fs::write(&file, bytes).unwrap();
    let request = estimate::Request { exact: true, ..crate::request(&[&file]) };
    let found = estimate::estimate(&request, &Interrupt::new(), None).unwrap();
    (found.profile.unwrap(), found.answer.comparison)
}

fn is_like(what: &str, mut bytes: Vec<u8>) {
    bytes.truncate(MOST.min(bytes.len()) / BLOCK * BLOCK);
    let (mut profile, comparison) = profile_of(&bytes);
    let zstd = comparison.zstd.saving_percent.unwrap();
    estimate::share_vocabulary(&mut profile, zstd);
    let profile = Profile::read(&profile.to_json().unwrap(), "p").unwrap();
    let spec = ContentSpec {
        profile: Some(ProfileSource::Loaded(Box::new(profile))),
        texture: Some(Texture::Natural),
        ..ContentSpec::default()
    };
    let mut made = vec![0; bytes.len()];
    Source::new(&spec, Seed(5), 0, 1).fill_next(&mut made);
    let (wanted, got) = (sequences(&bytes), sequences(&made));
    let saved = profile_of(&made).1.zstd.saving_percent.unwrap();
    println!("{what}: {wanted:.0} sequences became {got:.0}, zstd {zstd:.1} % became {saved:.1}");
    // Work per block goes by sequences, and by their lengths: the time itself is within 15 % (docs/content.md).
    assert!((got / wanted - 1.0).abs() < 0.2, "{what}: {wanted} sequences became {got}");
    assert!((zstd - saved).abs() < 3.0, "{what}: {zstd} % became {saved}");
}

#[test]
fn what_a_profile_of_source_text_makes_is_as_much_work_as_the_text() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), ".rs", &mut found);
    is_like("source", found.iter().flat_map(|file| fs::read(file).unwrap()).collect());
}

#[test]
fn what_a_profile_of_a_program_makes_is_as_much_work_as_the_program() {
    is_like("program", fs::read(std::env::current_exe().unwrap()).unwrap());
}
