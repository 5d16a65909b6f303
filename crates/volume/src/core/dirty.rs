//! Records in memory that are newer than on the device, and the oldest journal block that each needs.

use std::collections::BTreeSet;
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Dirty records, and those that are being written.
#[derive(Debug)]
pub(crate) struct Dirty<K> {
    since: FxHashMap<K, u64>,
    order: BTreeSet<(u64, K)>,
    saving: FxHashMap<K, u64>,
}

impl<K> Default for Dirty<K> {
    fn default() -> Self {
        Self { since: FxHashMap::default(), order: BTreeSet::new(), saving: FxHashMap::default() }
    }
}

impl<K: Copy + Ord + Hash> Dirty<K> {
    /// Notes that a record has an entry of journal block `seq`.
    pub fn mark(&mut self, key: K, seq: u64) {
        self.since.entry(key).or_insert_with(|| {
            self.order.insert((seq, key));
            seq
        });
    }

    /// Notes that a record is about to be written as it is now.
    pub fn take(&mut self, key: K) {
        if let Some(seq) = self.since.remove(&key) {
            self.order.remove(&(seq, key));
            self.saving.insert(key, seq);
        }
    }

    /// Notes that a written record is safe.
    pub fn saved(&mut self, key: K) {
        self.saving.remove(&key);
    }

    /// Sequence number of the oldest journal block that is needed.
    pub fn oldest(&self) -> Option<u64> {
        let waiting = self.order.first().map(|(seq, _)| *seq);
        waiting.into_iter().chain(self.saving.values().copied()).min()
    }

    /// Tells if a record is dirty.
    pub fn is_dirty(&self, key: K) -> bool {
        self.since.contains_key(&key)
    }

    /// Tells if a record is being written.
    pub fn is_saving(&self, key: K) -> bool {
        self.saving.contains_key(&key)
    }

    /// Dirty records that need journal blocks before `upto`, the oldest first, at most `most`.
    pub fn before(&self, upto: u64, most: usize) -> Vec<K> {
        let older = self.order.iter().take_while(|(seq, _)| *seq < upto);
        older.take(most).map(|(_, key)| *key).collect()
    }
}
