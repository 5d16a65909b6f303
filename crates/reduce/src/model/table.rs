//! The contents that were seen, in bounded memory: open addressing, 32 bytes each.

/// log2 of the slots to begin with.
const SMALLEST_BITS: u32 = 12;
/// The strictest sample: one content in 2^24.
pub const MOST_SHIFT: u32 = 24;

/// What is known of one content. Aligned, so that none lies across two lines of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(32))]
pub struct Entry {
    /// The content's name; 0 in an empty slot.
    pub name: u64,
    /// Distinct blocks that had been written when it was last written.
    pub last: u64,
    /// The chapter of its record in the index.
    pub chapter: u32,
    /// How often it was written.
    pub copies: u32,
    /// Where its last stored copy is.
    pub place: u32,
    /// Mean of log2 of its distances, in 1/1024.
    pub distance: u16,
}

/// A hash table of contents that becomes a sample of them when it is full.
#[derive(Debug, Clone)]
pub struct Table {
    slots: Vec<Entry>,
    held: usize,
    most_slots: usize,
    shift: u32,
}

/// Whether a content belongs to the sample of one in 2^`shift`.
#[inline]
pub fn sampled(name: u64, shift: u32) -> bool {
    name >> 5 & ((1 << shift) - 1) == 0
}

impl Table {
    /// A table of at most `memory_bytes`, what growing takes included.
    pub fn new(memory_bytes: u64) -> Self {
        // While it grows, the old half stands beside the new whole.
        let slots = (memory_bytes / 48).max(1 << SMALLEST_BITS);
        let most_slots = 1usize << slots.ilog2().min(40);
        let mut slots = Vec::new();
        // Addresses alone, no memory, so that it never has to move; where there are not enough it moves.
        let _ = slots.try_reserve_exact(most_slots);
        slots.resize(1 << SMALLEST_BITS, Entry::default());
        Self { slots, held: 0, most_slots, shift: 0 }
    }

    /// The sample holds one content in 2^this.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// All slots, empty ones among them.
    pub fn slots(&self) -> &[Entry] {
        &self.slots
    }

    /// The contents in the sample.
    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.slots.iter().filter(|entry| entry.name != 0)
    }

    /// Where looking for a name begins.
    #[inline]
    fn home(&self, name: u64) -> usize {
        // The high bits of a product depend on all bits of the name.
        (name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.slots.len().ilog2())) as usize
    }

    /// Reads the slots of these names and the next lines of the cache, where most look-ups end, all at once: memory answers in
    /// parallel, and the look-ups that follow do not wait.
    #[inline]
    pub fn touch(&self, names: impl Iterator<Item = u64>) -> u64 {
        let mask = self.slots.len() - 1;
        names.fold(0, |sum, name| {
            let home = self.home(name);
            sum ^ self.slots[home & mask].name ^ self.slots[(home + 2) & mask].name
        })
    }

    /// Makes room for one more. May tighten the sample.
    #[inline]
    pub fn reserve(&mut self) {
        while self.held * 4 >= self.slots.len() * 3 {
            self.make_room();
        }
    }

    /// The entry of a name in the sample, new (with no copies) when there was none. The caller asks only after
    /// [`Table::reserve`], and for names that [`sampled`] lets pass.
    #[inline]
    pub fn entry(&mut self, name: u64) -> &mut Entry {
        let at = self.find(name);
        if self.slots[at].name == 0 {
            self.slots[at].name = name;
            self.held += 1;
        }
        &mut self.slots[at]
    }

    #[inline]
    fn find(&self, name: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.home(name) & mask;
        while self.slots[at].name != name && self.slots[at].name != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    fn make_room(&mut self) {
        if self.slots.len() < self.most_slots || self.shift == MOST_SHIFT {
            return self.double();
        }
        self.shift += 1;
        // In place: what stays is put into a list of at most half the size first.
        let shift = self.shift;
        let stay = |entry: &&Entry| sampled(entry.name, shift);
        let kept: Vec<Entry> = self.entries().filter(stay).copied().collect();
        self.slots.fill(Entry::default());
        self.held = 0;
        self.refill(&kept);
    }

    /// Twice the slots, in the memory that is there and as much again: each page of new memory costs as much as some look-ups.
    ///
    /// From the last slot on, each entry moves up to where it is looked for now, twice as far from the beginning. What would come
    /// among those that have not moved yet, as some of the first do, is put in when all have.
    fn double(&mut self) {
        let before = self.slots.len();
        self.slots.resize(before * 2, Entry::default());
        let mut late = Vec::new();
        for at in (0..before).rev() {
            let entry = std::mem::take(&mut self.slots[at]);
            if entry.name == 0 {
                continue;
            }
            let to = self.find(entry.name);
            if to >= self.home(entry.name) && self.home(entry.name) >= at {
                self.slots[to] = entry;
            } else {
                late.push(entry);
            }
        }
        self.held -= late.len();
        self.refill(&late);
    }

    /// Puts entries in.
    fn refill(&mut self, entries: &[Entry]) {
        for entry in entries {
            let at = self.find(entry.name);
            self.slots[at] = *entry;
            self.held += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    #[test]
    fn a_full_table_keeps_the_copies_of_a_nested_sample() {
        assert_eq!(size_of::<Entry>(), 32);
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
        assert_eq!(table.entries().count(), expected);
        assert!(table.entries().all(|entry| sampled(entry.name, table.shift())));
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
        assert_eq!((table.shift(), table.entries().count()), (0, 40_000));
        assert_eq!(table.slots.len(), 1 << 16);
        assert!(names.iter().all(|&name| table.entry(name).copies == 1), "moved out of reach");
        assert_eq!(table.entries().count(), 40_000);
    }

    /// Names that are looked for at the beginning and at the end, so that they stand far from there and beyond the end.
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
        assert_eq!(table.entries().count(), table.held);
    }
}
