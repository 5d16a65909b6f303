//! The headline of a page: `SUBJECT VERB AMOUNT OBJECT; COST or LIMIT`, short enough to be read.

use analysis::MetricComparison;
use stats::{LEAST_REPEATS, Verdict};
use units::Better;
use units::show::significant;

use splits::over_splits;
use sweep::over_sweep;
use words::{does_the_same, factor, object, operations, ratio_clause, short_name, stage};

use super::{CROWD, EffectRow, FigureRow, SplitRow, Variant, effects};
use crate::wording;

mod splits;
mod sweep;
#[cfg(test)]
mod tests;
pub(super) mod words;

/// The most words that are read at a glance.
pub const WORDS: usize = 25;

/// Returns the headline; `None` where no question has an answer that it could state.
pub(super) fn headline(
    variants: &[Variant],
    rows: &[FigureRow],
    effects: &[EffectRow],
    splits: &[SplitRow],
) -> Option<String> {
    if variants.iter().all(|variant| variant.repeats == 0) {
        return None;
    }
    let clauses = over_splits(splits)
        .or_else(|| over_sweep(variants, rows))
        .or_else(|| over_factors(rows, effects))
        .or_else(|| over_many(variants, rows))
        .or_else(|| against_base(variants, rows))
        .or_else(|| single_variant(variants, rows))
        .or_else(|| over_crowd(variants, rows))?;
    let mut text = String::new();
    for clause in clauses.into_iter().filter(|clause| !clause.is_empty()) {
        let next = if text.is_empty() { clause } else { format!("{text}; {clause}") };
        if text.is_empty() || next.split_whitespace().count() <= WORDS {
            text = next;
        }
    }
    Some(format!("{text}."))
}

/// Returns the rows asked about for which one direction is better.
fn leading(rows: &[FigureRow]) -> impl Iterator<Item = &FigureRow> {
    rows.iter().filter(|row| row.asked && row.better != Better::Neither && row.known())
}

/// Describes a comparison by what the new side does; `None` where there is nothing to compare.
fn compared(row: &FigureRow, c: &MetricComparison, base: Option<&str>) -> Option<String> {
    let text = match (c.verdict, c.ratio, c.difference) {
        (Some(Verdict::Same), ..) => does_the_same(row, base),
        (_, Some(ratio), _) => ratio_clause(row, ratio, base),
        (_, None, Some(difference)) if difference.value != 0.0 => {
            let word = if difference.value < 0.0 { "less" } else { "more" };
            let than = base.map_or_else(String::new, |base| format!(" than {base}"));
            let amount = wording::amount(row.unit, difference.value.abs());
            format!("has {amount} {word} {}{than}", object(row))
        }
        _ => return None,
    };
    Some(format!("{text}{}", stage(row)))
}

