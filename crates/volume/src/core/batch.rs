//! Discards whose blocks go through the journal together, instead of one after the other.

use rustc_hash::FxHashMap;

use crate::core::vio::Vio;

/// Blocks of discards under way, by the discard's number.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    open: FxHashMap<u64, usize>,
    /// Discards that have come to their end, and wait for their blocks.
    parents: FxHashMap<u64, Box<Vio>>,
}

impl Batches {
    /// Notes that a block of a discard goes on by itself.
    pub fn begin(&mut self, discard: u64) {
        *self.open.entry(discard).or_default() += 1;
    }

    /// Ends a discard's own walk. Returns the discard if none of its blocks is under way any more; otherwise it waits for them.
    pub fn walked(&mut self, vio: Box<Vio>) -> Option<Box<Vio>> {
        if !self.open.contains_key(&vio.id) {
            return Some(vio);
        }
        self.parents.insert(vio.id, vio);
        None
    }

    /// Ends a block of a discard. Returns the discard if it waited for this block only.
    pub fn ended(&mut self, discard: u64) -> Option<Box<Vio>> {
        let left = self.open.get_mut(&discard)?;
        *left -= 1;
        if *left > 0 {
            return None;
        }
        self.open.remove(&discard);
        self.parents.remove(&discard)
    }
}
