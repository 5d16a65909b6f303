//! Bad input: a clear error with the place and the remedy, the right exit code, nothing lost or left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::loop_device::loop_device;
use crate::program::{Answer, expect, fathom_in, skip, text};

/// Runs `fathom` in an empty directory, insists on the exit code and every phrase, and on nothing left behind.
fn refused(code: i32, args: &[&str], phrases: &[&str]) -> Answer {
    let dir = tempfile::tempdir().unwrap();
    let answer = fathom_in(dir.path(), args);
    assert_eq!(answer.code, Some(code), "fathom {args:?}\n{}\n{}", answer.out, answer.err);
    for phrase in phrases {
        assert!(answer.err.contains(phrase), "'{phrase}' is not in:\n{}", answer.err);
    }
    assert_eq!(answer.out, "", "an error belongs on standard error");
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    answer
}

/// A shipped experiment with one text replaced, as a file.
fn changed(from: &str, to: &str) -> (tempfile::TempDir, PathBuf) {
    let shipped = experiment::shipped("vdo-vs-plain").unwrap().text;
    assert!(shipped.contains(from), "{from}");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("changed.toml");
    fs::write(&path, shipped.replacen(from, to, 1)).unwrap();
    (dir, path)
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_the_nearest_known_key() {
    let (_dir, path) = changed("repeat = 5", "reapeat = 5");
    let phrases = ["changed.toml:4", "reapeat", "did you mean 'repeat'"];
    refused(2, &["explain", text(&path)], &phrases);
    refused(2, &["lab", "run", text(&path)], &phrases);
    let (_dir, path) = changed("logical_size = \"1G\"", "logical_sise = \"1G\"");
    refused(2, &["explain", text(&path)], &["logical_sise", "did you mean 'logical_size'"]);
    let (_dir, path) = changed("depth = 32", "deptth = 32");
    refused(2, &["explain", text(&path)], &["deptth", "did you mean 'depth'"]);
    let (_dir, path) = changed("layer = \"vdo\"", "layer = \"vdoo\"");
    refused(2, &["explain", text(&path)], &["vdoo", "did you mean 'vdo'"]);
}

#[test]
fn an_unknown_experiment_is_refused_with_the_nearest_shipped_one() {
    refused(2, &["explain", "vdo-vs-plan"], &["did you mean 'vdo-vs-plain'"]);
    refused(2, &["explain", "./nowhere.toml"], &["nowhere.toml", "help:"]);
}

#[test]
fn sizes_that_do_not_fit_are_refused_with_the_key_and_what_fits() {
    let (_dir, path) = changed("size = \"1G\"", "size = \"10G\"");
    refused(2, &["explain", text(&path)], &["size", "10G", "help:"]);
    let (_dir, path) = changed("size = \"7G\"", "size = \"3G\"");
    refused(2, &["lab", "run", text(&path)], &["3 GiB", "help:"]);
    let (_dir, path) = changed("block_size = \"4k\"", "block_size = \"5000\"");
    refused(2, &["explain", text(&path)], &["block_size", "5000", "help:"]);
    let (_dir, path) = changed("randwrite = 100", "randwrite = 90");
    refused(2, &["explain", text(&path)], &["90", "100", "help:"]);
}

#[test]
fn a_result_directory_that_exists_is_refused_before_anything_starts() {
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("precious"), "data").unwrap();
    for args in [["run", "--simulate"].as_slice(), &["lab", "run"]] {
        let args = [args, &["vdo-vs-plain", "--out", text(out.path())]].concat();
        refused(4, &args, &["exists already", "--out"]);
    }
    assert_eq!(fs::read(out.path().join("precious")).unwrap(), b"data");
}

#[test]
fn a_host_without_the_layers_is_told_what_is_missing_and_shown_the_lab() {
    if Path::new("/sys/module/dm_vdo").exists() {
        return skip("a_host_without_the_layers", "this kernel has dm-vdo");
    }
    let disk = loop_device(64 << 20);
    let Some(disk) = disk else {
        return skip("a_host_without_the_layers", "no loop device can be made (needs root)");
    };
    let device = format!("data={}", disk.path);
    refused(3, &["run", "vdo-vs-plain", "--device", &device], &["dm-vdo", "fathom lab run"]);
}

