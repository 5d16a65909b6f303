//! A block with several compressed blocks in it.

use reduce::{PAYLOAD, SLOTS};

use crate::block::{BLOCK, Block};
use crate::format::{Mapping, bytes};

const MAGIC: &[u8; 4] = b"PACK";
const FIRST: usize = BLOCK - PAYLOAD;

/// Puts fragments into a block, in the order of their slots; as many as have room.
pub fn pack<'a>(fragments: impl Iterator<Item = &'a [u8]>) -> Block {
    let mut block = Block::default();
    bytes::put(&mut block.0, 0, MAGIC);
    let mut at = FIRST;
    for (slot, bytes) in fragments.take(SLOTS).enumerate() {
        if at + bytes.len() > BLOCK {
            break;
        }
        bytes::put(&mut block.0, 4 + 2 * slot, &(bytes.len() as u16).to_le_bytes());
        bytes::put(&mut block.0, at, bytes);
        at += bytes.len();
    }
    block
}

/// The block that a mapping means, from the block on the device.
pub fn block_at(mapping: Mapping, block: Box<Block>) -> Option<Box<Block>> {
    let Some(slot) = mapping.slot() else { return Some(block) };
    let mut whole = Box::<Block>::default();
    let out: &mut [u8; BLOCK] = &mut whole.0;
    reduce::expand(fragment(&block, slot)?, out).then_some(whole)
}

/// The bytes of a fragment; `None` when the block has no such one.
fn fragment(block: &Block, slot: usize) -> Option<&[u8]> {
    if &block.0[..4] != MAGIC || slot >= SLOTS {
        return None;
    }
    let size = |slot: usize| usize::from(bytes::u16_at(&block.0, 4 + 2 * slot));
    let from = FIRST + (0..slot).map(size).sum::<usize>();
    block.0.get(from..from + size(slot)).filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_come_back_by_their_slot() {
        let parts: Vec<Vec<u8>> = (1..=SLOTS).map(|n| vec![n as u8; PAYLOAD / SLOTS]).collect();
        let mut block = pack(parts.iter().map(Vec::as_slice));
        for (slot, part) in parts.iter().enumerate() {
            assert_eq!(fragment(&block, slot), Some(part.as_slice()));
        }
        assert_eq!(fragment(&block, SLOTS), None);
        block.0[5] = 255;
        assert_eq!(fragment(&block, 0), None);
        assert_eq!(fragment(&Block::default(), 0), None);
    }
}
