//! The exact rank test of two samples.

/// Above this many values in both samples together the normal approximation takes over.
const EXACT_UP_TO: usize = 100;

/// The outcome of a rank test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTest {
    /// The two-sided p-value.
    pub p: f64,
    /// Whether `p` counts every way to deal out the values, or approximates.
    pub exact: bool,
}

/// The two-sided test of Mann and Whitney (1947) on the finite values; `None` when a side is empty.
///
/// `p` is the share of all ways to deal the observed values out to the two sides whose rank sum
/// lies at least as far from its expectation as the observed one. Ties get their middle rank, and
/// the distribution is that of the ranks as they are, so it stays exact with ties. Above 100
/// values in all the normal approximation with tie and continuity correction is used.
pub fn rank_test(a: &[f64], b: &[f64]) -> Option<RankTest> {
    let finite =
        |values: &[f64]| -> Vec<f64> { values.iter().copied().filter(|v| v.is_finite()).collect() };
    let (a, b) = (finite(a), finite(b));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let all: Vec<f64> = a.iter().chain(&b).copied().collect();
    let ranks: Vec<usize> = all.iter().map(|v| doubled_rank(&all, *v)).collect();
    let observed: usize = ranks[..a.len()].iter().sum();
    // Twice the rank sum that is expected when the two sides are alike.
    let expected = a.len() * (all.len() + 1);
    let distance = observed.abs_diff(expected);
    let exact = all.len() <= EXACT_UP_TO;
    let p = if exact {
        share_as_far(&ranks, a.len(), expected, distance)
    } else {
        normal_tail(&ranks, a.len(), b.len(), distance)
    };
    Some(RankTest { p: p.min(1.0), exact })
}

/// Twice the middle rank of `value`: whole also where ranks are shared.
fn doubled_rank(all: &[f64], value: f64) -> usize {
    let below = all.iter().filter(|v| **v < value).count();
    let equal = all.iter().filter(|v| **v == value).count();
    2 * below + equal + 1
}

/// The share of all subsets of `take` ranks whose sum is at least `distance` from `expected`.
fn share_as_far(ranks: &[usize], take: usize, expected: usize, distance: usize) -> f64 {
    let most: usize = ranks.iter().sum();
    // ways[k][s]: the number of subsets of k of the ranks seen so far with sum s.
    let mut ways = vec![vec![0.0_f64; most + 1]; take + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for k in (1..=take).rev() {
            let (fewer, more) = ways.split_at_mut(k);
            for sum in rank..=most {
                more[0][sum] += fewer[k - 1][sum - rank];
            }
        }
    }
    let far = |(sum, _): &(usize, &f64)| sum.abs_diff(expected) >= distance;
    let extreme: f64 = ways[take].iter().enumerate().filter(far).map(|(_, n)| n).sum();
    extreme / ways[take].iter().sum::<f64>()
}

/// The two-sided tail of the normal approximation, corrected for ties and continuity.
fn normal_tail(ranks: &[usize], a: usize, b: usize, distance: usize) -> f64 {
    let n = (a + b) as f64;
    let middle = n + 1.0;
    let squares: f64 = ranks.iter().map(|r| (*r as f64 - middle).powi(2)).sum();
    // The variance of the sum of `a` ranks drawn without replacement, on the doubled scale.
    let variance = a as f64 * b as f64 / n * squares / (n - 1.0);
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (distance as f64 - 1.0).max(0.0) / variance.sqrt();
    2.0 * crate::normal::upper_tail(z)
}

#[cfg(test)]
mod tests {
    use super::rank_test;
    use proptest::prelude::*;

    fn p(a: &[f64], b: &[f64]) -> f64 {
        rank_test(a, b).unwrap().p
    }

    #[test]
    fn complete_separation_gives_the_least_p_that_the_counts_allow() {
        let low: Vec<f64> = (0..5).map(f64::from).collect();
        let high: Vec<f64> = (10..15).map(f64::from).collect();
        assert!((p(&low, &high) - 2.0 / 252.0).abs() < 1e-15);
        assert!((p(&low[..4], &high[..4]) - 2.0 / 70.0).abs() < 1e-15);
        assert!((p(&low[..3], &high[..3]) - 0.1).abs() < 1e-15);
    }

