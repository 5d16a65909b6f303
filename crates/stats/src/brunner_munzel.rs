//! The studentised rank statistic of Brunner and Munzel (2000): unlike that of Mann and Whitney it does not assume that both sides spread equally.

use std::sync::OnceLock;

use units::Seed;

use crate::student;

/// Fewest runs per side for this test: below, Mann and Whitney's is as good, and its distribution is exact.
pub(crate) const LEAST: usize = 8;
/// Most values per side for which deals are enumerated or drawn; above, Student's t is used.
pub(crate) const DRAWN_UP_TO: usize = 50;
/// Number of deals that are drawn where there are too many to enumerate.
const DEALS: u32 = 100_000;

/// By the number of values per side: the statistics of all deals (or many drawn ones), ascending. Without ties they do not depend on the values.
static OF_EQUAL: [OnceLock<Vec<f64>>; DRAWN_UP_TO + 1] =
    [const { OnceLock::new() }; DRAWN_UP_TO + 1];

/// The order of both sides, as sums over the numbers of values of the other side that each value wins against (new) or loses to (base).
#[derive(Debug, Clone, Default)]
pub(crate) struct Placements {
    /// Number of pairs in which the new value is the greater.
    pub above: usize,
    /// Sum over the base values of the square of the number of such pairs that each is in.
    pub of_base: usize,
    /// The same sum over the new values.
    pub of_new: usize,
}

impl Placements {
    /// The share of pairs in which the new value is greater, less one half, in standard errors; `n` values per side.
    pub(crate) fn statistic(&self, n: usize) -> f64 {
        // In integers, so that swapping the sides gives exactly the negated statistic.
        let squares = |of: usize| (n * of - self.above * self.above) as f64;
        let runs = n as f64;
        let error = (squares(self.of_base) + squares(self.of_new)) / (runs.powi(4) * (runs - 1.0));
        let excess = (2.0 * self.above as f64 - runs * runs) / (2.0 * runs * runs);
        if error > 0.0 { excess / error.sqrt() } else { excess * f64::INFINITY }
    }
}

/// The chance of a statistic of at least `t` where two sides of `n` values do not differ, from all ways to deal them out (Neubert and Brunner 2007).
pub(crate) fn upper_tail(t: f64, n: usize) -> f64 {
    // Nothing is rarer than the rarest deal, whatever the drawn deals or Student's t say.
    tail(t, n).max(rarest(n))
}

/// The chance of the rarest of all deals.
fn rarest(n: usize) -> f64 {
    (1..=n).map(|one| one as f64 / (n + one) as f64).product()
}

fn tail(t: f64, n: usize) -> f64 {
    let Some(known) = OF_EQUAL.get(n) else { return student::upper_tail(t, n - 1) };
    let all = known.get_or_init(|| deals(n));
    let below = all.partition_point(|one| *one < t);
    // The observed deal counts as one of the drawn ones.
    let found = usize::from(n > LEAST);
    (all.len() - below + found) as f64 / (all.len() + found) as f64
}

/// The statistics of deals of the ranks 1 to 2 n, ascending: of all of them, or of many that are drawn.
fn deals(n: usize) -> Vec<f64> {
    let mut all = Vec::new();
    if n <= LEAST {
        let mut ranks = Vec::new();
        let of_base = |deal: &u32| deal.count_ones() as usize == n;
        for deal in (0..1_u32 << (2 * n)).filter(of_base) {
            ranks.clear();
            ranks.extend((0..2 * n).map(|rank| deal >> rank & 1 == 1));
            all.push(dealt(&ranks).statistic(n));
        }
    } else {
        let mut ranks: Vec<bool> = (0..2 * n).map(|rank| rank < n).collect();
        let mut rng = Seed(n as u64).derive("deals").generator();
        for _ in 0..DEALS {
            for last in (1..ranks.len()).rev() {
                ranks.swap(last, rng.below(last as u64 + 1) as usize);
            }
            // The same deal with the sides swapped is as likely.
            let t = dealt(&ranks).statistic(n);
            all.extend([t, -t]);
        }
    }
    all.sort_by(f64::total_cmp);
    all
}

/// The placements of ascending ranks; `base` tells which of them belong to the base.
fn dealt(base: &[bool]) -> Placements {
    let mut placements = Placements::default();
    let (mut seen, mut passed) = (0, 0);
    let new = base.iter().filter(|base| !**base).count();
    for of_base in base {
        if *of_base {
            seen += 1;
            placements.of_base += (new - passed) * (new - passed);
        } else {
            passed += 1;
            placements.above += seen;
            placements.of_new += seen * seen;
        }
    }
    placements
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scipy::rows;

    #[test]
    fn statistics_are_those_of_scipy() {
        for row in rows("brunnermunzel") {
            let n = row[0] as usize;
            let mut all: Vec<(f64, bool)> = row[1..=n].iter().map(|v| (*v, true)).collect();
            all.extend(row[n + 1..=2 * n].iter().map(|v| (*v, false)));
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            let got = dealt(&all.iter().map(|one| one.1).collect::<Vec<_>>()).statistic(n);
            assert!((got - row[2 * n + 1]).abs() < 1e-9, "{row:?}: {got}");
        }
    }

    #[test]
    fn its_distribution_is_even_and_complete_separation_is_the_rarest() {
        assert!((upper_tail(f64::INFINITY, 8) * 12_870.0 - 1.0).abs() < 1e-9);
        for n in [8, 9, 10, 11, 27, 60] {
            let least = upper_tail(f64::INFINITY, n);
            assert!(least >= rarest(n) && least > 0.0, "{n}: {least}");
        }
        assert!((rarest(9) * 48_620.0 - 1.0).abs() < 1e-9);
        for n in [8, 12, 27, 60] {
            assert!((upper_tail(0.0, n) - 0.5).abs() < 0.03, "{n}");
            assert_eq!(upper_tail(f64::NEG_INFINITY, n), 1.0);
            // Near Student's t, with wider tails.
            let border = student::critical(0.05, 2 * n - 2);
            assert!((0.02..0.045).contains(&upper_tail(border, n)), "{n}");
        }
    }
}
