//! Pages of the block map in memory: all but the leaves, and as many leaves as the cache has room for.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::block::{Lbn, Pbn};
use crate::core::stats::MapStats;
use crate::core::vio::Vio;
use crate::format::{ENTRIES, Mapping, Page, PageKey};

/// Pages between the roots and the leaves, roots included, with their places.
pub(crate) type Interior = FxHashMap<PageKey, (Page, Pbn)>;

struct Leaf {
    page: Page,
    pbn: Pbn,
    /// Entries on their way through the journal.
    pins: u32,
    used: u64,
}

/// A step that the cache needs.
pub(crate) enum Need {
    /// A leaf is to be read.
    Load(PageKey, Pbn),
    /// A leaf is to be written, so that it can go.
    Save(PageKey),
}

/// Pages in memory.
pub(crate) struct Cache {
    interior: Interior,
    leaves: FxHashMap<PageKey, Leaf>,
    /// Leaves by their last use.
    order: BTreeMap<u64, PageKey>,
    clock: u64,
    capacity: usize,
    loading: FxHashSet<PageKey>,
    /// Leaves that have no room yet.
    wanted: VecDeque<PageKey>,
    waiting: FxHashMap<PageKey, Vec<Box<Vio>>>,
    pub stats: MapStats,
}

impl Cache {
    pub fn new(interior: Interior, capacity: usize) -> Self {
        Self {
            interior,
            leaves: FxHashMap::default(),
            order: BTreeMap::new(),
            clock: 0,
            capacity: capacity.max(2),
            loading: FxHashSet::default(),
            wanted: VecDeque::new(),
            waiting: FxHashMap::default(),
            stats: MapStats::default(),
        }
    }

    /// The place of a page on the device, if it is linked.
    pub fn place(&self, key: PageKey) -> Option<Pbn> {
        self.interior.get(&key.parent()).and_then(|(page, _)| page.get(key.slot()).block())
    }

    /// Pages that a leaf lacks, from the top down.
    pub fn missing(&self, leaf: PageKey) -> Vec<PageKey> {
        let mut missing = Vec::new();
        let mut key = leaf;
        while !key.is_root() && self.place(key).is_none() {
            missing.push(key);
            key = key.parent();
        }
        missing.reverse();
        missing
    }

    /// The mapping of a block, when its leaf is in memory.
    pub fn get(&mut self, lbn: Lbn) -> Option<Mapping> {
        let key = PageKey::leaf(lbn);
        self.clock += 1;
        let leaf = self.leaves.get_mut(&key)?;
        self.order.remove(&leaf.used);
        leaf.used = self.clock;
        self.order.insert(self.clock, key);
        Some(leaf.page.get(slot(lbn)))
    }

    /// Keeps the leaf of a block in memory until its entry is committed.
    pub fn pin(&mut self, lbn: Lbn) {
        if let Some(leaf) = self.leaves.get_mut(&PageKey::leaf(lbn)) {
            leaf.pins += 1;
        }
    }

    /// Sets a mapping whose entry is committed.
    pub fn set(&mut self, lbn: Lbn, mapping: Mapping) {
        if let Some(leaf) = self.leaves.get_mut(&PageKey::leaf(lbn)) {
            leaf.page.set(slot(lbn), mapping);
            leaf.pins -= 1;
        }
    }

    /// Links a new page into its parent.
    pub fn link(&mut self, key: PageKey, page: Page, pbn: Pbn) {
        self.stats.pages_made += 1;
        if let Some((parent, _)) = self.interior.get_mut(&key.parent()) {
            parent.set(key.slot(), Mapping::whole(pbn));
        }
        if key.level > 0 {
            self.interior.insert(key, (page, pbn));
        } else if self.leaves.len() + self.loading.len() < self.capacity {
            self.insert(key, page, pbn);
        }
    }

    /// Puts a leaf that was read into memory; returns the requests that wait for it.
    pub fn loaded(&mut self, key: PageKey, page: Option<Page>) -> Vec<Box<Vio>> {
        self.loading.remove(&key);
        if let Some((page, pbn)) = page.zip(self.place(key)) {
            self.stats.pages_loaded += 1;
            self.insert(key, page, pbn);
        }
        self.waiting.remove(&key).unwrap_or_default()
    }

    fn insert(&mut self, key: PageKey, page: Page, pbn: Pbn) {
        self.clock += 1;
        self.order.insert(self.clock, key);
        self.leaves.insert(key, Leaf { page, pbn, pins: 0, used: self.clock });
        self.stats.pages_cached = self.leaves.len() as u64;
    }

    /// Lets a request wait for a leaf.
    pub fn wait(&mut self, key: PageKey, vio: Box<Vio>) {
        let waiting = self.waiting.entry(key).or_default();
        if waiting.is_empty() && !self.loading.contains(&key) {
            self.wanted.push_back(key);
        }
        waiting.push(vio);
    }

    /// Returns the steps that bring in the leaves that requests wait for. Leaves that are `dirty` or `saving` cannot simply be dropped.
    pub fn needs(
        &mut self,
        dirty: impl Fn(PageKey) -> bool,
        saving: impl Fn(PageKey) -> bool,
    ) -> Vec<Need> {
        let mut needs = Vec::new();
        let mut victims = Vec::new();
        let free = self.capacity.saturating_sub(self.leaves.len() + self.loading.len());
        let lacking = self.wanted.len().saturating_sub(free);
        let old = self
            .order
            .iter()
            .filter(|(_, key)| self.leaves.get(key).is_some_and(|leaf| leaf.pins == 0));
        for (used, key) in old.take(lacking) {
            match (dirty(*key), saving(*key)) {
                (false, false) => victims.push((*used, *key)),
                (true, false) => needs.push(Need::Save(*key)),
                _ => {}
            }
        }
        for (used, key) in victims {
            self.order.remove(&used);
            self.leaves.remove(&key);
        }
        while self.leaves.len() + self.loading.len() < self.capacity {
            let Some(key) = self.wanted.pop_front() else { break };
            if let Some(pbn) = self.place(key) {
                self.loading.insert(key);
                needs.push(Need::Load(key, pbn));
            }
        }
        needs
    }

    /// Gives up the leaves that have no room; returns the requests that wait for them.
    pub fn give_up(&mut self) -> Vec<Box<Vio>> {
        let wanted = std::mem::take(&mut self.wanted);
        wanted.into_iter().filter_map(|key| self.waiting.remove(&key)).flatten().collect()
    }

    /// A page and its place, to be written.
    pub fn page(&self, key: PageKey) -> Option<(&Page, Pbn)> {
        match key.level {
            0 => self.leaves.get(&key).map(|leaf| (&leaf.page, leaf.pbn)),
            _ => self.interior.get(&key).map(|(page, pbn)| (page, *pbn)),
        }
    }
}

fn slot(lbn: Lbn) -> usize {
    (lbn % ENTRIES as u64) as usize
}
