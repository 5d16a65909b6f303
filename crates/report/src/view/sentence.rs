//! The result in sentences, built from the figures that the experiment asks about. The page states the differences and their size;
//! the terminal also states how sure they are.

use analysis::{Analysis, MetricComparison};
use results::model::{Accelerator, SweepFacts};
use stats::{LEAST_REPEATS, Verdict};
use units::Better;

use super::{CROWD, Figure, FigureRow, Of, Scope, Sentence, Variant};
use crate::wording;

mod words;

use words::{amount, certainty, in_stage, interval, link, list, quoted, rough, times, verb};

/// The most clauses of the first sentence about a variant.
const HEADLINE: usize = 3;

/// Relative difference from which a figure that is not asked about is mentioned.
const UNTOLD: f64 = 0.03;

/// The detail of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The differences and their size.
    Short,
    /// Also how sure they are: interval, verdict, p and runs.
    Sure,
}

/// Describes what was found and how sure it is, after the caveats: that the result is changed, incomplete, simulated or from an emulated
/// CPU.
pub fn summary(
    analysis: &Analysis,
    variants: &[Variant],
    figures: &[FigureRow],
    headline: Option<&str>,
    asks: bool,
) -> String {
    let mut texts = caveats(analysis);
    // With many points or variants the sentences below are long, so the headline comes first.
    let many = variants.len() > CROWD || variants.iter().any(|variant| !variant.points.is_empty());
    texts.extend(headline.filter(|_| many).map(str::to_owned));
    let sentences =
        verdicts(variants, figures, Detail::Sure, asks).into_iter().map(|sentence| sentence.text);
    if variants.len() > CROWD {
        // One sentence per variant would fill the terminal: here they are counted, and the table lists each.
        texts.extend(sentences.take(1));
        let leading = leading(figures.iter());
        let others = figures
            .iter()
            .filter(|row| row.asked)
            .filter(|row| leading.is_none_or(|leading| !std::ptr::eq(*row, leading)));
        texts.extend(others.filter_map(counted));
    } else {
        texts.extend(sentences);
    }
    texts.join(" ")
}

fn caveats(analysis: &Analysis) -> Vec<String> {
    let mut caveats = Vec::new();
    if let Some(standing) = &analysis.going_on {
        caveats.push(format!("Still running: {standing}. No verdict is given yet."));
    }
    if let Some(what) = &analysis.changed {
        caveats.push(format!("Not as the run left it: {what}; its figures cannot be trusted."));
    }
    if analysis.simulated {
        caveats.push("Simulated: no figure here was measured.".to_owned());
    }
    if let Some(why) = analysis.incomplete.as_ref().filter(|_| analysis.going_on.is_none()) {
        caveats.push(format!("Incomplete: {why}."));
    }
    if analysis.accelerator == Accelerator::Tcg {
        let text = "On an emulated CPU, where ratios count and absolute speed does not:";
        caveats.push(text.to_owned());
    }
    caveats
}

/// Returns a sentence on each variant compared with the base, or on the figures of the only variant. `asks`: the experiment has a question.
pub fn verdicts(
    variants: &[Variant],
    figures: &[FigureRow],
    detail: Detail,
    asks: bool,
) -> Vec<Sentence> {
    let headline_rows: Vec<_> = figures.iter().filter(|row| row.headline()).collect();
    if variants.iter().all(|v| v.repeats == 0) {
        let text = "No cell ended well, so there are no figures.".to_owned();
        return vec![Sentence { text, verdict: None }];
    }
    let compared =
        (1..variants.len()).flat_map(|index| against_base(variants, index, &headline_rows, detail));
    let mut sentences: Vec<_> = compared.collect();
    if variants.len() > CROWD {
        sentences.splice(0..0, across_variants(variants, &headline_rows));
    }
    if sentences.is_empty() {
        sentences = own_figures(variants, &headline_rows, detail);
    }
    if sentences.is_empty() {
        sentences.extend(over_stages(figures));
    }
    if sentences.is_empty() && !figures.iter().any(|row| row.asked) {
        // If nothing is asked, the first figure of a load is described.
        let first = figures.iter().find(|row| row.known() && row.scope.as_operation().is_some());
        sentences = own_figures(variants, &Vec::from_iter(first), detail);
    }
    if sentences.is_empty() {
        let text = match asks {
            true => "The questions have no answer: no run has a figure that is asked about.",
            false => "No question is asked, and no load has a figure to describe.",
        };
        sentences.push(Sentence { text: text.to_owned(), verdict: None });
    }
    sentences
}

