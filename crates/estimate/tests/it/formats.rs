//! Formats that are not disk images, and hold their data packed or not in line with blocks: refused by name, with the command that reads them.

use std::fs;

use estimate::{Format, Request};

use super::{estimate, of, request};

/// The head of a binary cpio archive with one file, as its numbers are written.
fn cpio(number: fn(u16) -> [u8; 2], mode: u16, name: &[u8]) -> Vec<u8> {
    let fields = [0o070_707, 1, 2, mode, 0, 0, 1, 0, 7, 7, name.len() as u16, 0, 9];
    let head: Vec<u8> = fields.into_iter().flat_map(number).collect();
    [&head, name].concat()
}

#[test]
fn packed_files_archives_and_backups_are_refused_with_the_command_that_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    let ascii = |magic: &[u8]| [magic, &[b'0'; 104][..]].concat();
    let cases: [(&str, Vec<u8>, &str); 18] = [
        ("lzop file", b"\x89LZO\0\r\n\x1a\n\x10\x40".to_vec(), "lzop -dc < "),
        ("lzip file", b"LZIP\x01\xd3\0\x3f".to_vec(), "lzip -dc < "),
        ("lrzip file", b"LRZI\0\x06\xe0\x93\x04".to_vec(), "lrzcat "),
        ("compress file", b"\x1f\x9d\x90\x7f".to_vec(), "gzip -dc < "),
        ("compress file", b"\x1f\x9d\x09\x7f".to_vec(), "gzip -dc < "),
        ("lz4 file", b"\x02\x21\x4c\x18\x1b\x68\x01\0".to_vec(), "lz4 -dc < "),
        ("VMA archive", b"VMA\0\0\0\0\x01\x12\x34".to_vec(), "vma extract "),
        ("ntfsclone image", b"\0ntfsclone-image\x0a\x01".to_vec(), "ntfsclone -r -O COPY.img "),
        ("RBD image", b"rbd diff v1\ns".to_vec(), "rbd import-diff "),
        ("RBD image", b"rbd diff v2\ns".to_vec(), "rbd export POOL/IMAGE@SNAPSHOT - | fathom"),
        ("RBD image", b"rbd image v2\nO".to_vec(), "rbd import --export-format 2 "),
        ("VMDK", b"COWD\x01\0\0\0\x03\0\0\0".to_vec(), "-f vmdk"),
        ("cpio", cpio(u16::to_le_bytes, 0o100_644, b"a file\0"), "cpio -id"),
        ("cpio", cpio(u16::to_be_bytes, 0o040_755, b".\0"), "cpio -id"),
        ("cpio", cpio(u16::to_le_bytes, 0, b"TRAILER!!!\0"), "cpio -id"),
        ("cpio", ascii(b"070701"), "cpio -id"),
        ("cpio", ascii(b"070702"), "cpio -id"),
        ("cpio", ascii(b"070707"), "cpio -id"),
    ];
    for (name, mut content, command) in cases {
        content.resize(8192, 7);
        fs::write(&path, &content).unwrap();
        let error = estimate(&request(&[&path])).unwrap_err();
        assert!(error.to_string().contains(name), "{name}: {error}");
        assert!(error.help().contains(command), "{name}: {}", error.help());
        let raw = Request { format: Format::Raw, ..request(&[&path]) };
        assert_eq!(estimate(&raw).unwrap().bytes, 8192, "{name}");
    }
}

#[test]
fn the_beginning_of_such_a_magic_makes_none_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    let chances: [&[u8]; 12] = [
        b"\x89LZO\0\r\n\x1a\r",
        b"LZIP\x09\xd3",
        b"LZIP\x01\x01",
        b"LRZI\x09\0",
        b"\x1f\x9d\xff",
        b"\x1f\x9d\x08",
        b"\x02\x21\x4c\x18\xff\xff\xff\xff",
        b"VMA\0\0\0\0\x09",
        b"rbd diff v3\n",
        &cpio(u16::to_le_bytes, 0o100_644, b"no end"),
        &cpio(u16::to_le_bytes, 0o100_644, b"two\0ends\0"),
        &cpio(u16::to_le_bytes, 0o170_644, b"no type\0"),
    ];
    for chance in chances {
        fs::write(&path, [chance, &[0x55; 8192]].concat()).unwrap();
        assert_eq!(of(&path).sources.files, 1, "{chance:?}");
    }
}
