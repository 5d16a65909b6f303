//! Free blocks. A block has a reference count (durable references) and pins (requests under way); it is free if both are 0.
//! `number` is the index of a data block, as in [`Geometry::number`].

use rustc_hash::FxHashMap;

use crate::core::stats::SpaceStats;
use crate::format::{Geometry, MAP_PAGE};

/// Counts, pins, and the choice of slabs.
pub(crate) struct Space {
    geometry: Geometry,
    limit: u32,
    counts: Vec<u8>,
    pins: FxHashMap<usize, u32>,
    /// Free blocks of each slab.
    free: Vec<u64>,
    /// Slabs that were ever opened.
    opened: Vec<bool>,
    /// The open slab and the next place in it.
    cursor: Option<(usize, u64)>,
    pub stats: SpaceStats,
}

impl Space {
    pub fn new(geometry: Geometry, counts: Vec<u8>, limit: u8) -> Self {
        let per_slab = geometry.data_blocks as usize;
        let free = |slab: &[u8]| slab.iter().filter(|count| **count == 0).count() as u64;
        let free: Vec<u64> = counts.chunks(per_slab).map(free).collect();
        let opened = free.iter().map(|free| *free < geometry.data_blocks).collect();
        let mut stats = SpaceStats::default();
        for count in &counts {
            match *count {
                0 => {}
                MAP_PAGE => stats.map_blocks += 1,
                _ => stats.data_blocks += 1,
            }
        }
        let (limit, pins) = (u32::from(limit.clamp(2, 254)), FxHashMap::default());
        Self { geometry, limit, counts, pins, free, opened, cursor: None, stats }
    }

    /// Adds slabs that were never opened. Returns the range of the new count blocks, which store reference counts, numbered over the whole volume.
    pub fn grow(&mut self, geometry: Geometry) -> std::ops::Range<u64> {
        let new = self.geometry.count_total()..geometry.count_total();
        self.counts.resize(geometry.data_total() as usize, 0);
        self.free.resize(geometry.slabs as usize, geometry.data_blocks);
        self.opened.resize(geometry.slabs as usize, false);
        self.geometry = geometry;
        new
    }

    pub fn count(&self, number: usize) -> u8 {
        self.counts.get(number).copied().unwrap_or(0)
    }

    fn pins(&self, number: usize) -> u32 {
        self.pins.get(&number).copied().unwrap_or(0)
    }

    pub fn is_free(&self, number: usize) -> bool {
        self.count(number) == 0 && self.pins(number) == 0
    }

    /// Tells if one more reference may be promised.
    pub fn may_share(&self, number: usize) -> bool {
        let count = self.count(number);
        count != MAP_PAGE && u32::from(count) + self.pins(number) < self.limit
    }

    pub fn pin(&mut self, number: usize) {
        self.change(number, |_, pins| *pins += 1);
    }

    pub fn unpin(&mut self, number: usize) {
        self.change(number, |_, pins| *pins = pins.saturating_sub(1));
    }

    pub fn set_count(&mut self, number: usize, count: u8) {
        self.change(number, |counted, _| *counted = count);
    }

    pub fn refer(&mut self, number: usize) {
        self.change(number, |count, _| *count = count.saturating_add(1).min(MAP_PAGE - 1));
    }

    pub fn forget(&mut self, number: usize) {
        self.change(number, |count, _| {
            *count = if *count == MAP_PAGE { MAP_PAGE } else { count.saturating_sub(1) };
        });
    }

    fn change(&mut self, number: usize, act: impl FnOnce(&mut u8, &mut u32)) {
        if number >= self.counts.len() {
            return;
        }
        let (was_free, before) = (self.is_free(number), self.counts[number]);
        let mut pins = self.pins(number);
        act(&mut self.counts[number], &mut pins);
        match pins {
            0 => _ = self.pins.remove(&number),
            pins => _ = self.pins.insert(number, pins),
        }
        let slab = number / self.geometry.data_blocks as usize;
        match (was_free, self.is_free(number)) {
            (true, false) => self.free[slab] -= 1,
            (false, true) => self.free[slab] += 1,
            _ => {}
        }
        let data = |count: u8| u64::from(count != 0 && count != MAP_PAGE);
        let map = |count: u8| u64::from(count == MAP_PAGE);
        let after = self.counts[number];
        self.stats.data_blocks = self.stats.data_blocks + data(after) - data(before);
        self.stats.map_blocks = self.stats.map_blocks + map(after) - map(before);
    }

    /// Pins a free block.
    pub fn allocate(&mut self) -> Option<usize> {
        loop {
            let (slab, place) = match self.cursor {
                Some(cursor) => cursor,
                None => (self.open()?, 0),
            };
            let first = slab * self.geometry.data_blocks as usize;
            let free =
                (place..self.geometry.data_blocks).find(|at| self.is_free(first + *at as usize));
            let Some(at) = free.filter(|_| self.free[slab] > 0) else {
                self.cursor = None;
                continue;
            };
            self.cursor = Some((slab, at + 1));
            self.pin(first + at as usize);
            return Some(first + at as usize);
        }
    }

    /// Opens a slab as VDO does: a used one with about half of it free, else an untouched one, else the one with most free blocks.
    fn open(&mut self) -> Option<usize> {
        let enough = 1 << (3 * self.geometry.data_blocks / 4).max(1).ilog2();
        let most = |opened: bool| {
            let slabs = (0..self.free.len()).rev().filter(|slab| self.opened[*slab] == opened);
            slabs.max_by_key(|slab| self.free[*slab])
        };
        let (used, untouched) = (most(true), most(false));
        let used = used.filter(|slab| self.free[*slab] > 0);
        let slab = used.filter(|slab| self.free[*slab] >= enough).or(untouched).or(used)?;
        if self.free[slab] == 0 {
            return None;
        }
        match self.opened[slab] {
            true => self.stats.slabs_reopened += 1,
            false => self.stats.slabs_opened += 1,
        }
        self.opened[slab] = true;
        Some(slab)
    }

    /// The counts of these blocks.
    pub fn counts(&self, numbers: std::ops::Range<usize>) -> &[u8] {
        self.counts.get(numbers).unwrap_or_default()
    }
}
