//! Replay of the journal, in memory.

use crate::block::{Block, Pbn};
use crate::core::Rules;
use crate::device::{Device, DeviceError};
use crate::format::{ENTRIES, PageKey, ROOTS, State, Superblock, SuperblockError, newest};
use crate::recover::counts::Counts;
use crate::recover::ring;
use crate::recover::tree::Tree;

/// The reason that a volume cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecoveryError {
    /// The device failed.
    #[error("the device failed: {0}")]
    Device(#[from] DeviceError),
    /// It is not a volume.
    #[error(transparent)]
    Superblock(#[from] SuperblockError),
    /// Records are damaged, and the journal cannot repair them.
    #[error("{} block(s) of the volume's records are damaged, the first is {}", .0.len(), .0.first().copied().unwrap_or(0))]
    Damaged(Vec<Pbn>),
}

/// A volume as it is, with its journal replayed in memory.
pub(crate) struct Replayed {
    pub superblock: Superblock,
    pub counts: Counts,
    pub tree: Tree,
    pub logical_used: u64,
    /// Entries that were replayed.
    pub entries: u64,
    /// Sequence number of the last journal block that was replayed; one below `first_seq` if there was none.
    pub end: u64,
    /// Sequence number above those of all journal blocks seen.
    pub next_seq: u64,
    /// Places of records that are damaged and that the journal cannot repair.
    pub damaged: Vec<Pbn>,
}

/// Reads the newer intact copy of the superblock.
pub(crate) fn superblock(device: &mut dyn Device) -> Result<Superblock, RecoveryError> {
    let mut copies = [Block::default(), Block::default()];
    for (pbn, copy) in copies.iter_mut().enumerate() {
        device.read(pbn as Pbn, copy)?;
    }
    Ok(newest([&copies[0], &copies[1]])?)
}

/// Reads a volume and replays its journal, without writing anything.
pub(crate) fn replay(device: &mut dyn Device, rules: Rules) -> Result<Replayed, RecoveryError> {
    let superblock = superblock(device)?;
    let geometry = superblock.geometry;
    let mut counts = Counts::read(device, geometry, &superblock.nonce)?;
    let mut tree = Tree::new(geometry, superblock.nonce);
    let mut damaged = Vec::new();
    let mut logical_used = superblock.logical_used;
    let (mut entries, mut end) = (0, superblock.first_seq.saturating_sub(1));
    let mut next_seq = superblock.first_seq;
    if superblock.state != State::Clean {
        let journal = ring::read(device, &superblock, rules)?;
        logical_used = journal.logical_used;
        next_seq = journal.next_seq;
        damaged.extend(&journal.lost);
        for block in &journal.blocks {
            for entry in &block.entries {
                entries += 1;
                counts.replay(block.header.seq, entry, rules);
                let (page, slot) = match PageKey::from_key(entry.key) {
                    Some(page) => (page.parent(), page.slot()),
                    None => (PageKey::leaf(entry.key), (entry.key % ENTRIES as u64) as usize),
                };
                if PageKey::from_key(entry.key).is_none() {
                    let (old, new) = (entry.old.is_mapped(), entry.new.is_mapped());
                    logical_used = (logical_used + u64::from(new)).saturating_sub(u64::from(old));
                }
                if !tree.set(device, page, slot, entry.new)? {
                    damaged.extend(entry.new.block());
                }
            }
            end = block.header.seq;
        }
    }
    // Every page above the leaves is read, so that damage there is known at once.
    for root in 0..ROOTS {
        let key = PageKey { level: crate::format::LEVELS, root, index: 0 };
        above_leaves(device, &mut tree, key)?;
    }
    damaged.extend(&tree.damaged);
    damaged.extend(&counts.damaged);
    damaged.sort_unstable();
    damaged.dedup();
    Ok(Replayed { superblock, counts, tree, logical_used, entries, end, next_seq, damaged })
}

fn above_leaves(device: &mut dyn Device, tree: &mut Tree, key: PageKey) -> Result<(), DeviceError> {
    let Some(read) = tree.page(device, key)? else { return Ok(()) };
    if key.level > 1 {
        let linked: Vec<_> = (0..ENTRIES).filter(|s| read.page.get(*s).block().is_some()).collect();
        for slot in linked {
            above_leaves(device, tree, key.child(slot))?;
        }
    }
    Ok(())
}
