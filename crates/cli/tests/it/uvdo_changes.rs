//! `fathom uvdo grow` and `fathom uvdo rebuild`, as a user runs them.

use std::fs;
use std::path::Path;

use crate::program::{expect, json, skip, text};
use crate::uvdo::{Running, qemu_io, refused, volume};

#[test]
fn a_volume_grows_while_it_runs_and_at_rest_and_keeps_its_data() {
    let dir = tempfile::tempdir().unwrap();
    let (path, run) = (volume(dir.path()), dir.path().join("run"));
    let lengthen = |bytes: u64| {
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes).unwrap();
    };
    let running = Running::start(&path, &run, &[]);
    let wrote = qemu_io(&running.uri(), &["write -P 7 0 4M", "write -P 8 1020M 4M", "flush"]);
    let beyond = ["write -P 9 1500M 1M", "flush"];
    assert_ne!(qemu_io(&running.uri(), &beyond), Some(true), "beyond the end");
    lengthen(600 << 20);
    let grow = ["uvdo", "grow", text(&run), "--physical", "--logical-size", "2G", "--json"];
    let grown = json(&grow);
    let slabs = grown["slabs"].as_u64().unwrap();
    assert_eq!(grown["logical_bytes"], 2u64 << 30);
    assert_eq!(grown["physical_bytes"], 600u64 << 20);
    let status = json(&["uvdo", "status", text(&run), "--json"]);
    assert_eq!((&status["slabs"], &status["logical_bytes"]), (&slabs.into(), &(2u64 << 30).into()));
    let there = ["read -P 7 0 4M", "read -P 8 1020M 4M", "read -P 9 1500M 1M"];
    if wrote.is_some() {
        assert_eq!(
            qemu_io(&running.uri(), &beyond),
            Some(true),
            "a client that came after it grew"
        );
        assert_eq!(qemu_io(&running.uri(), &there), Some(true));
    }
    // A kill after the answer: nothing of it is lost.
    running.kill();
    expect(0, &["uvdo", "check", text(&path)]);
    lengthen(800 << 20);
    let grown = expect(0, &["uvdo", "grow", text(&path), "--physical"]).out;
    assert!(grown.contains("a volume of 2 GiB on 800 MiB"), "{grown}");
    let grown_again = expect(0, &["uvdo", "grow", text(&path), "--logical-size", "3G"]).out;
    assert!(grown_again.contains("a volume of 3 GiB on 800 MiB"), "{grown_again}");
    let checked = expect(0, &["uvdo", "check", text(&path)]).out;
    assert!(checked.contains(": clean"), "{checked}");
    let running = Running::start(&path, &run, &[]);
    let status = json(&["uvdo", "status", text(&run), "--json"]);
    assert!(status["slabs"].as_u64().unwrap() > slabs, "{status}");
    if wrote.is_some() {
        assert_eq!(qemu_io(&running.uri(), &there), Some(true));
        assert_eq!(qemu_io(&running.uri(), &["write -P 5 2900M 1M", "flush"]), Some(true));
    }
    running.stop();
}

