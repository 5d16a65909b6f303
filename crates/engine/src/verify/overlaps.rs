//! The list of blocks with overlapping writes, in shards with a lock each.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::overlap::Overlap;

/// Number of blocks above which a shard is full.
const MAX_SHARD_BLOCKS: usize = 4096;
const SHARDS: usize = 64;
/// Blocks that a shard reserves memory for, in a load that reads while it writes.
const READY: usize = 64;

/// All shards of a target.
pub(crate) struct Overlaps(Box<[Mutex<Shard>]>);

/// A part of the list, with spare entries, so that a running load allocates nothing.
#[derive(Default)]
pub(crate) struct Shard {
    blocks: HashMap<usize, Overlap>,
    spare: Vec<Overlap>,
}

impl Overlaps {
    /// An empty list with reserved memory.
    pub(crate) fn ready() -> Self {
        let shard = || {
            let spare = (0..READY).map(|_| Overlap::spare()).collect();
            Shard { blocks: HashMap::with_capacity(READY), spare }
        };
        Self((0..SHARDS).map(|_| Mutex::new(shard())).collect())
    }

    /// An empty list without reserved memory.
    pub(crate) fn few() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }

    /// The shard of `block`.
    pub(crate) fn shard(&self, block: usize) -> MutexGuard<'_, Shard> {
        lock(&self.0[block % SHARDS])
    }

    /// Returns the results of `of_block` for the blocks of the list.
    pub(crate) fn map<T>(&self, mut of_block: impl FnMut(usize, &Overlap) -> Option<T>) -> Vec<T> {
        let mut all = Vec::new();
        for shard in &self.0 {
            let shard = lock(shard);
            all.extend(
                shard.blocks.iter().filter_map(|(&block, overlap)| of_block(block, overlap)),
            );
        }
        all
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shard {
    /// Tells whether it has too many blocks.
    pub(crate) fn is_full(&self) -> bool {
        self.blocks.len() > MAX_SHARD_BLOCKS
    }

    /// The entry of `block`, if there is one.
    pub(crate) fn get(&self, block: usize) -> Option<&Overlap> {
        self.blocks.get(&block)
    }

    /// The overlap of a block, mutable.
    pub(crate) fn get_mut(&mut self, block: usize) -> Option<&mut Overlap> {
        self.blocks.get_mut(&block)
    }

    /// The entry of `block`; a new one, to be started by the caller, if there was none.
    pub(crate) fn enter(&mut self, block: usize) -> &mut Overlap {
        self.blocks.entry(block).or_insert_with(|| self.spare.pop().unwrap_or_else(Overlap::spare))
    }

    /// Puts in an entry for `block`.
    pub(crate) fn insert(&mut self, block: usize, overlap: Overlap) {
        self.blocks.insert(block, overlap);
    }

    /// Removes the entry of `block`.
    pub(crate) fn remove(&mut self, block: usize) {
        if let Some(overlap) = self.blocks.remove(&block)
            && self.spare.len() < READY
        {
            self.spare.push(overlap);
        }
    }
}
