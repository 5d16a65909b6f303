//! A filter for chunks that are followed although they are not in the sample, so that most other chunks need no table lookup.

/// Bits of the filter for each chunk.
const BITS: usize = 16;

/// A set of hashes that never misses one that is in it, but may also report others.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    words: Vec<u64>,
}

impl Kept {
    /// Creates the filter for these hashes.
    pub(super) fn of(hashes: impl Iterator<Item = u64> + Clone) -> Self {
        let count = hashes.clone().count();
        if count == 0 {
            return Self::default();
        }
        let mut kept = Self { words: vec![0; (count * BITS / 64).next_power_of_two()] };
        for mixed in hashes {
            let (word, bit) = kept.place(mixed);
            kept.words[word] |= bit;
        }
        kept
    }

    /// Returns the place of a hash, by its upper bits: the lowest ones decide on the sample.
    fn place(&self, mixed: u64) -> (usize, u64) {
        ((mixed >> 32) as usize & (self.words.len() - 1), 1 << (mixed >> 26 & 63))
    }

    /// Tells whether a hash may be among them.
    #[inline]
    pub(super) fn may_hold(&self, mixed: u64) -> bool {
        if self.words.is_empty() {
            return false;
        }
        let (word, bit) = self.place(mixed);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_missed_and_few_others_are_held() {
        let mixed = |at: u64| super::super::hash(at);
        let kept = Kept::of((0..1000).map(mixed));
        assert!((0..1000).all(|at| kept.may_hold(mixed(at))));
        let others = (1000..11_000).filter(|at| kept.may_hold(mixed(*at))).count();
        assert!(others < 1500, "{others}");
        assert!(!Kept::of(std::iter::empty()).may_hold(7));
    }
}
