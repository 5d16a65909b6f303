//! The sizes of the I/Os of one operation.

use rustc_hash::FxHashMap;
use serde::Serialize;

/// Most different sizes that are counted; I/Os of further sizes count as others.
const MOST: usize = 4096;

/// I/Os of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SizeCount {
    /// The size in bytes; `null` for all further sizes together.
    pub bytes: Option<u64>,
    /// I/Os.
    pub ios: u64,
}

/// Counts sizes, in bounded memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sizes {
    counts: FxHashMap<u64, u64>,
    others: u64,
}

impl Sizes {
    pub fn add(&mut self, bytes: u64) {
        let full = self.counts.len() >= MOST;
        match self.counts.get_mut(&bytes) {
            Some(count) => *count += 1,
            None if full => self.others += 1,
            None => _ = self.counts.insert(bytes, 1),
        }
    }

    /// Returns the most frequent sizes, at most `most` of them, and then all others together.
    pub fn most_frequent(&self, most: usize) -> Vec<SizeCount> {
        let mut all: Vec<_> = self.counts.iter().map(|(bytes, ios)| (*ios, *bytes)).collect();
        all.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let rest = all.iter().skip(most).map(|(ios, _)| ios).sum::<u64>() + self.others;
        let shown = all.iter().take(most);
        let mut counts: Vec<_> =
            shown.map(|(ios, bytes)| SizeCount { bytes: Some(*bytes), ios: *ios }).collect();
        counts.extend((rest > 0).then_some(SizeCount { bytes: None, ios: rest }));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_sizes_come_first_and_no_io_is_lost() {
        let mut sizes = Sizes::default();
        (0..10).for_each(|_| sizes.add(4096));
        (0..20).for_each(|_| sizes.add(65536));
        (0..2 * MOST as u64).for_each(|step| sizes.add(512 * (step + 1000)));
        let shown = sizes.most_frequent(2);
        let of = |at: usize| (shown[at].bytes, shown[at].ios);
        assert_eq!((of(0), of(1)), ((Some(65536), 20), (Some(4096), 10)));
        assert_eq!(of(2), (None, 2 * MOST as u64));
        assert_eq!(sizes.counts.len(), MOST);
    }
}
