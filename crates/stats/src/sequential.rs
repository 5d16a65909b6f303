//! A comparison that is looked at while repeats come in. It may end as soon as it is decided, because each look has only a part of
//! the error: all looks together err no more often than a single one at the end.

use units::{Better, Test};

use crate::Comparison;
use crate::comparison::{ERROR, compare_with};
use crate::verdict::{LEAST_REPEATS, Verdict};

/// Numbers of repeats after which a run is looked at.
pub const LOOKS: [u32; 5] = [5, 8, 12, 18, 27];

/// The error of each look, the same at all of them (Pocock 1977), so small that all [`LOOKS`] together are wrong in 5 % of runs
/// (Jennison and Turnbull 1999, 2.4 and 7.2). Fewer looks are wrong less often.
pub(crate) const LOOK_ERROR: f64 = 0.0135;

/// The question about two variants in one metric while repeats come in.
#[derive(Debug, Clone, Copy)]
pub struct AtLooks<'a> {
    /// The number of each repeat that has both values, with base and new, in order.
    pub repeats: &'a [(u32, (f64, f64))],
    /// The repeats after which it was looked at so far, in order.
    pub looks: &'a [u32],
    /// The test that compares the repeats.
    pub test: Test,
    /// The share below which a difference does not matter.
    pub threshold: f64,
    /// The direction that is good.
    pub better: Better,
    /// Number of claims in the whole run, effects of factors among them: they share the error of each look (Bonferroni).
    pub claims: usize,
    /// The least base for which a ratio is made, in the unit of the values ([`crate::compare_to`]).
    pub least: f64,
}

/// The comparison of all repeats, with the verdict of the first look that decided; later repeats do not change it, unless they bring outliers.
///
/// A look decides where the interval, at the look's part of the error, lies wholly outside the threshold, or wholly within it. `p` and
/// `p_adjusted` belong to the look that decided, or else the last; `p_adjusted` is below 0.05 exactly where the look's interval is clear of the
/// border. The intervals cover all repeats and leave out 1.35 %: in 95 % of experiments they hold the true value at all looks at once. No look
/// decides while outliers contradict its claim ([`crate::Apart`]), whether they came up before the look or after it.
pub fn compare_at_looks(question: &AtLooks) -> Comparison {
    let compared = |last: u32| {
        let until = question.repeats.iter().filter(|(repeat, _)| *repeat <= last);
        let pairs: Vec<_> = until.map(|(_, pair)| *pair).collect();
        compare_with(&pairs, question.test, Some(question.threshold), (question.least, LOOK_ERROR))
    };
    let mut whole = compared(u32::MAX);
    whole.verdict = Some(Verdict::Unclear);
    let share = LOOK_ERROR / question.claims.max(1) as f64;
    for &look in question.looks {
        let now = compared(look);
        let Some((claim, p)) = now.claim() else { continue };
        whole.p = Some(p);
        whole.p_adjusted = Some((p / share * ERROR).min(1.0));
        if now.n < LEAST_REPEATS {
            continue;
        }
        // Outliers seen at this look, or among all repeats, may contradict its claim.
        let mut now = now;
        now.settle(claim, question.better, p < share);
        whole.settle(claim, question.better, p < share && now.apart.is_empty());
        // Outliers of this look that are none among all repeats keep it open, and are reported.
        if whole.apart.is_empty() {
            whole.apart = now.apart;
        }
        if whole.verdict != Some(Verdict::Unclear) {
            whole.decided_after = Some(look);
            break;
        }
    }
    if whole.decided_after.is_none() && whole.apart.is_empty() {
        whole.repeats_that_would_decide = whole.repeats(share);
    }
    whole.method = format!("{}; {}", whole.method, describe_looks(question, whole.decided_after));
    whole
}

