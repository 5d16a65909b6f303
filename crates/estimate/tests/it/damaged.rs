//! Damaged qcow2 images: refused where their header is, and elsewhere read but for the clusters that are lost.

use std::fs;
use std::path::Path;
use std::process::Command;

use estimate::{Answer, Error};

use super::images::{Cluster, image};
use super::{block, estimate, of, request};

const CLUSTER: u64 = 65_536;
/// Offsets of the two tables of an image that [`image`] makes.
const FIRST: u64 = CLUSTER;
const SECOND: u64 = 2 * CLUSTER;

/// A cluster whose blocks nothing packs and none else has.
fn data(id: u64) -> Cluster {
    Cluster::Data((16 * id..16 * id + 16).flat_map(|id| block(id, 4096)).collect())
}

fn put(path: &Path, at: u64, bytes: &[u8]) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, bytes, at).unwrap();
}

/// Runs a program without output; `None` where it is not there.
fn run(dir: &Path, program: &str, args: &[&str]) -> Option<bool> {
    let output = Command::new(program).args(args).current_dir(dir).output().ok()?;
    Some(output.status.success())
}

/// Checks that so many clusters are lost and so many read, and that the answer names the file and the reason.
fn lost(answer: &Answer, clusters: [u64; 2], file: &str, why: &str) {
    let [lost, read] = clusters;
    assert!(!answer.complete, "{why}");
    assert_eq!((answer.sources.unreadable, answer.blocks.unique), (lost, 16 * read), "{why}");
    let trouble = &answer.sources.troubles[0];
    assert!(trouble.path.ends_with(file) && trouble.what.contains(why), "{trouble:?}");
}

/// Changes each field of a header, and checks that the image is refused exactly if QEMU refuses it.
#[test]
fn a_header_is_refused_where_qemu_refuses_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk.qcow2");
    let create = ["create", "-q", "-f", "qcow2", "-o", "compat=1.1", "disk.qcow2", "4M"];
    if run(dir.path(), "qemu-img", &create) != Some(true) {
        return println!("SKIP a_header_is_refused_where_qemu_refuses_it: no qemu-img");
    }
    let good = fs::read(&path).unwrap();
    let cases: [(usize, &[u8], bool); 30] = [
        (8, &[0, 0, 0, 0, 0, 1, 0, 1], true),
        (8, &[0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4, 0], true),
        (8, &[0, 0, 0, 0, 0, 0, 0, 112], false),
        (20, &[0, 0, 0, 0], true),
        (20, &[0, 0, 0, 8], true),
        (20, &[0, 0, 0, 9], true),
        (20, &[0, 0, 0, 22], true),
        (20, &[255; 4], true),
        (24, &[0x7f], true),
        (36, &[0, 0, 0, 0], true),
        (36, &[0, 0x40, 0, 1], true),
        (36, &[255; 4], true),
        (40, &[255; 8], true),
        (40, &[255, 255, 255, 255, 255, 255, 0, 0], true),
        (46, &[2], true),
        (47, &[8], true),
        (54, &[2], true),
        (56, &[0, 0, 0, 0], true),
        (56, &[1], true),
        (60, &[1], true),
        (70, &[1], true),
        (76, &[1], true),
        (96, &[0, 0, 0, 7], true),
        (100, &[0, 0, 0, 0], true),
        (100, &[0, 0, 0, 96], true),
        (100, &[0, 1, 0, 1], true),
        (104, &[1], true),
        (104, &[2], true),
        (112, &[1, 2, 3, 4, 0, 0, 255, 255], true),
        (80, &[0x80], false),
    ];
    for (at, bytes, refused) in cases {
        fs::write(&path, &good).unwrap();
        put(&path, at as u64, bytes);
        // Only whether the image is opened counts: a backing file that is missing is another matter.
        let qemu = run(dir.path(), "qemu-img", &["info", "-f", "qcow2", "disk.qcow2"]);
        assert_eq!(qemu, Some(!refused), "QEMU, {at}: {bytes:?}");
        let found = estimate(&request(&[&path]));
        let opened = !matches!(&found, Err(Error::Image { .. }));
        assert_eq!(opened, !refused, "{at}: {bytes:?}: {found:?}");
        assert!(refused || found.is_ok(), "{at}: {bytes:?}: {found:?}");
    }
}

#[test]
fn what_a_damaged_entry_tells_of_is_lost_and_all_else_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk.qcow2");
    let copied = 1u64 << 63;
    for (at, entry, clusters, why) in [
        (FIRST, (SECOND + 0x1000) | copied, [4, 0], "0x21000, where no cluster begins"),
        (FIRST, SECOND + 0x200, [4, 0], "where no cluster begins"),
        (FIRST, SECOND | 1 | copied, [4, 0], "is not valid"),
        (FIRST, SECOND | 1 << 56, [4, 0], "is not valid"),
        (FIRST, 1, [4, 0], "is not valid"),
        (FIRST, 99 * CLUSTER, [4, 0], "cut off"),
        (SECOND + 8, (4 * CLUSTER + 0x4000) | copied, [1, 3], "0x44000, where none begins"),
        (SECOND + 8, 4 * CLUSTER + 0x200, [1, 3], "where none begins"),
        (SECOND + 8, (4 * CLUSTER + 0x200) | 1, [1, 3], "where none begins"),
        (SECOND + 8, (4 * CLUSTER) | 2, [1, 3], "is not valid"),
        (SECOND + 8, 2, [1, 3], "is not valid"),
        (SECOND + 8, (4 * CLUSTER) | (1 << 61), [1, 3], "is not valid"),
        (SECOND + 8, (99 * CLUSTER) | copied, [1, 3], "cut off"),
    ] {
        image(&path, &[data(0), data(1), data(2), data(3)], None);
        assert!(of(&path).complete);
        put(&path, at, &entry.to_be_bytes());
        let got = of(&path);
        lost(&got, clusters, "disk.qcow2", why);
        assert_eq!(got.sources.hole_bytes, 0, "what is lost does not count as a hole");
    }
    // Version 2 knows no cluster of zeros.
    image(&path, &[data(0), Cluster::Zero, data(2)], None);
    put(&path, 7, &[2]);
    lost(&of(&path), [1, 2], "disk.qcow2", "is not valid");
}