/// `Over 18 variants, IOPS of randwrite against “A”: 9 worse, most “B” (0.34×), 2 better, most “C” (1.2×), and 6 unclear; space saved: 0 %
/// to 87.4 %.`
fn across_variants(variants: &[Variant], rows: &[&FigureRow]) -> Option<Sentence> {
    let row = leading(rows.iter().copied())?;
    let base = variants.first()?;
    let decides = row.comparisons.iter().flatten().any(|c| c.n >= LEAST_REPEATS);
    let what = format!("{} of {}", row.label, row.scope.name());
    let verdicts = if decides {
        format!("{what} against {}: {}", quoted(&base.name), verdicts_across(variants, row)?)
    } else {
        format!("{what}: {}", ends_across(variants, row)?)
    };
    let purpose = rows.iter().filter(|row| row.purpose).filter_map(|row| {
        let of = medians(variants, row);
        let show = |value: f64| wording::value(row.unit, value);
        let (low, high) = (show(of.first()?.1), show(of.last()?.1));
        let range = if low == high { low } else { format!("{low} to {high}") };
        Some(format!("; {}{}: {range}", row.label, in_stage(&row.scope)))
    });
    let purpose: String = purpose.collect();
    let text = format!("Over {} variants, {verdicts}{purpose}.", variants.len());
    Some(Sentence { text, verdict: None })
}

/// Returns the first figure asked about for which one direction is better.
fn leading<'a>(mut rows: impl Iterator<Item = &'a FigureRow>) -> Option<&'a FigureRow> {
    rows.find(|row| row.asked && row.better != Better::Neither)
}

/// Returns the medians by variant, the smallest first.
fn medians<'a>(variants: &'a [Variant], row: &FigureRow) -> Vec<(&'a str, f64)> {
    let values = variants.iter().zip(&row.values);
    let known = values.filter_map(|(v, figure)| Some((v.name.as_str(), (*figure)?.median)));
    let mut known: Vec<_> = known.collect();
    known.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    known
}

/// Counts the variants that are surely better or worse than the base, and names the most extreme ones.
fn verdicts_across(variants: &[Variant], row: &FigureRow) -> Option<String> {
    let compared = || {
        let each = variants.iter().zip(&row.comparisons);
        each.filter_map(|(variant, comparison)| Some((variant, comparison.as_ref()?)))
    };
    let far = |c: &MetricComparison| match (c.ratio, c.difference) {
        (Some(ratio), _) => ratio.ln().abs(),
        (None, difference) => difference.map_or(0.0, |difference| difference.value.abs()),
    };
    let of = |verdict: Verdict| {
        let all: Vec<_> = compared().filter(|(_, c)| c.verdict == Some(verdict)).collect();
        let (variant, most) = all.iter().max_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)))?;
        let (name, by) = (quoted(&variant.name), wording::compared(row.unit, most));
        Some(match (verdict, all.len()) {
            (Verdict::Unclear | Verdict::Same, n) => format!("{n} {}", verdict.word()),
            (_, 1) => format!("1 {}, {name} ({by})", verdict.word()),
            (_, n) => format!("{n} {}, most {name} ({by})", verdict.word()),
        })
    };
    let sure = compared().any(|(_, c)| !matches!(c.verdict, None | Some(Verdict::Unclear)));
    if !sure {
        let far = compared().filter_map(|(_, c)| c.ratio);
        let (low, high) =
            far.fold((f64::INFINITY, 0.0), |(low, high), r| (f64::min(low, r), f64::max(high, r)));
        let range = if low <= high {
            format!(" ({} to {})", wording::ratio(low), wording::ratio(high))
        } else {
            String::new()
        };
        return Some(format!("none surely differs{range}"));
    }
    list(&Verdict::ALL.into_iter().filter_map(of).collect::<Vec<_>>())
}