/// Describes the looks in words.
fn describe_looks(question: &AtLooks, decided_after: Option<u32>) -> String {
    let Some((last, before)) = question.looks.split_last() else {
        return "not looked at yet: a look comes after five repeats".to_owned();
    };
    let before: Vec<_> = before.iter().map(u32::to_string).collect();
    let looks = match &before[..] {
        [] => last.to_string(),
        many => format!("{} and {last}", many.join(", ")),
    };
    let shared = match question.claims {
        0 | 1 => String::new(),
        n => format!(" divided among {n} claims"),
    };
    let decided = decided_after
        .map_or_else(|| "not decided".to_owned(), |repeat| format!("decided after {repeat}"));
    format!(
        "sequential: looked at after {looks} repeats with an error of 1.35 % each{shared}; {decided}; the interval leaves out 1.35 %, so that \
         it holds at all looks together in 95 %"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Repeats whose ratios are `ratio` with so much spread, the same up and down.
    fn repeats(n: u32, ratio: f64, spread: f64) -> Vec<(u32, (f64, f64))> {
        let sign = |repeat: u32| if repeat.is_multiple_of(2) { 1.0 } else { -1.0 };
        (1..=n).map(|r| (r, (100.0, 100.0 * ratio * (1.0 + spread * sign(r))))).collect()
    }

    fn looks_at<'a>(repeats: &'a [(u32, (f64, f64))], looks: &'a [u32]) -> AtLooks<'a> {
        let (test, better) = (Test::Paired, Better::Higher);
        AtLooks { repeats, looks, test, threshold: 0.03, better, claims: 1, least: 0.0 }
    }

    #[test]
    fn the_critical_values_are_those_of_the_looks() {
        let expected = [4.22, 3.28, 2.94, 2.76, 2.65];
        for (n, expected) in LOOKS.iter().zip(expected) {
            let got = crate::student::critical(LOOK_ERROR, *n as usize - 1);
            assert!((got - expected).abs() < 0.006, "{n}: {got}");
        }
    }

    #[test]
    fn what_is_plain_is_decided_at_the_first_look_and_stays() {
        let mut all = repeats(5, 0.35, 0.02);
        let first = compare_at_looks(&looks_at(&all, &LOOKS[..1]));
        assert_eq!((first.verdict, first.decided_after), (Some(Verdict::Worse), Some(5)));
        assert!(first.p_adjusted.unwrap() < 0.05 && first.repeats_that_would_decide.is_none());
        // What comes after contradicts it.
        all.extend(repeats(12, 3.0, 0.5).split_off(5));
        let later = compare_at_looks(&looks_at(&all, &LOOKS[..3]));
        assert_eq!((later.verdict, later.decided_after), (first.verdict, first.decided_after));
        assert_eq!((later.p, later.n), (first.p, 12));
        assert!(later.method.contains("after 5, 8 and 12 repeats"), "{}", later.method);
        assert!(later.method.contains("decided after 5"), "{}", later.method);
    }

    #[test]
    fn no_look_decides_what_runs_that_stand_apart_speak_against() {
        let mut all = repeats(18, 1.0, 0.001);
        let ranked = |all: &[(u32, (f64, f64))], looks: &[u32]| {
            compare_at_looks(&AtLooks {
                test: Test::Ranked,
                better: Better::Lower,
                ..looks_at(all, looks)
            })
        };
        assert_eq!(ranked(&all[..8], &LOOKS[..2]).verdict, Some(Verdict::Same));
        for late in [11, 14, 16] {
            all[late].1.1 *= 10.0;
        }
        let later = ranked(&all, &LOOKS[..4]);
        assert_eq!((later.verdict, later.decided_after), (Some(Verdict::Unclear), None));
        assert_eq!(later.apart.new, [11, 14, 16]);
    }

    #[test]
    fn runs_that_stand_apart_at_a_look_alone_are_named_while_they_keep_it_open() {
        let mut all = repeats(12, 1.0, 0.001);
        all[3].1.1 *= 10.0;
        all[9].1.0 *= 10.0;
        let one =
            AtLooks { test: Test::Ranked, better: Better::Lower, ..looks_at(&all, &LOOKS[..2]) };
        let c = compare_at_looks(&one);
        assert_eq!((c.verdict, c.decided_after), (Some(Verdict::Unclear), None));
        assert_eq!((&c.apart.new[..], c.repeats_that_would_decide), (&[3][..], None));
    }

    #[test]
    fn between_looks_nothing_is_decided_and_before_the_first_nothing_is_looked_at() {
        let all = repeats(7, 0.35, 0.02);
        let none = compare_at_looks(&looks_at(&all[..4], &[]));
        assert_eq!((none.verdict, none.p_adjusted), (Some(Verdict::Unclear), None));
        assert!(none.method.contains("not looked at yet"), "{}", none.method);
        let wide = repeats(7, 1.06, 0.05);
        let open = compare_at_looks(&looks_at(&wide, &LOOKS[..1]));
        assert_eq!((open.verdict, open.decided_after), (Some(Verdict::Unclear), None));
        assert!(open.repeats_that_would_decide.unwrap().0 > 7, "{open:?}");
    }

    #[test]
    fn a_repeat_with_one_side_only_leaves_too_few_for_the_first_look() {
        let mut all = repeats(8, 0.35, 0.02);
        all.remove(2);
        assert_eq!(compare_at_looks(&looks_at(&all, &LOOKS[..1])).decided_after, None);
        assert_eq!(compare_at_looks(&looks_at(&all, &LOOKS[..2])).decided_after, Some(8));
    }

    #[test]
    fn of_several_questions_a_tail_is_decided_later_than_a_rate() {
        let all = repeats(8, 0.35, 0.02);
        for (test, after) in [(Test::Paired, 5), (Test::Ranked, 8)] {
            let one = AtLooks { test, claims: 3, ..looks_at(&all, &LOOKS[..2]) };
            assert_eq!(compare_at_looks(&one).decided_after, Some(after), "{test:?}");
            // Of one question five repeats have an interval by ranks, too.
            let alone = AtLooks { claims: 1, ..one };
            assert_eq!(compare_at_looks(&alone).decided_after, Some(5));
        }
    }

    #[test]
    fn a_difference_of_which_no_side_is_good_is_decided_as_a_difference() {
        let all = repeats(5, 0.35, 0.02);
        let one = AtLooks { better: Better::Neither, ..looks_at(&all, &LOOKS[..1]) };
        let c = compare_at_looks(&one);
        assert_eq!((c.verdict, c.decided_after), (Some(Verdict::Differs), Some(5)));
    }

    proptest! {
        /// A single look decides exactly where its interval lies beyond the zone, or within it, and no outliers contradict it.
        #[test]
        fn a_look_decides_where_its_interval_is_free_of_the_border(
            pairs in prop::collection::vec((97.0..103.0f64, 97.0..115.0f64), 8),
            spread in prop::sample::select(vec![0.02, 0.2, 1.0]),
        ) {
            let near = |(base, new): (f64, f64)| (100.0 + (base - 100.0) * spread, 100.0 + (new - 100.0) * spread);
            let repeats: Vec<_> = (1..).zip(pairs.into_iter().map(near)).collect();
            for test in [Test::Paired, Test::Ranked] {
                let c = compare_at_looks(&AtLooks { test, ..looks_at(&repeats, &[8]) });
                let (low, high) = (c.low.unwrap(), c.high.unwrap());
                let beyond = low > 1.03 || high < 0.97;
                let within = low >= 0.97 && high <= 1.03;
                let contradicted = !c.apart.is_empty();
                prop_assert_eq!(c.decided_after.is_some(), (beyond || within) && !contradicted, "{:?}", c);
                prop_assert_eq!(c.p_adjusted.unwrap() < 0.05, beyond || within);
                prop_assert_eq!(c.verdict == Some(Verdict::Same), within && !contradicted);
            }
        }
    }
}
