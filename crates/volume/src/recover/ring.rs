//! Reads the journal from the device.

use std::collections::BTreeMap;

use crate::block::{Block, Pbn};
use crate::core::{Rule, Rules};
use crate::device::{Device, DeviceError};
use crate::format::{JournalBlock, Superblock};

/// The valid journal blocks, from the tail up to the first gap.
pub(crate) struct Ring {
    /// Blocks to replay, in order.
    pub blocks: Vec<JournalBlock>,
    /// Sequence number above all that were ever used.
    pub next_seq: u64,
    /// Logical blocks that were mapped before the first of these journal blocks.
    pub logical_used: u64,
    /// Addresses of journal blocks that were durable once and are missing.
    pub lost: Vec<Pbn>,
}

/// Reads the journal of a superblock's epoch.
pub(crate) fn read(
    device: &mut dyn Device,
    superblock: &Superblock,
    rules: Rules,
) -> Result<Ring, DeviceError> {
    let geometry = superblock.geometry;
    let mut found = BTreeMap::new();
    let mut bytes = Block::default();
    for slot in 0..geometry.sizes.journal {
        let pbn = geometry.journal_at + slot;
        device.read(pbn, &mut bytes)?;
        let Some(block) = JournalBlock::read(&bytes, &superblock.nonce) else { continue };
        let header = block.header;
        if header.epoch == superblock.epoch
            && header.seq >= superblock.first_seq
            && geometry.journal_block(header.seq) == pbn
        {
            found.insert(header.seq, block);
        }
    }
    let Some((&highest, last)) = found.last_key_value() else {
        let (next_seq, logical_used) = (superblock.first_seq, superblock.logical_used);
        return Ok(Ring { blocks: Vec::new(), next_seq, logical_used, lost: Vec::new() });
    };
    let (tail, logical_used) = (last.header.tail, last.header.logical_at_tail);
    let durable = tail..last.header.committed.min(highest);
    let lost = durable.filter(|seq| !found.contains_key(seq));
    let lost = lost.map(|seq| geometry.journal_block(seq)).collect();
    let mut blocks = Vec::new();
    for seq in tail..=highest {
        match found.remove(&seq) {
            Some(block) => blocks.push(block),
            None if rules.hold(Rule::StopAtGap) => break,
            None => {}
        }
    }
    Ok(Ring { blocks, next_seq: highest + 1, logical_used, lost })
}
