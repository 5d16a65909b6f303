//! Making a volume, and starting one: clean, or from what a power cut left.

use crate::block::Block;
use crate::core::{Contents, Rule, Rules, Settings, Volume};
use crate::device::{Device, DeviceError};
use crate::format::{
    COUNTS_PER_SECTOR, CountSector, Geometry, Nonce, Page, ROOTS, SECTORS, State, Superblock,
};
use crate::index::Index;
use crate::recover::{Counts, RecoveryError, Replayed, Tree, load_index, replay, superblock};

/// The recovery that a start needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Tells if the volume had not been stopped cleanly.
    pub needed: bool,
    /// Journal entries that were replayed.
    pub entries: u64,
}

/// The superblock of a volume, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Places of everything on the device.
    pub geometry: Geometry,
    /// The state that it was left in.
    pub state: State,
}

/// Reads the superblock alone.
pub fn inspect(device: &mut dyn Device) -> Result<Summary, RecoveryError> {
    let Superblock { geometry, state, .. } = superblock(device)?;
    Ok(Summary { geometry, state })
}

/// Makes an empty volume. What was on the device is lost; its blocks are not overwritten.
pub fn create(
    device: &mut dyn Device,
    geometry: Geometry,
    nonce: Nonce,
) -> Result<(), DeviceError> {
    for root in 0..ROOTS {
        let pbn = geometry.roots + root;
        device.write(pbn, &Page::empty().sealed(&nonce, pbn))?;
    }
    for number in 0..geometry.count_total() {
        let (pbn, mut block) = (geometry.count_block(number), Block::default());
        let empty = CountSector { seq: 0, counts: [0; COUNTS_PER_SECTOR] };
        (0..SECTORS).for_each(|at| empty.write(&mut block, &nonce, pbn, at));
        device.write(pbn, &block)?;
    }
    device.flush()?;
    let superblock = Superblock {
        nonce,
        generation: 1,
        epoch: 1,
        first_seq: 1,
        logical_used: 0,
        state: State::Clean,
        geometry,
    };
    // An older volume's copy must not count: both are written.
    let older = Superblock { generation: 0, ..superblock };
    device.write(Geometry::superblock(0), &older.sealed())?;
    device.write(Geometry::superblock(1), &superblock.sealed())?;
    device.flush()
}

/// Starts a volume. The changes in the journal are written to its pages and counts first; a power cut during this leaves all that the next
/// start needs. A volume that was left read-only is read-only again.
pub fn start(
    device: &mut dyn Device,
    settings: &Settings,
) -> Result<(Volume, Recovery), RecoveryError> {
    let replayed = replay(device, settings.rules())?;
    if !replayed.damaged.is_empty() {
        return Err(RecoveryError::Damaged(replayed.damaged));
    }
    let (entries, was) = (replayed.entries, replayed.superblock.state);
    let state = if was == State::ReadOnly { was } else { State::Dirty };
    let (started, counts, tree) = settle(device, replayed, settings.rules(), state)?;
    let pages = tree.pages.into_iter().filter(|(key, _)| key.level > 0);
    let interior = pages.map(|(key, read)| (key, read.page, read.pbn)).collect();
    let mut index = Index::new(settings.index_records, &started.geometry);
    if !index.is_none() {
        load_index(device, &started, &mut index)?;
    }
    let contents = Contents { superblock: started, counts: counts.counts, interior, index };
    let needed = was != State::Clean;
    Ok((Volume::new(contents, settings), Recovery { needed, entries }))
}

/// Writes out what a replay made of a volume, and begins an epoch in which nothing is in the journal.
pub(crate) fn settle(
    device: &mut dyn Device,
    replayed: Replayed,
    rules: Rules,
    state: State,
) -> Result<(Superblock, Counts, Tree), DeviceError> {
    let Replayed { superblock, counts, tree, logical_used, end, next_seq, .. } = replayed;
    tree.write(device)?;
    counts.write(device, &superblock.nonce, end)?;
    if rules.hold(Rule::RecoveredBeforeEpoch) {
        device.flush()?;
    }
    let new_epoch = rules.hold(Rule::NewEpoch);
    let started = Superblock {
        generation: superblock.generation + 1,
        epoch: superblock.epoch + u64::from(new_epoch),
        first_seq: if new_epoch { next_seq.max(end + 1) } else { end + 1 },
        logical_used,
        state,
        ..superblock
    };
    device.write(Geometry::superblock(started.generation), &started.sealed())?;
    device.flush()?;
    Ok((started, counts, tree))
}
