//! Sosreports: packed and unpacked ones give the same findings; damaged archives and other files are refused.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use standing::sos::{SosError, read};
use standing::{Top, drawing, stack, to_paste};

use crate::unpacked::case;

/// The case as a tar archive, its files in one folder.
fn packed(name: &str) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, text) in &case(name).files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, format!("sosreport-x-2026/{path}"), text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap()
}

fn write(at: &Path, bytes: &[u8]) {
    File::create(at).unwrap().write_all(bytes).unwrap();
}

#[test]
fn a_report_says_the_same_packed_and_unpacked() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("unpacked");
    case("cache-dirty").unpack(&folder);
    let unpacked = read(&folder).unwrap();
    let plain = packed("cache-dirty");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&plain).unwrap();
    let options = lzma_rust2::XzOptions::default();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    xz.write_all(&plain).unwrap();
    let xz = xz.finish().unwrap();
    for (name, bytes) in
        [("a.tar", plain.clone()), ("a.tgz", gzip.finish().unwrap()), ("a.txz", xz)]
    {
        let at = dir.path().join(name);
        write(&at, &bytes);
        let packed = read(&at).unwrap();
        assert_eq!(
            (&packed.blocks, &packed.mounts),
            (&unpacked.blocks, &unpacked.mounts),
            "{name}"
        );
        assert!(packed.of.contains("machine nas"), "{}", packed.of);
    }
}

#[test]
fn damaged_archives_and_what_is_no_report_are_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("a.tar.gz");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&packed("vdo-full")).unwrap();
    let whole = gzip.finish().unwrap();
    write(&at, &whole[..whole.len() / 2]);
    assert!(matches!(read(&at), Err(SosError::Damaged { .. })));
    write(&at, b"\xfd7zXZ\0 and no more");
    assert!(matches!(read(&at), Err(SosError::Damaged { .. })));
    write(&at, &[b'x'; 2048]);
    assert!(matches!(read(&at), Err(SosError::Damaged { .. })));
    let mut other = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(2);
    other.append_data(&mut header, "photos/one.txt", &b"hi"[..]).unwrap();
    write(&at, &other.into_inner().unwrap());
    assert!(matches!(read(&at), Err(SosError::NotOne(_))));
    assert!(matches!(read(&dir.path().join("none.tar")), Err(SosError::Io { .. })));
    fs::create_dir_all(dir.path().join("sos_commands")).unwrap();
    assert!(matches!(read(dir.path()), Err(SosError::NotOne(_))));
}

#[test]
fn a_cache_is_drawn_with_both_its_legs_and_pasted_with_tables_and_counters() {
    let dir = tempfile::tempdir().unwrap();
    case("cache-dirty").unpack(dir.path());
    let read = read(dir.path()).unwrap();
    let stack = stack(&read, &Top::All);
    let drawn = drawing(&stack).join("\n");
    for line in [
        "/srv (xfs",
        "  vg-main (lvmcache, target cache, dm-4",
        "    cache: vg-fast_cvol-cdata",
        "    origin: vg-main_corig",
        "      sdb (disk, rotational)",
    ] {
        assert!(drawn.contains(line), "{line}\n{drawn}");
    }
    let block = to_paste(&stack, "1.0", &[]);
    for words in [
        "kernel 5.14.0-427",
        "8 processors",
        "vg-main: 0 8388608000 cache 253:1",
        "dirty_chunks=1500000",
        "rotational=1",
    ] {
        assert!(block.contains(words), "{words}\n{block}");
    }
    let below = stack.disks(stack.node("dm-4").unwrap(), Some("cache"));
    assert_eq!(below.iter().map(|node| node.id.as_str()).collect::<Vec<_>>(), ["nvme0n1"]);
}
