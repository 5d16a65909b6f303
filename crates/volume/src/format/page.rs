//! A page of the block map: 812 mappings.
//!
//! Checksum, nonce, its own number and zeros to byte 36, then the mappings. A page may be torn by a power cut: the journal has
//! every entry that is missing then.

use crate::block::{Block, Pbn};
use crate::format::{Mapping, Nonce, bytes};

/// Mappings on a page.
pub const ENTRIES: usize = reduce::space::MAP_ENTRIES as usize;
const HEADER: usize = 36;

/// A page in memory, in the form that it has on the device.
#[derive(Debug, Clone)]
pub struct Page(Box<Block>);

impl Page {
    /// An empty page that belongs to block `pbn`.
    pub fn empty(nonce: &Nonce, pbn: Pbn) -> Self {
        let mut block = Box::<Block>::default();
        bytes::put(&mut block.0, 4, nonce);
        bytes::put(&mut block.0, 20, &pbn.to_le_bytes());
        Self(block)
    }

    /// What was read from `pbn`, with whether its checksum is right. `None` when it is no page of this volume and place.
    pub fn read(block: &Block, nonce: &Nonce, pbn: Pbn) -> Option<(Self, bool)> {
        let ours = bytes::array::<16>(&block.0, 4) == *nonce && bytes::u64_at(&block.0, 20) == pbn;
        ours.then(|| (Self(Box::new(block.clone())), bytes::is_sealed(&block.0)))
    }

    /// The bytes to write, with their checksum.
    pub fn sealed(&self) -> Block {
        let mut block = Block::clone(&self.0);
        bytes::seal(&mut block.0);
        block
    }

    /// A mapping.
    pub fn get(&self, slot: usize) -> Mapping {
        let at = HEADER + slot * Mapping::BYTES;
        Mapping::from_bytes(self.0.0.get(at..).unwrap_or_default())
    }

    /// Sets a mapping.
    pub fn set(&mut self, slot: usize, mapping: Mapping) {
        bytes::put(&mut self.0.0, HEADER + slot * Mapping::BYTES, &mapping.to_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_812_mappings_and_knows_volume_place_and_damage() {
        let nonce = [3; 16];
        let mut page = Page::empty(&nonce, 9);
        (0..ENTRIES).for_each(|slot| page.set(slot, Mapping::whole(slot as u64 + 1)));
        let mut block = page.sealed();
        let (read, whole) = Page::read(&block, &nonce, 9).unwrap();
        assert!(whole && (0..ENTRIES).all(|s| read.get(s).block() == Some(s as u64 + 1)));
        assert!(
            Page::read(&block, &[4; 16], 9).is_none() && Page::read(&block, &nonce, 8).is_none()
        );
        block.0[4095] ^= 1;
        assert!(!Page::read(&block, &nonce, 9).unwrap().1);
    }
}
