//! Chooses the contents that come again at once, while VDO's packer may still hold them.
//!
//! The packer gives up a fragment whose content comes again, so its saving depends on the number and the sizes of such contents. They are picked
//! among pairs of a new block and the duplicate right after it, so that none comes too late at any share of duplicates: with more new blocks than
//! duplicates each duplicate is in a separate pair, otherwise each new block is. All other contents, and all other duplicates, are numbered
//! separately, without these.

use units::Seed;

use crate::shares::Shares;
use crate::strata::{STRATUM, Strata};

/// A content or a duplicate, as it is numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbered {
    /// One of a near pair.
    Near(u64),
    /// One of the others.
    Other(u64),
}

/// The choice of the pairs, each of a new block and the duplicate right behind it, that are near.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Near {
    shares: Shares,
    /// Tells whether every new block is in a pair; otherwise every duplicate is.
    of_contents: bool,
    /// Number of near pairs among the first n of 4096 pairs, for each n from 0.
    before: Vec<u16>,
    /// The near ones among 4096 pairs, by number.
    places: Vec<u16>,
}

impl Near {
    /// Chooses `per_new` near pairs for each new block, or all pairs where there are fewer.
    pub fn new(shares: Shares, per_new: f64) -> Self {
        let pairs = shares.again_per_new().min(1.0);
        let near = if pairs > 0.0 { (STRATUM as f64 * per_new / pairs).round() as u64 } else { 0 };
        // Not by the seed: sizes are the same for all targets.
        let strata = Strata::new(Seed(0).derive("near contents"));
        let places = (0..STRATUM).filter(|&pair| strata.at(pair) < near);
        let places: Vec<_> = places.map(|pair| pair as u16).collect();
        let before = (0..=STRATUM).map(|n| places.partition_point(|&p| u64::from(p) < n) as u16);
        let of_contents = shares.again_per_new() >= 1.0;
        Self { shares, of_contents, before: before.collect(), places }
    }

    /// Tells whether there are no near contents.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Near contents for each new block.
    pub fn per_new(&self) -> f64 {
        let pairs = self.shares.again_per_new().min(1.0);
        pairs * self.places.len() as f64 / STRATUM as f64
    }

    /// Near pairs among the first `pairs`.
    fn among(&self, pairs: u64) -> u64 {
        let here = self.before[(pairs % STRATUM) as usize];
        pairs / STRATUM * self.places.len() as u64 + u64::from(here)
    }

    fn is(&self, pair: u64) -> bool {
        let at = (pair % STRATUM) as usize;
        self.before[at + 1] > self.before[at]
    }

    /// Pairs whose content is among the first `contents`.
    fn pairs_before(&self, contents: u64) -> u64 {
        if self.of_contents { contents } else { self.shares.duplicates_before(contents) }
    }

    /// Returns the kind and number of the content with this ordinal.
    #[inline]
    pub fn content(&self, ordinal: u64) -> Numbered {
        if self.is_empty() {
            return Numbered::Other(ordinal);
        }
        let pair = self.pairs_before(ordinal);
        let near = self.among(pair);
        if self.is(pair) && (self.of_contents || self.shares.is_followed(ordinal, pair)) {
            Numbered::Near(near)
        } else {
            Numbered::Other(ordinal - near)
        }
    }

    /// Returns the kind and number of a duplicate when `new` contents have been written. A near duplicate repeats the newest content.
    #[inline]
    pub fn duplicate(&self, duplicate: u64, new: u64) -> Numbered {
        if self.is_empty() || new == 0 {
            return Numbered::Other(duplicate);
        }
        let pair = if self.of_contents { new - 1 } else { duplicate };
        let first = !self.of_contents || self.shares.is_first(duplicate, new);
        match (first, self.is(pair)) {
            (true, true) => Numbered::Near(self.among(pair)),
            (true, false) => Numbered::Other(duplicate - self.among(pair)),
            (false, _) => Numbered::Other(duplicate - self.among(pair + 1)),
        }
    }

    /// Contents that are not near among the first `contents`.
    pub fn others_before(&self, contents: u64) -> u64 {
        if self.is_empty() {
            return contents;
        }
        contents - self.among(self.pairs_before(contents))
    }

    /// The newest near content among the first `contents`.
    pub fn newest(&self, contents: u64) -> Option<u64> {
        let near = self.among(self.pairs_before(contents)).checked_sub(1)?;
        let each = self.places.len() as u64;
        let pair = near / each * STRATUM + u64::from(self.places[(near % each) as usize]);
        Some(if self.of_contents { pair } else { self.shares.new_before(pair).saturating_sub(1) })
    }

    /// The ordinal of the content that is number `other` of those that are not near.
    pub fn other(&self, other: u64) -> u64 {
        if self.is_empty() {
            return other;
        }
        let kept = (1.0 - self.per_new()).max(1e-3);
        // Finds the first content up to which there are more than `other` of them: near its likely place first, then ever further around.
        let passed = |content: u64| self.others_before(content + 1) > other;
        let about = (other as f64 / kept) as u64;
        let mut width = (4.0 / kept) as u64;
        let (mut low, mut high) = (about.saturating_sub(width), about + width);
        while low > 0 && passed(low - 1) {
            (width, high) = (2 * width, low);
            low = low.saturating_sub(width);
        }
        while !passed(high) && width < 1 << 60 {
            (width, low) = (2 * width, high + 1);
            high += width;
        }
        while low < high {
            let middle = low.midpoint(high);
            if passed(middle) { high = middle } else { low = middle + 1 }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shares::Block;

    #[test]
    fn near_contents_come_again_at_once_and_all_others_are_numbered_without_them() {
        for (again, zero, wanted) in [
            (0.05, 0.0, 0.02),
            (0.228, 0.1, 0.2),
            (0.3, 0.0, 0.3),
            (0.5, 0.0, 0.4),
            (0.5, 0.25, 1.0),
            (0.8, 0.0, 0.7),
            (0.9, 0.0, 0.001),
            (0.2, 0.0, 0.0),
        ] {
            let shares = Shares::new(again, zero);
            let near = Near::new(shares, wanted);
            let (mut new, mut nears, mut others, mut duplicates) = (0, 0, 0, 0);
            let mut waiting = None;
            for block in (0..60_000).map(|position| shares.at(position)) {
                match block {
                    Block::Zero => {}
                    Block::New(ordinal) => {
                        assert_eq!(waiting, None, "{again}: {ordinal} has no duplicate");
                        assert_eq!(near.others_before(ordinal), others);
                        match near.content(ordinal) {
                            Numbered::Near(number) => {
                                assert_eq!(number, nears, "{again}: {ordinal}");
                                nears += 1;
                                waiting = Some(ordinal);
                            }
                            Numbered::Other(number) => {
                                assert_eq!((number, near.other(number)), (others, ordinal));
                                others += 1;
                            }
                        }
                        new = ordinal + 1;
                    }
                    Block::Again { duplicates: number, new: before } => {
                        match near.duplicate(number, before) {
                            Numbered::Near(which) => {
                                assert_eq!((which + 1, waiting), (nears, Some(before - 1)));
                                assert_eq!(near.newest(before), waiting.take());
                            }
                            Numbered::Other(other) => {
                                assert_eq!((waiting, other), (None, duplicates), "{again}");
                                duplicates += 1;
                            }
                        }
                    }
                }
            }
            let got = nears as f64 / new as f64;
            let possible = wanted.min(shares.again_per_new()).min(1.0);
            assert!((got - possible).abs() < 0.002, "{again}: {got} near of {wanted}");
            assert!((near.per_new() - got).abs() < 0.002);
        }
    }
}
