//! The usual look at a block, with all that it takes in one place.
//!
//! A block has just been read, so that most of what the program knows has left the nearest cache; each pointer from one thing to
//! the next is then waited for. Nothing here is believed to be wrong: what is not plainly right is looked at the long way.

use content::{Look, Root};

use super::known::Row;
use super::verifier::Verifier;

/// How a hand that only reads looks at whole blocks of the one target of a load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quick {
    look: Look,
    /// What was written in a row; else the table says what a block must hold.
    row: Option<Row>,
}

impl Quick {
    /// `None` where the blocks have to be looked at the long way.
    pub(super) fn of(verifier: &Verifier) -> Option<Self> {
        let [area] = &verifier.targets[..] else { return None };
        let quick = match area.table.cells.as_known() {
            Some(known) => {
                let (row, look) = known.row()?;
                Self { look, row: Some(row) }
            }
            None => Self { look: verifier.makers.look()?, row: None },
        };
        (quick.look.unit() == verifier.unit()).then_some(quick)
    }

    /// What is known of block number `block` of the target, `offset` bytes from its start, before it is read: what it must grow
    /// from, if that follows from what was written; else what the table knows is fetched meanwhile.
    #[inline]
    pub(super) fn expect(&self, verifier: &Verifier, block: usize, offset: u64) -> Root {
        match &self.row {
            Some(row) => row.id_at(offset).map_or_else(Root::default, Root::of),
            None => {
                verifier.targets[0].table.expect(block);
                Root::default()
            }
        }
    }

    /// Whether that block plainly holds what it must, now that it was read: `bytes`.
    #[inline]
    pub(super) fn is_right(
        &self,
        verifier: &Verifier,
        block: usize,
        expected: Root,
        bytes: &[u8],
    ) -> bool {
        if bytes.len() != self.look.unit() {
            return false;
        }
        if self.row.is_some() {
            return self.look.grows(expected, bytes);
        }
        let table = &verifier.targets[0].table;
        // Before the block is gone through, which then does not wait for it.
        let due = table.cells.load(block);
        self.look.number(bytes).is_some_and(|number| table.is(due, table.cells.tag_of(number)))
    }
}
