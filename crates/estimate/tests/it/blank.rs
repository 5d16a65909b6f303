//! Space that was never written counts as no block, on any file system and however much is set aside; zeros that were written do count.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{FallocateFlags, fallocate};

use super::images::{Cluster, image};
use super::mounted::{MIB, file_systems};
use super::{block, of};

/// A file of `length` bytes, with space for the first `set_aside` of them.
fn file(path: &Path, length: u64, set_aside: u64) -> File {
    let file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
    if set_aside > 0 {
        fallocate(&file, FallocateFlags::empty(), 0, set_aside).unwrap();
    }
    file.set_len(length).unwrap();
    file
}

/// Zero blocks, other blocks, bytes in holes, bytes set aside.
fn counts(path: &Path) -> [u64; 4] {
    let got = of(path);
    let blocks = got.blocks;
    let data = blocks.total - blocks.zero;
    [blocks.zero, data, got.sources.hole_bytes, got.sources.preallocated_bytes]
}

#[test]
fn holes_and_preallocated_space_are_no_blocks_and_written_zeros_are() {
    for system in file_systems("holes_and_preallocated_space_are_no_blocks") {
        let name = system.name;
        let at = |file: &str| system.at.join(file);
        let data: Vec<u8> = (0..256).flat_map(|id| block(id, 4096)).collect();
        // Space for all, data in the last MiB.
        file(&at("aside"), 64 * MIB, 64 * MIB).write_all_at(&data, 63 * MIB).unwrap();
        // The same without space.
        file(&at("holes"), 64 * MIB, 0).write_all_at(&data, 63 * MIB).unwrap();
        // Space for the first 8 MiB of 24; a MiB of zeros and ten blocks are written there.
        let both = file(&at("both"), 24 * MIB, 8 * MIB);
        both.write_all_at(&vec![0; MIB as usize], 2 * MIB).unwrap();
        both.write_all_at(&data[..10 * 4096], 5 * MIB).unwrap();
        // Small ones: set aside, of written zeros, and of both.
        file(&at("small"), 20_000, 20_000);
        fs::write(at("zeros"), [0; 20_000]).unwrap();
        file(&at("half"), 64 << 10, 64 << 10).write_all_at(&[0; 16 << 10], 16 << 10).unwrap();
        // What was read is in the page cache, and was written all the same by nobody.
        let mut read = file(&at("read"), 128 << 10, 128 << 10);
        let mut sum = Vec::new();
        read.read_to_end(&mut sum).unwrap();
        let mut read = file(&at("long"), 2 * MIB, 2 * MIB);
        read.read_to_end(&mut sum).unwrap();
        for when in ["in the page cache", "on the disk"] {
            let is = |file: &str, expected: [u64; 4]| {
                assert_eq!(counts(&at(file)), expected, "{file} on {name}, {when}");
            };
            is("aside", [0, 256, 0, 63 * MIB]);
            is("holes", [0, 256, 63 * MIB, 0]);
            is("both", [256, 10, 16 * MIB, 7 * MIB - 10 * 4096]);
            is("small", [0, 0, 0, 20_000]);
            is("zeros", [5, 0, 0, 0]);
            is("half", [4, 0, 0, 48 << 10]);
            is("read", [0, 0, 0, 128 << 10]);
            is("long", [0, 0, 0, 2 * MIB]);
            assert!(Command::new("sync").status().unwrap().success());
        }
        assert_eq!(of(&at("aside")).vdo.saving_percent, Some(0.0), "{name}");
    }
}

#[test]
fn space_that_an_image_set_aside_is_none_that_its_guest_wrote() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let path = dir.path().join("disk.qcow2");
    let zeros = || Cluster::Data(vec![0; 65_536]);
    image(&path, &[zeros(), Cluster::Data(block(1, 4096)), zeros()], None);
    assert_eq!(counts(&path), [16 + 15 + 16, 1, 0, 0]);
    // Where the last cluster of the guest lies: as qemu-img leaves it with preallocation=falloc.
    let (image, place) = (File::options().write(true).open(&path).unwrap(), 5 * 65_536);
    image.sync_all().unwrap();
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(&image, punch, place, 65_536).unwrap();
    fallocate(&image, FallocateFlags::empty(), place, 65_536).unwrap();
    assert_eq!(counts(&path), [16 + 15, 1, 0, 65_536]);
}

#[test]
fn what_an_overlay_does_not_change_counts_as_in_the_base_itself() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let at = |name: &str| dir.path().join(name);
    let data: Vec<u8> = (0..16).flat_map(|id| block(id, 4096)).collect();
    // Space for four clusters, data in the first of a raw base and of an image, and no more.
    file(&at("base.raw"), 4 << 16, 3 << 16).write_all_at(&data, 0).unwrap();
    let clusters =
        || (0..4).map(|n| Cluster::Data(if n > 0 { vec![0; 65_536] } else { data.clone() }));
    image(&at("base.qcow2"), &clusters().collect::<Vec<_>>(), None);
    let base = File::options().write(true).open(at("base.qcow2")).unwrap();
    base.sync_all().unwrap();
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(&base, punch, 4 << 16, 3 << 16).unwrap();
    fallocate(&base, FallocateFlags::empty(), 4 << 16, 3 << 16).unwrap();
    base.sync_all().unwrap();
    let known = |name: &str| {
        let [zero, data, holes, aside] = counts(&at(name));
        (zero, data, holes + aside)
    };
    for name in ["base.raw", "base.qcow2"] {
        assert_eq!(known(name), (0, 16, 3 << 16), "{name}");
        // Nothing of its own, at any length of the chain, and also after the base was read.
        let none = || [(); 4].map(|()| Cluster::None);
        image(&at("over.qcow2"), &none(), Some(name));
        image(&at("above.qcow2"), &none(), Some("over.qcow2"));
        for over in ["over.qcow2", "above.qcow2"] {
            fs::read(at(name)).unwrap();
            assert_eq!(known(over), known(name), "{over} and {name}");
        }
        // One cluster written over what the base only set aside, half of it zeros.
        let mut clusters = none();
        clusters[1] = Cluster::Data([vec![0; 32_768], data[..32_768].to_vec()].concat());
        image(&at("own.qcow2"), &clusters, Some(name));
        assert_eq!(known("own.qcow2"), (8, 24, 2 << 16), "own over {name}");
    }
}
