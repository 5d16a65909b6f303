//! Zero blocks, new blocks and duplicates in the order of writing, kept by counting.

use crate::share::{Share, Turns};

/// Shares of zero blocks, new blocks and duplicates in the order of writing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shares {
    only_zeros: bool,
    zero: Share,
    /// Share of duplicates among the blocks that are not zero.
    again: Share,
}

impl Shares {
    /// Creates the shares from those of duplicates (`again`) and of zero blocks among all blocks, as fractions; `again` is cut so that new
    /// blocks remain.
    pub fn new(again: f64, zero: f64) -> Self {
        let data = 1.0 - zero.clamp(0.0, 1.0);
        let again = if data > 0.0 { (again / data).clamp(0.0, 1.0 - 1e-9) } else { 0.0 };
        Self { only_zeros: zero >= 1.0, zero: Share::of(zero), again: Share::of(again) }
    }

    /// Duplicates for each new block.
    pub fn again_per_new(self) -> f64 {
        let again = self.again.fraction();
        again / (1.0 - again)
    }

    /// Share of duplicates among blocks that are not zero.
    pub fn again(self) -> Share {
        self.again
    }

    /// Tells whether there is nothing but new blocks.
    pub fn all_new(self) -> bool {
        !self.only_zeros && self.zero.fraction() == 0.0 && self.again.fraction() == 0.0
    }

    /// New blocks that were written before the duplicate with number `duplicate`.
    pub fn new_before(self, duplicate: u64) -> u64 {
        self.again.turn(duplicate) - duplicate
    }

    /// Duplicates that were written before the new block with this ordinal.
    #[inline]
    pub fn duplicates_before(self, ordinal: u64) -> u64 {
        self.again.left(ordinal) - ordinal
    }

    /// Tells whether a duplicate follows right after the new block with this ordinal; `duplicates` is the number of those before it.
    #[inline]
    pub fn is_followed(self, ordinal: u64, duplicates: u64) -> bool {
        self.again.takes(ordinal + duplicates + 1)
    }

    /// Tells whether this duplicate follows right after a new block, when `new` of them have been written.
    #[inline]
    pub fn is_first(self, duplicate: u64, new: u64) -> bool {
        !self.again.takes(duplicate + new - 1)
    }

    /// The kind of block at `position`.
    #[inline]
    pub fn at(self, position: u64) -> Block {
        self.blocks_from(position).turn()
    }

    /// The kinds of blocks from `position` on.
    #[inline]
    pub fn blocks_from(self, position: u64) -> Blocks {
        let data = position - self.zero.before(position);
        let duplicates = self.again.before(data);
        Blocks {
            only_zeros: self.only_zeros,
            zero: self.zero.turns_from(position),
            again: self.again.turns_from(data),
            duplicates,
            new: data - duplicates,
        }
    }
}

/// A kind of block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    Zero,
    /// A new block, with the number of new blocks before it.
    New(u64),
    /// A duplicate, with the numbers of duplicates and of new blocks before it.
    Again {
        duplicates: u64,
        new: u64,
    },
}

/// The kinds of blocks from a position on, one after the other and without end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks {
    only_zeros: bool,
    zero: Turns,
    again: Turns,
    duplicates: u64,
    new: u64,
}

impl Blocks {
    /// Duplicates before the next block.
    #[inline]
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The kind of the next block.
    #[inline]
    pub fn turn(&mut self) -> Block {
        if self.only_zeros || self.zero.takes_next() {
            return Block::Zero;
        }
        let (duplicates, new) = (self.duplicates, self.new);
        if self.again.takes_next() {
            self.duplicates += 1;
            Block::Again { duplicates, new }
        } else {
            self.new += 1;
            Block::New(new)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_the_same_whether_asked_for_by_itself_or_in_a_row() {
        for (again, zero) in [(0.0, 0.0), (0.5, 0.0), (0.9, 0.05), (0.333, 0.1), (0.0, 1.0)] {
            let shares = Shares::new(again, zero);
            for start in [0, 1, 77, 1 << 33] {
                let mut row = shares.blocks_from(start);
                for position in start..start + 2000 {
                    let duplicates = row.duplicates();
                    let block = shares.at(position);
                    assert_eq!(row.turn(), block, "{again} {zero} at {position}");
                    if let Block::Again { duplicates: before, .. } = block {
                        assert_eq!(duplicates, before);
                    }
                }
            }
        }
    }
}
