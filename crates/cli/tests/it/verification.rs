//! Verification of what was written by later runs of the program, from the state file that the first one left.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use units::Seed;

use crate::program::{Answer, command, fathom_in};

const BLOCK: usize = 4096;
/// Blocks of the file.
const BLOCKS: usize = 4096;

/// A load on the file `x` of 16 MiB with its state in the file `state`.
fn load(dir: &Path, words: &str) -> Answer {
    // Files are spoilt by hand here, and loads killed.
    let common = "load x --size 16M --destroy-data --verify-state state --json --interval 200ms";
    let args: Vec<&str> = common.split_whitespace().chain(words.split_whitespace()).collect();
    fathom_in(dir, &args)
}

fn summary(answer: &Answer) -> Value {
    let last = answer.out.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}: {} {}", answer.out, answer.err))
}

/// Returns what verification found, of a load that must end with this exit code.
fn verified(dir: &Path, code: i32, words: &str) -> Value {
    let answer = load(dir, words);
    let found = summary(&answer)["verify"].clone();
    assert_eq!(answer.code, Some(code), "{words}: {} {found}", answer.err);
    found
}

/// Nothing wrong, and so many blocks right.
fn all_right(dir: &Path, words: &str, blocks: u64) -> Value {
    let found = verified(dir, 0, words);
    assert_eq!(wrong(&found), 0, "{words}: {found}");
    assert_eq!(found["correct"], blocks, "{words}: {found}");
    found
}

const KINDS: [&str; 6] = ["torn", "stale", "misplaced", "corrupt", "zeros", "foreign"];

fn wrong(found: &Value) -> u64 {
    KINDS.iter().map(|kind| found[kind].as_u64().unwrap()).sum()
}

const LOOK: &str = "--ops randread=100 --pattern permutation --passes 1 --jobs 2 --verify";
const FILL: &str = "--ops randwrite=100 --pattern permutation --passes 1 --jobs 3";

/// A hundred blocks, spoilt by what the file held before, or by what it holds elsewhere.
fn spoil(path: &Path, before: &[u8], kind: &str) -> Vec<usize> {
    let mut bytes = std::fs::read(path).unwrap();
    let now = bytes.clone();
    let mut random = Seed(7).generator();
    let mut places: Vec<usize> = Vec::new();
    while places.len() < 100 {
        let place = random.below(BLOCKS as u64) as usize;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    for &place in &places {
        let at = place * BLOCK..(place + 1) * BLOCK;
        let block = &mut bytes[at.clone()];
        match kind {
            "torn" => block[512..1024].copy_from_slice(&before[at.start + 512..at.start + 1024]),
            "stale" => block.copy_from_slice(&before[at]),
            "misplaced" => {
                let other = (place + 1234) % BLOCKS * BLOCK;
                block.copy_from_slice(&now[other..other + BLOCK]);
            }
            "corrupt" => block[600] ^= 4,
            _ => block.fill(0),
        }
    }
    std::fs::write(path, bytes).unwrap();
    places.sort_unstable();
    places
}

#[test]
fn every_kind_of_damage_is_named_by_a_later_run_which_ends_with_code_5() {
    for (content, width) in [("--dedupe 0", "4"), ("--dedupe 40% --compress 2.5x", "4"), ("", "1")]
    {
        let dir = tempfile::tempdir().unwrap();
        let (dir, path) = (dir.path(), dir.path().join("x"));
        let width = format!("--verify-bytes {width}");
        let fill = format!("{FILL} {content} {width}");
        for kind in ["torn", "stale", "misplaced", "corrupt", "zeros"] {
            load(dir, &fill);
            let before = std::fs::read(&path).unwrap();
            load(dir, &fill);
            let look = format!("{LOOK} {width}");
            all_right(dir, &look, BLOCKS as u64);
            let good = std::fs::read(&path).unwrap();
            let places = spoil(&path, &before, kind);
            let found = verified(dir, 5, &look);
            // By chance a duplicate is where it was moved to.
            let bytes = std::fs::read(&path).unwrap();
            let differs = |place: &&usize| {
                let at = **place * BLOCK..(**place + 1) * BLOCK;
                bytes[at.clone()] != good[at]
            };
            let places: Vec<u64> =
                places.iter().filter(differs).map(|place| (place * BLOCK) as u64).collect();
            let mut at: Vec<u64> = found["wrong"]
                .as_array()
                .unwrap()
                .iter()
                .map(|wrong| wrong["offset"].as_u64().unwrap())
                .collect();
            at.sort_unstable();
            assert_eq!(at, places, "{kind} {content} {width}: {found}");
            assert!(places.len() > 95, "{}", places.len());
            assert_eq!(found[kind], places.len(), "{kind} {content} {width}: {found}");
            if kind == "misplaced" && content == "--dedupe 0" {
                for wrong in found["wrong"].as_array().unwrap() {
                    let home = wrong["home"][1].as_u64().unwrap() as usize / BLOCK;
                    let here = wrong["offset"].as_u64().unwrap() as usize / BLOCK;
                    assert_eq!(home, (here + 1234) % BLOCKS);
                }
            }
            // The same for people.
            let plain = "load x --verify-state state --ops read=100 --passes 1 --verify";
            let args: Vec<&str> =
                plain.split_whitespace().chain(width.split_whitespace()).collect();
            let answer = fathom_in(dir, &args);
            assert_eq!(answer.code, Some(5), "{}", answer.err);
            let phrase = format!("{} wrong ({} {kind})", places.len(), places.len());
            assert!(answer.out.contains(&phrase) || answer.err.contains(&phrase), "{}", answer.out);
            let first = format!("{kind}: 4096 bytes at {} of x", places[0]);
            assert!(answer.out.contains(&first) || answer.err.contains(&first), "{}", answer.out);
        }
    }
}

#[test]
fn passes_need_no_memory_for_each_block_and_random_overwrites_as_much_as_was_said() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let blocks = BLOCKS as u64;
    for (width, each) in [("4", 4), ("1", 1)] {
        let with = |words: &str| format!("{words} --verify-bytes {width}");
        let table = |found: &Value| found["table_bytes"].as_u64().unwrap();
        for fill in [FILL, "--ops write=100 --passes 1 --block-size 64k --dedupe 30%"] {
            // The pass after it, and a later run.
            let found = all_right(dir, &with(&format!("{fill} --verify after")), blocks);
            assert_eq!(table(&found), 0, "{fill}");
            assert_eq!(table(&all_right(dir, &with(LOOK), blocks)), 0, "{fill}");
        }
        // A part of a pass, over what others wrote.
        load(dir, &with("--ops randwrite=100 --pattern permutation --ios 1000 --jobs 2"));
        assert_eq!(table(&all_right(dir, &with(LOOK), blocks)), 0);
        let mixed =
            with("--ops randwrite=60,randread=40 --ios 6000 --jobs 2 --depth 16 --verify both");
        let found = verified(dir, 0, &mixed);
        assert_eq!((wrong(&found), table(&found)), (0, blocks * each), "{found}");
        all_right(dir, &with(LOOK), blocks);
        for file in ["x", "state"] {
            std::fs::remove_file(dir.join(file)).unwrap();
        }
    }
}

