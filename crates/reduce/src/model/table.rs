//! The contents seen so far, in bounded memory: entries of 32 bytes in order of arrival, and a hash table (open addressing, 8 bytes per slot) of
//! their positions. A new content touches one cache line of the table and appends its entry.

use crate::prefetch;

/// log2 of the initial number of slots.
const SMALLEST_BITS: u32 = 12;
/// log2 of the largest number of slots: no more bits of a hash are stored.
const LARGEST_BITS: u32 = 32;
/// The largest sampling shift: one content in 2^24.
pub const MOST_SHIFT: u32 = 24;

/// The entry of one content. Aligned, so that no entry crosses a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(32))]
pub struct Entry {
    /// The content's name.
    pub name: u64,
    /// Number of distinct blocks that had been written when it was last written.
    pub last: u64,
    /// The chapter of its record in the index.
    pub chapter: u32,
    /// Number of times that it was written.
    pub copies: u32,
    /// Place of its last stored copy.
    pub place: u32,
    /// Mean of log2 of its distances, in units of 1/1024.
    pub distance: u16,
}

/// A slot of the hash table, which points to the entry of a content.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(8))]
struct Slot {
    hash: u32,
    /// The number of its entry, counted from 1; 0 in an empty slot.
    number: u32,
}

impl Slot {
    fn is_empty(self) -> bool {
        self.number == 0
    }

    fn index(self) -> usize {
        (self.number as usize).wrapping_sub(1)
    }
}

/// A hash table of contents that becomes a sample of them when it is full.
#[derive(Debug, Clone)]
pub struct Table {
    slots: Vec<Slot>,
    entries: Vec<Entry>,
    most_slots: usize,
    shift: u32,
}

/// Tells whether a content belongs to the sample of one in 2^`shift`.
#[inline]
pub fn sampled(name: u64, shift: u32) -> bool {
    name >> 5 & ((1 << shift) - 1) == 0
}