    #[test]
    fn nothing_to_compare_is_no_test_and_equal_values_differ_in_nothing() {
        assert!(rank_test(&[], &[1.0]).is_none());
        assert!(rank_test(&[f64::NAN], &[1.0]).is_none());
        assert_eq!(p(&[3.0; 5], &[3.0; 5]), 1.0);
        assert_eq!(p(&[3.0; 80], &[3.0; 80]), 1.0);
    }

    #[test]
    fn p_values_equal_those_of_scipy_ties_included() {
        // scipy 1.17: permutation_test(.., statistic=|mannwhitneyu(a, b).statistic - n m / 2|,
        // alternative="greater", n_resamples=inf)
        let cases: [(&[f64], &[f64], f64); 4] = [
            (&[512., 498., 530., 520., 515.], &[540., 533., 529., 551., 538.], 0.015_873_015_873),
            (&[1., 2., 2., 3.], &[2., 3., 4., 4., 5.], 0.087_301_587_301_587),
            (&[7., 7., 7., 8.], &[7., 8., 8., 8.], 0.485_714_285_714_286),
            (&[1., 5., 9.], &[2., 3., 4., 10., 11., 12.], 0.547_619_047_619_048),
        ];
        for (a, b, expected) in cases {
            assert!((p(a, b) - expected).abs() < 1e-12, "{a:?} {b:?}: {}", p(a, b));
        }
        // mannwhitneyu(arange(15), arange(15) * 1.3 + 2.15, method="exact")
        let a: Vec<f64> = (0..15).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|v| v * 1.3 + 2.15).collect();
        assert!((p(&a, &b) - 0.050_222_373_333_457_1).abs() < 1e-12);
    }

    #[test]
    fn many_values_are_tested_by_the_normal_approximation_as_scipy_does() {
        // mannwhitneyu(arange(60) % 17, arange(60) * 7 % 19 + 1, method="asymptotic")
        let a: Vec<f64> = (0..60).map(|i| f64::from(i % 17)).collect();
        let b: Vec<f64> = (0..60).map(|i| f64::from(i * 7 % 19 + 1)).collect();
        let test = rank_test(&a, &b).unwrap();
        assert!(!test.exact);
        assert!((test.p / 0.014_102_519_414_009_6 - 1.0).abs() < 1e-6, "{}", test.p);
    }
    proptest! {
        #[test]
        fn sides_may_be_swapped_and_the_scale_does_not_matter(
            a in prop::collection::vec(0u8..12, 1..9),
            b in prop::collection::vec(0u8..12, 1..9),
        ) {
            let plain = |v: &[u8]| v.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
            let scaled = |v: &[u8]| v.iter().map(|x| f64::from(*x).exp()).collect::<Vec<_>>();
            let here = p(&plain(&a), &plain(&b));
            prop_assert!(here > 0.0 && here <= 1.0);
            prop_assert!((here - p(&plain(&b), &plain(&a))).abs() < 1e-12);
            prop_assert!((here - p(&scaled(&a), &scaled(&b))).abs() < 1e-12);
        }

        /// The count by sums against the count by hand, subset for subset.
        #[test]
        fn p_equals_the_share_of_all_ways_to_deal_the_values_out(
            a in prop::collection::vec(0u8..6, 1..6),
            b in prop::collection::vec(0u8..6, 1..6),
        ) {
            let all: Vec<f64> = a.iter().chain(&b).map(|x| f64::from(*x)).collect();
            let statistic = |side: u32| {
                let mut wins = 0.0;
                for (i, x) in all.iter().enumerate().filter(|(i, _)| side >> i & 1 == 1) {
                    for (_, y) in all.iter().enumerate().filter(|(j, _)| *j != i && side >> j & 1 == 0) {
                        wins += if x > y { 1.0 } else if x == y { 0.5 } else { 0.0 };
                    }
                }
                (wins - (a.len() * b.len()) as f64 / 2.0).abs()
            };
            let observed = statistic((1 << a.len()) - 1);
            let ways: Vec<u32> =
                (0..1 << all.len()).filter(|s: &u32| s.count_ones() as usize == a.len()).collect();
            let far = ways.iter().filter(|s| statistic(**s) >= observed - 1e-9).count();
            let (a, b) = all.split_at(a.len());
            prop_assert!((p(a, b) - far as f64 / ways.len() as f64).abs() < 1e-12);
        }
    }
}
