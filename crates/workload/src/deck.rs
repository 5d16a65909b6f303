//! Shares that are kept exactly: a deck holds each card as often as its share asks, and is shuffled anew each time it is used up.

use units::{Seed, SplitMix64};

use crate::block_size::divisor;
use crate::seeds;

/// Shares are multiples of 1 / this percent.
const SHARE_STEPS: f64 = 100.0;
/// Most cards in a deck.
pub(crate) const MOST_CARDS: usize = 1 << 16;

/// Converts a share in percent to a number of steps; `None` if it lies between two steps or is not a valid share.
pub(crate) fn steps(percent: f64) -> Option<u64> {
    let steps = percent * SHARE_STEPS;
    (steps >= 0.5 && (steps - steps.round()).abs() <= 1e-6).then(|| steps.round() as u64)
}

/// Cards of several kinds, numbered from 0 in the order of their shares. Each deck is shuffled from a seed made from its number, so that any draw can
/// be computed without those before it.
#[derive(Debug, Clone)]
pub(crate) struct Deck {
    sorted: Box<[u16]>,
    cards: Box<[u16]>,
    drawn: usize,
    number: u64,
    seed: Seed,
    rng: SplitMix64,
}

impl Deck {
    /// The shortest deck that keeps `shares` (percent) exactly.
    pub(crate) fn of_shares(shares: impl Iterator<Item = f64> + Clone, seed: Seed) -> Self {
        let steps = shares.map(|share| steps(share).unwrap_or_default());
        let common = steps.clone().fold(0, divisor).max(1);
        let kinds = (0u16..).zip(steps);
        Self::new(
            kinds.flat_map(|(kind, n)| std::iter::repeat_n(kind, (n / common) as usize)),
            seed,
        )
    }

    /// A deck with one card of each of `kinds` kinds.
    pub(crate) fn of_each(kinds: u64, seed: Seed) -> Self {
        Self::new(0..=kinds.clamp(1, MOST_CARDS as u64).wrapping_sub(1) as u16, seed)
    }

    fn new(cards: impl Iterator<Item = u16>, seed: Seed) -> Self {
        let sorted: Box<[u16]> = cards.take(MOST_CARDS).collect();
        let sorted = if sorted.is_empty() { Box::from([0]) } else { sorted };
        let rng = seeds::nth(seed, 0).generator();
        Self { cards: sorted.clone(), sorted, drawn: 0, number: 0, seed, rng }
    }

    /// Number of cards in a deck.
    pub(crate) fn len(&self) -> u64 {
        self.cards.len() as u64
    }

    fn open(&mut self, number: u64) {
        self.cards.copy_from_slice(&self.sorted);
        self.drawn = 0;
        self.number = number;
        self.rng = seeds::nth(self.seed, number).generator();
    }

    /// The next card.
    #[inline]
    pub(crate) fn draw(&mut self) -> u16 {
        if self.cards.len() == 1 {
            return self.cards[0];
        }
        if self.drawn == self.cards.len() {
            self.open(self.number + 1);
        }
        // One step of a Fisher-Yates shuffle: each card that was not drawn yet is equally likely.
        let left = (self.cards.len() - self.drawn) as u64;
        let pick = self.drawn + self.rng.below(left) as usize;
        self.cards.swap(self.drawn, pick);
        self.drawn += 1;
        self.cards[self.drawn - 1]
    }

    /// Moves to the state after `n` draws; steps through at most one deck.
    pub(crate) fn seek(&mut self, n: u64) {
        self.open(n / self.len());
        (0..n % self.len()).for_each(|_| _ = self.draw());
    }

    /// Returns the sum over the first `n` cards, where each card of a kind counts for `worth`.
    pub(crate) fn sum(&self, n: u64, worth: impl Fn(u16) -> u64) -> u64 {
        let whole: u64 = self.sorted.iter().map(|&card| worth(card)).sum();
        let (decks, rest) = (n / self.len(), n % self.len());
        let mut part = 0;
        if rest > 0 && self.sorted.iter().any(|&card| worth(card) != worth(self.sorted[0])) {
            let mut deck = self.clone();
            deck.open(decks);
            part = (0..rest).map(|_| worth(deck.draw())).sum();
        } else if rest > 0 {
            part = rest * worth(self.sorted[0]);
        }
        decks.saturating_mul(whole).saturating_add(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deck(shares: &[f64]) -> Deck {
        Deck::of_shares(shares.iter().copied(), Seed(1))
    }

    #[test]
    fn the_deck_is_as_short_as_the_shares_allow() {
        for (shares, cards) in [
            (&[100.0][..], 1),
            (&[70.0, 30.0], 10),
            (&[50.0, 50.0], 2),
            (&[0.5, 99.5], 200),
            (&[33.33, 33.33, 33.34], 10_000),
        ] {
            assert_eq!(deck(shares).len(), cards, "{shares:?}");
        }
    }

    #[test]
    fn shares_are_exact_in_every_deck() {
        let mut deck = deck(&[65.0, 20.0, 10.0, 5.0]);
        assert_eq!(deck.len(), 20);
        for _ in 0..200 {
            let mut counts = [0; 4];
            (0..20).for_each(|_| counts[usize::from(deck.draw())] += 1);
            assert_eq!(counts, [13, 4, 2, 1]);
        }
    }

    #[test]
    fn every_card_comes_everywhere_in_a_deck() {
        let mut deck = deck(&[25.0; 4]);
        let mut counts = [[0u32; 4]; 4];
        for _ in 0..40_000 {
            for row in &mut counts {
                row[usize::from(deck.draw())] += 1;
            }
        }
        for count in counts.as_flattened() {
            // 10,000 each; standard deviation 87.
            assert!(count.abs_diff(10_000) < 400, "{counts:?}");
        }
    }

    #[test]
    fn any_draw_is_found_without_those_before_and_sums_agree_with_a_walk() {
        for shares in [&[70.0, 30.0][..], &[33.33, 33.33, 33.34], &[100.0]] {
            let mut walked = deck(shares);
            let mut sum = 0;
            for n in 0..25_000 {
                if n % 997 == 0 {
                    let mut sought = deck(shares);
                    sought.seek(n);
                    let ahead: Vec<_> = (0..20).map(|_| sought.draw()).collect();
                    let mut walked = walked.clone();
                    assert_eq!(ahead, (0..20).map(|_| walked.draw()).collect::<Vec<_>>());
                    assert_eq!(walked.sum(n, |card| u64::from(card) + 1), sum);
                }
                sum += u64::from(walked.draw()) + 1;
            }
        }
    }

    #[test]
    fn a_deck_of_one_each_holds_up_to_65536_kinds() {
        let mut deck = Deck::of_each(65_536, Seed(3));
        let mut seen = vec![0u8; 65_536];
        (0..65_536).for_each(|_| seen[usize::from(deck.draw())] += 1);
        assert!(seen.iter().all(|&n| n == 1));
        assert_eq!(Deck::of_each(1, Seed(3)).len(), 1);
    }
}
