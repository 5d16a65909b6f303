//! Sizes by powers of two.

use results::model::SizeClass;

/// Counts of sizes, one class for each power of two.
#[derive(Debug, Clone)]
pub(super) struct Classes([(u64, u64); 64]);

impl Default for Classes {
    fn default() -> Self {
        Self([(0, 0); 64])
    }
}

impl Classes {
    /// Counts one thing of `size`, which has `bytes`.
    pub(super) fn add(&mut self, size: u64, bytes: u64) {
        if let Some(power) = size.checked_ilog2() {
            let class = &mut self.0[power as usize];
            *class = (class.0 + 1, class.1 + bytes);
        }
    }

    /// Returns the number of all things.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|class| class.0).sum()
    }

    /// Returns the bytes of all things.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|class| class.1).sum()
    }

    /// Returns the greatest power of two such that at least half of the bytes are in things of at least this size.
    pub(super) fn half_in(&self) -> Option<u64> {
        let all = self.bytes();
        let mut so_far = 0;
        let powers = (0..64).rev().filter(|_| all > 0);
        let mut reached = powers.skip_while(|&power| {
            so_far += self.0[power].1;
            so_far < all.div_ceil(2)
        });
        reached.next().map(|power| 1 << power)
    }

    /// Returns the classes that are not empty.
    pub(super) fn list(&self) -> Vec<SizeClass> {
        let classes = self.0.iter().enumerate().filter(|(_, class)| class.0 > 0);
        classes
            .map(|(power, &(count, bytes))| SizeClass { from: 1 << power, count, bytes })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_bytes_are_in_what_is_at_least_so_large() {
        let mut classes = Classes::default();
        assert_eq!((classes.half_in(), classes.list()), (None, vec![]));
        for size in [4096, 4096, 8191, 8192, 1 << 20] {
            classes.add(size, size);
        }
        assert_eq!(classes.half_in(), Some(1 << 20));
        (0..300).for_each(|_| classes.add(4096, 4096));
        assert_eq!((classes.half_in(), classes.count()), (Some(4096), 305));
        let first = SizeClass { from: 4096, count: 303, bytes: 4096 * 302 + 8191 };
        assert_eq!(classes.list()[0], first);
    }
}