/// Returns the best and the worst median, for results with too few repeats for a verdict.
fn ends_across(variants: &[Variant], row: &FigureRow) -> Option<String> {
    let mut of = medians(variants, row);
    if row.better == Better::Lower {
        of.reverse();
    }
    let ((worst, least), (best, most)) = (of.first()?, of.last()?);
    let show = |value: f64| wording::value(row.unit, value);
    let (most, least) = (show(*most), show(*least));
    let ends = if most == least {
        format!("{most} with each")
    } else {
        format!("best with {} ({most}), worst with {} ({least})", quoted(best), quoted(worst))
    };
    let repeats = row.values.iter().flatten().map(|figure| figure.n).max()?;
    let few = match repeats {
        1 => "one run of each decides nothing".to_owned(),
        n => format!("{n} runs of each decide nothing"),
    };
    Some(format!("{ends}; {few}"))
}

/// Counts the verdicts: `IOPS of randwrite against the base: 3 better, 9 worse and 5 unclear.`
fn counted(row: &FigureRow) -> Option<String> {
    let of = |verdict: Verdict| {
        let compared = row.comparisons.iter().flatten();
        let count = compared.filter(|c| c.verdict == Some(verdict)).count();
        (count > 0).then(|| (count, verdict.word()))
    };
    let counts: Vec<_> = Verdict::ALL.into_iter().filter_map(of).collect();
    let counts: Vec<_> = counts.iter().map(|(count, word)| format!("{count} {word}")).collect();
    Some(format!("{} of {} against the base: {}.", row.label, row.scope.name(), list(&counts)?))
}

/// Returns the extremes over stages, where nothing is asked and one variant has several measured stages, as in a sweep: `IOPS of randread: most in
/// random-read depth=32 (1,742/s), least in random-read depth=1 (79/s).`
fn over_stages(figures: &[FigureRow]) -> Option<Sentence> {
    let of = |row: &&FigureRow| row.metric == "iops" && matches!(row.scope.of, Of::Operation(_));
    let first = figures.iter().find(of)?;
    let same = figures.iter().filter(of).filter(|row| row.scope.of == first.scope.of);
    let value = |row: &FigureRow| row.values.first().copied().flatten();
    let mut known: Vec<(Figure, &str)> =
        same.filter_map(|row| Some((value(row)?, row.scope.stage.as_deref()?))).collect();
    known.sort_by(|(a, _), (b, _)| a.median.total_cmp(&b.median));
    let ((least, low), (most, high)) = (known.first()?, known.last()?);
    let Of::Operation(operation) = &first.scope.of else { return None };
    let show = |figure: &Figure| wording::value(first.unit, figure.median);
    let (label, least_of, most_of) = (&first.label, show(least), show(most));
    let text = if least.meets(*most) {
        format!(
            "{label} of {operation}: {least_of} in {low} to {most_of} in {high}, and their runs overlap."
        )
    } else {
        format!("{label} of {operation}: most in {high} ({most_of}), least in {low} ({least_of}).")
    };
    (known.len() > 1).then_some(Sentence { text, verdict: None })
}

