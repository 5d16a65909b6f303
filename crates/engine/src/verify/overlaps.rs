//! The list of blocks that several writes went to at once, in shards with a lock each.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::overlap::Overlap;

/// Blocks that may stand in one shard.
const MOST: usize = 4096;
const SHARDS: usize = 64;
/// Blocks that a shard has memory for from the start, where writes are many.
const READY: usize = 64;

/// All shards of a target.
pub(crate) struct Overlaps(Box<[Mutex<Shard>]>);

/// A part of the list, with memory for more of them: a load that runs asks for none.
#[derive(Default)]
pub(crate) struct Shard {
    blocks: HashMap<usize, Overlap>,
    spare: Vec<Overlap>,
}

impl Overlaps {
    /// Nothing so far, with memory for more.
    pub(crate) fn ready() -> Self {
        let shard = || {
            let spare = (0..READY).map(|_| Overlap::spare()).collect();
            Shard { blocks: HashMap::with_capacity(READY), spare }
        };
        Self((0..SHARDS).map(|_| Mutex::new(shard())).collect())
    }

    /// Nothing so far, where little is to come.
    pub(crate) fn few() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }

    /// The shard of `block`.
    pub(crate) fn of(&self, block: usize) -> MutexGuard<'_, Shard> {
        lock(&self.0[block % SHARDS])
    }

    /// What `of_block` says of each block that stands there.
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
    /// Whether more stands there than should.
    pub(crate) fn is_full(&self) -> bool {
        self.blocks.len() > MOST
    }

    /// What is known of `block`, if anything is.
    pub(crate) fn get(&self, block: usize) -> Option<&Overlap> {
        self.blocks.get(&block)
    }

    /// The same, to go on with.
    pub(crate) fn get_mut(&mut self, block: usize) -> Option<&mut Overlap> {
        self.blocks.get_mut(&block)
    }

    /// What is known of `block`; something to be begun when nothing was.
    pub(crate) fn enter(&mut self, block: usize) -> &mut Overlap {
        self.blocks.entry(block).or_insert_with(|| self.spare.pop().unwrap_or_else(Overlap::spare))
    }

    /// `overlap` is what is known of `block`.
    pub(crate) fn insert(&mut self, block: usize, overlap: Overlap) {
        self.blocks.insert(block, overlap);
    }

    /// Nothing has to be known of `block` any more.
    pub(crate) fn remove(&mut self, block: usize) {
        if let Some(overlap) = self.blocks.remove(&block)
            && self.spare.len() < READY
        {
            self.spare.push(overlap);
        }
    }
}
