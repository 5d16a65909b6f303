//! Partitions that do not begin at a multiple of 4 KiB: their contents are cut in other places than their file system cuts them, so that
//! equal blocks are not found.

use reduce::BLOCK;

/// Sectors of partition tables, bytes.
const SECTOR: u64 = 512;
/// Entries of a master boot record, and what each takes.
const ENTRIES: usize = 446;
const ENTRY: usize = 16;
/// The type of the one entry that covers the disk where a GUID partition table follows, and the place and size of that table's entries.
const PROTECTIVE: u8 = 0xee;
const GUID_ENTRIES: usize = 1024;
const GUID_ENTRY: usize = 128;

/// A partition that begins off the blocks of 4 KiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffBlocks {
    /// Its number, from 1.
    pub partition: u32,
    /// Its beginning, bytes.
    pub start: u64,
    /// Beginnings of all partitions, this one and the others, bytes, in order.
    pub cuts: Vec<u64>,
}

/// The first partition that begins off the blocks, of a disk that begins with `head`.
pub fn off_blocks(head: &[u8]) -> Option<OffBlocks> {
    let starts: Vec<Option<u64>> =
        starts(head)?.into_iter().map(|sector| Some(sector? * SECTOR)).collect();
    let (index, start) = starts.iter().enumerate().find_map(|(index, start)| {
        start.filter(|start| !start.is_multiple_of(BLOCK as u64)).map(|start| (index, start))
    })?;
    let mut cuts: Vec<u64> = starts.into_iter().flatten().collect();
    cuts.sort_unstable();
    cuts.dedup();
    Some(OffBlocks { partition: index as u32 + 1, start, cuts })
}

/// Returns where partitions begin, sectors; `None` where there is no partition table.
fn starts(head: &[u8]) -> Option<Vec<Option<u64>>> {
    let table = head.get(ENTRIES..ENTRIES + 4 * ENTRY)?;
    if head.get(510..512)? != [0x55, 0xaa] {
        return None;
    }
    let entries: Vec<&[u8]> = table.chunks_exact(ENTRY).collect();
    // The boot sector of a file system ends with the same two bytes, but has code here.
    if !entries.iter().all(|entry| matches!(entry[0], 0 | 0x80)) {
        return None;
    }
    if entries.iter().any(|entry| entry[4] == PROTECTIVE) {
        return guid_starts(head);
    }
    let start = |entry: &&[u8]| {
        let sector = u32::from_le_bytes(entry[8..12].try_into().ok()?);
        (entry[4] != 0 && sector > 0).then_some(u64::from(sector))
    };
    Some(entries.iter().map(start).collect())
}

fn guid_starts(head: &[u8]) -> Option<Vec<Option<u64>>> {
    if !head.get(512..)?.starts_with(b"EFI PART") {
        return None;
    }
    let start = |entry: &[u8]| {
        let sector = u64::from_le_bytes(entry[32..40].try_into().ok()?);
        // Offsets of later sectors would overflow 64 bits.
        (entry[..16] != [0; 16] && (1..1 << 54).contains(&sector)).then_some(sector)
    };
    Some(head.get(GUID_ENTRIES..)?.chunks_exact(GUID_ENTRY).map(start).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, sector: u32) -> Vec<u8> {
        let mut head = vec![0; 4096];
        head[510..512].copy_from_slice(&[0x55, 0xaa]);
        let entry = ENTRIES + ENTRY;
        head[entry] = 0x80;
        head[entry + 4] = kind;
        head[entry + 8..entry + 12].copy_from_slice(&sector.to_le_bytes());
        head
    }

    fn off(partition: u32, start: u64) -> Option<OffBlocks> {
        Some(OffBlocks { partition, start, cuts: vec![start] })
    }

    #[test]
    fn only_a_partition_that_begins_off_the_blocks_is_told() {
        assert_eq!(off_blocks(&record(0x83, 63)), off(2, 32_256));
        assert_eq!(off_blocks(&record(0x83, 2048)), None);
        assert_eq!(off_blocks(&record(0, 63)), None, "an entry that is not used");
        assert_eq!(off_blocks(&[0; 4096]), None);
        assert_eq!(off_blocks(&record(0x83, 63)[..300]), None);
        let mut code = record(0x83, 63);
        code[ENTRIES] = 0x33;
        assert_eq!(off_blocks(&code), None, "a boot sector");
        let mut guids = record(PROTECTIVE, 1);
        guids[512..520].copy_from_slice(b"EFI PART");
        assert_eq!(off_blocks(&guids), None);
        guids[GUID_ENTRIES] = 1;
        guids[GUID_ENTRIES + 32] = 34;
        assert_eq!(off_blocks(&guids), off(1, 17_408));
    }
}
