//! The contents that addresses hold at the end of a load, compared with those that a reader finds there.

use std::collections::HashSet;
use std::path::Path;

use engine::{Aim, SimModel, TargetSpec};
use results::model::AchievedContent;
use sys::clock::Clock;
use units::{Bytes, Percent};

use crate::support::{load, on, run, run_with};

const SIZE: u64 = 8 << 20;

/// Blocks that are not zero in these files, and how many distinct ones.
fn found(paths: &[&Path], block: usize) -> (u64, u64) {
    let (mut data, mut distinct) = (0, HashSet::new());
    for path in paths {
        let bytes = std::fs::read(path).unwrap();
        let blocks = bytes.chunks_exact(block).filter(|block| block.iter().any(|&byte| byte != 0));
        for block in blocks {
            data += 1;
            distinct.insert(block.to_vec());
        }
    }
    (data, distinct.len() as u64)
}

fn agrees(paths: &[&Path], block: usize, achieved: &AchievedContent, zeros: bool, what: &str) {
    let (data, distinct) = found(paths, block);
    let blocks = achieved.live_blocks.unwrap();
    // A hole and a zero block look alike.
    assert!(if zeros { blocks > data } else { blocks == data }, "{what}: {data}, {achieved:?}");
    let duplicates = 100.0 * (data - distinct) as f64 / blocks as f64;
    let got = achieved.live_duplicate_percent.unwrap();
    assert!((got - duplicates).abs() < 1e-9, "{what}: {got}, found {duplicates}");
    assert_eq!(achieved.live_duplicate_error_points, Some(0.0), "{what}");
}

#[test]
fn live_duplicates_are_what_a_reader_of_the_target_finds() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let once = "ops = { randwrite = 100 }\npattern = \"permutation\"\npasses = 1";
    let over = "ops = { randwrite = 100 }\nios = 6000\ndepth = 1";
    let emptied = "ops = { randwrite = 90, randdiscard = 6, randwritezeroes = 4 }\nios = 4000\n\
                   depth = 1\nblock_size = \"4k\"";
    for (what, spec, block, zeros) in [
        ("once", format!("{once}\ncontent = {{ dedupe = 50 }}"), 4096, false),
        ("over", format!("{over}\ncontent = {{ dedupe = 50 }}"), 4096, false),
        ("zeros", format!("{over}\ncontent = {{ dedupe = 40, zero = 20 }}"), 4096, true),
        ("live", format!("{over}\ncontent = {{ dedupe = 60, scope = \"live\" }}"), 4096, false),
        (
            "small blocks",
            format!("{over}\nblock_size = \"4k\"\ncontent = {{ dedupe = 30, block = 1024 }}"),
            1024,
            false,
        ),
        ("emptied", format!("{emptied}\ncontent = {{ dedupe = 50 }}"), 4096, false),
        ("jobs", format!("{once}\njobs = 3\ncontent = {{ dedupe = 50 }}"), 4096, false),
        (
            "part",
            format!("{over}\noffset = \"1M\"\nsize = \"3M\"\ncontent = {{ dedupe = 50 }}"),
            4096,
            false,
        ),
    ] {
        let path = folder.path().join(what);
        let mut load = on(&path, &spec);
        load.may_create = Some(Bytes(SIZE));
        let reported = run(&load);
        agrees(&[&path], block, reported.summary().achieved.as_ref().unwrap(), zeros, what);
    }
}

#[test]
fn several_targets_count_together() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    let spec = "ops = { randwrite = 100 }\nios = 3000\ndepth = 1\n\
                content = { dedupe = 50, domain = \"all\" }";
    let mut load = on(&paths[0], spec);
    load.targets = (paths.iter().zip([25.0, 75.0]))
        .map(|(path, share)| Aim { target: TargetSpec::Path(path.clone()), share: Percent(share) })
        .collect();
    load.may_create = Some(Bytes(SIZE));
    let reported = run(&load);
    let achieved = reported.summary().achieved.as_ref().unwrap();
    agrees(&[&paths[0], &paths[1]], 4096, achieved, false, "two targets");
}

fn simulated(spec: &str) -> AchievedContent {
    let model = SimModel { bytes: Bytes(1 << 30), ..SimModel::default() };
    let load = load(TargetSpec::Simulated(model), spec);
    let reported = run_with(&load, &Clock::simulated(None), |_, _| {});
    reported.summary().achieved.clone().unwrap()
}

/// 262,144 addresses, each overwritten three times on average, more than the sample holds.
#[test]
fn the_live_scope_keeps_its_share_under_overwrites_and_the_written_one_loses_it() {
    let spec = "ops = { randwrite = 100 }\npattern = \"permutation\"\npasses = 1";
    let over = "ops = { randwrite = 100 }\nios = 786432";
    let near = |got: &AchievedContent, wanted: f64| {
        let (found, error) =
            (got.live_duplicate_percent.unwrap(), got.live_duplicate_error_points.unwrap());
        assert!(error > 0.0 && error < 0.6, "{got:?}");
        assert!((found - wanted).abs() < 4.0 * error, "{found} ± {error}, {wanted}");
    };
    let live =
        |load: &str| simulated(&format!("{load}\ncontent = {{ dedupe = 50, scope = \"live\" }}"));
    let once = live(spec);
    near(&once, 50.0);
    assert_eq!(once.live_blocks, Some(262_144));
    // 5 % of the addresses are not written at all: a pool content has fewer addresses then.
    near(&live(over), 49.9);
    let written = |load: &str| simulated(&format!("{load}\ncontent = {{ dedupe = 50 }}"));
    near(&written(spec), 50.0);
    assert!(written(over).live_duplicate_percent.unwrap() < 40.0);
}

#[test]
fn writes_that_share_blocks_have_no_live_figure() {
    let got = simulated(
        "ops = { randwrite = 100 }\nios = 1000\nalign = \"512\"\ncontent = { dedupe = 50 }",
    );
    assert_eq!((got.live_duplicate_percent, got.live_blocks), (None, None));
    assert!(got.duplicate_percent.is_some());
}
