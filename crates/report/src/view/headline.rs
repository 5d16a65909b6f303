//! The headline of a page: `SUBJECT VERB AMOUNT OBJECT; COST or LIMIT`, in so few words that they are read.

use analysis::{MetricComparison, level_number};
use stats::{LEAST_REPEATS, Verdict};
use units::Better;
use units::show::significant;

use super::{CROWD, EffectRow, FigureRow, Of, Variant, effects};
use crate::wording;

/// Words that are read at one glance.
pub const WORDS: usize = 25;

/// Words of a name that others chose.
const NAME: usize = 4;

/// A sweep changes nothing below this share.
const CHANGED: f64 = 0.05;

/// The headline; `None` where nothing is asked that it could say.
pub(super) fn headline(
    variants: &[Variant],
    rows: &[FigureRow],
    effects: &[EffectRow],
) -> Option<String> {
    if variants.iter().all(|variant| variant.repeats == 0) {
        return None;
    }
    let clauses = over_sweep(variants, rows)
        .or_else(|| over_factors(rows, effects))
        .or_else(|| over_many(variants, rows))
        .or_else(|| against_base(variants, rows))
        .or_else(|| alone(variants, rows))?;
    let mut said = String::new();
    for clause in clauses.into_iter().filter(|clause| !clause.is_empty()) {
        let next = if said.is_empty() { clause } else { format!("{said}; {clause}") };
        if said.is_empty() || next.split_whitespace().count() <= WORDS {
            said = next;
        }
    }
    Some(format!("{said}."))
}

/// What is asked first of which one side is better.
fn leading(rows: &[FigureRow]) -> impl Iterator<Item = &FigureRow> {
    rows.iter().filter(|row| row.asked && row.better != Better::Neither && row.known())
}

/// A name of few words, in quotes where it has several: it may be any words.
fn named(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    match words.len() {
        0 | 1 => name.to_owned(),
        few if few <= NAME => format!("“{name}”"),
        _ => format!("“{} …”", words[..NAME].join(" ")),
    }
}

/// Operations as people call them.
fn operation(name: &str) -> &str {
    match name {
        "randread" => "random reads",
        "randwrite" => "random writes",
        "randdiscard" => "random discards",
        "randwritezeroes" => "random writes of zeros",
        "read" => "reads",
        "write" => "writes",
        "discard" => "discards",
        "writezeroes" => "writes of zeros",
        "flush" => "flushes",
        other => other,
    }
}

/// The operations of a row; `None` of what is not of operations.
fn operations(row: &FigureRow) -> Option<&str> {
    match &row.scope.of {
        Of::Operation(name) => Some(operation(name)),
        _ => None,
    }
}

/// What a row is a figure of: `random writes`, `p99 latency of random writes`, `CPU per I/O`.
fn object(row: &FigureRow) -> String {
    match operations(row) {
        Some(operations) if row.metric == "iops" => operations.to_owned(),
        Some(operations) if row.metric.starts_with("throughput") => {
            format!("throughput of {operations}")
        }
        Some(operations) if row.metric.starts_with("latency") => {
            format!("{} of {operations}", row.label)
        }
        _ => row.label.clone(),
    }
}

/// ` in copy-2`, where there are several stages.
fn stage(row: &FigureRow) -> String {
    row.scope.stage.as_ref().map_or_else(String::new, |stage| format!(" in {stage}"))
}

/// `0.38`, `2.6`, `1.05`: two digits, more only where two would say 1 of what differs.
fn factor(ratio: f64) -> String {
    significant(ratio, if (0.995..1.1).contains(&ratio) { 3 } else { 2 })
}

/// `does 0.38 times the random writes`, `takes 4.7 times as long`.
fn does(row: &FigureRow, ratio: f64, base: Option<&str>) -> String {
    let (times, of) = (factor(ratio), base.map_or_else(String::new, |base| format!(" of {base}")));
    let long = base.map_or_else(String::new, |base| format!(" as {base}"));
    if row.metric.starts_with("elapsed") {
        return format!("takes {times} times as long{long}");
    }
    let verb = match row.metric.as_str() {
        "iops" => "does",
        metric if metric.contains("cpu") => "takes",
        _ => "has",
    };
    format!("{verb} {times} times the {}{of}", object(row))
}

