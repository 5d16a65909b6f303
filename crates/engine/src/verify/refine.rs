//! Exact kinds of wrong blocks, found after the load from all writes that are known.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use content::ContentId;
use results::model::{WrongBlock, WrongKind};

use super::expected_block::Tag;
use super::replay::{Change, Replay};
use super::table::Table;

/// A block of a target.
type Place = (u32, u64);

/// The history of writes, as far as it concerns wrong blocks.
#[derive(Default)]
struct History {
    /// Contents that were written to each of the wrong blocks, in the order of writing.
    written: HashMap<Place, Vec<ContentId>>,
    /// Contents that were found where they do not belong.
    found: HashSet<ContentId>,
    /// The blocks that hold these contents now; and, in the next field, the block that received each of them last.
    holders: HashMap<Place, ContentId>,
    last: HashMap<ContentId, Place>,
}

fn id(name: Option<&String>) -> Option<ContentId> {
    u64::from_str_radix(name?, 16).ok().map(ContentId)
}

impl History {
    fn writes(&mut self, place: Place, id: ContentId) {
        if let Some(written) = self.written.get_mut(&place) {
            written.push(id);
        }
        if self.found.contains(&id) {
            self.holders.insert(place, id);
            self.last.insert(id, place);
        } else if !self.holders.is_empty() {
            self.holders.remove(&place);
        }
    }
}

/// A load that wrote the targets, and the present number of each of its targets.
pub(crate) struct PastLoad {
    pub(crate) replay: Arc<Replay>,
    pub(crate) targets: Vec<Option<u32>>,
}

/// Determines the exact kind of each block in `wrong`: the expected content, whether a whole block is stale, misplaced or foreign, and where it
/// belongs. Each block comes with the tag that its address had. Without past loads nothing is changed.
pub(crate) fn refine(wrong: &mut [(WrongBlock, Tag)], past: &[PastLoad], table: &Table, unit: u64) {
    if past.is_empty() {
        return;
    }
    let mut history = History::default();
    for (block, _) in wrong.iter() {
        history.written.insert((block.target, block.offset), Vec::new());
        history.found.extend(id(block.found.as_ref()));
    }
    for PastLoad { replay, targets } in past {
        let mut start = 0;
        let now = |target: usize| targets.get(target).copied().flatten();
        let complete = replay.report_changes(&mut |target, change| match (change, now(target)) {
            (Change::Begins(offset, ..), _) => start = offset,
            (Change::Writes(at, length, id), Some(target)) if length as u64 == unit => {
                history.writes((target, start + at), id);
            }
            _ => {}
        });
        if !complete {
            return;
        }
    }
    for (block, tag) in wrong {
        let place = (block.target, block.offset);
        let written = &history.written[&place];
        let meant = written.iter().rev().find(|&&id| table.tag(id) == *tag);
        if block.expected.is_none() {
            block.expected =
                meant.filter(|&&id| id != ContentId::ZERO).map(|id| format!("{:016x}", id.0));
        }
        let whole = matches!(block.kind, WrongKind::Stale | WrongKind::Misplaced);
        let Some(found) = id(block.found.as_ref()).filter(|_| whole) else { continue };
        (block.home, block.homes) = (None, 0);
        if written.contains(&found) {
            block.kind = WrongKind::Stale;
        } else if let Some(&last) = history.last.get(&found) {
            let holds = history.holders.iter().filter(|(_, id)| **id == found);
            block.kind = WrongKind::Misplaced;
            block.homes = holds.count().max(1) as u64;
            block.home = Some(last);
        } else {
            // None of these loads wrote it to these targets.
            block.kind = WrongKind::Foreign;
        }
    }
}
