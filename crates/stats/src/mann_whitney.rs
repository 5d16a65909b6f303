//! The distribution of Mann and Whitney's U (1947): of all pairs, one value from either side, how many have the greater on one.

use std::borrow::Cow;
use std::sync::OnceLock;

/// With more values on a side the normal approximation takes over.
const EXACT_UP_TO: usize = 50;

/// Distributions of two sides of the same number, by that number: a simulation asks for each of them many thousand times.
static OF_EQUAL: [OnceLock<Vec<f64>>; EXACT_UP_TO + 1] =
    [const { OnceLock::new() }; EXACT_UP_TO + 1];

/// The distribution of U where the two sides are alike and no values are tied.
#[derive(Debug, Clone)]
pub(crate) struct Pairs {
    base: usize,
    new: usize,
    /// P(U <= k) by k; empty where it is approximated.
    at_most: Cow<'static, [f64]>,
}

impl Pairs {
    pub(crate) fn of(base: usize, new: usize) -> Self {
        let equal = OF_EQUAL.get(base).filter(|_| base == new);
        let at_most = match equal {
            Some(known) => Cow::Borrowed(&known.get_or_init(|| cumulated(base, new))[..]),
            None if base.max(new) <= EXACT_UP_TO => Cow::Owned(cumulated(base, new)),
            None => Cow::Borrowed(&[][..]),
        };
        Self { base, new, at_most }
    }

    /// Tells whether every way to deal out the values is counted.
    pub(crate) fn is_exact(&self) -> bool {
        !self.at_most.is_empty()
    }

    /// P(U <= `k`).
    pub(crate) fn at_most(&self, k: usize) -> f64 {
        let all = self.base * self.new;
        if k >= all {
            return 1.0;
        }
        if let Some(p) = self.at_most.get(k) {
            return *p;
        }
        // Mean and variance of U; half a step as correction for continuity.
        let (mean, n) = (all as f64 / 2.0, (self.base + self.new) as f64);
        let deviation = (all as f64 * (n + 1.0) / 12.0).sqrt();
        let z = (k as f64 + 0.5 - mean) / deviation;
        let tail = crate::normal::upper_tail(z.abs());
        if z < 0.0 { tail } else { 1.0 - tail }
    }

    /// The greatest c with P(U <= c - 1) at most `tail`: the c-th least and c-th greatest of all differences bound an
    /// interval that leaves out `tail` at either end (Hollander and Wolfe 1999, 4.3). `None` where even 1 is too great.
    pub(crate) fn rank(&self, tail: f64) -> Option<usize> {
        // P(U <= k) grows with k.
        let (mut low, mut high) = (0, self.base * self.new);
        while low < high {
            let middle = (low + high) / 2;
            if self.at_most(middle) <= tail { low = middle + 1 } else { high = middle }
        }
        (low > 0).then_some(low)
    }
}

/// P(U <= k) for every k, by counting how many subsets of `base` of the ranks have each sum.
fn cumulated(base: usize, new: usize) -> Vec<f64> {
    let most = base * new;
    // ways[i][u]: of the values seen so far i are of the base, and u pairs have the greater value there.
    let mut ways = vec![vec![0.0_f64; most + 1]; base + 1];
    ways[0][0] = 1.0;
    for seen in 0..base + new {
        for taken in (1..=base.min(seen + 1)).rev() {
            // The next greatest value goes to the base: it exceeds all that went to the other side.
            let below = seen + 1 - taken;
            let (fewer, more) = ways.split_at_mut(taken);
            if below > new {
                // More on the other side than there are: no such deal.
                continue;
            }
            for u in below..=most {
                more[0][u] += fewer[taken - 1][u - below];
            }
        }
    }
    let all: f64 = ways[base].iter().sum();
    let sums = ways[base].iter().scan(0.0, |sum, n| {
        *sum += n;
        Some(*sum / all)
    });
    sums.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scipy::rows;

    #[test]
    fn the_distribution_equals_that_of_scipy() {
        for row in rows("mannwhitneyu.cdf") {
            let [base, new, k, expected] = row[..] else { panic!("{row:?}") };
            let pairs = Pairs::of(base as usize, new as usize);
            let got = pairs.at_most(k as usize);
            let close = if pairs.is_exact() { 1e-12 } else { 1e-6 };
            assert!((got / expected - 1.0).abs() < close, "{row:?}: {got}");
        }
    }

    #[test]
    fn ranks_of_the_interval_are_those_of_the_tables_and_few_values_have_none() {
        // Hollander and Wolfe, table A.6, as R's qwilcox(0.025, n, n) gives them.
        let expected = [(3, None), (4, Some(1)), (5, Some(3)), (8, Some(14)), (12, Some(38))];
        for (n, rank) in expected {
            assert_eq!(Pairs::of(n, n).rank(0.025), rank, "{n}");
        }
        assert_eq!(Pairs::of(5, 5).rank(0.025 / 7.0), None);
        assert_eq!(Pairs::of(5, 5).rank(0.025 / 6.0), Some(1));
    }
}
