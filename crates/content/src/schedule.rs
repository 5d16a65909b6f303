//! What comes next: a new block, a zero block, or a duplicate, and of which.
//!
//! Shares are kept by counting, not by drawing: after any number of blocks each count is within one of what was
//! asked. Duplicates come in rounds. A round refers to the blocks that were new in the round before, in a permuted order and
//! each equally often; rounds double until they are as long as the window allows. So references are spread evenly,
//! reach neither too near nor too far, and need no memory.

use units::Seed;

use crate::{ContentSpec, Permutation};

/// Parts that make a whole: shares are kept to 10^-7 percent.
const WHOLE: u64 = 1_000_000_000;

/// What one written block is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Zeros.
    Zero,
    /// The content with this ordinal, for the first time.
    New(u64),
    /// The content with this ordinal, again.
    Again(u64),
}

/// The shares of a spec.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    zero: u64,
    dedupe: u64,
    /// Duplicates in a round, once rounds have grown.
    longest: u64,
    /// Most blocks that a round refers to.
    widest: u64,
}

impl Schedule {
    /// The schedule of `spec`; shares that cannot be are cut to what can.
    pub fn new(spec: &ContentSpec) -> Self {
        let parts = |percent: f64| (percent.clamp(0.0, 100.0) * 1e7).round() as u64;
        let zero = parts(spec.zero.0);
        let dedupe = parts(spec.dedupe.0).min((WHOLE - zero).saturating_sub(1));
        let new = (WHOLE - zero - dedupe).max(1);
        let widest = spec.window.div_ceil(2).max(1);
        let longest = u128::from(spec.window / 2) * u128::from(dedupe) / u128::from(new);
        Self { zero, dedupe, longest: longest.clamp(1, 1 << 60) as u64, widest }
    }

    /// How often a content is written at most, once rounds have grown.
    pub fn most_references(&self) -> u64 {
        1 + self.dedupe.div_ceil((WHOLE - self.zero - self.dedupe).max(1))
    }
}

/// Where one job stands in its schedule.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    schedule: Schedule,
    seed: Seed,
    zeros_due: u64,
    duplicates_due: u64,
    /// Contents so far.
    new: u64,
    round: Round,
}

#[derive(Debug, Clone)]
struct Round {
    number: u64,
    length: u64,
    left: u64,
    /// Contents that there were when this round began: where the next one's range begins.
    began: u64,
    /// First content that this round refers to.
    first: u64,
    order: Permutation,
    position: u64,
}

impl Cursor {
    /// The start of a schedule.
    pub fn new(schedule: Schedule, seed: Seed) -> Self {
        let round = Round {
            number: 0,
            length: 0,
            left: 0,
            began: 0,
            first: 0,
            order: Permutation::new(1, seed),
            position: 0,
        };
        Self { schedule, seed, zeros_due: 0, duplicates_due: 0, new: 0, round }
    }

    /// What the next block is to hold.
    #[inline]
    pub fn next(&mut self) -> Next {
        self.zeros_due += self.schedule.zero;
        if self.zeros_due >= WHOLE {
            self.zeros_due -= WHOLE;
            return Next::Zero;
        }
        self.duplicates_due += self.schedule.dedupe;
        let whole = WHOLE - self.schedule.zero;
        if self.duplicates_due < whole {
            self.new += 1;
            return Next::New(self.new - 1);
        }
        self.duplicates_due -= whole;
        if self.round.left == 0 {
            self.begin_round();
        }
        let round = &mut self.round;
        round.left -= 1;
        let content = round.first + round.order.at(round.position);
        round.position += 1;
        if round.position == round.order.len() {
            self.reorder();
        }
        Next::Again(content)
    }

    fn begin_round(&mut self) {
        let round = &mut self.round;
        round.number += 1;
        round.length = (round.length * 2).clamp(1, self.schedule.longest);
        round.left = round.length;
        // At least the newest content, at most half a window of them. The first block is always new.
        round.first =
            round.began.max(self.new.saturating_sub(self.schedule.widest)).min(self.new - 1);
        round.began = self.new;
        round.order = Permutation::new(self.new - round.first, self.seed);
        self.reorder();
    }

    /// Starts the range of the round again, in another order.
    fn reorder(&mut self) {
        let round = &mut self.round;
        round.position = 0;
        self.seed = Seed(self.seed.generator().next_u64());
        round.order = Permutation::new(round.order.len(), self.seed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use units::Percent;

    fn spec(dedupe: f64, zero: f64, window: u64) -> ContentSpec {
        ContentSpec { dedupe: Percent(dedupe), zero: Percent(zero), window, ..Default::default() }
    }

    #[test]
    fn shares_are_exact_at_every_length() {
        for (dedupe, zero) in [
            (50.0, 0.0),
            (90.0, 0.0),
            (33.3, 10.0),
            (0.0, 25.0),
            (25.0, 50.0),
            (12.5, 87.0),
            (0.0, 100.0),
        ] {
            let mut cursor = Cursor::new(Schedule::new(&spec(dedupe, zero, 16_384)), Seed(1));
            let (mut zeros, mut again) = (0u32, 0u32);
            for n in 1..=100_000u32 {
                match cursor.next() {
                    Next::Zero => zeros += 1,
                    Next::Again(_) => again += 1,
                    Next::New(_) => {}
                }
                let off = |count: u32, share: f64| {
                    (f64::from(count) - f64::from(n) * share / 100.0).abs()
                };
                assert!(off(zeros, zero) < 1.001, "{dedupe}/{zero} at {n}: {zeros} zeros");
                assert!(off(again, dedupe) < 2.001, "{dedupe}/{zero} at {n}: {again} duplicates");
            }
        }
    }

    #[test]
    fn duplicates_are_of_earlier_blocks_within_the_window() {
        for dedupe in [1.0, 10.0, 50.0, 75.0, 90.0, 99.0] {
            for window in [1, 2, 3, 100, 1024, 16_384] {
                let mut cursor = Cursor::new(Schedule::new(&spec(dedupe, 0.0, window)), Seed(2));
                let mut new = 0;
                for n in 0..100_000 {
                    match cursor.next() {
                        Next::Zero => panic!("no zero block was asked for"),
                        Next::New(content) => {
                            assert_eq!(content, new);
                            new += 1;
                        }
                        Next::Again(content) => {
                            assert!(content < new, "{dedupe} {window} at {n}");
                            let back = new - content;
                            assert!(back <= window + 1, "{dedupe} {window} at {n}: {back} back");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn duplicates_are_spread_over_the_window_and_over_contents() {
        for (dedupe, most) in [(50.0, 3), (75.0, 8), (90.0, 19)] {
            let mut cursor = Cursor::new(Schedule::new(&spec(dedupe, 0.0, 16_384)), Seed(3));
            let mut references = HashMap::new();
            let (mut new, mut near, mut far, mut all) = (0u64, 0u64, 0u64, 0u64);
            for n in 0..400_000 {
                match cursor.next() {
                    Next::Again(content) => {
                        *references.entry(content).or_insert(0u64) += 1;
                        if n > 200_000 {
                            all += 1;
                            near += u64::from(new - content < 1024);
                            far += u64::from(new - content > 8192);
                        }
                    }
                    _ => new += 1,
                }
            }
            let highest = references.values().max().copied().unwrap();
            assert!(highest <= most, "{dedupe}: {highest} references");
            assert!(near * 20 < all && far * 3 > all, "{dedupe}: {near} near, {far} far of {all}");
        }
    }
}
