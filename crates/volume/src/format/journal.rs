//! A block of the journal: written once, whole, with its own checksum.

use crate::block::Block;
use crate::format::{Mapping, Nonce, bytes};

/// Entries that a block holds: VDO's 217.
pub const MOST_ENTRIES: usize = 217;

const ENTRY: usize = 18;
const FIRST: usize = 64;

/// A change of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The block of the volume, or the page that is linked ([`super::PageKey::to_key`]).
    pub key: u64,
    /// The mapping before, so that counts can be replayed without reading pages.
    pub old: Mapping,
    /// The mapping from here on.
    pub new: Mapping,
}

/// Facts of a journal block in addition to its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The epoch of the volume's start.
    pub epoch: u64,
    /// Its number, counted from the first there ever was.
    pub seq: u64,
    /// The oldest block that recovery needs.
    pub tail: u64,
    /// Blocks of the volume that are mapped before the tail's entries.
    pub logical_at_tail: u64,
    /// Every block from the tail up to this one was durable before this block was written: one that is missing is damage.
    pub committed: u64,
}

/// A journal block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalBlock {
    /// The facts in addition to its entries.
    pub header: Header,
    /// Its entries, in order.
    pub entries: Vec<Entry>,
}

impl JournalBlock {
    /// The bytes to write. The filling behind the entries differs in every sector of every block, so that no torn block looks whole.
    pub fn sealed(&self, nonce: &Nonce) -> Block {
        let mut block = Block::default();
        let Header { epoch, seq, tail, logical_at_tail, committed } = self.header;
        bytes::put(&mut block.0, 4, nonce);
        let words = [(20, epoch), (28, seq), (36, tail), (44, logical_at_tail), (54, committed)];
        for (at, word) in words {
            bytes::put(&mut block.0, at, &word.to_le_bytes());
        }
        let entries = &self.entries[..self.entries.len().min(MOST_ENTRIES)];
        bytes::put(&mut block.0, 52, &(entries.len() as u16).to_le_bytes());
        for (n, entry) in entries.iter().enumerate() {
            let at = FIRST + n * ENTRY;
            bytes::put(&mut block.0, at, &entry.key.to_le_bytes());
            bytes::put(&mut block.0, at + 8, &entry.old.to_bytes());
            bytes::put(&mut block.0, at + 13, &entry.new.to_bytes());
        }
        let mut filling = units::Seed(epoch << 40 ^ seq).generator();
        for word in block.0[FIRST + entries.len() * ENTRY..].chunks_exact_mut(8) {
            word.copy_from_slice(&filling.next_u64().to_le_bytes());
        }
        bytes::seal(&mut block.0);
        block
    }

    /// Decodes a block that was read; `None` when it is not a whole journal block of this volume.
    pub fn read(block: &Block, nonce: &Nonce) -> Option<Self> {
        let all = &block.0;
        if bytes::array::<16>(all, 4) != *nonce || !bytes::is_sealed(all) {
            return None;
        }
        let word = |at| bytes::u64_at(all, at);
        let header = Header {
            epoch: word(20),
            seq: word(28),
            tail: word(36),
            logical_at_tail: word(44),
            committed: word(54),
        };
        let length = usize::from(bytes::u16_at(all, 52)).min(MOST_ENTRIES);
        let entries = all[FIRST..].chunks_exact(ENTRY).take(length).map(|entry| Entry {
            key: bytes::u64_at(entry, 0),
            old: Mapping::from_bytes(&entry[8..]),
            new: Mapping::from_bytes(&entry[13..]),
        });
        Some(Self { header, entries: entries.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(entries: usize) -> JournalBlock {
        let entry = |n: usize| {
            let n = n as u64;
            Entry { key: n, old: Mapping::whole(n), new: Mapping::fragment(n + 9, 5) }
        };
        let header = Header { epoch: 2, seq: 9, tail: 4, logical_at_tail: 11, committed: 8 };
        JournalBlock { header, entries: (0..entries).map(entry).collect() }
    }

    #[test]
    fn a_block_is_read_back_whole_or_not_at_all() {
        let nonce = [5; 16];
        for entries in [0, 1, MOST_ENTRIES] {
            let written = block(entries);
            let sealed = written.sealed(&nonce);
            assert_eq!(JournalBlock::read(&sealed, &nonce), Some(written));
            assert_eq!(JournalBlock::read(&sealed, &[6; 16]), None);
            // Any sector of an earlier round in its place is seen.
            for sector in 0..8 {
                let mut torn = sealed.clone();
                torn.0[sector * 512..(sector + 1) * 512].fill(0);
                assert_eq!(JournalBlock::read(&torn, &nonce), None);
            }
        }
    }
}
