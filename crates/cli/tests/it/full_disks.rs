//! Disks that fill up with files that a load writes in addition to its target: the measurement is kept, and what is missing is reported.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{fathom_in, skip, text};

/// A file system in memory that is soon full; unmounted when dropped.
struct Small(tempfile::TempDir);

impl Small {
    fn new(test: &str, kib: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={kib}k");
        let arguments = ["-t", "tmpfs", "-o", &size, "none", text(folder.path())];
        let mounted = Command::new("mount").args(arguments).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        skip(test, "tmpfs cannot be mounted (needs root)");
        None
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

/// A load on the file `x` of 64 MiB with its file of `option` on the full disk: the code, the summary, and the messages.
fn load(dir: &Path, words: &str, option: &str, file: &Path) -> (Option<i32>, Value, String) {
    let common = "load x --size 64M --json --buffered --seed 1";
    let words = common.split_whitespace().chain(words.split_whitespace());
    let args: Vec<&str> = words.chain([option, text(file)]).collect();
    let answer = fathom_in(dir, &args);
    let last = answer.out.lines().last().unwrap_or_default();
    let summary = serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}: {}", answer.err));
    (answer.code, summary, answer.err)
}

/// Checks that notices, the list of what is missing and the text for people name the file and the error, and that the I/Os are counted.
fn check_report(
    test: &str,
    (code, summary, message): &(Option<i32>, Value, String),
    file: &Path,
    ios: u64,
) {
    assert_eq!(*code, Some(5), "{test}: {message}");
    let counted: u64 = summary["operations"]
        .as_object()
        .unwrap()
        .values()
        .map(|op| op["ios"].as_u64().unwrap())
        .sum();
    assert_eq!(counted, ios, "{test}: {summary}");
    for place in [&summary["notices"], &summary["incomplete"]] {
        let named = |notice: &Value| {
            let notice = notice.as_str().unwrap();
            notice.contains(text(file)) && notice.contains("No space left")
        };
        assert_eq!(
            place.as_array().unwrap().iter().filter(|n| named(n)).count(),
            1,
            "{test}: {place}"
        );
    }
    assert!(message.contains(text(file)) && message.contains("No space left"), "{test}: {message}");
}

#[test]
fn a_full_disk_under_the_verification_state_costs_the_state_and_not_the_measurement() {
    let name = "a_full_disk_under_the_verification_state_costs_the_state_and_not_the_measurement";
    let Some(small) = Small::new(name, 64) else { return };
    let dir = tempfile::tempdir().unwrap();
    let state = small.0.path().join("state");
    // Blocks that are written more than four times each cost four bytes each in the state: 64 KiB.
    let ended = load(dir.path(), "--ops randwrite=100 --ios 70000", "--verify-state", &state);
    check_report(name, &ended, &state, 70_000);
    // Nothing half-written is left, and the next load knows that the last one's state is not there.
    assert_eq!(small.names(), ["state"]);
    let kept = dir.path().join("state");
    std::fs::copy(&state, &kept).unwrap();
    let look = "--ops read=100 --passes 1 --verify";
    let (code, summary, messages) = load(dir.path(), look, "--verify-state", &kept);
    // Nothing is known, so that nothing was verified.
    assert_eq!(code, Some(5), "{messages}");
    assert_eq!(summary["verify"]["checked"], 0, "{summary}");
    assert_eq!(summary["verify"]["unwritten"], 16_384, "{summary}");
    assert!(summary["notices"].to_string().contains("did not come to their end"), "{summary}");
}

#[test]
fn a_full_disk_under_a_log_ends_the_log_and_not_the_load_and_the_exit_code_says_so() {
    let name = "a_full_disk_under_a_log_ends_the_log_and_not_the_load_and_the_exit_code_says_so";
    let Some(small) = Small::new(name, 8) else { return };
    let dir = tempfile::tempdir().unwrap();
    for option in ["--io-log", "--latency-log"] {
        let log = small.0.path().join("log");
        let words = "--ops randread=50,randwrite=50 --ios 60000 --rate 60000/s --interval 10ms";
        let ended = load(dir.path(), words, option, &log);
        check_report(option, &ended, &log, 60_000);
        assert!(std::fs::metadata(&log).unwrap().len() > 0, "{option}: nothing of it was kept");
        std::fs::remove_file(log).unwrap();
    }
}

#[test]
fn a_disk_that_is_full_from_the_start_is_refused_before_anything_is_written() {
    let name = "a_disk_that_is_full_from_the_start_is_refused_before_anything_is_written";
    let Some(small) = Small::new(name, 4) else { return };
    std::fs::write(small.0.path().join("filler"), [1; 4096]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x"), vec![0; 1 << 20]).unwrap();
    let state = small.0.path().join("state");
    let args = ["load", "x", "--ops", "write=100", "--passes", "1", "--destroy-data"];
    let answer = fathom_in(dir.path(), &[&args[..], &["--verify-state", text(&state)]].concat());
    assert_eq!(answer.code, Some(3), "{}", answer.err);
    assert!(answer.err.contains(text(&state)) && answer.err.contains("help:"), "{}", answer.err);
    assert!(std::fs::read(dir.path().join("x")).unwrap().iter().all(|&byte| byte == 0));
    assert_eq!(small.names(), ["filler"]);
}

/// The page, profile or trace that cannot be written is told after the figures, which are there.
#[test]
fn a_full_disk_under_a_file_beside_the_answer_costs_the_file_and_not_the_figures() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("data"), vec![7; 1 << 20]).unwrap();
    let bench = "disk bench ssd --size 256M --duration 2s --ops randread=100 --trace";
    let of = |words: &str, file: &str| {
        let words: Vec<&str> = words.split_whitespace().chain([file]).collect();
        fathom_in(dir.path(), &words)
    };
    assert_eq!(of(bench, "io.trace").code, Some(0));
    for (words, figures) in [
        ("estimate data -o", "VDO"),
        ("estimate data --profile", "VDO"),
        ("estimate data -o page --profile", "VDO"),
        ("estimate data --json -o", "\"vdo\""),
        ("advise io.trace -o", "ssd"),
        ("advise io.trace --json -o", "\"cache\""),
        (bench, "IOPS"),
    ] {
        let answer = of(words, "/dev/full");
        assert_eq!(answer.code, Some(3), "{words}: {}", answer.err);
        assert!(answer.err.contains("/dev/full cannot be written: No space"), "{}", answer.err);
        assert!(answer.out.contains(figures), "{words}: {} {}", answer.out, answer.err);
    }
    assert!(dir.path().join("page").exists(), "one file does not cost the other");
}

#[test]
fn a_push_to_a_full_disk_leaves_nothing_there_and_says_what_to_do() {
    let test = "a_push_to_a_full_disk_leaves_nothing_there_and_says_what_to_do";
    let Some(small) = Small::new(test, 8) else { return };
    let dir = tempfile::tempdir().unwrap();
    let run = ["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--out", "r"];
    assert_eq!(fathom_in(dir.path(), &run).code, Some(0));
    let answer = fathom_in(dir.path(), &["push", "r", text(small.0.path())]);
    assert_eq!(answer.code, Some(3), "{}", answer.err);
    assert!(answer.err.contains("r.fathom") && answer.err.contains("make room"), "{}", answer.err);
    assert_eq!(small.names(), Vec::<String>::new());
}
