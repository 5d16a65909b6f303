//! Reference counts on the device: 500 in each sector, which carries its own checksum and sequence number.
//!
//! A sector is written whole or not at all. Its sequence number is that of the last journal block whose entries are all in it.

use crate::block::{Block, Pbn};
use crate::format::sector::{self, Kind, SECTORS};
use crate::format::{Nonce, bytes};

/// Counts in a sector.
pub const COUNTS_PER_SECTOR: usize = 500;
/// Counts in a block.
pub const COUNTS_PER_BLOCK: usize = COUNTS_PER_SECTOR * SECTORS;
/// The count of a page of the block map, which is never freed.
pub const MAP_PAGE: u8 = 255;

const HEADER: usize = 12;

/// A sector of counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountSector {
    /// Sequence number of the last journal block that is in it.
    pub seq: u64,
    /// The counts.
    pub counts: [u8; COUNTS_PER_SECTOR],
}

impl CountSector {
    /// Reads sector `at` of the block of counts at `pbn`; `None` when its checksum is wrong.
    pub fn read(block: &Block, nonce: &Nonce, pbn: Pbn, at: usize) -> Option<Self> {
        let sector = sector::of(block).nth(at)?;
        sector::is_sealed(sector, Kind::Counts, nonce, pbn, at)
            .then(|| Self { seq: bytes::u64_at(sector, 4), counts: bytes::array(sector, HEADER) })
    }

    /// Puts it into its block.
    pub fn write(&self, block: &mut Block, nonce: &Nonce, pbn: Pbn, at: usize) {
        let Some(sector) = sector::of_mut(block).nth(at) else { return };
        bytes::put(sector, 4, &self.seq.to_le_bytes());
        bytes::put(sector, HEADER, &self.counts);
        sector::seal(sector, Kind::Counts, nonce, pbn, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_is_read_back_and_any_flipped_bit_is_seen() {
        let (nonce, mut block) = ([1; 16], Block::default());
        let sector = CountSector { seq: 77, counts: std::array::from_fn(|i| i as u8) };
        sector.write(&mut block, &nonce, 40, 3);
        assert_eq!(CountSector::read(&block, &nonce, 40, 3), Some(sector));
        assert_eq!(CountSector::read(&block, &nonce, 41, 3), None);
        for bit in 0..sector::SECTOR * 8 {
            let mut flipped = block.clone();
            flipped.0[3 * sector::SECTOR + bit / 8] ^= 1 << (bit % 8);
            assert_eq!(CountSector::read(&flipped, &nonce, 40, 3), None, "bit {bit}");
        }
    }
}