/// Returns the clauses for one variant and the base: `vdo saves 75 % of the space and does 0.38 times the random writes of plain`, and the cost.
fn against_base(variants: &[Variant], rows: &[FigureRow]) -> Option<Vec<String>> {
    let base = short_name(&variants.first()?.name);
    let of = |row: &FigureRow, index: usize| row.comparisons.get(index)?.clone();
    let first = leading(rows).find(|row| row.comparisons.iter().any(Option::is_some))?;
    let far = |index: &usize| {
        let c = of(first, *index)?;
        Some((c.verdict != Some(Verdict::Unclear), c.ratio.map_or(0.0, |ratio| ratio.ln().abs())))
    };
    let order =
        |a: &usize, b: &usize| far(a).partial_cmp(&far(b)).unwrap_or(std::cmp::Ordering::Equal);
    let index = (1..variants.len()).rev().max_by(order)?;
    let new = short_name(&variants.get(index)?.name);
    let all = leading(rows).filter_map(|row| Some((row, of(row, index)?)));
    let all: Vec<_> = all.filter(|(row, _)| !row.is_zero(0) || !row.is_zero(index)).collect();
    // Decided comparisons come before undecided ones.
    let open = |c: &MetricComparison| matches!(c.verdict, None | Some(Verdict::Unclear));
    let (sure, unsure): (Vec<_>, Vec<_>) = all.iter().partition(|(_, c)| !open(c));
    let mut ordered = sure.iter().chain(&unsure);
    let (leader, c) = ordered.next()?;
    let first = compared(leader, c, Some(&base))?;
    let undecided = open(c);
    let purpose = rows.iter().rev().find_map(|row| {
        let value = row.values.get(index).copied().flatten()?;
        let some = row.purpose && value.median > 0.0;
        let (verb, object) = layers::headline_verb_and_object(&row.metric).filter(|_| some)?;
        Some(format!("{verb} {} {object}", wording::value(row.unit, round(value.median))))
    });
    let of = || format!("{}{}", object(leader), stage(leader));
    let (first_clause, next) = match (undecided, purpose) {
        // An undecided difference is not stated as a fact, whatever the figures point to; nor, with few runs, that there is none.
        (true, purpose) if c.n < LEAST_REPEATS || c.method == analysis::GOES_ON => {
            let open = format!("differs from {base} in {} is open", of());
            let text = match purpose {
                Some(purpose) => format!("{new} {purpose}, and whether it {open}"),
                None => format!("Whether {new} {open}"),
            };
            (text, Some(wording::why_open(c)))
        }
        (true, Some(purpose)) => (
            format!("{new} {purpose} and cannot be told apart from {base} in {}", of()),
            Some(wording::why_open(c)),
        ),
        (true, None) => (
            format!("{base} and {new} cannot be told apart in {}", of()),
            Some(wording::why_open(c)),
        ),
        (false, purpose) => {
            let purpose = purpose.map_or_else(String::new, |purpose| format!("{purpose} and "));
            // Another decided figure, for example its cost, or the same in another stage.
            let price = ordered.find(|(_, c)| !open(c));
            let price = price.and_then(|(row, c)| Some(format!("it {}", cost(row, c, leader)?)));
            (format!("{new} {purpose}{first}"), price)
        }
    };
    Some([first_clause].into_iter().chain(next).collect())
}

/// Returns the clause about a figure other than the first; an operation that was named already is not named again.
fn cost(row: &FigureRow, c: &MetricComparison, first: &FigureRow) -> Option<String> {
    let clause = compared(row, c, None)?;
    let named = operations(row).filter(|_| row.scope == first.scope);
    Some(named.map_or(clause.clone(), |of| clause.replace(&format!(" of {of}"), "")))
}

/// Rounds to two digits, as in sentences.
fn round(value: f64) -> f64 {
    significant(value, 2).replace(',', "").parse().unwrap_or(value)
}

/// Returns the clauses about factors: `Up to 87 % of the space was saved; what the factors do to random writes, one run of each cannot say`.
fn over_factors(rows: &[FigureRow], effects: &[EffectRow]) -> Option<Vec<String>> {
    let found = &effects.first()?.found;
    let row = rows.iter().find(|row| row.metric == found.metric && row.scope == found.scope)?;
    let purpose = best_of_purpose(rows);
    let alone = || found.effects.iter().filter(|effect| effect.with.is_none());
    let sure = alone().filter(|effect| effect.verdict != Verdict::Unclear);
    let none = alone().all(|effect| effect.verdict == Verdict::Same);
    let most = sure.max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()));
    let cost = match most {
        None => {
            let n = found.repeats;
            let runs =
                if n == 1 { "one run of each".to_owned() } else { format!("{n} runs of each") };
            format!("what the factors do to {}{}, {runs} cannot say", object(row), stage(row))
        }
        Some(_) if none => format!("no factor changes {}{}", object(row), stage(row)),
        Some(effect) if effect.verdict == Verdict::Same => {
            let change = effects::changed(&effect.of);
            format!("{change} {}{}, the rest is unclear", does_the_same(row, None), stage(row))
        }
        Some(effect) => {
            let change = effects::changed(&effect.of);
            format!("{change} {}{}", ratio_clause(row, effect.ratio, None), stage(row))
        }
    };
    Some(purpose.into_iter().chain([cost]).collect())
}

/// Returns the best value of a layer's purpose: `Up to 87 % of the space was saved`.
fn best_of_purpose(rows: &[FigureRow]) -> Option<String> {
    rows.iter().rev().filter(|row| row.purpose).find_map(|row| {
        let words = layers::headline_words(&row.metric)?;
        let all = row.values.iter().flatten().map(|figure| figure.median);
        let most = all.max_by(f64::total_cmp).filter(|most| *most > 0.0)?;
        Some(format!("Up to {} {words}", wording::value(row.unit, round(most))))
    })
}

