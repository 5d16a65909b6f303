//! The headline of a sweep by bytes in flight: whether to split them, with the largest amount.

use analysis::{Split, SplitAnswer};
use stats::LEAST_REPEATS;
use units::show;

use super::words::{factor, operation, short_name};
use crate::view::SplitRow;

/// Most names that are listed; of more, only their number.
const NAMES: usize = 2;

/// Returns the clauses: `With 512 KiB in flight random reads are up to 1.6 times as fast split with “NVMe flash”; faster whole with “hard disk”`.
pub(super) fn over_splits(splits: &[SplitRow]) -> Option<Vec<String>> {
    let found = &splits.first()?.found;
    let largest = found.iter().map(|split| split.outstanding).max()?;
    let at: Vec<&Split> = found.iter().filter(|split| split.outstanding == largest).collect();
    let of = |answer| -> Vec<&Split> {
        at.iter().copied().filter(|split| split.answer == answer).collect()
    };
    let what = format!("{} in flight", show::bytes(largest as f64));
    let object = operation(&at.first()?.operation);
    let [split, whole, either] =
        [SplitAnswer::Split, SplitAnswer::Whole, SplitAnswer::Either].map(of);
    let most = split.iter().filter_map(|split| split.ratio).reduce(f64::max);
    let mut clauses = Vec::new();
    if let Some(most) = most {
        let up_to = if split.len() > 1 { "up to " } else { "" };
        clauses.push(format!("{up_to}{} times as fast split with {}", factor(most), names(&split)));
    }
    if !whole.is_empty() {
        clauses.push(format!("faster whole with {}", names(&whole)));
    }
    if !either.is_empty() {
        clauses.push(format!("as fast either way with {}", names(&either)));
    }
    let Some(first) = clauses.first_mut() else {
        let few = at.iter().all(|split| split.n < LEAST_REPEATS);
        let why = if at.iter().any(|split| split.few_ios.is_some() || split.whole.median.is_none())
        {
            "the loads did too little"
        } else if few {
            "so few runs decide nothing"
        } else {
            "the runs do not decide it"
        };
        let open = format!("Whether {object} with {what} are faster whole or split is open");
        return Some(vec![open, why.to_owned()]);
    };
    *first = format!("With {what} {object} are {first}");
    Some(clauses)
}

/// Lists the variants: `“hard disk” and “SATA flash”`, `“hard disk” and 3 more`.
fn names(of: &[&Split]) -> String {
    let listed: Vec<String> =
        of.iter().take(NAMES).map(|split| short_name(&split.variant)).collect();
    match of.len() {
        1 | 2 => listed.join(" and "),
        many => format!("{} and {} more", listed[0], many - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::SplitPoint;

    fn row(answers: &[(&str, f64, SplitAnswer)], n: usize) -> SplitRow {
        let point = |depth| SplitPoint { depth, median: Some(1.0) };
        let split = |(variant, ratio, answer): &(&str, f64, SplitAnswer)| Split {
            variant: (*variant).into(),
            stage: "read".into(),
            operation: "randread".into(),
            outstanding: 512 << 10,
            whole: point(1),
            best: point(8),
            ratio: Some(*ratio),
            low: None,
            high: None,
            n,
            few_ios: None,
            answer: *answer,
        };
        let found: Vec<Split> = answers.iter().map(split).collect();
        SplitRow { label: String::new(), answers: Vec::new(), found }
    }

    #[test]
    fn the_headline_says_where_to_split_and_where_not() {
        let sure = row(
            &[
                ("hard disk", 0.1, SplitAnswer::Whole),
                ("SATA flash", 1.4, SplitAnswer::Split),
                ("NVMe flash", 1.6, SplitAnswer::Split),
            ],
            5,
        );
        assert_eq!(
            over_splits(&[sure]).unwrap(),
            [
                "With 512 KiB in flight random reads are up to 1.6 times as fast split with “SATA flash” and “NVMe flash”",
                "faster whole with “hard disk”"
            ]
        );
        let open = row(&[("a", 0.1, SplitAnswer::Open), ("b", 2.0, SplitAnswer::Open)], 1);
        assert_eq!(
            over_splits(&[open]).unwrap(),
            [
                "Whether random reads with 512 KiB in flight are faster whole or split is open",
                "so few runs decide nothing"
            ]
        );
        assert_eq!(over_splits(&[]), None);
    }
}
