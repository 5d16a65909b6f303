//! A part of a chapter of the index: blocks by their fingerprints, in the order in which they were learned.

use crate::block::{Block, Pbn};
use crate::format::record::{BYTES, FIRST, MOST_RECORDS, Record};
use crate::format::{Geometry, Mapping, Nonce, bytes};

/// A part of a chapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChapterBlock {
    /// The chapter's number, counted from the first there ever was.
    pub chapter: u64,
    /// The number of this part among those of its chapter.
    pub part: u64,
    /// Its records.
    pub records: Vec<Record>,
}

/// The blocks of a chapter, and their places.
pub fn chapter_parts(
    geometry: &Geometry,
    nonce: &Nonce,
    chapter: u64,
    records: &[Record],
) -> Vec<(Pbn, Block)> {
    let parts = (0..).zip(records.chunks(MOST_RECORDS)).map(|(part, records)| {
        let block = ChapterBlock { chapter, part, records: records.to_vec() };
        geometry.chapter_block(chapter, part).map(|pbn| (pbn, block.sealed(nonce)))
    });
    parts.flatten().collect()
}

impl ChapterBlock {
    /// The bytes to write.
    pub fn sealed(&self, nonce: &Nonce) -> Block {
        let mut block = Block::default();
        let all = &mut block.0;
        let records = &self.records[..self.records.len().min(MOST_RECORDS)];
        bytes::put(all, 4, nonce);
        bytes::put(all, 20, &self.chapter.to_le_bytes());
        bytes::put(all, 28, &(records.len() as u16).to_le_bytes());
        bytes::put(all, 30, &(self.part as u16).to_le_bytes());
        for (n, record) in records.iter().enumerate() {
            let at = FIRST + n * BYTES;
            bytes::put(all, at, &record.print.to_le_bytes());
            bytes::put(all, at + 8, &record.mapping.to_bytes());
        }
        bytes::seal(all);
        block
    }

    /// Decodes a block that was read; `None` when it is not a whole part of a chapter of this volume.
    pub fn read(block: &Block, nonce: &Nonce) -> Option<Self> {
        let all = &block.0;
        if bytes::array::<16>(all, 4) != *nonce || !bytes::is_sealed(all) {
            return None;
        }
        let length = usize::from(bytes::u16_at(all, 28)).min(MOST_RECORDS);
        let record = |bytes: &[u8]| Record {
            print: bytes::u64_at(bytes, 0),
            mapping: Mapping::from_bytes(&bytes[8..]),
        };
        let records = all[FIRST..].chunks_exact(BYTES).take(length).map(record).collect();
        let (chapter, part) = (bytes::u64_at(all, 20), u64::from(bytes::u16_at(all, 30)));
        Some(Self { chapter, part, records })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_back_whole_or_not_at_all() {
        let nonce = [5; 16];
        let record =
            |n: usize| Record { print: n as u64 * 77, mapping: Mapping::fragment(9, n % 14) };
        for length in [0, 1, MOST_RECORDS] {
            let records = (0..length).map(record).collect();
            let written = ChapterBlock { chapter: 3000, part: 26, records };
            let mut sealed = written.sealed(&nonce);
            assert_eq!(ChapterBlock::read(&sealed, &nonce), Some(written));
            assert_eq!(ChapterBlock::read(&sealed, &[6; 16]), None);
            sealed.0[700] ^= 1;
            assert_eq!(ChapterBlock::read(&sealed, &nonce), None);
        }
    }
}