/// `does as many random writes as plain`, `has the same p99 latency as plain`.
fn does_the_same(row: &FigureRow, base: Option<&str>) -> String {
    let than = base.map_or_else(String::new, |base| format!(" as {base}"));
    match row.metric.as_str() {
        "iops" => format!("does as many {}{than}", object(row)),
        metric if metric.starts_with("elapsed") => format!("takes as long{than}"),
        _ => format!("has the same {}{than}", object(row)),
    }
}

/// A comparison as what the new side does; `None` where there is nothing to compare.
fn compared(row: &FigureRow, c: &MetricComparison, base: Option<&str>) -> Option<String> {
    let said = match (c.verdict, c.ratio, c.difference) {
        (Some(Verdict::Same), ..) => does_the_same(row, base),
        (_, Some(ratio), _) => does(row, ratio, base),
        (_, None, Some(difference)) if difference.value != 0.0 => {
            let word = if difference.value < 0.0 { "less" } else { "more" };
            let than = base.map_or_else(String::new, |base| format!(" than {base}"));
            let amount = wording::amount(row.unit, difference.value.abs());
            format!("has {amount} {word} {}{than}", object(row))
        }
        _ => return None,
    };
    Some(format!("{said}{}", stage(row)))
}

/// Returns what so few runs cannot say.
fn few(runs: usize) -> String {
    match runs {
        1 => "one run of each decides nothing".to_owned(),
        n if n < LEAST_REPEATS => format!("{n} runs of each decide nothing"),
        n => format!("{n} runs do not decide it"),
    }
}

/// `vdo saves 75 % of the space and does 0.38 times the random writes of plain`, and what it costs.
fn against_base(variants: &[Variant], rows: &[FigureRow]) -> Option<Vec<String>> {
    let base = named(&variants.first()?.name);
    let of = |row: &FigureRow, index: usize| row.comparisons.get(index)?.clone();
    let first = leading(rows).find(|row| row.comparisons.iter().any(Option::is_some))?;
    let far = |index: &usize| {
        let c = of(first, *index)?;
        Some((c.verdict != Some(Verdict::Unclear), c.ratio.map_or(0.0, |ratio| ratio.ln().abs())))
    };
    let order =
        |a: &usize, b: &usize| far(a).partial_cmp(&far(b)).unwrap_or(std::cmp::Ordering::Equal);
    let index = (1..variants.len()).rev().max_by(order)?;
    let new = named(&variants.get(index)?.name);
    let all = leading(rows).filter_map(|row| Some((row, of(row, index)?)));
    let all: Vec<_> = all.filter(|(row, _)| !row.is_zero(0) || !row.is_zero(index)).collect();
    // What is sure comes before what these runs do not decide.
    let open = |c: &MetricComparison| matches!(c.verdict, None | Some(Verdict::Unclear));
    let (sure, unsure): (Vec<_>, Vec<_>) = all.iter().partition(|(_, c)| !open(c));
    let mut told = sure.iter().chain(&unsure);
    let (leader, c) = told.next()?;
    let first = compared(leader, c, Some(&base))?;
    let purpose = rows.iter().rev().find_map(|row| {
        let value = row.values.get(index).copied().flatten()?;
        let some = row.purpose && value.median > 0.0;
        let (verb, object) = layers::headline_does(&row.metric).filter(|_| some)?;
        Some(format!("{verb} {} {object} and ", wording::value(row.unit, round(value.median))))
    });
    let mut clauses = vec![format!("{new} {}{first}", purpose.unwrap_or_default())];
    match open(c) {
        true => clauses.push(few(c.n)),
        // The same of another stage, or its price.
        false => clauses.extend(
            told.find(|(_, c)| !open(c))
                .and_then(|(row, c)| Some(format!("it {}", cost(row, c, leader)?))),
        ),
    }
    Some(clauses)
}

