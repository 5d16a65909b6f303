//! A set of small numbers, with one bit for each.

/// A set of numbers below a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Box<[u64]>,
    /// The bound.
    len: u32,
    count: u32,
}

impl Bits {
    /// The empty set of numbers below `len`.
    pub(crate) fn new(len: u32) -> Self {
        Self { words: vec![0; (len as usize).div_ceil(64)].into(), len, count: 0 }
    }

    /// Number of elements.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The bound: numbers below it can be in the set.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) fn has(&self, at: u32) -> bool {
        self.words[at as usize / 64] >> (at % 64) & 1 == 1
    }

    #[inline]
    pub(crate) fn prefetch(&self, at: u32) {
        self.words.get(at as usize / 64).into_iter().for_each(reduce::prefetch);
    }

    /// Adds a number to the set, or removes it (with `there` false).
    #[inline]
    pub(crate) fn set(&mut self, at: u32, there: bool) {
        let word = &mut self.words[at as usize / 64];
        let bit = 1 << (at % 64);
        let was = *word & bit != 0;
        *word = if there { *word | bit } else { *word & !bit };
        self.count = self.count + u32::from(there) - u32::from(was);
    }

    /// Tells whether any number is in the set (or, with `there` false, is missing from it).
    pub(crate) fn any(&self, there: bool) -> bool {
        if there { self.count > 0 } else { self.count < self.len }
    }

    /// The next number from `from` on that is in the set (or, with `there` false, is missing from it), continuing at 0 after the last number.
    pub(crate) fn next(&self, from: u32, there: bool) -> Option<u32> {
        if !self.any(there) {
            return None;
        }
        let words = self.words.len();
        let start = from as usize / 64;
        (0..=words).find_map(|step| {
            let at = (start + step) % words;
            let mut word = if there { self.words[at] } else { !self.words[at] };
            if step == 0 {
                word &= u64::MAX << (from % 64);
            }
            let found = at as u32 * 64 + word.trailing_zeros();
            (word != 0 && found < self.len).then_some(found)
        })
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        self.words.len() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_from_anywhere_and_counted() {
        for len in [1, 63, 64, 65, 200] {
            let mut bits = Bits::new(len);
            assert_eq!((bits.next(0, true), bits.next(len - 1, false)), (None, Some(len - 1)));
            bits.set(len / 2, true);
            bits.set(len / 2, true);
            assert_eq!(bits.count(), 1);
            assert!((0..len).all(|from| bits.next(from, true) == Some(len / 2)));
            (0..len).for_each(|at| bits.set(at, true));
            assert_eq!((bits.count(), bits.next(0, false)), (len, None));
            bits.set(0, false);
            assert!((0..len).all(|from| bits.next(from, false) == Some(0)));
            assert!(!bits.has(0));
        }
    }
}
