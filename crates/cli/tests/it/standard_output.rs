//! Standard output that cannot be written: whoever waits for the answer must not take what came for all of it.

use std::fs::File;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::program::{command, fathom_in, skip};

const SHORT: [&[&str]; 13] = [
    &["--help"],
    &["--version"],
    &["load", "--help"],
    &["explain"],
    &["explain", "vdo-vs-plain", "--json"],
    &["doctor", "--json"],
    &["doctor", "result"],
    &["show", "result"],
    &["show", "result", "--json"],
    &["show", "result", "--csv"],
    &["show", "ios"],
    &["estimate", "ios"],
    &["estimate", "ios", "--json"],
];

const LONG: [&[&str]; 4] = [
    &["load", "null", "--size", "1M", "--duration", "300ms", "--interval", "50ms"],
    &["load", "null", "--size", "1M", "--duration", "300ms", "--interval", "50ms", "--json"],
    &["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--out", "first"],
    &["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--json", "--out", "second"],
];

/// A folder with a result and a log of I/Os.
fn workplace() -> tempfile::TempDir {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for line in [
        "run vdo-vs-plain --simulate --repeat 1 --out result",
        "load null --size 1M --ios 2000 --io-log ios",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = fathom_in(dir.path(), &words);
        assert_eq!(answer.code, Some(0), "{}", answer.err);
    }
    dir
}

fn onto(dir: &Path, words: &[&str], out: impl Into<Stdio>) -> (Option<i32>, String) {
    let output: Output = command(words).current_dir(dir).stdout(out).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_full_disk_under_standard_output_is_an_error_and_what_was_measured_stays() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return skip("a_full_disk_under_standard_output", "there is no /dev/full");
    };
    let dir = workplace();
    for words in SHORT.iter().chain(&LONG) {
        let (code, err) = onto(dir.path(), words, full.try_clone().unwrap());
        assert_eq!(code, Some(3), "{words:?}: {err}");
        for word in ["Standard output", "No space left", "help:"] {
            assert!(err.contains(word), "{words:?}: '{word}' is not in:\n{err}");
        }
        assert_eq!(err.matches("No space left").count(), 1, "{words:?}: {err}");
    }
    for result in ["first", "second"] {
        assert_eq!(fathom_in(dir.path(), &["show", result]).code, Some(0), "{result}");
    }
    // The table is on standard error, whatever became of the summary.
    let (_, err) = onto(dir.path(), LONG[1], full);
    assert!(err.contains("randread") && err.contains("ended by duration"), "{err}");
}

#[test]
fn a_descriptor_that_cannot_be_written_is_an_error_too() {
    let dir = workplace();
    for words in [&["explain"][..], &["show", "ios"], &["--help"]] {
        let (code, err) = onto(dir.path(), words, File::open("/dev/null").unwrap());
        assert_eq!(code, Some(3), "{words:?}: {err}");
        assert!(err.contains("Standard output"), "{words:?}: {err}");
    }
}

#[test]
fn what_went_wrong_before_says_more_than_a_full_disk() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return skip("what_went_wrong_before", "there is no /dev/full");
    };
    let dir = workplace();
    // A log that was cut off is shown with exit code 5; it is so short that nothing is printed before its end is found.
    let load = ["load", "null", "--size", "1M", "--ios", "20", "--io-log", "ios"];
    assert_eq!(fathom_in(dir.path(), &load).code, Some(0));
    let log = std::fs::read(dir.path().join("ios")).unwrap();
    std::fs::write(dir.path().join("ios"), &log[..log.len() / 2]).unwrap();
    let (code, err) = onto(dir.path(), &["show", "ios"], full);
    assert_eq!(code, Some(5), "{err}");
    assert!(err.contains("cut off") && err.contains("Standard output"), "{err}");
}

#[test]
fn a_reader_that_went_away_has_seen_enough() {
    let dir = workplace();
    for words in SHORT.iter().chain(&LONG) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let (code, err) = onto(dir.path(), words, writer);
        assert_eq!(code, Some(0), "{words:?}: {err}");
        assert!(!err.contains("Standard output"), "{words:?}: {err}");
    }
}
