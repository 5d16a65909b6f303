//! The distribution of Mann and Whitney's U (1947): the number of pairs (one value from each side) in which a given side has the greater value.

use std::sync::OnceLock;

/// The most runs per side for which U is computed: comparisons that use it have far fewer.
pub(crate) const MOST: usize = 50;

/// Cache of the distributions by the number of values per side: a simulation needs each of them many thousand times.
static OF_EQUAL: [OnceLock<Vec<f64>>; MOST + 1] = [const { OnceLock::new() }; MOST + 1];

/// The distribution of U where two sides with the same number of values do not differ and there are no ties.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pairs {
    runs: usize,
    /// P(U <= k) by k.
    at_most: &'static [f64],
}

impl Pairs {
    /// Returns the distribution for this many values per side, at most [`MOST`].
    pub(crate) fn of(runs: usize) -> Self {
        let known = OF_EQUAL.get(runs).map(|known| known.get_or_init(|| cumulated(runs, runs)));
        Self { runs, at_most: known.map_or(&[], |known| &known[..]) }
    }

    /// P(U <= `k`).
    pub(crate) fn at_most(&self, k: usize) -> f64 {
        self.at_most.get(k).copied().unwrap_or(1.0)
    }

    /// The greatest c with P(U <= c - 1) at most `tail`: the c-th least and c-th greatest of all differences bound an
    /// interval that leaves out `tail` at either end (Hollander and Wolfe 1999, 4.3). `None` where even c = 1 leaves out more.
    pub(crate) fn rank(&self, tail: f64) -> Option<usize> {
        // P(U <= k) grows with k.
        let (mut low, mut high) = (0, self.runs * self.runs);
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
    // ways[i][u]: number of ways in which i of the values seen so far are the base's, and the base has the greater value in u pairs.
    let mut ways = vec![vec![0.0_f64; most + 1]; base + 1];
    ways[0][0] = 1.0;
    for seen in 0..base + new {
        for taken in (1..=base.min(seen + 1)).rev() {
            // The next greater value goes to the base: it exceeds all values of the other side so far.
            let below = seen + 1 - taken;
            let (fewer, more) = ways.split_at_mut(taken);
            if below > new {
                // The other side would have more values than there are: no such deal.
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
            let got = cumulated(base as usize, new as usize)[k as usize];
            assert!((got / expected - 1.0).abs() < 1e-12, "{row:?}: {got}");
        }
    }

    #[test]
    fn ranks_of_the_interval_are_those_of_the_tables_and_few_values_have_none() {
        // Hollander and Wolfe, table A.6, as R's qwilcox(0.025, n, n) gives them.
        let expected = [(3, None), (4, Some(1)), (5, Some(3)), (8, Some(14)), (12, Some(38))];
        for (n, rank) in expected {
            assert_eq!(Pairs::of(n).rank(0.025), rank, "{n}");
        }
        assert_eq!(Pairs::of(5).rank(0.025 / 7.0), None);
        assert_eq!(Pairs::of(5).rank(0.025 / 6.0), Some(1));
    }
}
