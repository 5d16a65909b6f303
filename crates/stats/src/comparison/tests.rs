use super::{Comparison, compare, compare_to, judge};
use crate::Verdict;
use proptest::prelude::*;
use units::{Better, Test};

const TESTS: [Test; 2] = [Test::Paired, Test::Ranked];

fn judged(base: &[f64], new: &[f64], test: Test, better: Better) -> Comparison {
    let mut c = compare(&pairs(base, new), test, Some(0.03));
    judge(&mut [(&mut c, better)]);
    c
}

fn pairs(base: &[f64], new: &[f64]) -> Vec<(f64, f64)> {
    base.iter().copied().zip(new.iter().copied()).collect()
}

const BASE: [f64; 5] = [100.0, 101.0, 99.0, 100.5, 99.5];

fn times(factor: f64) -> Vec<f64> {
    // Not in the order of the base.
    BASE.iter().rev().map(|v| v * factor).collect()
}

#[test]
fn a_clear_gain_is_better_and_a_clear_loss_worse() {
    for test in TESTS {
        let gain = judged(&BASE, &times(1.2), test, Better::Higher);
        assert_eq!(gain.verdict, Some(Verdict::Better));
        assert!((gain.ratio.unwrap() - 1.2).abs() < 1e-3, "{gain:?}");
        assert!(gain.p.unwrap() <= 2.0 / 252.0 && gain.p == gain.p_adjusted);
        assert!(gain.interval().unwrap().contains(1.2));
        assert_eq!(gain.repeats_that_would_decide, None);
        let worse = judged(&BASE, &times(1.2), test, Better::Lower);
        assert_eq!(worse.verdict, Some(Verdict::Worse));
        assert_eq!(judged(&BASE, &times(0.5), test, Better::Lower).verdict, Some(Verdict::Better));
        let neither = judged(&BASE, &times(0.5), test, Better::Neither);
        assert_eq!(neither.verdict, Some(Verdict::Differs));
        assert_eq!(neither.repeats_that_would_decide, None);
    }
}

#[test]
fn equal_runs_are_the_same_within_three_percent_and_not_within_a_fifth_of_a_percent() {
    for test in TESTS {
        let same = judged(&BASE, &times(1.0), test, Better::Higher);
        assert_eq!(same.verdict, Some(Verdict::Same), "{same:?}");
        let mut strict = compare(&pairs(&BASE, &times(1.0)), test, Some(0.002));
        judge(&mut [(&mut strict, Better::Higher)]);
        let needed = strict.repeats_that_would_decide;
        assert!(needed.is_none_or(|(least, _)| least > 10), "{strict:?}");
        let mut hopeless = compare(&pairs(&BASE, &times(1.0)), test, Some(0.0));
        judge(&mut [(&mut hopeless, Better::Higher)]);
        assert_eq!(hopeless.repeats_that_would_decide, None);
    }
}

#[test]
fn runs_that_go_up_and_down_together_are_told_apart_by_pairs_and_not_by_ranks() {
    let base = [60.0, 80.0, 100.0, 130.0, 170.0];
    let new: Vec<f64> = base.iter().zip([1.09, 1.1, 1.11, 1.1, 1.1]).map(|(b, f)| b * f).collect();
    let paired = judged(&base, &new, Test::Paired, Better::Higher);
    assert_eq!(paired.verdict, Some(Verdict::Better));
    assert!(paired.low.unwrap() > 1.09 && paired.high.unwrap() < 1.11);
    let ranked = judged(&base, &new, Test::Ranked, Better::Higher);
    assert_eq!(ranked.verdict, Some(Verdict::Unclear));
}

#[test]
fn one_run_twice_as_slow_hides_nothing_from_ranks() {
    let base = [100.0, 101.0, 99.0, 100.5, 99.5, 200.0, 100.2, 99.8];
    let new: Vec<f64> = [111.0, 109.5, 110.0, 222.0, 110.5, 109.0, 110.2, 111.5].to_vec();
    assert_eq!(judged(&base, &new, Test::Ranked, Better::Lower).verdict, Some(Verdict::Worse));
    assert_eq!(judged(&base, &new, Test::Paired, Better::Lower).verdict, Some(Verdict::Unclear));
}