#[test]
fn discards_overwrites_and_several_jobs_over_several_runs_raise_no_alarm() {
    for width in ["4", "1"] {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let width = format!("--verify-bytes {width}");
        load(dir, &format!("{FILL} --dedupe 30% --compress 3x {width}"));
        for (n, backend) in ["io_uring", "libaio", "sync"].iter().enumerate() {
            let mix = "--ops randread=40,randwrite=40,randdiscard=10,randwritezeroes=10";
            let how = format!("--jobs 3 --depth 8 --ios 9000 --backend {backend} --verify both");
            let found = verified(dir, 0, &format!("{mix} {how} {width} --seed {}", n + 1));
            assert_eq!(wrong(&found), 0, "{found}");
            assert!(found["checked"].as_u64().unwrap() > BLOCKS as u64 + 3000, "{found}");
            all_right(dir, &format!("{LOOK} {width}"), BLOCKS as u64);
        }
    }
}

#[test]
fn after_a_kill_in_the_middle_nothing_is_called_wrong_and_the_rest_is_still_verified() {
    let dir = tempfile::tempdir().unwrap();
    let (dir, path) = (dir.path(), dir.path().join("x"));
    let half = BLOCKS as u64 / 2;
    for (fill, more) in [(FILL, ""), ("--ops randwrite=100 --ios 5000 --seed 3", "--dedupe 20%")] {
        load(dir, FILL);
        let state = std::fs::read(dir.join("state")).unwrap();
        let words = format!("load x --size 8M --verify-state state --destroy-data {more} --json");
        let long = "--ops randwrite=100 --duration 60s --depth 4 --interval 50ms";
        let args: Vec<&str> = words.split_whitespace().chain(long.split_whitespace()).collect();
        let mut child = command(&args)
            .current_dir(dir)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let held = std::fs::read(&path).unwrap();
        let begun = Instant::now();
        while std::fs::read(&path).unwrap() == held {
            assert!(begun.elapsed() < Duration::from_secs(30), "nothing was written");
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(std::fs::read(dir.join("state")).unwrap() != state, "the load left no mark");
        let answer = load(dir, LOOK);
        let found = &summary(&answer)["verify"];
        assert_eq!((answer.code, wrong(found)), (Some(0), 0), "{found}");
        assert_eq!(found["correct"], half, "{found}");
        assert_eq!(found["unwritten"], half, "{found}");
        assert!(
            answer.err.contains("did not come to their end") || answer.out.contains("did not come")
        );
        // What the killed load could not touch is still verified.
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[12 << 20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(verified(dir, 5, LOOK)["corrupt"], 1);
        bytes[12 << 20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        load(dir, fill);
        let found = verified(dir, 0, LOOK);
        assert_eq!(wrong(&found), 0, "{found}");
        assert!(found["correct"].as_u64().unwrap() > half, "{found}");
    }
    load(dir, FILL);
    all_right(dir, LOOK, BLOCKS as u64);
}

#[test]
fn verification_leaves_content_as_it_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let write = |file: &str, more: &[&str]| {
        let words = "--size 8M --ops randwrite=100 --pattern permutation --passes 1 --jobs 2 --seed 5 \
                     --dedupe 40% --zero 5% --compress 3x --json";
        let args: Vec<&str> = ["load", file].into_iter().chain(words.split_whitespace()).collect();
        let answer = fathom_in(dir.path(), &[&args[..], more].concat());
        assert_eq!(answer.code, Some(0), "{}", answer.err);
        (summary(&answer)["content"].clone(), std::fs::read(dir.path().join(file)).unwrap())
    };
    let (content, bytes) = write("a", &[]);
    for (file, when) in [("b", "after"), ("c", "both")] {
        let (same, others) = write(file, &["--verify", when, "--verify-state", "state"]);
        assert_eq!(content, same);
        assert!(bytes == others);
        std::fs::remove_file(dir.path().join("state")).unwrap();
    }
}
