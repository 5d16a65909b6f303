//! A page of the block map: 812 mappings in 8 sectors, each with its own checksum.
//!
//! A power cut may leave some sectors of a page old and some new: the journal has every mapping that differs. A sector with a wrong
//! checksum is damage.

use crate::block::{Block, Pbn};
use crate::format::sector::{self, Kind, SECTOR, SECTORS};
use crate::format::{Mapping, Nonce, bytes};

/// Mappings on a page.
pub const ENTRIES: usize = reduce::space::MAP_ENTRIES as usize;
/// Bytes of a sector for its checksum.
const SUM: usize = 4;
/// Bytes of a sector for mappings. A mapping may extend into the next sector.
const PART: usize = SECTOR - SUM;

/// A page in memory.
#[derive(Debug, Clone)]
pub struct Page(Box<[u8; PART * SECTORS]>);

impl Page {
    /// A page without mappings.
    pub fn empty() -> Self {
        Self(Box::new([0; PART * SECTORS]))
    }

    /// The page that was read from `pbn`; `None` when a checksum is wrong, as it is for a page of another volume or place.
    pub fn read(block: &Block, nonce: &Nonce, pbn: Pbn) -> Option<Self> {
        let mut page = Self::empty();
        for (at, (part, sector)) in page.0.chunks_mut(PART).zip(sector::of(block)).enumerate() {
            if !sector::is_sealed(sector, Kind::Page, nonce, pbn, at) {
                return None;
            }
            part.copy_from_slice(&sector[SUM..]);
        }
        Some(page)
    }

    /// The bytes to write to `pbn`, with their checksums.
    pub fn sealed(&self, nonce: &Nonce, pbn: Pbn) -> Block {
        let mut block = Block::default();
        for (at, (part, to)) in self.0.chunks(PART).zip(sector::of_mut(&mut block)).enumerate() {
            bytes::put(to, SUM, part);
            sector::seal(to, Kind::Page, nonce, pbn, at);
        }
        block
    }

    /// A mapping.
    pub fn get(&self, slot: usize) -> Mapping {
        Mapping::from_bytes(self.0.get(slot * Mapping::BYTES..).unwrap_or_default())
    }

    /// Sets a mapping.
    pub fn set(&mut self, slot: usize, mapping: Mapping) {
        bytes::put(&mut self.0[..], slot * Mapping::BYTES, &mapping.to_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_812_mappings_and_any_flipped_bit_and_other_place_is_seen() {
        let nonce = [3; 16];
        let mut page = Page::empty();
        (0..ENTRIES).for_each(|slot| page.set(slot, Mapping::whole(slot as u64 + 1)));
        let mut block = page.sealed(&nonce, 9);
        let read = Page::read(&block, &nonce, 9).unwrap();
        assert!((0..ENTRIES).all(|slot| read.get(slot).block() == Some(slot as u64 + 1)));
        assert!(Page::read(&block, &[4; 16], 9).is_none());
        assert!(Page::read(&block, &nonce, 8).is_none());
        for byte in 0..4096 {
            block.0[byte] ^= 1 << (byte % 8);
            assert!(Page::read(&block, &nonce, 9).is_none(), "byte {byte}");
            block.0[byte] ^= 1 << (byte % 8);
        }
    }

    #[test]
    fn a_page_of_old_and_new_sectors_is_whole_but_for_the_mappings_that_differ() {
        let nonce = [3; 16];
        let mut page = Page::empty();
        (0..ENTRIES).for_each(|slot| page.set(slot, Mapping::whole(7)));
        let mut block = page.sealed(&nonce, 9);
        page.set(101, Mapping::whole(8));
        page.set(700, Mapping::whole(8));
        let new = page.sealed(&nonce, 9);
        block.0[SECTOR..2 * SECTOR].copy_from_slice(&new.0[SECTOR..2 * SECTOR]);
        let torn = Page::read(&block, &nonce, 9).unwrap();
        let same = |slot: &usize| torn.get(*slot) == Mapping::whole(7);
        assert!((0..ENTRIES).filter(|slot| ![101, 700].contains(slot)).all(|slot| same(&slot)));
    }
}
