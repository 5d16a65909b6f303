//! Checking a volume that is not started: nothing is written.

use crate::block::{Lbn, Pbn};
use crate::core::Rules;
use crate::device::Device;
use crate::format::{ENTRIES, Geometry, LEVELS, MAP_PAGE, Mapping, PageKey, ROOTS, State};
use crate::recover::{RecoveryError, Replayed, replay};

/// A thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A record whose checksum is wrong and that the journal does not mend.
    Damaged(Pbn),
    /// A count that is not the number of references.
    Count {
        /// The block.
        pbn: Pbn,
        /// As stored.
        stored: u8,
        /// As counted in the map.
        counted: u64,
    },
    /// A mapping to a block that holds no data.
    Mapping {
        /// The block of the volume.
        lbn: Lbn,
        /// The block that it leads to.
        pbn: Pbn,
    },
    /// The number of blocks in use is not what the map says.
    LogicalUsed {
        /// As stored.
        stored: u64,
        /// As counted in the map.
        counted: u64,
    },
}

/// Everything that a check looked at and found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The state that the volume was left in.
    pub state: State,
    /// Journal entries that a start would replay.
    pub entries: u64,
    /// Pages of the map that were read.
    pub pages: u64,
    /// Blocks of the volume in use.
    pub logical_used: u64,
    /// Blocks of data on the device.
    pub data_blocks: u64,
    /// All that is wrong.
    pub problems: Vec<Problem>,
    /// The place of every block in use.
    pub mappings: Vec<(Lbn, Mapping)>,
}

/// Reads all records of a volume and compares them with each other.
pub fn check(device: &mut dyn Device) -> Result<Report, RecoveryError> {
    let mut replayed = replay(device, Rules::default())?;
    let geometry = replayed.superblock.geometry;
    let (mut mappings, mut problems) = (Vec::new(), Vec::new());
    let references = references(device, &mut replayed, &mut |lbn, mapping| {
        if let Some(pbn) = mapping.block().filter(|pbn| geometry.number(*pbn).is_none()) {
            problems.push(Problem::Mapping { lbn, pbn });
        }
        mappings.push((lbn, mapping));
    })?;
    let Replayed { superblock, counts, tree, logical_used, entries, mut damaged, .. } = replayed;
    damaged.extend(&tree.damaged);
    damaged.sort_unstable();
    damaged.dedup();
    problems.extend(damaged.into_iter().map(Problem::Damaged));
    let counted = mappings.len() as u64;
    if counted != logical_used {
        problems.push(Problem::LogicalUsed { stored: logical_used, counted });
    }
    problems.extend(wrong_counts(&geometry, &counts.counts, &references));
    let data = counts.counts.iter().filter(|count| !matches!(**count, 0 | MAP_PAGE)).count();
    Ok(Report {
        state: superblock.state,
        entries,
        pages: tree.pages.len() as u64,
        logical_used,
        data_blocks: data as u64,
        problems,
        mappings,
    })
}

/// References that a page of the map counts as: its stored count is a mark ([`MAP_PAGE`]), which no number of references equals.
pub(crate) const PAGE: u64 = 1 << 32;

/// Counts the references to every block; passes all mappings of the volume to `see`.
pub(crate) fn references(
    device: &mut dyn Device,
    replayed: &mut Replayed,
    see: &mut dyn FnMut(Lbn, Mapping),
) -> Result<Vec<u64>, RecoveryError> {
    let geometry = replayed.superblock.geometry;
    let mut references = vec![0u64; replayed.counts.counts.len()];
    for root in 0..ROOTS {
        let key = PageKey { level: LEVELS, root, index: 0 };
        walk(device, replayed, key, &mut |key, mapping, slot| {
            if let Some(number) = mapping.block().and_then(|pbn| geometry.number(pbn)) {
                references[number] += if key.level == 0 { 1 } else { PAGE };
            }
            if key.level == 0 {
                see((key.index * ROOTS + key.root) * ENTRIES as u64 + slot as u64, mapping);
            }
        })?;
    }
    Ok(references)
}

fn wrong_counts(geometry: &Geometry, counts: &[u8], references: &[u64]) -> Vec<Problem> {
    let pairs = counts.iter().zip(references).enumerate();
    let wrong = pairs.filter(|(_, (count, references))| match **count {
        MAP_PAGE => **references != PAGE,
        count => u64::from(count) != **references,
    });
    let problem = |(number, (stored, counted)): (usize, (&u8, &u64))| {
        let pbn = geometry.data_block(number);
        Problem::Count { pbn, stored: *stored, counted: *counted }
    };
    wrong.map(problem).collect()
}

/// Passes every mapping below a page to `see`.
fn walk(
    device: &mut dyn Device,
    replayed: &mut Replayed,
    key: PageKey,
    see: &mut dyn FnMut(PageKey, Mapping, usize),
) -> Result<(), RecoveryError> {
    let Some(read) = replayed.tree.page(device, key)? else { return Ok(()) };
    let mappings = (0..ENTRIES).map(|slot| (slot, read.page.get(slot)));
    let mappings: Vec<_> = mappings.filter(|(_, mapping)| mapping.is_mapped()).collect();
    for (slot, mapping) in mappings {
        see(key, mapping, slot);
        if key.level > 0 {
            walk(device, replayed, key.child(slot), see)?;
        }
    }
    Ok(())
}
