//! One large I/O, or the same bytes as many small ones: the answers of a sweep by outstanding bytes, in sentences.

use analysis::{Split, SplitAnswer};
use stats::LEAST_REPEATS;
use units::show;

use crate::wording::{split_parts, split_whole};

/// The answers of one stage and operation.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitRow {
    /// The operation and stage: `randread in read`.
    pub label: String,
    /// A sentence on each variant.
    pub answers: Vec<String>,
    /// The answer for each amount of bytes in flight, by variant.
    pub found: Vec<Split>,
}

/// Returns all answers, by stage and operation.
pub fn splits(found: &[Split]) -> Vec<SplitRow> {
    let same = |a: &Split, b: &Split| (&a.stage, &a.operation) == (&b.stage, &b.operation);
    let of = |rows: &[Split]| SplitRow {
        label: format!("{} in {}", rows[0].operation, rows[0].stage),
        answers: rows.chunk_by(|a, b| a.variant == b.variant).map(answer).collect(),
        found: rows.to_vec(),
    };
    found.chunk_by(same).map(of).collect()
}

/// Describes the answers for one variant: `hard disk: do not split 32 KiB and 512 KiB: 512 KiB as 8 of 64 KiB come at 0.07 times the speed of one.`
fn answer(found: &[Split]) -> String {
    let of = |answer: SplitAnswer| -> Vec<&Split> {
        found.iter().filter(|split| split.answer == answer).collect()
    };
    let clause = |answer: SplitAnswer| {
        let those = of(answer);
        (!those.is_empty()).then(|| answer_text(answer, &those))
    };
    let order = [SplitAnswer::Split, SplitAnswer::Whole, SplitAnswer::Either, SplitAnswer::Open];
    let clauses: Vec<String> = order.into_iter().filter_map(clause).collect();
    format!("{}: {}.", found[0].variant, clauses.join("; "))
}

/// Describes one answer and the amounts that have it.
fn answer_text(answer: SplitAnswer, those: &[&Split]) -> String {
    let amounts: Vec<String> =
        those.iter().map(|split| show::bytes(split.outstanding as f64)).collect();
    let amounts = show::names(&amounts);
    let far = |split: &&&Split| split.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let most = those.iter().max_by(|a, b| far(a).total_cmp(&far(b))).copied();
    let ratio = |split: &Split| {
        let ratio = show::significant(split.ratio.unwrap_or(f64::NAN), 3);
        match (split.low, split.high) {
            (Some(low), Some(high)) => {
                format!("{ratio} times [{}, {}]", show::bound(low), show::bound(high))
            }
            _ => format!("{ratio} times"),
        }
    };
    let at = |split: &Split| {
        let amount = show::bytes(split.outstanding as f64);
        format!(
            "{amount} as {} come at {} the speed of {}",
            split_parts(split),
            ratio(split),
            split_whole(split)
        )
    };
    let most = most.filter(|split| split.ratio.is_some()).map(at);
    let most = most.map_or_else(String::new, |most| format!(": {most}"));
    match answer {
        SplitAnswer::Split => format!("split {amounts}{most}"),
        SplitAnswer::Whole => format!("do not split {amounts}{most}"),
        SplitAnswer::Either => format!("it does not matter at {amounts}"),
        SplitAnswer::Open if those.iter().any(|split| split.whole.median.is_none()) => {
            format!("not decided at {amounts}, since the unsplit I/O was not measured there{most}")
        }
        SplitAnswer::Open
            if let Some(ios) = those.iter().filter_map(|split| split.few_ios).min() =>
        {
            format!("not decided at {amounts}, since a run did {ios} I/Os, which are too few{most}")
        }
        SplitAnswer::Open if those.iter().all(|split| split.n < LEAST_REPEATS) => {
            format!("fewer than {LEAST_REPEATS} repeats decide nothing at {amounts}{most}")
        }
        SplitAnswer::Open => format!("not decided at {amounts}{most}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::SplitPoint;

    fn split(outstanding: u64, ratio: f64, answer: SplitAnswer) -> Split {
        let point = |depth| SplitPoint { depth, median: Some(1.0) };
        Split {
            variant: "flash".into(),
            stage: "read".into(),
            operation: "randread".into(),
            outstanding,
            whole: point(1),
            best: point(8),
            ratio: Some(ratio),
            low: Some(ratio - 0.02),
            high: Some(ratio + 0.02),
            n: 5,
            few_ios: None,
            answer,
        }
    }

    #[test]
    fn a_variant_has_one_sentence_with_each_answer_and_the_amount_that_shows_it_best() {
        let found = [
            split(32 << 10, 0.62, SplitAnswer::Whole),
            split(128 << 10, 1.2, SplitAnswer::Split),
            split(512 << 10, 1.64, SplitAnswer::Split),
            split(1 << 20, 1.01, SplitAnswer::Either),
        ];
        let [row] = &splits(&found)[..] else { panic!("one stage") };
        assert_eq!(row.label, "randread in read");
        assert_eq!(
            row.answers,
            [
                "flash: split 128 KiB, 512 KiB: 512 KiB as 8 of 64 KiB come at 1.64 times [1.62, 1.66] the speed of one; do not split 32 KiB: \
              32 KiB as 8 of 4 KiB come at 0.62 times [0.6, 0.64] the speed of one; it does not matter at 1 MiB."
            ]
        );
        let few =
            Split { n: 1, low: None, high: None, ..split(512 << 10, 1.64, SplitAnswer::Open) };
        assert_eq!(
            splits(&[few])[0].answers,
            [
                "flash: fewer than 5 repeats decide nothing at 512 KiB: 512 KiB as 8 of 64 KiB come at 1.64 times the speed of one."
            ]
        );
    }
}
