//! Signatures of what people keep on devices: file systems, volume managers, RAID, partition tables.
//!
//! `blkid` knows most of them; our own list is searched besides, and alone where blkid is missing. Data at either end of a device that neither knows
//! is refused, too: nobody can tell whose it is.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use sys::interrupt::Interrupt;

/// A signature: distance from the start of the device, bytes there, and the kind of data that it marks.
const FROM_START: [(u64, &[u8], &str); 29] = [
    (0x438, &[0x53, 0xef], "an ext file system"),
    (0, b"XFSB", "an XFS file system"),
    (0x1_0040, b"_BHRfS_M", "a btrfs file system"),
    (0x400, &[0x10, 0x20, 0xf5, 0xf2], "an F2FS file system"),
    (0, b"hsqs", "a squashfs image"),
    (0x8001, b"CD001", "an ISO 9660 image"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (0x36, b"FAT", "a FAT file system"),
    (0x52, b"FAT32", "a FAT file system"),
    (0, b"LABELONE", "an LVM physical volume"),
    (512, b"LABELONE", "an LVM physical volume"),
    (1024, b"LABELONE", "an LVM physical volume"),
    (1536, b"LABELONE", "an LVM physical volume"),
    (0, b"LUKS\xba\xbe", "a LUKS volume"),
    (0, &[0xfc, 0x4e, 0x2b, 0xa9], "a RAID member"),
    (4096, &[0xfc, 0x4e, 0x2b, 0xa9], "a RAID member"),
    (4086, b"SWAPSPACE2", "swap space"),
    (4086, b"SWAP-SPACE", "swap space"),
    (512, b"EFI PART", "a GPT partition table"),
    (4096, b"EFI PART", "a GPT partition table"),
    (0, b"dmvdo001", "a VDO volume"),
    // Its first copy may be the torn one.
    (4, b"fathomVD", "a uvdo volume"),
    (4100, b"fathomVD", "a uvdo volume"),
    (0x1018, &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca], "a bcache device"),
    (0x1018, &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9], "a bcachefs file system"),
    (0, b"bluestore block device", "a Ceph OSD"),
    (0x2_1000, &[0x0c, 0xb1, 0xba, 0x00], "a ZFS member"),
    (0x2_0000, &[0x0c, 0xb1, 0xba, 0x00], "a ZFS member"),
];

/// A signature at a distance from the end of the device.
const FROM_END: [(u64, &[u8], &str); 3] = [
    (512, b"EFI PART", "a backup GPT partition table"),
    (0x2000, &[0xfc, 0x4e, 0x2b, 0xa9], "a RAID member"),
    (0x1_0000, &[0xfc, 0x4e, 0x2b, 0xa9], "a RAID member"),
];

/// Bytes at each end of a device that must be zero where nobody knows what is on it.
const BLANK: u64 = 1 << 20;

/// Returns what is on the device, in words; empty when nothing that anybody would miss was found.
pub(crate) fn find(path: &Path, file: &File) -> io::Result<Vec<String>> {
    let mut found = known(file)?;
    match blkid(path) {
        BlkidAnswer::Found(what) => found.push(what),
        BlkidAnswer::Unsure(why) if found.is_empty() => found.push(why),
        BlkidAnswer::Nothing if found.is_empty() && !is_blank(file)? => {
            found.push("data of a kind that neither blkid nor Fathom knows".to_owned());
        }
        BlkidAnswer::Missing if found.is_empty() && !is_blank(file)? => {
            found.push("data that cannot be judged without blkid".to_owned());
        }
        BlkidAnswer::Nothing | BlkidAnswer::Unsure(_) | BlkidAnswer::Missing => {}
    }
    found.dedup();
    Ok(found)
}

