//! `fathom estimate`, as a user runs it.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::loop_device::loop_device;
use crate::program::{Answer, command, expect, fathom_in, json, skip, text};

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

/// Returns the answer of `estimate` to these bytes on standard input.
fn piped(bytes: &[u8]) -> Answer {
    let mut child = command(&["estimate", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Who refuses reads no further.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Answer { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

fn blocks(answer: &Answer) -> serde_json::Value {
    serde_json::from_str::<serde_json::Value>(&answer.out).unwrap()["blocks"].clone()
}

#[test]
fn a_device_and_a_pipe_are_recognised_and_counted_like_a_file() {
    let (dir, path) = data();
    let raw = fs::read(&path).unwrap();
    let Some(disk) = loop_device(raw.len() as u64) else {
        return skip(
            "a_device_and_a_pipe_are_recognised",
            "no loop device can be made (needs root)",
        );
    };
    let on_device = |bytes: &[u8]| {
        let mut whole = bytes.to_vec();
        whole.resize(raw.len(), 0);
        fs::File::options().write(true).open(&disk.path).unwrap().write_all(&whole).unwrap();
        fathom_in(dir.path(), &["estimate", &disk.path, "--json"])
    };
    let (file, device, pipe) =
        (fathom_in(dir.path(), &["estimate", "data", "--json"]), on_device(&raw), piped(&raw));
    assert_eq!((file.code, device.code, pipe.code), (Some(0), Some(0), Some(0)), "{}", device.err);
    assert_eq!(blocks(&file), blocks(&device));
    assert_eq!(blocks(&file), blocks(&pipe));
    for (name, head) in [
        ("gzip", &b"\x1f\x8b\x08\0"[..]),
        ("xz", b"\xfd7zXZ\0\0\x04"),
        ("LUKS", b"LUKS\xba\xbe\0\x02"),
        ("VMDK", b"KDMV\x01\0\0\0"),
        ("VHDX", b"vhdxfile"),
        ("lzop", b"\x89LZO\0\r\n\x1a\n"),
        ("VMA", b"VMA\0\0\0\0\x01"),
        ("ntfsclone", b"\0ntfsclone-image"),
        ("RBD", b"rbd diff v1\n"),
        ("cpio", b"\xc7\x71\0\0\0\0\xa4\x81\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0a\0"),
    ] {
        let mut bytes = raw.clone();
        bytes[..head.len()].copy_from_slice(head);
        fs::write(&path, &bytes).unwrap();
        let file = fathom_in(dir.path(), &["estimate", "data", "--json"]);
        for answer in [file, on_device(&bytes), piped(&bytes)] {
            assert_eq!(answer.code, Some(3), "{name}: {}", answer.err);
            assert!(answer.err.contains(name) && answer.err.contains("help:"), "{}", answer.err);
        }
    }
}

#[test]
fn a_stream_says_that_its_zeros_may_be_holes_and_that_it_ends_as_an_image() {
    let mut plain: Vec<u8> =
        (0..64_u32 << 10).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    assert!(!piped(&plain).err.contains("holes"));
    plain.resize(1 << 20, 0);
    let answer = piped(&plain);
    assert!(answer.err.contains("75 % of its blocks and count as saved"), "{}", answer.err);
    assert!(!answer.err.contains("VHD"), "{}", answer.err);
    let mut footer = vec![0; 512];
    footer[..8].copy_from_slice(b"conectix");
    let sum: u32 = footer.iter().map(|&byte: &u8| u32::from(byte)).sum();
    footer[64..68].copy_from_slice(&(!sum).to_be_bytes());
    let with_footer = piped(&[plain.clone(), footer].concat());
    assert!(with_footer.err.contains("ends as a VHD image of fixed size"), "{}", with_footer.err);
    // An image whose data is packed cannot be read in this way.
    plain.extend_from_slice(b"koly\0\0\0\x04\0\0\x02\0");
    plain.resize(plain.len() + 500, 0);
    let refused = piped(&plain);
    assert!(refused.code == Some(3) && refused.err.contains("DMG image"), "{}", refused.err);
}

#[test]
fn an_image_is_read_through_a_device_as_through_its_file_and_not_through_a_pipe() {
    let (dir, _) = data();
    let qemu = |args: &[&str]| {
        std::process::Command::new("qemu-img").args(args).current_dir(dir.path()).output()
    };
    let made = qemu(&["convert", "-f", "raw", "-O", "qcow2", "data", "disk.qcow2"]);
    if !made.is_ok_and(|made| made.status.success()) {
        return skip("an_image_is_read_through_a_device", "qemu-img is not there");
    }
    let image = fs::read(dir.path().join("disk.qcow2")).unwrap();
    let Some(disk) = loop_device((image.len() as u64).next_multiple_of(4096)) else {
        return skip(
            "an_image_is_read_through_a_device",
            "no loop device can be made (needs root)",
        );
    };
    fs::File::options().write(true).open(&disk.path).unwrap().write_all(&image).unwrap();
    let file = fathom_in(dir.path(), &["estimate", "disk.qcow2", "--json"]);
    let device = fathom_in(dir.path(), &["estimate", &disk.path, "--json"]);
    assert_eq!((file.code, device.code), (Some(0), Some(0)), "{} {}", file.err, device.err);
    assert_eq!(blocks(&file), blocks(&device));
    assert_eq!(blocks(&file)["duplicate"], 100);
    let pipe = piped(&image);
    assert_eq!(pipe.code, Some(3));
    assert!(pipe.err.contains("cannot be read in order"), "{}", pipe.err);
}

#[test]
fn a_damaged_image_is_told_with_the_file_that_is_damaged_and_the_exit_code_says_so() {
    let (dir, _) = data();
    let qemu = |args: &[&str]| {
        std::process::Command::new("qemu-img").args(args).current_dir(dir.path()).output()
    };
    let made = qemu(&["convert", "-f", "raw", "-O", "qcow2", "data", "base.qcow2"]);
    let rest = ["create", "-f", "qcow2", "-F", "qcow2", "-b", "base.qcow2", "top.qcow2"];
    if ![made, qemu(&rest)].into_iter().all(|made| made.is_ok_and(|made| made.status.success())) {
        return skip("a_damaged_image_is_told", "qemu-img is not there");
    }
    assert_eq!(fathom_in(dir.path(), &["estimate", "top.qcow2"]).code, Some(0));
    let base = dir.path().join("base.qcow2");
    let mut bytes = fs::read(&base).unwrap();
    let first = u64::from_be_bytes(bytes[40..48].try_into().unwrap()) as usize;
    bytes[first + 6] |= 2;
    fs::write(&base, bytes).unwrap();
    for name in ["base.qcow2", "top.qcow2"] {
        let answer = fathom_in(dir.path(), &["estimate", name, "--json"]);
        let found: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
        assert_eq!((answer.code, &found["complete"]), (Some(5), &serde_json::json!(false)));
        // 300 blocks lie in 19 clusters, the first six of which are all zero.
        assert_eq!(found["sources"]["unreadable"], 19, "{}", answer.err);
        let line = answer.err.lines().find(|line| line.contains("no cluster begins")).unwrap();
        assert!(line.contains("base.qcow2"), "{line}");
        assert!(answer.err.contains("No block could be read"), "{}", answer.err);
    }
}

#[test]
fn what_the_kernel_makes_up_is_refused_with_a_remedy() {
    for path in ["/proc", "/proc/meminfo", "/sys"] {
        let refused = expect(2, &["estimate", path]).err;
        assert!(refused.contains("holds no stored data") && refused.contains("help:"), "{refused}");
    }
}