#[test]
fn growth_that_makes_no_larger_volume_is_refused_and_nothing_changes() {
    let dir = tempfile::tempdir().unwrap();
    let (path, run) = (volume(dir.path()), dir.path().join("run"));
    let grow = |what: &Path, more: &[&'static str]| {
        [&["uvdo", "grow"], &[text(what)][..], more]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let refused = |code: i32, what: &Path, more: &[&'static str], phrases: &[&str]| {
        let args = grow(what, more);
        refused(code, &args.iter().map(String::as_str).collect::<Vec<_>>(), phrases);
    };
    let before = fs::read(&path).unwrap();
    let grown = ["does not shrink", "one slab more takes a device of", "truncate"];
    refused(2, &path, &["--physical"], &grown);
    refused(2, &path, &["--logical-size", "1G"], &grown);
    refused(2, &path, &["--logical-size", "512M"], &grown);
    refused(2, &path, &["--logical-size", "4097"], &["--logical-size: 4097 bytes are 1 block"]);
    refused(2, &path, &["--logical-size", "1000T"], &["more than a volume can have"]);
    refused(2, &dir.path().join("none"), &["--physical"], &["cannot be examined"]);
    fs::write(dir.path().join("other"), vec![7; 1 << 20]).unwrap();
    refused(5, &dir.path().join("other"), &["--physical"], &["not a uvdo volume"]);
    refused(3, dir.path(), &["--physical"], &["no volume is served"]);
    let nothing = expect(2, &["uvdo", "grow", text(&path)]).err;
    assert!(nothing.contains("--physical") && nothing.contains("--logical-size"), "{nothing}");
    assert!(fs::read(&path).unwrap() == before, "a refused growth writes nothing");
    let limited = ["--memory", "200M", "--block-map-cache", "64M"];
    let running = Running::start(&path, &run, &limited);
    refused(4, &path, &["--logical-size", "2G"], &["claimed by another run"]);
    refused(2, &run, &["--physical"], &["does not shrink"]);
    refused(2, &run, &["--logical-size", "4097"], &["4097 bytes are 1 block"]);
    refused(2, &run, &["--logical-size", "200T"], &["bytes of memory, and may take"]);
    running.stop();
}

fn stored(run: &Path) -> (u64, u64) {
    let stats = json(&["uvdo", "stats", text(run), "--json"]);
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    (number(&stats["dataBlocksUsed"]), number(&stats["index"]["entriesIndexed"]))
}

#[test]
fn an_index_outlives_a_stop_and_one_that_is_lost_is_made_anew_by_command() {
    let test = "an_index_outlives_a_stop_and_one_that_is_lost_is_made_anew_by_command";
    let dir = tempfile::tempdir().unwrap();
    let (path, run, bytes) = (volume(dir.path()), dir.path().join("run"), dir.path().join("bytes"));
    let mut random = units::Seed(3).generator();
    fs::write(&bytes, (0..1 << 20).map(|_| random.next_u64() as u8).collect::<Vec<_>>()).unwrap();
    let write = |at: &str| format!("write -s {} {at} 1M", bytes.display());
    let running = Running::start(&path, &run, &[]);
    if qemu_io(&running.uri(), &[&write("0"), "flush"]).is_none() {
        skip(test, "there is no qemu-io");
        return running.stop();
    }
    assert_eq!(stored(&run), (256, 256));
    running.stop();
    // The same data elsewhere, after a stop: it is found.
    let running = Running::start(&path, &run, &[]);
    assert_eq!(stored(&run), (256, 256));
    assert_eq!(qemu_io(&running.uri(), &[&write("8M"), "flush"]), Some(true));
    assert_eq!(stored(&run).0, 256);
    running.stop();
    // The index is lost: what was stored is there all the same, and is stored once more.
    let mut image = fs::read(&path).unwrap();
    image[2 * 4096..1026 * 4096].fill(7);
    fs::write(&path, &image).unwrap();
    expect(0, &["uvdo", "check", text(&path)]);
    let running = Running::start(&path, &run, &[]);
    assert_eq!(stored(&run), (256, 0));
    let same = [write("16M"), "flush".into(), "read -v 0 512".into()];
    let same: Vec<_> = same.iter().map(String::as_str).collect();
    assert_eq!(qemu_io(&running.uri(), &same), Some(true));
    assert_eq!(stored(&run).0, 512);
    running.kill();
    let rebuilt = expect(0, &["uvdo", "rebuild", text(&path)]).out;
    assert!(rebuilt.contains("in use, 0 counts corrected"), "{rebuilt}");
    let document = json(&["uvdo", "rebuild", text(&path), "--json"]);
    assert_eq!(document["index_records"], 256);
    let running = Running::start(&path, &run, &[]);
    assert_eq!(qemu_io(&running.uri(), &[&write("24M"), "flush"]), Some(true));
    assert_eq!(stored(&run), (512, 256));
    running.stop();
    expect(0, &["uvdo", "check", text(&path)]);
}

#[test]
fn a_rebuild_is_refused_where_it_would_lose_data_or_there_is_no_volume() {
    let dir = tempfile::tempdir().unwrap();
    let (path, run) = (volume(dir.path()), dir.path().join("run"));
    let running = Running::start(&path, &run, &[]);
    refused(4, &["uvdo", "rebuild", text(&path)], &["claimed by another run"]);
    running.stop();
    let mut image = fs::read(&path).unwrap();
    // A root of the map.
    image[1030 * 4096 + 100] ^= 1;
    fs::write(&path, &image).unwrap();
    refused(5, &["uvdo", "rebuild", text(&path)], &["records are damaged", "not the map"]);
    assert!(fs::read(&path).unwrap() == image, "a refused rebuild writes nothing");
    fs::write(&path, vec![7; 1 << 20]).unwrap();
    refused(5, &["uvdo", "rebuild", text(&path)], &["not a uvdo volume"]);
    refused(2, &["uvdo", "rebuild", text(&dir.path().join("none"))], &["cannot be examined"]);
}
