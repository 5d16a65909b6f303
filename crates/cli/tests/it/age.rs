//! `fathom age` on real file systems: files and free space in pieces, and what it never touches.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::loop_device::{LoopDevice, loop_device};
use crate::program::{Answer, expect, fathom_in, json, skip, text};

/// A file system of its own on a loop device; unmounted when dropped.
struct Mounted {
    at: PathBuf,
    _folder: tempfile::TempDir,
    _disk: LoopDevice,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("/bin/umount").arg(&self.at).status();
    }
}

/// A new file system of a kind; `None` where none can be made or mounted.
fn mounted(kind: &str) -> Option<Mounted> {
    let disk = loop_device(512 << 20)?;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("fs");
    fs::create_dir(&at).unwrap();
    let quiet = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output().ok()?;
        output.status.success().then_some(())
    };
    quiet(&format!("/sbin/mkfs.{kind}"), &["-q", &disk.path])?;
    quiet("/bin/mount", &["-t", kind, &disk.path, text(&at)])?;
    Some(Mounted { at, _folder: folder, _disk: disk })
}

/// Files that grow by 16 KiB in turn, each round on the disk before the next.
fn grown(folder: &Path, files: u32, rounds: u32) {
    fs::create_dir(folder).unwrap();
    for _ in 0..rounds {
        for number in 0..files {
            let path = folder.join(format!("f{number}"));
            let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
            file.write_all(&[7; 16 << 10]).unwrap();
        }
        rustix::fs::syncfs(File::open(folder).unwrap()).unwrap();
    }
}

/// Sums of a list of classes: things, and bytes.
fn sums(classes: &Value) -> (u64, u64) {
    let of = |class: &Value, key: &str| class[key].as_u64().unwrap();
    let classes = classes.as_array().unwrap().iter();
    classes.fold((0, 0), |sum, one| (sum.0 + of(one, "count"), sum.1 + of(one, "bytes")))
}

/// Keys that `docs/json.md` promises.
fn promised() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = fs::read_to_string(page).unwrap();
    let section = page.split("## `fathom age").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}

fn on(kind: &str) {
    let Some(disk) = mounted(kind) else {
        return skip(&format!("age on {kind}"), "no such file system can be made and mounted");
    };
    grown(&disk.at.join("old"), 50, 10);
    let new = disk.at.join("new");
    fs::create_dir(&new).unwrap();
    fs::write(new.join("whole"), vec![3; 4 << 20]).unwrap();
    let holes = File::create(new.join("holes")).unwrap();
    holes.write_all_at(&[1; 100], 1 << 20).unwrap();
    fs::hard_link(new.join("whole"), new.join("again")).unwrap();
    symlink("/etc", new.join("link")).unwrap();
    let of = |part: &str| {
        let path = disk.at.join(part);
        json(&["age", text(&path), "--json"])
    };
    let old = of("old");
    let files = &old["files"];
    assert_eq!((&old["file_system"], &files["files"]), (&kind.into(), &50.into()), "{old}");
    assert_eq!(files["run_bytes"], (50 * 160) << 10, "{old}");
    let runs = files["runs"].as_u64().unwrap();
    // XFS sets space aside behind files that grow.
    let least = if kind == "xfs" { 100 } else { 400 };
    assert!(
        runs >= least && files["runs_per_file"].as_f64().unwrap() == runs as f64 / 50.0,
        "{old}"
    );
    assert_eq!(files["discontinuities"], runs - 50);
    assert_eq!(sums(&files["files_by_runs"]).0, 50);
    assert_eq!(sums(&files["runs_by_bytes"]), (runs, (50 * 160) << 10));
    assert_eq!(files["most_fragmented"].as_array().unwrap().len(), 10);
    let new = of("new");
    let files = &new["files"];
    assert_eq!(
        (&files["files"], &files["hard_links"], &files["others"]),
        (&2.into(), &1.into(), &1.into())
    );
    assert_eq!((&files["runs"], &files["hole_bytes"]), (&2.into(), &(1 << 20).into()), "{new}");
    let space = rustix::fs::statvfs(&disk.at).unwrap();
    match new["free"].as_object() {
        None => assert_eq!((kind, new["free_untold"].is_string()), ("btrfs", true)),
        Some(free) => {
            let (bytes, free_bytes) =
                (free["bytes"].as_u64().unwrap(), space.f_bfree * space.f_frsize);
            assert!(bytes.abs_diff(free_bytes) < 32 << 20, "{bytes} of {free_bytes}");
            assert_eq!(sums(&free["by_bytes"]), (free["stretches"].as_u64().unwrap(), bytes));
        }
    }
    let one = disk.at.join("one");
    fs::create_dir(&one).unwrap();
    fs::write(one.join("large"), vec![5; 1 << 20]).unwrap();
    let shown = expect(0, &["age", text(&one)]).out;
    assert!(shown.contains("1 run in 1 file;"), "{shown}");
    let shown = expect(0, &["age", text(&disk.at.join("old"))]).out;
    assert!(shown.contains("runs by their length") && shown.contains("f0"), "{shown}");
}

