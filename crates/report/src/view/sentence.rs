//! What happened, in sentences: built from the figures that the experiment asks about.

use analysis::MetricComparison;
use stats::Verdict;
use units::Better;
use units::show::significant;

use super::{CROWD, FigureRow, Of, Scope, Sentence, Variant};
use crate::wording;

/// Clauses of a headline.
const HEADLINE: usize = 3;

/// A sentence on each variant against the base; on the only variant's own figures when there is one.
pub fn verdicts(variants: &[Variant], figures: &[FigureRow]) -> Vec<Sentence> {
    let asked: Vec<_> = figures.iter().filter(|row| row.headline()).collect();
    if variants.iter().all(|v| v.repeats == 0) {
        let text = "No cell ended, so there are no figures yet.".to_owned();
        return vec![Sentence { text, verdict: None }];
    }
    let compared = (1..variants.len()).flat_map(|index| against_base(variants, index, &asked));
    let mut sentences: Vec<_> = compared.collect();
    if variants.len() > CROWD {
        sentences.splice(0..0, across(variants, &asked));
    }
    if sentences.is_empty() { own_figures(variants, &asked) } else { sentences }
}

/// `Over 18 variants, IOPS of randwrite were best with A (8,512/s) and worst with B (2,903/s); space saved was 0 % to 87.4 %.`
fn across(variants: &[Variant], asked: &[&FigureRow]) -> Option<Sentence> {
    let known = |row: &FigureRow| {
        let values = variants.iter().zip(&row.values);
        let mut known: Vec<(String, f64)> =
            values.filter_map(|(v, figure)| Some((v.name.clone(), (*figure)?.median))).collect();
        known.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        known
    };
    let row = asked.iter().find(|row| row.asked && row.better != Better::Neither)?;
    let mut of = known(row);
    if row.better == Better::Lower {
        of.reverse();
    }
    let ((worst, least), (best, most)) = (of.first()?, of.last()?);
    let show = |row: &FigureRow, value: f64| wording::value(row.unit, value);
    let purpose = asked.iter().filter(|row| row.purpose).filter_map(|row| {
        let of = known(row);
        let (low, high) = (of.first()?.1, of.last()?.1);
        let name = format!("{}{}", row.label, after(&row.scope));
        Some(format!("; {name}: {} to {}", show(row, low), show(row, high)))
    });
    let text = format!(
        "Over {} variants, {} of {}: best with {best} ({}), worst with {worst} ({}){}.",
        variants.len(),
        row.label,
        row.scope.name(),
        show(row, *most),
        show(row, *least),
        purpose.collect::<String>()
    );
    Some(Sentence { text, verdict: None })
}

/// `With vdo, randwrite ran at 0.39× the IOPS of plain, with 2.6× the p99 latency; 75 % of the space was saved.`
fn against_base(variants: &[Variant], index: usize, asked: &[&FigureRow]) -> Vec<Sentence> {
    let (Some(base), Some(new)) = (variants.first(), variants.get(index)) else {
        return Vec::new();
    };
    let (base, new) = (&base.name, &new.name);
    let compared: Vec<_> = asked
        .iter()
        .filter_map(|row| Some((*row, row.comparisons.get(index)?.as_ref()?)))
        .filter(|(_, comparison)| comparison.ratio.is_some())
        .collect();
    let unclear = |c: &&MetricComparison| c.verdict == Some(Verdict::Unclear);
    // Said once at the end, not after every figure.
    let all_unclear = !compared.is_empty() && compared.iter().all(|(_, c)| unclear(c));
    let mut parts = Vec::new();
    let mut scopes: Vec<&Scope> = compared.iter().map(|(row, _)| &row.scope).collect();
    scopes.dedup();
    for scope in scopes {
        let own: Vec<_> = compared.iter().filter(|(row, _)| row.scope == *scope).collect();
        parts.extend(on_scope(scope, base, &own, all_unclear));
    }
    for row in asked.iter().filter(|r| r.comparisons.get(index).is_none_or(Option::is_none)) {
        let Some(Some(figure)) = row.values.get(index) else { continue };
        let value = wording::value(row.unit, figure.median);
        parts.push(match row.metric.as_str() {
            "saving_percent" => format!("{value} of the space was saved{}", after(&row.scope)),
            _ => format!("{}{}: {value}", row.label, after(&row.scope)),
        });
    }
    let verdict = compared.first().and_then(|(_, comparison)| comparison.verdict);
    let verdict = verdict.map(|verdict| verdict.word().to_owned());
    let end = if all_unclear { " Verdict: unclear." } else { "" };
    // A headline holds so much; the rest follows it.
    let rest = if parts.len() > HEADLINE { parts.split_off(HEADLINE) } else { Vec::new() };
    let sentence = |with: &str, parts: &[String], end: &str, verdict| {
        let text = format!("{with} {new}, {}.{end}", parts.join("; "));
        (!parts.is_empty()).then_some(Sentence { text, verdict })
    };
    let first = sentence("With", &parts, end, verdict);
    first.into_iter().chain(sentence("Also with", &rest, "", None)).collect()
}

