//! Tests: extents that files share on the disk already are counted once, apart from what a volume would save.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use super::mounted::{MIB, Mounted};
use super::{block, of};

/// File systems that share, which can be had here.
fn sharing(test: &str) -> Vec<Mounted> {
    let kinds: [(&str, &[&str], &str); 3] = [
        ("xfs", &["mkfs.xfs", "-q"], ""),
        ("xfs with blocks of 1 KiB", &["mkfs.xfs", "-q", "-b", "size=1024"], ""),
        ("btrfs", &["mkfs.btrfs", "-q"], ""),
    ];
    let made = kinds.map(|(name, mkfs, options)| Mounted::new(name, mkfs, options));
    made.into_iter()
        .filter_map(|made| made.map_err(|why| println!("SKIP {test}: {why}")).ok())
        .collect()
}

/// Blocks that compress well, so that a file system that compresses does.
fn data(blocks: u64) -> Vec<u8> {
    (0..blocks).flat_map(|id| block(id, 1000)).collect()
}

fn clone(from: &Path, to: &Path) {
    let mut cp = Command::new("cp");
    assert!(cp.arg("--reflink=always").arg(from).arg(to).status().unwrap().success());
}

fn sync() {
    assert!(Command::new("sync").status().unwrap().success());
}

/// All blocks, duplicates, and bytes that are shared.
fn counts(path: &Path) -> [u64; 3] {
    let got = of(path);
    assert!(got.complete);
    [got.blocks.total, got.blocks.duplicate, got.sources.shared_bytes]
}

#[test]
fn a_clone_is_counted_once_and_a_copy_is_a_duplicate() {
    for system in sharing("a_clone_is_counted_once") {
        let name = system.name;
        let at = |file: &str| system.at.join(file);
        fs::write(at("a"), data(1024)).unwrap();
        sync();
        assert_eq!(counts(&system.at), [1024, 0, 0], "{name}");
        clone(&at("a"), &at("b"));
        clone(&at("b"), &at("c"));
        for when in ["at once", "on the disk"] {
            assert_eq!(counts(&system.at), [1024, 0, 8 * MIB], "{name}, {when}");
            assert_eq!(counts(&at("b")), [1024, 0, 0], "{name}: alone it is whole");
            sync();
        }
        fs::write(at("d"), data(1024)).unwrap();
        assert_eq!(counts(&system.at), [2048, 1024, 8 * MIB], "{name}");
        // Nothing is shared any more when only one is left.
        for file in ["a", "b", "d"] {
            fs::remove_file(at(file)).unwrap();
        }
        sync();
        assert_eq!(counts(&system.at), [1024, 0, 0], "{name}");
    }
}

#[test]
fn of_compressed_extents_that_files_share_the_content_tells_what_is_the_same() {
    let options = ",compress-force=zstd";
    let system = match Mounted::new("btrfs, compressed", &["mkfs.btrfs", "-q"], options) {
        Ok(system) => system,
        Err(why) => return println!("SKIP of_compressed_extents: {why}"),
    };
    let at = |file: &str| system.at.join(file);
    fs::write(at("a"), data(1024)).unwrap();
    sync();
    clone(&at("a"), &at("b"));
    assert_eq!(counts(&system.at), [2048, 1024, 0]);
    assert_eq!(of(&system.at).sources.encoded_shared_bytes, 8 * MIB);
    // Quarters of each extent of 128 KiB, each in a file of its own at the place of its first quarter: nothing of them is the same.
    for quarter in 0..4_u64 {
        let mut xfs_io = Command::new("xfs_io");
        for extent in 0..32_u64 {
            let (from, to) = ((extent * 4 + quarter) << 15, extent << 15);
            let source = at("a").display().to_string();
            xfs_io.args(["-c", &format!("reflink {source} {from} {to} {}", 1 << 15)]);
        }
        let cloned = xfs_io.arg("-f").arg(at(&format!("part-{quarter}"))).output().unwrap();
        assert!(cloned.status.success(), "{cloned:?}");
    }
    for file in ["a", "b"] {
        fs::remove_file(at(file)).unwrap();
    }
    sync();
    assert_eq!(counts(&system.at), [1024, 0, 0]);
}

#[test]
fn what_was_written_into_a_clone_is_its_own_also_while_it_waits_for_the_disk() {
    for system in sharing("what_was_written_into_a_clone_is_its_own") {
        let name = system.name;
        let at = |file: &str| system.at.join(file);
        fs::write(at("a"), data(1024)).unwrap();
        fs::write(at("short"), &data(3)[..10_000]).unwrap();
        sync();
        clone(&at("a"), &at("b"));
        clone(&at("short"), &at("short too"));
        let new: Vec<u8> = (5000..5256).flat_map(|id| block(id, 4096)).collect();
        // In the first that is read, and in the second: each has blocks of its own, and both old ones are read.
        let write = |file: &str, offset: u64| {
            File::options().write(true).open(at(file)).unwrap().write_all_at(&new, offset).unwrap();
        };
        write("a", MIB);
        write("b", 2 * MIB);
        for when in ["in the page cache", "on the disk"] {
            let got = of(&system.at);
            // Nothing of either is lost: each MiB that is new in one of them is old in the other.
            assert_eq!(got.blocks.unique, 1024 + 256, "{name}, {when}");
            let shared = got.sources.shared_bytes;
            assert_eq!(got.blocks.total + shared.div_ceil(4096), 2 * (1024 + 3), "{name}, {when}");
            // The page cache may call more dirty than was written: a page of it can be as large as the file.
            let kept = (1024 - 512) * 4096 + 10_000;
            let exact = when == "on the disk";
            assert!(shared == kept || !exact && shared < kept, "{name}, {when}: {shared}");
            sync();
        }
    }
}

#[test]
fn a_snapshot_is_shared_although_it_is_another_device_to_stat() {
    let test = "a_snapshot_is_shared";
    let system = match Mounted::new("btrfs", &["mkfs.btrfs", "-q"], "") {
        Ok(system) => system,
        Err(why) => return println!("SKIP {test}: {why}"),
    };
    let btrfs = |verb: &str, of: &[&Path]| {
        let ended =
            Command::new("btrfs").args(["-q", "subvolume", verb]).args(of).output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    };
    let (first, second) = (system.at.join("first"), system.at.join("second"));
    btrfs("create", &[&first]);
    fs::write(first.join("data"), data(1024)).unwrap();
    sync();
    btrfs("snapshot", &[&first, &second]);
    assert_eq!(counts(&system.at), [1024, 0, 4 * MIB]);
    assert_eq!(of(&system.at).sources.left_out, 0);
}
