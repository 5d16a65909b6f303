//! The mix, kept exactly: a deck with each operation as often as its share asks, shuffled anew each time it is through.

use units::{Seed, SplitMix64};

use crate::{OpName, Ops};

/// Shares are kept in steps of 1 / this percent.
pub(crate) const SHARE_STEPS: f64 = 100.0;

/// Operations in a deck.
#[derive(Debug, Clone)]
pub(crate) struct Deck {
    cards: Box<[OpName]>,
    drawn: usize,
    rng: SplitMix64,
}

fn steps(ops: &Ops) -> impl Iterator<Item = (OpName, usize)> + '_ {
    ops.shares().map(|(op, share)| (op, (share.0 * SHARE_STEPS).round() as usize))
}

fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}

impl Deck {
    pub(crate) fn new(ops: &Ops, seed: Seed) -> Self {
        let common = steps(ops).fold(0, |common, (_, n)| divisor(common, n)).max(1);
        let cards = steps(ops).flat_map(|(op, n)| std::iter::repeat_n(op, n / common)).collect();
        Self { cards, drawn: 0, rng: seed.generator() }
    }

    /// The next operation; `None` when the deck is empty.
    #[inline]
    pub(crate) fn draw(&mut self) -> Option<OpName> {
        if self.cards.len() <= 1 {
            return self.cards.first().copied();
        }
        if self.drawn == self.cards.len() {
            self.drawn = 0;
        }
        // One step of a Fisher-Yates shuffle: what was not drawn yet is as likely each.
        let left = (self.cards.len() - self.drawn) as u64;
        let pick = self.drawn + self.rng.below(left) as usize;
        self.cards.swap(self.drawn, pick);
        self.drawn += 1;
        Some(self.cards[self.drawn - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deck(text: &str) -> Deck {
        Deck::new(&text.parse().unwrap(), Seed(1))
    }

    #[test]
    fn the_deck_is_as_short_as_the_shares_allow() {
        for (text, cards) in [
            ("randwrite=100", 1),
            ("randwrite=70,randread=30", 10),
            ("read=50,write=50", 2),
            ("read=0.5,write=99.5", 200),
            ("read=33.33,write=33.33,randread=33.34", 10_000),
        ] {
            assert_eq!(deck(text).cards.len(), cards, "{text}");
        }
    }

    #[test]
    fn shares_are_exact_in_every_deck() {
        let mut deck = deck("randwrite=65,randread=20,read=10,write=5");
        let length = deck.cards.len();
        for _ in 0..200 {
            let drawn: Vec<_> = (0..length).map(|_| deck.draw().unwrap()).collect();
            let count = |op| drawn.iter().filter(|&&d| d == op).count() * 100 / length;
            assert_eq!(OpName::ALL.map(count), [10, 5, 20, 65]);
        }
    }

    #[test]
    fn every_card_comes_everywhere_in_a_deck() {
        let mut deck = deck("read=25,write=25,randread=25,randwrite=25");
        let mut counts = [[0u32; 4]; 4];
        for _ in 0..40_000 {
            for row in &mut counts {
                row[deck.draw().unwrap() as usize] += 1;
            }
        }
        for count in counts.as_flattened() {
            // 10,000 each; standard deviation 87.
            assert!(count.abs_diff(10_000) < 400, "{counts:?}");
        }
    }
}