/// Returns the clauses about many variants that are not compared with a base: `Up to 87 % of the space was saved; 18 variants do 28,000 to 39,801
/// random writes a second; one run of each decides nothing`.
fn over_crowd(variants: &[Variant], rows: &[FigureRow]) -> Option<Vec<String>> {
    let row = leading(rows).next().filter(|row| variants.len() > CROWD && row.metric == "iops")?;
    let all = || row.values.iter().flatten();
    let [least, most] = [f64::min, f64::max].map(|of| {
        let end = all().map(|figure| figure.median).reduce(of);
        end.map(|end| wording::value(row.unit, end).replace("/s", ""))
    });
    let (least, most) = least.zip(most)?;
    let range = if least == most { least } else { format!("{least} to {most}") };
    let rates =
        format!("{} variants do {range} {} a second{}", all().count(), object(row), stage(row));
    if all().count() < 2 {
        return None;
    }
    let few = match all().map(|figure| figure.n).max() {
        Some(1) => Some("one run of each decides nothing".to_owned()),
        Some(most) if most < LEAST_REPEATS => Some("so few runs decide nothing".to_owned()),
        _ => None,
    };
    Some(best_of_purpose(rows).into_iter().chain([rates]).chain(few).collect())
}

/// Returns the clauses about many variants and the base: `5 of 6 variants are worse than plain in random writes, most c: 0.38 times`.
fn over_many(variants: &[Variant], rows: &[FigureRow]) -> Option<Vec<String>> {
    if variants.len() <= CROWD {
        return None;
    }
    let row = leading(rows).next()?;
    let base = short_name(&variants.first()?.name);
    let compared = || {
        let each = variants.iter().zip(&row.comparisons);
        each.filter_map(|(variant, c)| Some((variant, c.as_ref()?)))
    };
    let far = |c: &MetricComparison| c.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let of = |verdict: Verdict| {
        let all: Vec<_> = compared().filter(|(_, c)| c.verdict == Some(verdict)).collect();
        let (variant, most) = all.iter().max_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)))?;
        let times = most.ratio.map_or_else(String::new, |r| format!(": {} times", factor(r)));
        Some((all.len(), format!("most {}{times}", short_name(&variant.name))))
    };
    let all = compared().count();
    let mut clauses = Vec::new();
    for verdict in [Verdict::Worse, Verdict::Better] {
        if let Some((count, most)) = of(verdict) {
            let than = if clauses.is_empty() {
                format!(
                    "{count} of {all} variants are {} than {base} in {}{}",
                    verdict.word(),
                    object(row),
                    stage(row)
                )
            } else {
                format!("{count} {}", verdict.word())
            };
            clauses.push(format!("{than}, {most}"));
        }
    }
    if clauses.is_empty() {
        let open = compared().map(|(_, c)| c).max_by_key(|c| (!c.few_beyond, c.n))?;
        let same = of(Verdict::Same).map_or(0, |(count, _)| count);
        clauses.push(match same == all {
            true => {
                format!("All {all} variants do as well as {base} in {}{}", object(row), stage(row))
            }
            false => format!(
                "None of {all} variants surely differs from {base} in {}{}",
                object(row),
                stage(row)
            ),
        });
        clauses.extend((same != all).then(|| wording::why_open(open)));
    }
    Some(clauses)
}

/// Returns the clauses about a single variant: `19,800 random writes a second; p99 latency 1.2 ms`.
fn single_variant(variants: &[Variant], rows: &[FigureRow]) -> Option<Vec<String>> {
    let [_] = variants else { return None };
    let clauses = rows.iter().filter(|row| row.headline()).filter_map(|row| {
        let value = wording::value(row.unit, row.values.first().copied().flatten()?.median);
        Some(match (row.metric.as_str(), value.strip_suffix("/s")) {
            ("iops", Some(rate)) => format!("{rate} {} a second{}", object(row), stage(row)),
            _ => format!("{} {value}{}", object(row), stage(row)),
        })
    });
    let clauses: Vec<String> = clauses.collect();
    (!clauses.is_empty()).then_some(clauses)
}