/// Returns what is there by the signatures of our own list.
pub(crate) fn known(file: &File) -> io::Result<Vec<String>> {
    let size = sys::block::size_bytes(file)?.0;
    let mut found: Vec<String> = Vec::new();
    let from_end = FROM_END
        .iter()
        .filter_map(|(back, magic, what)| Some((size.checked_sub(*back)?, *magic, *what)));
    for (at, magic, what) in FROM_START.into_iter().chain(from_end) {
        let mut there = vec![0; magic.len()];
        let whole = at + magic.len() as u64 <= size;
        if whole && file.read_exact_at(&mut there, at).is_ok() && there == magic {
            found.push(what.to_owned());
        }
    }
    if size >= 512 && has_partitions(file)? {
        found.push("a DOS partition table".to_owned());
    }
    Ok(found)
}

/// Tells whether the first sector is a partition table with at least one entry: the magic alone also marks boot sectors, which other signatures find.
fn has_partitions(file: &File) -> io::Result<bool> {
    let mut sector = [0u8; 512];
    file.read_exact_at(&mut sector, 0)?;
    let entry = |index: usize| sector[446 + 16 * index + 4] != 0;
    Ok(sector[510..] == [0x55, 0xaa] && (0..4).any(entry))
}

fn is_blank(file: &File) -> io::Result<bool> {
    let size = sys::block::size_bytes(file)?.0;
    let mut buffer = vec![0; BLANK.min(size) as usize];
    for start in [0, size.saturating_sub(BLANK)] {
        file.read_exact_at(&mut buffer, start)?;
        if buffer.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

enum BlkidAnswer {
    Found(String),
    Nothing,
    Unsure(String),
    Missing,
}

/// Asks blkid, which looks at the device itself and not into its cache.
fn blkid(path: &Path) -> BlkidAnswer {
    let path = path.display().to_string();
    let argv = ["blkid", "--probe", "--output", "export", &path].map(str::to_owned);
    let Ok(output) = crate::child::run(&argv, Duration::from_secs(30), &Interrupt::new()) else {
        return BlkidAnswer::Missing;
    };
    let value = |key: &str| {
        output.stdout.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    match (output.code, value("TYPE"), value("PTTYPE")) {
        (Some(0), Some(kind), _) => {
            let label = value("LABEL").map_or(String::new(), |label| format!(" '{label}'"));
            BlkidAnswer::Found(format!("{kind}{label}"))
        }
        (Some(0), None, Some(table)) => BlkidAnswer::Found(format!("a partition table ({table})")),
        (Some(2), ..) => BlkidAnswer::Nothing,
        _ => BlkidAnswer::Unsure(format!(
            "something that blkid cannot judge: {}",
            output.stderr.trim()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 4 << 20;

    fn blank() -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        file
    }

    #[test]
    fn every_signature_of_the_list_is_found_where_it_belongs() {
        let from_end = FROM_END.map(|(back, magic, what)| (SIZE - back, magic, what));
        for (at, magic, what) in FROM_START.into_iter().chain(from_end) {
            let file = blank();
            assert_eq!(known(&file).unwrap(), Vec::<String>::new());
            file.write_all_at(magic, at).unwrap();
            assert!(known(&file).unwrap().contains(&what.to_owned()), "{what} at {at}");
        }
    }

    #[test]
    fn data_at_either_end_that_nobody_knows_is_found() {
        for at in [700_000, SIZE - 1] {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(SIZE).unwrap();
            assert_eq!(find(file.path(), file.as_file()).unwrap(), Vec::<String>::new());
            file.as_file().write_all_at(&[7], at).unwrap();
            assert_eq!(find(file.path(), file.as_file()).unwrap().len(), 1, "at {at}");
        }
    }

    #[test]
    fn a_partition_table_needs_an_entry() {
        let file = blank();
        file.write_all_at(&[0x55, 0xaa], 510).unwrap();
        assert!(!has_partitions(&file).unwrap());
        file.write_all_at(&[0x83], 446 + 16 + 4).unwrap();
        assert!(has_partitions(&file).unwrap());
    }

    #[test]
    fn data_at_either_end_is_not_blank() {
        let file = blank();
        assert!(is_blank(&file).unwrap());
        file.write_all_at(b"x", SIZE - 1).unwrap();
        assert!(!is_blank(&file).unwrap());
        let tiny = tempfile::tempfile().unwrap();
        assert!(known(&tiny).unwrap().is_empty());
    }
}