#[test]
fn files_and_free_space_of_xfs_are_told_as_they_lie() {
    on("xfs");
}

#[test]
fn files_and_free_space_of_ext4_are_told_as_they_lie() {
    on("ext4");
}

#[test]
fn files_of_btrfs_are_told_as_they_lie_and_that_its_free_space_is_not() {
    on("btrfs");
}

#[test]
fn nothing_is_written_no_link_followed_and_no_other_file_system_entered() {
    let Some(disk) = mounted("ext4") else {
        return skip("age keeps to its directory", "no file system can be made and mounted");
    };
    let tree = disk.at.join("tree");
    fs::create_dir_all(tree.join("bound")).unwrap();
    fs::write(tree.join("own"), "x").unwrap();
    symlink(&disk.at, tree.join("up")).unwrap();
    fs::create_dir(disk.at.join("aside")).unwrap();
    fs::write(disk.at.join("aside/foreign"), "y").unwrap();
    let bind = [text(&disk.at.join("aside")).to_owned(), text(&tree.join("bound")).to_owned()];
    let bound = Command::new("/bin/mount").arg("--bind").args(&bind).status().unwrap();
    assert!(bound.success());
    let times = || {
        let stat = |path: &Path| {
            let found = fs::symlink_metadata(path).unwrap();
            (found.atime(), found.atime_nsec(), found.mtime_nsec(), found.ctime_nsec())
        };
        [stat(&tree), stat(&tree.join("own")), stat(&tree.join("up"))]
    };
    let before = times();
    let age = json(&["age", text(&tree), "--json"]);
    let files = &age["files"];
    let met =
        ["files", "others", "left_out", "directories"].map(|key| files[key].as_u64().unwrap());
    assert_eq!(met, [1, 1, 1, 1], "{age}");
    assert_eq!(before, times());
    let _ = Command::new("/bin/umount").arg(tree.join("bound")).status();
}