/// ` in warm`, where there are several stages.
fn after(scope: &Scope) -> String {
    scope.stage.as_ref().map_or_else(String::new, |stage| format!(" in {stage}"))
}

/// All that is asked about one operation or layer.
fn on_scope(
    scope: &Scope,
    base: &str,
    compared: &[&(&FigureRow, &MetricComparison)],
    all_unclear: bool,
) -> Option<String> {
    let ((row, first), rest) = compared.split_first()?;
    let rate = row.metric == "iops" || row.metric.starts_with("throughput");
    let verb = match scope.of {
        _ if rate => "ran at",
        Of::Command => "took",
        _ => "had",
    };
    let link = if first.verdict == Some(Verdict::Same) { "as" } else { "of" };
    let rest: Vec<_> =
        rest.iter().map(|(row, comparison)| times(row, comparison, all_unclear)).collect();
    let with = list(&rest).map(|rest| format!(", with {rest}")).unwrap_or_default();
    Some(format!("{} {verb} {} {link} {base}{with}", scope.name(), times(row, first, all_unclear)))
}

/// `0.39× the IOPS`, `the same p99 latency (within 3 %)`, `0.97× the IOPS (unclear)`.
fn times(row: &FigureRow, comparison: &MetricComparison, all_unclear: bool) -> String {
    let label = &row.label;
    let ratio = comparison.ratio.map_or(wording::NONE.to_owned(), |r| significant(r, 2));
    match comparison.verdict {
        Some(Verdict::Same) => match comparison.threshold {
            Some(within) => {
                format!("the same {label} (within {} %)", significant(100.0 * within, 2))
            }
            None => format!("the same {label}"),
        },
        Some(Verdict::Unclear) if !all_unclear => format!("{ratio}× the {label} (unclear)"),
        _ => format!("{ratio}× the {label}"),
    }
}

fn own_figures(variants: &[Variant], asked: &[&FigureRow]) -> Vec<Sentence> {
    let own = variants.iter().enumerate().filter_map(|(index, variant)| {
        let clauses: Vec<_> = asked
            .iter()
            .filter_map(|row| {
                let figure = (*row.values.get(index)?)?;
                let value = wording::value(row.unit, figure.median);
                Some(format!("{} {} was {value}", row.scope.name(), row.label))
            })
            .collect();
        let text = format!("With {}, {}.", variant.name, list(&clauses)?);
        Some(Sentence { text, verdict: None })
    });
    own.collect()
}

/// `a, b and c`; `None` of nothing.
fn list(clauses: &[String]) -> Option<String> {
    let (last, rest) = clauses.split_last()?;
    Some(if rest.is_empty() { last.clone() } else { format!("{} and {last}", rest.join(", ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_joined_as_people_join_them() {
        let own = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert_eq!(list(&own(&["a", "b", "c"])).as_deref(), Some("a, b and c"));
        assert_eq!(list(&own(&["a"])).as_deref(), Some("a"));
        assert_eq!(list(&[]), None);
    }
}