/// What the new side does in another figure than the first; operations that are named already are not named again.
fn cost(row: &FigureRow, c: &MetricComparison, first: &FigureRow) -> Option<String> {
    let said = compared(row, c, None)?;
    let named = operations(row).filter(|_| row.scope == first.scope);
    Some(named.map_or(said.clone(), |of| said.replace(&format!(" of {of}"), "")))
}

/// Two digits, as sentences have them.
fn round(value: f64) -> f64 {
    significant(value, 2).replace(',', "").parse().unwrap_or(value)
}

/// A variant's figure at the first and at the last level of a swept key, and the levels.
struct Gain<'a> {
    variant: &'a str,
    from: &'a str,
    to: &'a str,
    ratio: f64,
    runs: usize,
}

/// `From depth 1 to 32 at block_size 4k, ssd does 23 times the random reads, hdd 2.7 times`.
fn over_sweep(variants: &[Variant], rows: &[FigureRow]) -> Option<Vec<String>> {
    let points = variants.iter().flat_map(|variant| &variant.points);
    let points: Vec<_> = points.collect();
    let point = |row: &FigureRow| {
        let stage = row.scope.stage.as_deref()?;
        points.iter().find(|(name, _)| name == stage).map(|(_, sweep)| sweep)
    };
    let asked = rows.iter().any(|row| row.asked);
    let told = |row: &&FigureRow| row.asked || !asked && row.metric == "iops";
    let first = rows.iter().filter(told).find(|row| row.known() && point(row).is_some())?;
    let sweep = point(first)?;
    let own = || points.iter().map(|(_, other)| other).filter(|other| other.stage == sweep.stage);
    let levels = |key: &str| {
        let mut levels: Vec<&str> =
            own().filter_map(|o| Some(o.point.get(key)?.as_str())).collect();
        levels.retain(|level| level_number(level).is_some());
        levels.sort_by(|a, b| {
            level_number(a).partial_cmp(&level_number(b)).unwrap_or(std::cmp::Ordering::Equal)
        });
        levels.dedup();
        levels
    };
    let key = sweep.point.keys().max_by_key(|key| levels(key).len())?;
    let levels = levels(key);
    let at = |level: &str| {
        rows.iter().find(|row| {
            let here = point(row).filter(|other| other.stage == sweep.stage);
            let alike = |(name, value): (&String, &String)| {
                if name == key { value == level } else { sweep.point.get(name) == Some(value) }
            };
            row.metric == first.metric
                && row.scope.of == first.scope.of
                && here.is_some_and(|other| other.point.iter().all(alike))
        })
    };
    let mut gains: Vec<Gain> = Vec::new();
    for (index, variant) in variants.iter().enumerate() {
        let known = |level| Some((level, at(level)?.values.get(index).copied().flatten()?));
        let mut ends = levels.iter().copied().filter_map(known);
        let Some((from, low)) = ends.next() else { continue };
        let Some((to, high)) = ends.next_back() else { continue };
        if low.median > 0.0 {
            let ratio = high.median / low.median;
            gains.push(Gain { variant: &variant.name, from, to, ratio, runs: low.n });
        }
    }
    gains.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    let (most, least) = (gains.first()?, gains.last()?);
    let others = sweep.point.iter().filter(|(name, _)| *name != key);
    let others: Vec<_> = others.map(|(name, value)| format!("{name} {value}")).collect();
    let others =
        if others.is_empty() { String::new() } else { format!(" at {}", others.join(", ")) };
    let start = format!("From {key} {} to {}{others}", most.from, most.to);
    let same = |gain: &Gain| (gain.ratio - 1.0).abs() < CHANGED;
    let said = if same(most) && same(least) {
        format!("{start}, {} stay as they are", object(first))
    } else if variants.len() < 2 {
        format!("{start}, {} become {} times as many", object(first), factor(most.ratio))
    } else if most.ratio < (1.0 + CHANGED) * least.ratio {
        let (all, times) = (gains.len(), factor(most.ratio));
        format!("{start}, all {all} variants do {times} times the {}", object(first))
    } else {
        let first = format!("{start}, {} {}", named(most.variant), does(first, most.ratio, None));
        match most.variant == least.variant {
            true => first,
            false => format!("{first}, {} {} times", named(least.variant), factor(least.ratio)),
        }
    };
    Some(vec![said, if most.runs == 1 { "one run of each".to_owned() } else { String::new() }])
}