#[test]
fn what_tells_nothing_is_said_to_and_every_key_of_the_manual_is_there() {
    expect(2, &["age", "/no/such/directory"]);
    expect(2, &["age", "/etc/passwd"]);
    let memory = Path::new("/dev/shm");
    if let Ok(folder) = tempfile::tempdir_in(memory) {
        // The same for a directory without a file: the link in it is not followed.
        symlink("/etc", folder.path().join("link")).unwrap();
        let answer = expect(3, &["age", text(folder.path()), "--json"]);
        assert!(answer.err.contains("There is no file to look at"), "{}", answer.err);
        assert_eq!(answer.out, "");
        fs::write(folder.path().join("file"), "x").unwrap();
        let answer = expect(3, &["age", text(folder.path())]);
        assert!(answer.err.contains("does not tell where its files lie"), "{}", answer.err);
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(folder.path().join("file"), vec![1; 1 << 20]).unwrap();
    let age = json(&["age", text(folder.path()), "--json"]);
    let keys = promised();
    assert!(keys.len() > 20, "{keys:?}");
    for key in keys {
        let value = key.split('.').try_fold(&age, |value, part| value.get(part));
        assert!(value.is_some() || age["free"].is_null(), "{key} is documented and missing");
    }
}

/// An experiment that makes a file system old, on 64 MiB of files.
fn ageing(kind: &str, more: &str) -> String {
    format!(
        "name = \"old\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"512M\"\n\
         [[stack]]\nlayer = \"{kind}\"\non = \"data\"\n\
         [[stage]]\ndo = \"age\"\nname = \"age\"\nmeasure = true\nfiles = 40\nrounds = 20\n{more}\n\
         [[question]]\nmetric = \"runs_per_file\"\n"
    )
}

#[test]
fn a_stage_makes_a_file_system_old_and_its_record_has_both_ages() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: String| std::fs::write(folder.path().join("old.toml"), text).unwrap();
    for (more, message) in [
        ("fill = \"100%\"", "fill cannot be"),
        ("append = \"0\"", "append cannot be 0"),
        ("append = \"1G\"", "do not fit"),
        ("content = { scope = \"live\" }", "have no addresses"),
        ("runs_per_file = nan", "runs_per_file cannot be NaN"),
        ("runs_per_file = inf", "runs_per_file cannot be inf"),
        ("runs_per_file = 1", "runs_per_file cannot be 1"),
        ("bytes = \"0\"", "bytes cannot be 0"),
        ("duration = \"0s\"", "duration cannot be 0"),
        ("fill_file = \"1M\"", "which is not asked for"),
        ("fill = \"90%\"\nfill_file = \"1k\"", "fill_file cannot be 1 KiB"),
    ] {
        write(ageing("xfs", more));
        let strange = fathom_in(folder.path(), &["explain", "old.toml"]);
        assert!(
            strange.code == Some(2) && strange.err.contains(message),
            "{more}: {}",
            strange.err
        );
    }
    // The bytes end it long before the rounds do.
    write(ageing("xfs", "append = \"1G\"\nbytes = \"2M\"").replace("1G", "1M"));
    assert_eq!(fathom_in(folder.path(), &["explain", "old.toml"]).code, Some(0));
    write(ageing("xfs", "duration = \"60s\"\nfill = \"90%\""));
    let text = fathom_in(folder.path(), &["explain", "old.toml"]).out;
    assert!(text.contains("40 files grow by 16 KiB in turn, 20 rounds (or 60 s)"), "{text}");
    let simulated = fathom_in(folder.path(), &["run", "old.toml", "--simulate", "--out", "s"]);
    assert_eq!(simulated.code, Some(0), "{}", simulated.err);
    for (kind, more, ended_by, rounds) in [
        ("xfs", "fill = \"90%\"\nread = \"4M\"", "rounds", 20),
        ("ext4", "runs_per_file = 4.5\nfill = \"90%\"", "runs_per_file", 5),
        ("btrfs", "bytes = \"2M\"\nthin_out = false", "bytes", 4),
    ] {
        write(ageing(kind, more));
        let Some((answer, record)) = aged(folder.path(), kind) else { return };
        assert_eq!(answer.code, Some(0), "{kind}: {}", answer.err);
        let age = &record["stages"][0]["ageing"];
        assert_eq!((&age["ended_by"], &age["rounds"]), (&ended_by.into(), &rounds.into()), "{age}");
        assert_eq!(age["before"]["file_system"], kind);
        let grown = &age["grown"]["files"];
        assert_eq!(grown["files"], if kind == "btrfs" { 40 } else { 20 }, "{age}");
        assert_eq!(grown["bytes"], grown["files"].as_u64().unwrap() * rounds * (16 << 10));
        let least = if kind == "xfs" { 2.0 } else { 4.0 };
        assert!(grown["runs_per_file"].as_f64().unwrap() >= least, "{age}");
        assert!(age["aged_read_bytes_per_s"].as_f64().unwrap() > 0.0, "{age}");
        // Fresh files were as large as all rounds would have made them.
        assert_eq!(age["fresh_read_bytes_per_s"].is_null(), kind == "ext4", "{age}");
        assert_eq!(age["fillers"].is_null(), kind == "btrfs");
        if let Some(used) = age["filled_percent"].as_f64() {
            assert!((90.0..91.0).contains(&used), "{age}");
            let fillers = age["fillers"]["files"]["bytes"].as_u64().unwrap();
            assert_eq!(age["written_bytes"], fillers + ((40 * rounds * 16) << 10), "{age}");
        }
        assert_eq!(record["leftovers"], serde_json::json!([]), "{kind}");
        let shown = fathom_in(folder.path(), &["show", kind, "--json"]);
        assert!(shown.out.contains("aged_read_percent"), "{}", shown.out);
    }
}

/// Runs `old.toml` on a loop device; gives its output, and the record of its cell.
fn aged(folder: &Path, out: &str) -> Option<(Answer, Value)> {
    let Some(disk) = loop_device(512 << 20) else {
        skip("a stage makes a file system old", "no loop device can be made");
        return None;
    };
    let device = format!("data={}", disk.path);
    let answer = fathom_in(folder, &["run", "old.toml", "--device", &device, "--out", out]);
    let cells = fs::read_dir(folder.join(out).join("cells")).unwrap().flatten();
    let record = cells.map(|cell| cell.path().join("cell.json")).find(|path| path.exists());
    let record = serde_json::from_str(&fs::read_to_string(record.unwrap()).unwrap()).unwrap();
    Some((answer, record))
}

#[test]
fn without_inodes_an_ageing_is_full_and_at_its_deadline_it_fails() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: String| fs::write(folder.path().join("old.toml"), text).unwrap();
    let many = "append = \"4k\"\nread = \"4k\"\nthin_out = false";
    let text = ageing("ext4", many).replace("files = 40\nrounds = 20", "files = 40000\nrounds = 1");
    write(text);
    let Some((answer, record)) = aged(folder.path(), "full") else { return };
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let age = &record["stages"][0]["ageing"];
    let files = age["grown"]["files"]["files"].as_u64().unwrap();
    assert!(age["ended_by"] == "full" && (30_000..40_000).contains(&files), "{age}");
    write(ageing("ext4", "fill = \"99%\"\nfill_file = \"4k\"\ndeadline = \"1s\""));
    let Some((answer, record)) = aged(folder.path(), "late") else { return };
    assert_eq!(answer.code, Some(5), "{}", answer.err);
    assert!(answer.err.contains("not done within its deadline of 1 s"), "{}", answer.err);
    assert_eq!(record["leftovers"], serde_json::json!([]));
}