/// Returns the hash that determines where a name is looked up.
#[inline]
fn hash(name: u64) -> u32 {
    // The high bits of a product depend on all bits of the name.
    (name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// Most contents for this number of slots.
fn most_entries(slots: usize) -> usize {
    slots / 4 * 3
}

impl Table {
    /// A table of at most `memory_bytes`.
    pub fn new(memory_bytes: u64) -> Self {
        // A slot takes 8 bytes, and three quarters of an entry take 24; if the table cannot grow in place, the old and the new one exist side by
        // side.
        let slots = (memory_bytes / 48).max(1 << SMALLEST_BITS);
        let most_slots = 1usize << slots.ilog2().min(LARGEST_BITS);
        let (mut slots, mut entries) = (Vec::new(), Vec::new());
        // Reserves only address space, so that the table can grow without moving; if that fails, it moves.
        let _ = slots.try_reserve_exact(most_slots);
        let _ = entries.try_reserve_exact(most_entries(most_slots));
        slots.resize(1 << SMALLEST_BITS, Slot::default());
        Self { slots, entries, most_slots, shift: 0 }
    }

    /// The sample holds one content in 2^this.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// The contents in the sample.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the slot at which the look-up of a hash begins.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        (u64::from(hash) << 32 >> (64 - self.slots.len().ilog2())) as usize
    }

    /// Prefetches the slots of these names and those after them, where most look-ups end, then the entries found there: memory accesses run in
    /// parallel, and the look-ups that follow do not wait.
    #[inline]
    pub fn touch(&self, names: impl Iterator<Item = u64> + Clone) {
        let mask = self.slots.len() - 1;
        for name in names.clone() {
            let home = self.home(hash(name));
            prefetch(&self.slots[home & mask]);
            prefetch(&self.slots[(home + 3) & mask]);
        }
        for name in names {
            let hash = hash(name);
            let slot = self.slots[self.home(hash) & mask];
            if slot.hash == hash
                && let Some(entry) = self.entries.get(slot.index())
            {
                prefetch(entry);
            }
        }
    }

    /// Makes room for one more content. May raise the sampling shift.
    #[inline]
    pub fn reserve(&mut self) {
        while self.entries.len() >= most_entries(self.slots.len()) {
            self.make_room();
        }
    }

    /// The entry of a name in the sample; a new one (with no copies) if there was none. The caller must have called [`Table::reserve`] before, and
    /// ask only for names that [`sampled`] accepts.
    #[inline]
    pub fn entry(&mut self, name: u64) -> &mut Entry {
        let (mask, hash) = (self.slots.len() - 1, hash(name));
        let mut at = self.home(hash) & mask;
        let index = loop {
            let slot = self.slots[at];
            if slot.is_empty() {
                self.entries.push(Entry { name, ..Entry::default() });
                self.slots[at] = Slot { hash, number: self.entries.len() as u32 };
                break self.entries.len() - 1;
            }
            if slot.hash == hash && self.entries[slot.index()].name == name {
                break slot.index();
            }
            at = (at + 1) & mask;
        };
        &mut self.entries[index]
    }

    /// Finds the empty slot for a hash.
    #[inline]
    fn free(&self, hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.home(hash) & mask;
        while !self.slots[at].is_empty() {
            at = (at + 1) & mask;
        }
        at
    }

    fn make_room(&mut self) {
        if self.slots.len() < self.most_slots || self.shift == MOST_SHIFT {
            return self.double();
        }
        self.shift += 1;
        let shift = self.shift;
        self.entries.retain(|entry| sampled(entry.name, shift));
        self.slots.fill(Slot::default());
        for index in 0..self.entries.len() {
            let hash = hash(self.entries[index].name);
            let at = self.free(hash);
            self.slots[at] = Slot { hash, number: index as u32 + 1 };
        }
    }

    /// Doubles the slots in place, since each page of new memory costs as much as some look-ups.
    ///
    /// From the last slot backwards, each entry moves up to its new home, twice as far from the start. Entries whose new home lies among slots that
    /// have not been moved yet are inserted at the end.
    fn double(&mut self) {
        let before = self.slots.len();
        self.slots.resize(before * 2, Slot::default());
        let mut late = Vec::new();
        for at in (0..before).rev() {
            let slot = std::mem::take(&mut self.slots[at]);
            if slot.is_empty() {
                continue;
            }
            let to = self.free(slot.hash);
            if to >= self.home(slot.hash) && self.home(slot.hash) >= at {
                self.slots[to] = slot;
            } else {
                late.push(slot);
            }
        }
        for slot in late {
            let to = self.free(slot.hash);
            self.slots[to] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    #[test]
    fn a_full_table_keeps_the_copies_of_a_nested_sample() {
        assert_eq!((size_of::<Entry>(), size_of::<Slot>()), (32, 8));
        let mut table = Table::new(0);
        let mut rng = Seed(1).generator();
        let names: Vec<u64> = (0..50_000).map(|_| rng.next_u64() | 1).collect();
        for &name in names.iter().chain(&names) {
            table.reserve();
            if sampled(name, table.shift()) {
                table.entry(name).copies += 1;
            }
        }
        assert_eq!(table.slots.len(), 1 << SMALLEST_BITS);
        assert!(table.shift() >= 4, "{}", table.shift());
        let expected = names.iter().filter(|&&n| sampled(n, table.shift())).count();
        assert_eq!(table.entries().len(), expected);
        assert!(table.entries().iter().all(|entry| sampled(entry.name, table.shift())));
    }

    #[test]
    fn a_table_grows_to_its_memory_before_it_samples() {
        let mut table = Table::new(48 << 16);
        let mut rng = Seed(2).generator();
        let names: Vec<u64> = (0..40_000).map(|_| rng.next_u64() | 1).collect();
        for &name in &names {
            table.reserve();
            table.entry(name).copies += 1;
        }
        assert_eq!((table.shift(), table.entries().len()), (0, 40_000));
        assert_eq!(table.slots.len(), 1 << 16);
        assert!(names.iter().all(|&name| table.entry(name).copies == 1), "moved out of reach");
        assert_eq!(table.entries().len(), 40_000);
    }

    /// Names whose look-ups start near the beginning and the end of the table, so that they end far from there, even beyond the end.
    #[test]
    fn crowds_at_both_ends_of_a_table_stay_in_reach_when_it_grows() {
        // What the number for the place is multiplied by, and its inverse modulo 2^64.
        let inverse = (0..6).fold(1u64, |x, _| {
            x.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        });
        let mut table = Table::new(48 << 16);
        let placed = |product: u64| product.wrapping_mul(inverse);
        let names: Vec<u64> =
            (1..3000u64).map(|n| placed(if n % 3 == 0 { n } else { n.wrapping_neg() })).collect();
        for (n, &name) in names.iter().enumerate() {
            table.reserve();
            table.entry(name).last = n as u64 + 1;
        }
        let filler = (0..20_000u64).map(|n| placed(n << 49 | 1 << 40 | n));
        for name in filler {
            table.reserve();
            table.entry(name).copies += 1;
        }
        assert!(table.slots.len() > 1 << 14);
        for (n, &name) in names.iter().enumerate() {
            assert_eq!(table.entry(name).last, n as u64 + 1);
        }
        assert_eq!(table.entries().len(), names.len() + 20_000);
    }
}