/// `Up to 87 % of the space was saved; what dedupe and compression do to random writes, one run of each cannot say`.
fn over_factors(rows: &[FigureRow], effects: &[EffectRow]) -> Option<Vec<String>> {
    let found = &effects.first()?.found;
    let row = rows.iter().find(|row| row.metric == found.metric && row.scope == found.scope)?;
    let purpose = rows.iter().rev().filter(|row| row.purpose).find_map(|row| {
        let words = layers::headline_words(&row.metric)?;
        let most = row.values.iter().flatten().map(|figure| figure.median).fold(0.0, f64::max);
        Some(format!("Up to {} {words}", wording::value(row.unit, round(most))))
    });
    let sure = found.effects.iter().filter(|effect| effect.with.is_none());
    let sure = sure.filter(|effect| effect.verdict != Verdict::Unclear);
    let most = sure.max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()));
    let cost = match most {
        None => {
            let n = found.repeats;
            let runs =
                if n == 1 { "one run of each".to_owned() } else { format!("{n} runs of each") };
            format!("what the factors do to {}{}, {runs} cannot say", object(row), stage(row))
        }
        Some(effect) if effect.verdict == Verdict::Same => {
            format!("no factor changes {}{}", object(row), stage(row))
        }
        Some(effect) => {
            let change = effects::changed(&effect.of);
            format!("{change} {}{}", does(row, effect.ratio, None), stage(row))
        }
    };
    Some(purpose.into_iter().chain([cost]).collect())
}

/// `5 of 6 variants are worse than plain in random writes, most c: 0.38 times`.
fn over_many(variants: &[Variant], rows: &[FigureRow]) -> Option<Vec<String>> {
    if variants.len() <= CROWD {
        return None;
    }
    let row = leading(rows).next()?;
    let base = named(&variants.first()?.name);
    let compared = || {
        let each = variants.iter().zip(&row.comparisons);
        each.filter_map(|(variant, c)| Some((variant, c.as_ref()?)))
    };
    let far = |c: &MetricComparison| c.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let of = |verdict: Verdict| {
        let all: Vec<_> = compared().filter(|(_, c)| c.verdict == Some(verdict)).collect();
        let (variant, most) = all.iter().max_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)))?;
        let times = most.ratio.map_or_else(String::new, |r| format!(": {} times", factor(r)));
        Some((all.len(), format!("most {}{times}", named(&variant.name))))
    };
    let all = compared().count();
    let mut clauses = Vec::new();
    for verdict in [Verdict::Worse, Verdict::Better, Verdict::Differs] {
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
        let n = compared().map(|(_, c)| c.n).max()?;
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
        clauses.extend((same != all).then(|| few(n)));
    }
    Some(clauses)
}

/// `19,800 random writes a second; p99 latency 1.2 ms`.
fn alone(variants: &[Variant], rows: &[FigureRow]) -> Option<Vec<String>> {
    let [_] = variants else { return None };
    let said = rows.iter().filter(|row| row.headline()).filter_map(|row| {
        let value = wording::value(row.unit, row.values.first().copied().flatten()?.median);
        Some(match (row.metric.as_str(), value.strip_suffix("/s")) {
            ("iops", Some(rate)) => format!("{rate} {} a second{}", object(row), stage(row)),
            _ => format!("{} {value}{}", object(row), stage(row)),
        })
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then_some(said)
}