#[test]
fn three_of_twelve_runs_ten_times_slower_are_neither_the_same_nor_better() {
    let base: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i % 3) * 0.3).collect();
    let mut new: Vec<f64> = base.iter().rev().copied().collect();
    (new[1], new[6], new[9]) = (1_010.0, 950.0, 1_200.0);
    let same = judged(&base, &new, Test::Ranked, Better::Lower);
    assert_eq!((same.verdict, &same.apart.new[..]), (Some(Verdict::Unclear), &[1, 6, 9][..]));
    assert_eq!(same.repeats_that_would_decide, None);
    // One alone would not make it unclear by ranks.
    let mut one = base.clone();
    one[3] = 1_010.0;
    let one = judged(&base, &one, Test::Ranked, Better::Lower);
    assert_eq!((one.verdict, &one.apart.new[..]), (Some(Verdict::Unclear), &[3][..]));
    assert!(one.p_adjusted.unwrap() < 0.05, "{one:?}");
    let lower: Vec<f64> = new.iter().map(|v| v * 0.8).collect();
    let better = judged(&base, &lower, Test::Ranked, Better::Lower);
    assert_eq!(better.verdict, Some(Verdict::Unclear), "{better:?}");
    let quiet = judged(&base, &base[..], Test::Ranked, Better::Lower);
    assert!(quiet.verdict == Some(Verdict::Same) && quiet.apart.is_empty());
}

#[test]
fn what_is_unclear_says_from_five_repeats_on_how_many_would_decide() {
    let base = [90.0, 110.0, 100.0, 95.0, 105.0];
    let noisy = judged(&base, &[121.0, 97.0, 99.0, 116.0, 108.0], Test::Paired, Better::Higher);
    assert_eq!(noisy.verdict, Some(Verdict::Unclear));
    let (least, most) = noisy.repeats_that_would_decide.unwrap();
    assert!((6..=300).contains(&least) && most > 3 * least && most <= 1000, "{least} to {most}");
    for test in TESTS {
        let four = judged(&BASE[..4], &times(2.0)[..4], test, Better::Higher);
        assert_eq!(four.verdict, Some(Verdict::Unclear));
        assert_eq!(four.repeats_that_would_decide, None);
        assert!(four.method.contains("fewer than five"), "{}", four.method);
    }
}

#[test]
fn claims_share_one_correction_and_those_decided_take_nothing_from_the_rest() {
    let base: Vec<f64> = (0..5).map(|i| 100.0 + f64::from(i)).collect();
    let far: Vec<f64> = base.iter().map(|v| v * 2.0).collect();
    let mut all: Vec<_> =
        (0..7).map(|_| compare(&pairs(&base, &far), Test::Ranked, Some(0.03))).collect();
    let mut family: Vec<_> = all.iter_mut().map(|c| (c, Better::Higher)).collect();
    judge(&mut family[..6]);
    // Five repeats a side can decide six ranked questions and not seven.
    assert!(family[..6].iter().all(|(c, _)| c.verdict == Some(Verdict::Better)));
    assert!((family[0].0.p_adjusted.unwrap() - 12.0 / 252.0).abs() < 1e-12);
    judge(&mut family);
    assert!(family.iter().all(|(c, _)| c.verdict == Some(Verdict::Unclear)));
    let needed = |(c, _): &(&mut Comparison, Better)| c.repeats_that_would_decide;
    // Whatever the spread: so many it takes, and no more.
    assert!(family.iter().all(|of| needed(of) == Some((6, 6))), "{:?}", family[0]);
}

