//! The usual look at a block, with all that it takes in one place.
//!
//! A block has just been read, so that most of what the program knows has left the nearest cache; each pointer from one thing to
//! the next is then waited for. So all that a look needs lies in two cache lines, but for what is known of the block itself, which
//! is on its way while the block is read. Nothing here is believed to be wrong: what is not plainly right is looked at the long way.

use content::{Look, Root};
use workload::divided;

use super::layer::Row;
use super::verifier::Verifier;
use super::words::Words;

/// What says what a block must hold.
enum Due {
    /// It was written in a row.
    Row(Row),
    /// The table says it.
    Words(Words),
}

/// A block that is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Awaited {
    /// Its number; [`NONE`] when none is.
    block: usize,
    /// What it must grow from, where that follows from what was written.
    expected: Root,
}

/// No block.
const NONE: usize = usize::MAX;

impl Awaited {
    pub(super) fn block(self) -> usize {
        self.block
    }
}

/// How a hand that only reads looks at whole blocks of the one target of a load.
#[repr(align(64))]
pub(super) struct Quick {
    due: Due,
    look: Look,
    /// For each slot of the hand.
    awaited: Box<[Awaited]>,
    /// Reads that were begun here.
    begun: u64,
    /// Blocks that plainly held what they must.
    right: u64,
}

impl Quick {
    /// For a hand with so many slots; `None` where the blocks have to be looked at the long way.
    pub(super) fn of(verifier: &Verifier, slots: usize) -> Option<Self> {
        let [area] = &verifier.targets[..] else { return None };
        let cells = &area.table.cells;
        let (due, look) = match (cells.words(), cells.as_known()) {
            (Some(words), _) => (Due::Words(words.clone()), verifier.makers.look()?),
            (None, known) => {
                let (row, look) = known?.row()?;
                (Due::Row(row), look)
            }
        };
        let awaited = vec![Awaited { block: NONE, expected: Root::default() }; slots];
        let quick = Self { due, look, awaited: awaited.into(), begun: 0, right: 0 };
        (quick.look.unit() == verifier.unit()).then_some(quick)
    }

    /// A read of `slot` is about to be submitted. False when it is not one of a whole block that can be looked at quickly.
    #[inline]
    pub(super) fn begins(&mut self, slot: usize, offset: u64, length: u64) -> bool {
        let unit = self.look.unit() as u64;
        let (block, within) = divided(offset, unit);
        if within != 0 || length != unit {
            return false;
        }
        let (block, mut expected) = (block as usize, Root::default());
        match &self.due {
            Due::Row(row) => match row.id_at(offset) {
                Some(id) => expected = self.look.root_of(id),
                None => return false,
            },
            // A hint, and no load: where a cell is in no cache, the system call would wait for it.
            Due::Words(words) if block < words.len() => words.expect(block),
            Due::Words(_) => return false,
        }
        self.awaited[slot] = Awaited { block, expected };
        self.begun += 1;
        true
    }

    /// The block that `slot` has read, if it is one that began here.
    #[inline]
    pub(super) fn ended(&mut self, slot: usize) -> Option<Awaited> {
        let awaited = &mut self.awaited[slot];
        let was = *awaited;
        awaited.block = NONE;
        (was.block != NONE).then_some(was)
    }

    /// Whether that block plainly holds what it must: `bytes`. It then counts as right.
    #[inline]
    pub(super) fn is_right(&mut self, awaited: Awaited, bytes: &[u8]) -> bool {
        if bytes.len() != self.look.unit() {
            return false;
        }
        let right = match &self.due {
            Due::Row(_) => self.look.grows(awaited.expected, bytes),
            Due::Words(words) => {
                // Before the block is gone through, which then does not wait for it.
                let due = words.load(awaited.block);
                let tag = self.look.number(bytes).map(|number| words.width().tag(number));
                tag == Some(due.tag()) && !due.is_mapped()
            }
        };
        self.right += u64::from(right);
        right
    }

    /// Reads that began here.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Blocks that were right.
    pub(super) fn right(&self) -> u64 {
        self.right
    }
}