/// `With “vdo”, randwrite ran at 0.39× the IOPS of “plain”, with 2.6× the p99 latency; 75 % of the space was saved.`
fn against_base(
    variants: &[Variant],
    index: usize,
    rows: &[&FigureRow],
    detail: Detail,
) -> Vec<Sentence> {
    let (Some(base), Some(new)) = (variants.first(), variants.get(index)) else {
        return Vec::new();
    };
    let (base, new, new_points) = (quoted(&base.name), quoted(&new.name), &new.points);
    let base = base.as_str();
    let compared: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((*row, row.comparisons.get(index)?.as_ref()?)))
        .filter(|(_, comparison)| comparison.ratio.is_some() || comparison.difference.is_some())
        // A figure that is zero on both sides is not worth mentioning.
        .filter(|(row, _)| !row.is_zero(0) || !row.is_zero(index))
        .filter(|(row, c)| row.asked || c.ratio.is_none_or(|ratio| (ratio - 1.0).abs() > UNTOLD))
        .collect();
    let unclear = |c: &&MetricComparison| c.verdict == Some(Verdict::Unclear);
    // In short sentences `unclear` is said once at the end if it holds for all; in detailed ones after each figure.
    let all_unclear =
        detail == Detail::Short && !compared.is_empty() && compared.iter().all(|(_, c)| unclear(c));
    let sweep = |row: &FigureRow| {
        let stage = row.scope.stage.as_ref()?;
        Some(&new_points.iter().find(|(name, _)| name == stage)?.1.stage)
    };
    // A single point that is asked about is described like any other stage.
    let alike = |row: &FigureRow, other: &FigureRow| {
        row.metric == other.metric && row.scope.of == other.scope.of && sweep(row) == sweep(other)
    };
    let several: Vec<bool> = compared
        .iter()
        .map(|(row, _)| compared.iter().filter(|(other, _)| alike(row, other)).count() > 1)
        .collect();
    let mut several = several.into_iter();
    let (points, compared): (Vec<_>, Vec<_>) = compared
        .into_iter()
        .partition(|(row, _)| several.next() == Some(true) && sweep(row).is_some());
    let mut parts = over_points(new_points, &points, base);
    let mut scopes: Vec<&Scope> = compared.iter().map(|(row, _)| &row.scope).collect();
    scopes.dedup();
    for scope in scopes {
        let on_this_scope: Vec<_> =
            compared.iter().filter(|(row, _)| row.scope == *scope).collect();
        let runs = parts.is_empty();
        parts.extend(match detail {
            Detail::Short => on_scope(scope, base, &on_this_scope, all_unclear),
            Detail::Sure => surely_on_scope(scope, base, &on_this_scope, runs),
        });
    }
    // Points of a sweep that the base lacks are only in the sweep's table.
    let lone = |row: &&&FigureRow| {
        row.comparisons.get(index).is_none_or(Option::is_none) && sweep(row).is_none()
    };
    for row in rows.iter().filter(lone) {
        let Some(Some(figure)) = row.values.get(index) else { continue };
        let value = wording::value(row.unit, figure.median);
        parts.push(match layers::headline_words(&row.metric) {
            Some(words) => format!("{value} {words}{}", in_stage(&row.scope)),
            None => format!("{}{}: {value}", row.label, in_stage(&row.scope)),
        });
    }
    let verdict =
        points.iter().chain(&compared).next().and_then(|(_, comparison)| comparison.verdict);
    let verdict = verdict.map(|verdict| verdict.word().to_owned());
    let end = if all_unclear { " Verdict: unclear." } else { "" };
    // The first sentence has only so many clauses; the rest follows in another.
    let rest = if parts.len() > HEADLINE { parts.split_off(HEADLINE) } else { Vec::new() };
    let sentence = |with: &str, parts: &[String], end: &str, verdict| {
        let text = format!("{with} {new}, {}.{end}", parts.join("; "));
        (!parts.is_empty()).then_some(Sentence { text, verdict })
    };
    let first = sentence("With", &parts, end, verdict);
    first.into_iter().chain(sentence("Also with", &rest, "", None)).collect()
}