#[test]
fn one_repeat_has_a_ratio_and_neither_interval_nor_test() {
    for test in TESTS {
        let c = judged(&[100.0], &[150.0], test, Better::Higher);
        assert!((c.ratio.unwrap() - 1.5).abs() < 1e-12);
        assert_eq!((c.low, c.high, c.p), (None, None, None));
        assert_eq!((c.verdict, c.repeats_that_would_decide), (Some(Verdict::Unclear), None));
    }
    for test in TESTS {
        let two = judged(&BASE[..2], &times(2.0)[..2], test, Better::Higher);
        assert_eq!((two.low, two.high, two.verdict), (None, None, Some(Verdict::Unclear)));
        assert!(two.method.contains("no interval"), "{}", two.method);
        let none = judged(&[0.0, 0.0], &[3.0, 4.0], test, Better::Lower);
        assert_eq!(none.difference.unwrap().interval, None);
    }
    // Of three a side no ranks are unlikely enough for an interval.
    let three = judged(&BASE[..3], &times(2.0)[..3], Test::Ranked, Better::Higher);
    assert_eq!((three.low, three.high), (None, None));
    assert!(three.method.contains("no interval"), "{}", three.method);
    assert!(judged(&BASE[..3], &times(2.0)[..3], Test::Paired, Better::Higher).low.is_some());
}

#[test]
fn no_data_is_null() {
    let c = judged(&[], &[], Test::Paired, Better::Higher);
    assert_eq!((c.ratio, c.p, c.p_adjusted, c.n), (None, None, None, 0));
    assert_eq!(c.verdict, Some(Verdict::Unclear));
    assert_eq!(compare(&[(f64::NAN, 1.0), (2.0, 2.0)], Test::Paired, None).n, 1);
}

#[test]
fn nothing_on_both_sides_is_the_same_and_a_base_of_zero_has_a_difference() {
    for test in TESTS {
        let none = judged(&[0.0; 5], &[0.0; 5], test, Better::Lower);
        assert_eq!((none.ratio, none.low, none.verdict), (None, None, Some(Verdict::Same)));
        assert_eq!(none.difference.map(|difference| difference.value), Some(0.0));
        assert!(none.method.contains("there is no ratio"), "{}", none.method);
        let some = judged(&[0.0; 5], &[18.0, 20.0, 25.0, 19.0, 21.0], test, Better::Lower);
        assert_eq!((some.ratio, some.low, some.verdict), (None, None, Some(Verdict::Worse)));
        let difference = some.difference.unwrap();
        assert!(difference.interval.unwrap().low > 0.0 && difference.value > 19.0);
        assert!(some.method.contains("differences of values"), "{}", some.method);
        let gone = judged(&[18.0, 20.0, 25.0, 19.0, 21.0], &[0.0; 5], test, Better::Lower);
        assert_eq!((gone.ratio, gone.verdict), (Some(0.0), Some(Verdict::Better)));
        let negative = judged(&[-1.0, 1.0, 2.0, 3.0, 2.0], &BASE, test, Better::Lower);
        assert_eq!((negative.ratio, negative.verdict), (None, Some(Verdict::Worse)));
    }
}

