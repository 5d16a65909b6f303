//! Rebuilding what follows from the map and the data: counts, and the index.

use std::collections::BTreeSet;

use reduce::Fingerprint;

use crate::block::Block;
use crate::check::{PAGE, references};
use crate::core::Rules;
use crate::device::{Device, DeviceError};
use crate::format::{MAP_PAGE, MOST_RECORDS, Mapping, State, Superblock, block_at, chapter_parts};
use crate::index::{Chapter, Index};
use crate::recover::{RecoveryError, Replayed, replay};
use crate::start::settle;

/// The result of a rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rebuilt {
    /// Journal entries that were replayed first.
    pub entries: u64,
    /// Blocks of the volume in use.
    pub logical_used: u64,
    /// Blocks whose count was wrong.
    pub counts: u64,
    /// Blocks that the index knows; nothing where the volume has no room for one.
    pub index: Option<u64>,
}

/// Counts all references of a volume that is not running, and fingerprints all its data. Afterwards it takes writes, even if it was
/// read-only. A power cut during the rebuild leaves what the next start or rebuild needs.
///
/// # Errors
/// Refuses a volume whose map is damaged: what it lost cannot be rebuilt.
pub fn rebuild(device: &mut dyn Device) -> Result<Rebuilt, RecoveryError> {
    let mut replayed = replay(device, Rules::default())?;
    let geometry = replayed.superblock.geometry;
    let mut places = BTreeSet::new();
    let (mut used, mut strays) = (0, Vec::new());
    let counted = references(device, &mut replayed, &mut |lbn, mapping| {
        used += 1;
        match mapping.block() {
            Some(pbn) if geometry.number(pbn).is_none() => strays.push(lbn),
            Some(_) => _ = places.insert(mapping),
            None => {}
        }
    })?;
    let Replayed { counts, tree, damaged, .. } = &mut replayed;
    // Only damaged counts can be rebuilt.
    let lost = damaged.iter().chain(&tree.damaged).filter(|pbn| !counts.damaged.contains(pbn));
    let mut lost: Vec<_> = lost.copied().chain(strays).collect();
    if !lost.is_empty() {
        lost.sort_unstable();
        lost.dedup();
        return Err(RecoveryError::Damaged(lost));
    }
    let counted = counted.into_iter().map(|references| match references {
        PAGE.. => MAP_PAGE,
        references => references.min(u64::from(MAP_PAGE) - 1) as u8,
    });
    let changed = counts.recount(&counted.collect::<Vec<_>>());
    replayed.logical_used = used;
    let entries = replayed.entries;
    let (superblock, ..) = settle(device, replayed, Rules::default(), State::Clean)?;
    let index = match geometry.chapters() {
        0 => None,
        _ => Some(fingerprint(device, &superblock, places)?),
    };
    Ok(Rebuilt { entries, logical_used: used, counts: changed, index })
}

/// Makes the index of all that is stored; gives the number of its records.
fn fingerprint(
    device: &mut dyn Device,
    superblock: &Superblock,
    places: BTreeSet<Mapping>,
) -> Result<u64, DeviceError> {
    let Superblock { geometry, nonce, .. } = superblock;
    let kept = |device: &mut dyn Device, (number, records): Chapter| {
        let mut parts = chapter_parts(geometry, nonce, number, &records).into_iter();
        parts.try_for_each(|(pbn, block)| device.write(pbn, &block))
    };
    // Older chapters would be taken for newer ones.
    for slot in 0..geometry.chapters() {
        let first = geometry.chapter_block(slot, 0);
        first.map_or(Ok(()), |pbn| device.write(pbn, &Block::default()))?;
    }
    let most = (geometry.chapters() * geometry.chapter_blocks()) as usize * MOST_RECORDS;
    let mut index = Index::new(most, geometry);
    let mut block = Box::<Block>::default();
    let mut there = None;
    for place in places {
        let Some(pbn) = place.block() else { continue };
        if there != Some(pbn) {
            there = Some(pbn);
            // A block that cannot be read is left out of the index.
            if device.read(pbn, &mut block).is_err() {
                there = None;
                continue;
            }
        }
        if let Some(whole) = block_at(place, block.clone()) {
            index.insert(Fingerprint::of(&whole.0), place);
        }
        while let Some(chapter) = index.next_full() {
            kept(device, chapter)?;
        }
    }
    index.open_chapter().map_or(Ok(()), |open| kept(device, open))?;
    device.flush()?;
    Ok(index.records)
}