/// `over 6 points, randread in read ran at 8.7× to 54× the IOPS of hdd, with ...`: the points of a sweep in one clause.
fn over_points(
    points: &[(String, SweepFacts)],
    compared: &[(&FigureRow, &MetricComparison)],
    base: &str,
) -> Vec<String> {
    let sweep = |row: &FigureRow| {
        let stage = row.scope.stage.as_ref()?;
        Some(points.iter().find(|(name, _)| name == stage)?.1.stage.clone())
    };
    let mut clauses: Vec<(Scope, String)> = Vec::new();
    let mut seen: Vec<(Scope, &str)> = Vec::new();
    for (row, _) in compared {
        let scope = Scope { stage: sweep(row), of: row.scope.of.clone() };
        let figure = (scope.clone(), row.metric.as_str());
        if seen.contains(&figure) {
            continue;
        }
        seen.push(figure);
        let same = compared.iter().filter(|(other, _)| {
            other.metric == row.metric && other.scope.of == scope.of && sweep(other) == scope.stage
        });
        let ratios: Vec<f64> = same.filter_map(|(_, c)| c.ratio).collect();
        if ratios.is_empty() {
            continue;
        }
        let (least, most) = (
            ratios.iter().copied().fold(f64::INFINITY, f64::min),
            ratios.iter().copied().fold(0.0, f64::max),
        );
        let (least, most) = (format!("{}×", rough(least)), format!("{}×", rough(most)));
        let range = if least == most { least } else { format!("{least} to {most}") };
        let label = &row.label;
        match clauses.iter_mut().find(|(of, _)| *of == scope) {
            Some((_, clause)) => clause.push_str(&format!(", with {range} the {label}")),
            None => {
                let (name, verb, points) = (scope.name(), verb(&scope, row), ratios.len());
                let clause =
                    format!("over {points} points, {name} {verb} {range} the {label} of {base}");
                clauses.push((scope, clause));
            }
        }
    }
    clauses.into_iter().map(|(_, clause)| clause).collect()
}

/// Describes all figures asked about of one operation or layer.
fn on_scope(
    scope: &Scope,
    base: &str,
    compared: &[&(&FigureRow, &MetricComparison)],
    all_unclear: bool,
) -> Option<String> {
    let ((row, first), rest) = compared.split_first()?;
    let verb = verb(scope, row);
    let link = if first.verdict == Some(Verdict::Same) { "as" } else { link(first) };
    let rest: Vec<_> =
        rest.iter().map(|(row, comparison)| times(row, comparison, all_unclear)).collect();
    let with = list(&rest).map(|rest| format!(", with {rest}")).unwrap_or_default();
    Some(format!("{} {verb} {} {link} {base}{with}", scope.name(), times(row, first, all_unclear)))
}

/// Describes all figures asked about of one operation or layer, with intervals and p-values; with the number of repeats if `runs`.
fn surely_on_scope(
    scope: &Scope,
    base: &str,
    compared: &[&(&FigureRow, &MetricComparison)],
    runs: bool,
) -> Option<String> {
    let ((row, first), rest) = compared.split_first()?;
    let clause = |row: &FigureRow, c: &MetricComparison, base: &str, runs: bool| {
        format!("{}{base}{}{}", amount(row, c), interval(c), certainty(c, runs))
    };
    let rest: Vec<_> = rest.iter().map(|(row, c)| clause(row, c, "", false)).collect();
    let with = list(&rest).map(|rest| format!(", with {rest}")).unwrap_or_default();
    let first = clause(row, first, &format!(" {} {base}", link(first)), runs);
    Some(format!("{} {} {first}{with}", scope.name(), verb(scope, row)))
}

fn own_figures(variants: &[Variant], rows: &[&FigureRow], detail: Detail) -> Vec<Sentence> {
    let sentences = variants.iter().enumerate().filter_map(|(index, variant)| {
        let clauses: Vec<_> = rows
            .iter()
            .filter_map(|row| {
                let figure = (*row.values.get(index)?)?;
                let value = wording::value(row.unit, figure.median);
                let runs = match (detail, figure.n) {
                    (Detail::Short, _) => String::new(),
                    (Detail::Sure, 1) => " (1 run)".to_owned(),
                    (Detail::Sure, n) => format!(" (median of {n} runs)"),
                };
                Some(format!("{} {} was {value}{runs}", row.scope.name(), row.label))
            })
            .collect();
        let text = format!("With {}, {}.", variant.name, list(&clauses)?);
        Some(Sentence { text, verdict: None })
    });
    sentences.collect()
}