#[test]
fn a_guest_kernel_that_cannot_be_had_is_named_with_the_remedy() {
    let cache = tempfile::tempdir().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let answer = crate::program::command(&[
        "lab",
        "run",
        "vdo-vs-plain",
        "--mirror",
        "http://127.0.0.1:9/debian",
    ])
    .current_dir(dir.path())
    .env("FATHOM_CACHE", cache.path())
    .output()
    .unwrap();
    let err = String::from_utf8_lossy(&answer.stderr);
    assert_eq!(answer.status.code(), Some(3), "{err}");
    assert!(err.contains("--mirror") && err.contains("help:"), "{err}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_of_somebodys_is_no_cache_and_stays_whole() {
    let mine = tempfile::tempdir().unwrap();
    let held = ["keys/server", "packages/list", "supplies/paper", "images/photo.jpg"];
    for name in held {
        let file = mine.path().join(name);
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(file, "mine").unwrap();
    }
    for args in [&["lab", "clean"][..], &["lab", "list"], &["lab", "run", "vdo-vs-plain"]] {
        let answer =
            crate::program::command(args).env("FATHOM_CACHE", mine.path()).output().unwrap();
        let err = String::from_utf8_lossy(&answer.stderr);
        assert_eq!(answer.status.code(), Some(4), "{args:?}: {err}");
        assert!(err.contains("is not a cache of Fathom") && err.contains("help:"), "{err}");
        let whole = |name: &&str| fs::read(mine.path().join(name)).is_ok_and(|t| t == b"mine");
        assert!(held.iter().all(whole), "{args:?}");
        assert_eq!(fs::read_dir(mine.path()).unwrap().count(), held.len(), "{args:?}");
    }
}

#[test]
fn what_somebody_put_into_the_cache_is_told_whatever_it_is_called() {
    use std::os::unix::ffi::OsStrExt;
    let cache = tempfile::tempdir().unwrap();
    let clean = || {
        let mut command = crate::program::command(&["lab", "clean", "--json"]);
        command.env("FATHOM_CACHE", cache.path()).output().unwrap()
    };
    assert_eq!(clean().status.code(), Some(0));
    fs::write(cache.path().join(std::ffi::OsStr::from_bytes(b"not\xffutf8")), "mine").unwrap();
    let answer = clean();
    assert_eq!(answer.status.code(), Some(0), "{}", String::from_utf8_lossy(&answer.stderr));
    assert!(String::from_utf8_lossy(&answer.stdout).contains("utf8"));
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 3);
}

#[test]
fn a_disk_too_full_for_the_virtual_disks_is_found_before_the_start() {
    let small = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64M", "fathom-test", text(small.path())])
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        return skip("a_disk_too_full", "no file system can be mounted (needs root)");
    }
    let dir = tempfile::tempdir().unwrap();
    let args = ["lab", "run", "vdo-vs-plain", "--keep-disks", text(small.path())];
    let answer = fathom_in(dir.path(), &args);
    let left: Vec<_> = fs::read_dir(small.path()).unwrap().collect();
    Command::new("umount").arg(small.path()).status().unwrap();
    assert_eq!(answer.code, Some(3), "{}\n{}", answer.out, answer.err);
    assert!(answer.err.contains("free") && answer.err.contains("help:"), "{}", answer.err);
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_device_with_a_signature_is_refused_and_keeps_it() {
    let Some(disk) = loop_device(64 << 20) else {
        return skip("a_device_with_a_signature", "no loop device can be made (needs root)");
    };
    let made = Command::new("/sbin/mkfs.ext4").args(["-q", &disk.path]).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("a_device_with_a_signature", "mkfs.ext4 is not there");
    }
    let load = ["load", &disk.path, "--ops", "write=100", "--passes", "1"];
    refused(4, &load, &[&disk.path, "ext4", "--destroy-data"]);
    let there = Command::new("/sbin/blkid").args(["-p", &disk.path]).output().unwrap();
    assert!(String::from_utf8_lossy(&there.stdout).contains("ext4"));
}

