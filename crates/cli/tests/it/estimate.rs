//! `fathom estimate`, as a user runs it.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::program::{command, expect, json, text};

fn data() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let mut rng = units::Seed(1).generator();
    let mut bytes = vec![0u8; 300 * 4096];
    // 100 zero blocks, 100 random ones, these again.
    bytes[100 * 4096..200 * 4096].iter_mut().for_each(|b| *b = rng.next_u64() as u8);
    bytes.copy_within(100 * 4096..200 * 4096, 200 * 4096);
    let path = dir.path().join("data");
    fs::write(&path, bytes).unwrap();
    (dir, path)
}

#[test]
fn a_file_gives_the_json_that_is_documented() {
    let (dir, path) = data();
    let got = json(&["estimate", text(&path), "--json"]);
    assert_eq!(got["schema"], 1);
    assert_eq!(got["bytes"], 300 * 4096);
    assert_eq!(
        got["blocks"],
        serde_json::json!({"total": 300, "zero": 100, "duplicate": 100, "unique": 100})
    );
    let close =
        |value: &serde_json::Value, wanted: f64| (value.as_f64().unwrap() - wanted).abs() < 1e-9;
    assert!(close(&got["vdo"]["saving_percent"], 100.0 * 200.0 / 300.0));
    assert!(close(&got["vdo"]["saving_without_zeros_percent"], 50.0));
    assert_eq!(got["vdo"]["physical_bytes"], 100 * 4096);
    assert_eq!(got["vdo"]["index"]["memory_bytes"], 1u64 << 28);
    assert_eq!(got["vdo"]["index"]["sparse"], false);
    assert_eq!(got["vdo"]["index"]["duplicates_missed"], 0);
    assert_eq!(got["vdo"]["packer"]["fragments"], 0);
    // Every key of the document is there.
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let document = fs::read_to_string(document).unwrap();
    let section =
        document.split("## `fathom estimate").nth(1).unwrap().split("\n## ").next().unwrap();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let key = line.split('`').nth(1).unwrap();
        let value = key.split('.').fold(&got, |value, part| &value[part]);
        assert!(!value.is_null(), "{key} is documented and missing");
    }
    drop(dir);
}

#[test]
fn standard_input_gives_the_same_blocks() {
    let (_dir, path) = data();
    let mut child = command(&["estimate", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(path).unwrap()).unwrap();
    let answer: serde_json::Value =
        serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(answer["blocks"]["duplicate"], 100);
}

#[test]
fn sizing_needs_no_data() {
    let got = json(&["estimate", "--size", "10T", "--saving", "60%", "--json"]);
    assert!(got["sizing"]["command"].as_str().unwrap().starts_with("lvcreate --type vdo"));
    let shown = expect(0, &["estimate", "--size", "10T", "--saving", "60%"]).out;
    assert!(shown.contains("lvcreate") && shown.contains("physical size"), "{shown}");
    expect(2, &["estimate", "--size", "10T"]);
    expect(2, &["estimate"]);
}

#[test]
fn a_profile_and_a_page_are_written_and_the_profile_can_be_read() {
    let (dir, path) = data();
    let (profile, page) = (dir.path().join("profile.json"), dir.path().join("page.html"));
    let answer =
        expect(0, &["estimate", text(&path), "--profile", text(&profile), "-o", text(&page)]);
    assert!(answer.out.contains("VDO saves") && answer.out.contains("66.7"), "{}", answer.out);
    let profile = content::Profile::read(&fs::read_to_string(profile).unwrap(), "p").unwrap();
    assert_eq!((profile.blocks.total, profile.blocks.duplicate), (300, 100));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("Where the savings lie"));
    assert!(!page.contains("http://") && !page.contains("https://"));
}

#[test]
fn what_cannot_be_estimated_is_refused_with_a_remedy() {
    let refused = |code, path: &str, phrase: &str| {
        let err = expect(code, &["estimate", path]).err;
        assert!(err.contains(phrase) && err.contains("help:"), "{err}");
    };
    refused(2, "/nowhere/at/all", "/nowhere/at/all");
    refused(2, "/dev/null", "neither a file");
}