#[test]
fn a_lost_table_takes_no_more_with_it_than_it_tells_of() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk.qcow2");
    image(&path, &[data(0), Cluster::None, data(1)], None);
    // Three tables: the second is damaged; the third, for two clusters, was never allocated.
    let table_bytes = CLUSTER * CLUSTER / 8;
    put(&path, 24, &(2 * table_bytes + 2 * CLUSTER).to_be_bytes());
    put(&path, 36, &3u32.to_be_bytes());
    put(&path, FIRST + 8, &(SECOND + 512).to_be_bytes());
    let got = of(&path);
    lost(&got, [CLUSTER / 8, 2], "disk.qcow2", "where no cluster begins");
    assert_eq!(got.sources.hole_bytes, table_bytes);
    assert_eq!(got.sources.troubles.len(), 1);
}

#[test]
fn damage_is_told_of_the_file_in_the_chain_that_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let [base, middle, top] = ["base", "middle", "top"].map(|name| dir.path().join(name));
    for (at, entry, clusters, why) in [
        (FIRST, SECOND + 0x1000, [2, 1], "where no cluster begins"),
        (SECOND, 3 * CLUSTER + 0x200, [1, 2], "where none begins"),
        (SECOND, 99 * CLUSTER, [1, 2], "cut off"),
    ] {
        image(&base, &[data(0), data(1), data(2)], None);
        image(&middle, &[Cluster::None, Cluster::None, Cluster::None], Some("base"));
        image(&top, &[Cluster::None, Cluster::None, data(3)], Some("middle"));
        assert!(of(&top).complete);
        put(&base, at, &entry.to_be_bytes());
        lost(&of(&top), clusters, "/base", why);
    }
}

/// Runs the remedy as it is printed, for an image whose name has characters that are special to a shell and to QEMU, and for one that rests on it.
#[test]
fn an_encrypted_image_is_refused_with_a_command_that_decrypts_it() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("key"), "secret").unwrap();
    let (secret, name) = ("secret,id=k,file=key", "it's, a disk");
    let format = "encrypt.format=aes,encrypt.key-secret=k";
    let create = ["create", "-q", "--object", secret, "-f", "qcow2", "-o", format, name, "1M"];
    let image = "driver=qcow2,file.filename=it's,, a disk,encrypt.key-secret=k";
    let write = ["--object", secret, "--image-opts", "-c", "write -q -P 7 0 64k", image];
    let rest = ["create", "-q", "-u", "-f", "qcow2", "-F", "qcow2", "-b", name, "top", "1M"];
    let made = [("qemu-img", &create[..]), ("qemu-io", &write), ("qemu-img", &rest)];
    if !made.iter().all(|(program, args)| run(dir.path(), program, args) == Some(true)) {
        return println!("SKIP an_encrypted_image_is_refused: no qemu-img, or one without AES");
    }
    for name in [name, "top"] {
        let refused = estimate(&request(&[&dir.path().join(name)])).unwrap_err();
        assert!(refused.to_string().contains("encrypted"), "{refused}");
        let help = refused.help();
        let command = help.split(": ").nth(1).unwrap().split(", then").next().unwrap();
        let command = command.replace("PASSWORD_FILE", "key");
        assert_eq!(run(dir.path(), "sh", &["-c", &command]), Some(true), "{command}");
        let copy = dir.path().join("COPY.raw");
        assert_eq!(fs::read(&copy).unwrap()[..65_536], [7; 65_536]);
        fs::remove_file(copy).unwrap();
    }
}

#[test]
fn an_image_that_is_named_twice_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk.qcow2");
    image(&path, &[data(0)], None);
    let got = estimate(&request(&[&path, &path])).unwrap();
    assert_eq!((got.blocks.unique, got.blocks.duplicate), (16, 0));
    assert_eq!((got.sources.volumes, got.sources.hard_links), (1, 1));
}

#[test]
fn a_base_of_another_format_is_not_read_as_plain_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("top");
    let create = ["create", "-q", "-f", "vmdk", "base", "1M"];
    if run(dir.path(), "qemu-img", &create) != Some(true) {
        return println!("SKIP a_base_of_another_format_is_not_read_as_plain_bytes: no qemu-img");
    }
    image(&top, &[Cluster::None, data(0)], Some("base"));
    let refused = estimate(&request(&[&top])).unwrap_err();
    assert!(refused.to_string().contains("backing file is a VMDK image"), "{refused}");
    // The remedy is followed twice: with the format VMDK, which is refused with a remedy of its own, and with raw.
    let tell = |format: &str| {
        let create =
            ["create", "-q", "-u", "-f", "qcow2", "-F", format, "-b", "base", "top", "128k"];
        assert_eq!(run(dir.path(), "qemu-img", &create), Some(true));
    };
    tell("vmdk");
    let refused = estimate(&request(&[&top])).unwrap_err();
    assert!(refused.to_string().contains("neither raw nor qcow2"), "{refused}");
    assert!(refused.help().contains("qemu-img convert -O qcow2 /"), "{}", refused.help());
    tell("raw");
    assert!(of(&top).complete);
}