#[test]
fn a_mounted_device_is_refused_even_when_its_data_may_be_destroyed() {
    let Some(disk) = loop_device(64 << 20) else {
        return skip("a_mounted_device", "no loop device can be made (needs root)");
    };
    let dir = tempfile::tempdir().unwrap();
    let mounted = Command::new("/sbin/mkfs.ext4")
        .args(["-q", &disk.path])
        .status()
        .is_ok_and(|s| s.success())
        && Command::new("mount")
            .args([&disk.path, text(dir.path())])
            .status()
            .is_ok_and(|s| s.success());
    if !mounted {
        return skip("a_mounted_device", "no file system can be mounted");
    }
    let load = ["load", &disk.path, "--ops", "write=100", "--passes", "1", "--destroy-data"];
    let answer = fathom_in(&std::env::temp_dir(), &load);
    Command::new("umount").arg(dir.path()).status().unwrap();
    assert_eq!(answer.code, Some(4), "{}", answer.err);
    assert!(answer.err.contains("mounted") && answer.err.contains("help:"), "{}", answer.err);
}

#[test]
fn a_file_that_fathom_did_not_make_is_refused_and_keeps_its_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("thesis.txt");
    fs::write(&file, vec![b'x'; 1 << 20]).unwrap();
    let load = ["load", text(&file), "--ops", "write=100", "--passes", "1"];
    refused(4, &load, &["thesis.txt", "--destroy-data"]);
    assert_eq!(fs::read(&file).unwrap(), vec![b'x'; 1 << 20]);
}

#[test]
fn a_directory_that_is_no_result_is_told_apart_from_one_that_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x"), "").unwrap();
    refused(5, &["show", text(dir.path())], &["not a result", "manifest.json"]);
    refused(2, &["report", "/nowhere/at/all", "-o", "page.html"], &["/nowhere/at/all"]);
}

#[test]
fn benches_of_fathom_itself_are_said_to_be_in_another_program() {
    for words in [&["bench"][..], &["bench", "engine", "--quick"], &["bench", "--help"]] {
        let answer = expect(2, words);
        assert!(answer.err.contains("cargo run --release -p bench"), "{}", answer.err);
        assert_eq!((answer.err.lines().count(), answer.out.as_str()), (1, ""), "{}", answer.err);
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bench.json"), "{}").unwrap();
    refused(2, &["show", text(dir.path())], &["comparison of engines", "fathom-bench show"]);
}

#[test]
fn a_guest_with_too_little_memory_is_refused_before_anything_is_made() {
    let phrases = ["10 MiB", "at least --memory 702M"];
    refused(2, &["lab", "run", "vdo-vs-plain", "--memory", "10M"], &phrases);
    refused(2, &["lab", "shell", "--memory", "10M"], &["at least --memory 256M"]);
}

#[test]
fn more_repeats_than_a_plan_can_hold_are_refused_with_the_most() {
    for args in [
        &["explain", "vdo-vs-plain", "--repeat", "1000000000"][..],
        &["run", "vdo-vs-plain", "--simulate", "--repeat", "4294967295"],
        &["lab", "run", "vdo-vs-plain", "--repeat", "501"],
    ] {
        refused(2, args, &["at most 1,000 are possible", "repeat at most 500 times"]);
    }
    refused(2, &["explain", "/dev/zero"], &["character device"]);
}

#[test]
fn what_cannot_be_sized_or_indexed_is_refused_and_not_rounded() {
    let phrases = ["300 MiB", "256M, 512M, 768M"];
    refused(
        2,
        &["estimate", "--size", "1T", "--saving", "50%", "--index-memory", "300M"],
        &phrases,
    );
    refused(2, &["estimate", ".", "--index-memory", "300M"], &phrases);
    refused(2, &["estimate", "--size", "0", "--saving", "50%"], &["--size 10T"]);
    for memory in ["0", "191K"] {
        refused(2, &["estimate", ".", "--memory", memory], &["too little", "--memory 192K"]);
    }
    refused(2, &["estimate", "-", "-"], &["named twice", "./-"]);
}

#[test]
fn shares_of_targets_that_do_not_sum_to_100_are_refused() {
    let phrases = ["sum to 130, not to 100", "/dev/sdx=70 /dev/sdy=30"];
    refused(2, &["load", "a=70", "b=60", "--size", "4M"], &phrases);
    refused(2, &["load", "a=30", "--size", "4M"], &["sum to 30"]);
}

#[test]
fn times_and_ranges_beyond_all_bounds_are_refused_with_the_bound() {
    for (option, value, bound) in [
        ("--interval", "1ns", "from 1ms to 1h"),
        ("--duration", "99999h", "8760h"),
        ("--duration", "99999999999h", "584 years"),
        ("--offset", "9999P", "4096P"),
    ] {
        refused(2, &["load", "null", "--size", "1G", option, value], &[bound]);
    }
}
