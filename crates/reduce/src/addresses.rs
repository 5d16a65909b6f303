//! A map of what each address holds, two bits each: set by the writers, read by the census.
//!
//! The census sees a sample of contents. It is not told when a sampled content is overwritten by a content outside the sample, but the writer marks
//! the address, and the census finds the mark.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of addresses in one word.
const EACH: u64 = 32;

/// The kind of block that an address holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AddressState {
    /// Nothing: it was never written, or was discarded since.
    Nothing = 0,
    /// A zero block.
    Zero = 1,
    /// A block that was not passed to the census.
    Data = 2,
    /// A block that was passed to the census.
    Sampled = 3,
}

/// Numbers of blocks that the addresses hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AddressCounts {
    /// Zero blocks.
    pub zeros: u64,
    /// All other blocks.
    pub data: u64,
}

/// The states of all addresses. Several threads may set them at once, without a lock.
#[derive(Debug, Default)]
pub struct Addresses {
    words: Box<[AtomicU64]>,
    /// Tells whether only one thread at a time sets states.
    alone: bool,
}

impl Addresses {
    /// Number of words that `addresses` addresses need.
    pub const fn words(addresses: u64) -> u64 {
        addresses.div_ceil(EACH)
    }

    /// A map over words that are all 0; `alone` tells that only one thread at a time sets states, which is cheaper.
    pub fn over(words: Box<[AtomicU64]>, alone: bool) -> Self {
        Self { words, alone }
    }

    /// Tells whether it has no addresses.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Sets what an address holds; an address beyond the end is ignored.
    #[inline]
    pub fn set(&self, address: u64, holds: AddressState) {
        let Some(word) = self.words.get((address / EACH) as usize) else { return };
        let at = 2 * (address % EACH);
        self.change(word, |held| held & !(3 << at) | (holds as u64) << at);
    }

    /// The word that [`Addresses::set`] changes for an address, to be prefetched.
    #[inline]
    pub fn word(&self, address: u64) -> Option<&AtomicU64> {
        self.words.get((address / EACH) as usize)
    }

    #[inline(always)]
    fn change(&self, word: &AtomicU64, new: impl Fn(u64) -> u64) {
        let mut held = word.load(Ordering::Relaxed);
        // Stored without testing for a change: such a branch would be unpredictable and wait for memory.
        if self.alone {
            return word.store(new(held), Ordering::Relaxed);
        }
        loop {
            let wanted = new(held);
            // Most overwrites replace a block by one of the same kind.
            if wanted == held {
                return;
            }
            let (order, otherwise) = (Ordering::Relaxed, Ordering::Relaxed);
            match word.compare_exchange_weak(held, wanted, order, otherwise) {
                Ok(_) => return,
                Err(now) => held = now,
            }
        }
    }

    /// Marks these addresses as holding nothing.
    pub fn empty(&self, addresses: Range<u64>) {
        let Range { mut start, end } = addresses;
        let end = end.min(self.words.len() as u64 * EACH);
        while start < end {
            let stop = end.min((start / EACH + 1) * EACH);
            let bits = 2 * (stop - start);
            let mask = (u64::MAX >> (64 - bits)) << (2 * (start % EACH));
            self.change(&self.words[(start / EACH) as usize], |held| held & !mask);
            start = stop;
        }
    }

    /// Returns what an address holds.
    #[inline]
    pub fn holds(&self, address: u64) -> AddressState {
        let word = self.words.get((address / EACH) as usize);
        let held = word.map_or(0, |word| word.load(Ordering::Relaxed));
        match held >> (2 * (address % EACH)) & 3 {
            0 => AddressState::Nothing,
            1 => AddressState::Zero,
            2 => AddressState::Data,
            _ => AddressState::Sampled,
        }
    }

    /// Returns the counts over all addresses.
    pub fn held(&self) -> AddressCounts {
        /// The lower bit of each address.
        const LOW: u64 = u64::MAX / 3;
        self.words.iter().fold(AddressCounts::default(), |sum, word| {
            let held = word.load(Ordering::Relaxed);
            let data = held >> 1 & LOW;
            AddressCounts {
                zeros: sum.zeros + u64::from((held & !data & LOW).count_ones()),
                data: sum.data + u64::from(data.count_ones()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(count: u64, alone: bool) -> Addresses {
        let words = (0..Addresses::words(count)).map(|_| AtomicU64::new(0)).collect();
        Addresses::over(words, alone)
    }

    proptest::proptest! {
        #[test]
        fn hold_what_was_told_last(
            changes in proptest::collection::vec((0u64..200, 0u64..80, 0u8..5), 0..200), alone: bool,
        ) {
            let all = addresses(200, alone);
            let mut naive = [AddressState::Nothing; 200];
            for (address, length, what) in changes {
                let holds = match what {
                    0 => AddressState::Nothing,
                    1 => AddressState::Zero,
                    2 => AddressState::Data,
                    3 => AddressState::Sampled,
                    _ => {
                        let end = (address + length).min(200);
                        all.empty(address..end);
                        naive[address as usize..end as usize].fill(AddressState::Nothing);
                        continue;
                    }
                };
                all.set(address, holds);
                naive[address as usize] = holds;
            }
            for (address, holds) in naive.iter().enumerate() {
                proptest::prop_assert_eq!(all.holds(address as u64), *holds);
            }
            let count = |what: &[AddressState]| naive.iter().filter(|h| what.contains(h)).count() as u64;
            let held = AddressCounts {
                zeros: count(&[AddressState::Zero]),
                data: count(&[AddressState::Data, AddressState::Sampled]),
            };
            proptest::prop_assert_eq!(all.held(), held);
        }
    }

    #[test]
    fn of_addresses_that_there_are_not_nothing_is_told() {
        let all = addresses(1, true);
        all.set(1 << 40, AddressState::Data);
        all.empty(0..u64::MAX);
        assert_eq!(all.holds(1 << 40), AddressState::Nothing);
        assert_eq!(all.held(), AddressCounts::default());
        assert!(Addresses::default().is_empty() && !all.is_empty());
    }

    #[test]
    fn threads_that_tell_of_neighbours_do_not_undo_each_other() {
        let all = addresses(64, false);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let all = &all;
                scope.spawn(move || {
                    for turn in 0..20_000u64 {
                        let address = thread + 4 * (turn % 16);
                        all.set(
                            address,
                            if turn % 3 == 0 { AddressState::Zero } else { AddressState::Data },
                        );
                        all.set(address, AddressState::Sampled);
                    }
                });
            }
        });
        assert_eq!(all.held(), AddressCounts { zeros: 0, data: 64 });
    }
}