#[test]
fn a_base_of_nearly_nothing_has_a_difference_and_no_ratio() {
    let (one, many) =
        ([1.0, 1.0, 2.0, 1.0, 1.0], [16_600.0, 16_610.0, 16_602.0, 16_590.0, 16_605.0]);
    for test in TESTS {
        let mut of = compare_to(&pairs(&one, &many), test, Some(0.03), 10.0);
        judge(&mut [(&mut of, Better::Lower)]);
        assert_eq!((of.ratio, of.low, of.verdict), (None, None, Some(Verdict::Worse)), "{test:?}");
        let difference = of.difference.unwrap();
        assert!((16_595.0..16_610.0).contains(&difference.value), "{difference:?}");
        assert!(difference.interval.unwrap().low > 16_000.0, "{difference:?}");
        assert!(of.method.contains("no ratio: the base is nearly nothing"), "{}", of.method);
        // Against enough of it there is one, however small the new side is; and what is asked of nothing holds as before.
        let back = compare_to(&pairs(&many, &one), test, Some(0.03), 10.0);
        assert!(back.ratio.is_some_and(|ratio| ratio < 1e-4), "{back:?}");
        let equal = compare_to(&pairs(&one, &one), test, Some(0.03), 10.0);
        assert_eq!((equal.ratio, equal.difference.map(|of| of.value)), (None, Some(0.0)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_interval_holds_the_ratio_and_sides_may_be_swapped(
        pairs in prop::collection::vec((1.0..1e3f64, 1.0..1e3f64), 4..16),
    ) {
        for test in TESTS {
            let c = compare(&pairs, test, None);
            let interval = c.interval().unwrap();
            prop_assert!(interval.contains(c.ratio.unwrap()), "{c:?}");
            let swapped: Vec<_> = pairs.iter().map(|(b, n)| (*n, *b)).collect();
            let s = compare(&swapped, test, None);
            prop_assert!((c.ratio.unwrap() * s.ratio.unwrap() - 1.0).abs() < 1e-9);
            prop_assert!((interval.low * s.high.unwrap() - 1.0).abs() < 1e-9);
            prop_assert!((c.p.unwrap() - s.p.unwrap()).abs() < 1e-9);
        }
    }

    #[test]
    fn neither_the_unit_nor_the_order_of_the_repeats_matters(
        pairs in prop::collection::vec((1.0..1e3f64, 1.0..1e3f64), 5),
    ) {
        for test in TESTS {
            let other: Vec<_> = pairs.iter().rev().map(|(b, n)| (b * 1024.0, n * 1024.0)).collect();
            let (a, b) = (compare(&pairs, test, Some(0.03)), compare(&other, test, Some(0.03)));
            prop_assert!((a.ratio.unwrap() / b.ratio.unwrap() - 1.0).abs() < 1e-9);
            prop_assert!((a.p.unwrap() - b.p.unwrap()).abs() < 1e-9);
            prop_assert!((a.low.unwrap() / b.low.unwrap() - 1.0).abs() < 1e-9);
        }
    }

    /// Asked alone, a difference is claimed just where the 95 % interval lies beyond the zone, and no bad run stands apart.
    #[test]
    fn a_difference_is_claimed_where_the_interval_lies_beyond_the_zone(
        pairs in prop::collection::vec((95.0..105.0f64, 100.0..115.0f64), 5..9),
    ) {
        for test in TESTS {
            let mut c = compare(&pairs, test, Some(0.03));
            judge(&mut [(&mut c, Better::Higher)]);
            let claimed = c.low.unwrap() > 1.03 && c.apart.is_empty();
            prop_assert_eq!(c.verdict == Some(Verdict::Better), claimed, "{:?}", c);
        }
    }
}

#[test]
fn failures_are_the_same_only_where_there_are_none_whatever_their_number() {
    let judged = |base: &[f64], new: &[f64]| judged(base, new, Test::Occurrence, Better::Lower);
    let none = [0.0; 12];
    assert_eq!(judged(&none, &none).verdict, Some(Verdict::Same));
    // Nine runs without, and three in which thousands fail.
    let mut some = none;
    (some[9], some[10], some[11]) = (40.0, 5_000.0, 100_000.0);
    let found = judged(&none, &some);
    assert_eq!(found.verdict, Some(Verdict::Unclear), "{found:?}");
    assert!((found.p.unwrap() - 2.0 * 0.108_695_652).abs() < 1e-6, "{found:?}");
    let all = [7.0; 12];
    assert_eq!(judged(&none, &all).verdict, Some(Verdict::Worse));
    assert_eq!(judged(&all, &none).verdict, Some(Verdict::Better));
    assert_eq!(judged(&all, &all).verdict, Some(Verdict::Unclear));
    // 2 x scipy.stats.fisher_exact([[5, 0], [0, 5]], "greater")
    assert!((judged(&none[..5], &all[..5]).p.unwrap() - 2.0 / 252.0).abs() < 1e-9);
    assert_eq!(judged(&none[..5], &all[..5]).verdict, Some(Verdict::Worse));
}
