//! Repeats that are not alike: their median says little of any of them.

use analysis::{Analysis, MetricValues, asks};
use results::model::{AskedMetric, Finding, Severity};
use results::read::ResultSet;

/// With fewer repeats chance looks like a pattern.
const LEAST: usize = 5;

/// Two groups lie this many times farther apart than either is wide.
const APART: f64 = 4.0;

/// A difference is told from this many times what does not matter.
const MATTERS: f64 = 3.0;

/// What is asked about has repeats that fall into two groups, drift, or lie far out.
pub(crate) fn uneven(result: &ResultSet, analysis: &Analysis) -> Vec<Finding> {
    let questions = &result.manifest.plan.questions;
    let mut seen = Vec::new();
    for variant in &analysis.variants {
        for values in &variant.values {
            let asked = |asked: &&AskedMetric| asks(asked, &values.scope, &values.metric);
            let Some(question) = questions.iter().find(asked) else { continue };
            if let Some(how) = shape(&numbers(values), question.threshold) {
                let label = layers::metric(&values.metric).map_or(&*values.metric, |m| m.name);
                seen.push(format!("{}, {} of {}: {how}", variant.name, label, values.scope.name()));
            }
        }
    }
    if seen.is_empty() {
        return Vec::new();
    }
    vec![Finding {
        rule: "uneven_repeats".into(),
        severity: Severity::Warning,
        subject: None,
        message: "Some repeats are not like the others: a median says little of them.".into(),
        evidence: format!("{}.", seen.join("; ")),
        remedy: "Look at the repeats on the page, and at what else the machine did then; with more repeats (--repeat) ranks tell such variants apart."
            .into(),
 ..Finding::default()
}]
}

/// In the order of the repeats.
fn numbers(values: &MetricValues) -> Vec<f64> {
    values.points.iter().map(|point| point.value).collect()
}

/// What is uneven about these values; `None` where nothing is, and where a value is not above zero.
fn shape(values: &[f64], threshold: f64) -> Option<String> {
    if values.len() < LEAST || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let matters = MATTERS * threshold.max(0.01);
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mut sorted = logs.clone();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (*sorted.first()?, *sorted.last()?);
    let times = |from: f64, to: f64| format!("a factor of {:.2}", (to - from).exp());
    // The widest gap parts the values into two groups.
    let gap = (1..sorted.len()).max_by(|a, b| {
        f64::total_cmp(&(sorted[*a] - sorted[a - 1]), &(sorted[*b] - sorted[b - 1]))
    })?;
    let width = sorted[gap] - sorted[gap - 1];
    let within = f64::max(sorted[gap - 1] - low, high - sorted[gap]);
    if width > matters && width > APART * within {
        let few = gap.min(sorted.len() - gap);
        let apart = times(sorted[gap - 1], sorted[gap]);
        let who =
            || 1 + logs.iter().position(|v| *v == if gap == 1 { low } else { high }).unwrap_or(0);
        return Some(match few {
            1 => format!("one value, the {} in time, lies {apart} from all others", nth(who())),
            _ => format!("two groups of {gap} and {}, {apart} apart", sorted.len() - gap),
        });
    }
    // All in order: one of n! x 2 ways, below 1 % from six values on.
    let rising = logs.windows(2).all(|pair| pair[0] < pair[1]);
    let falling = logs.windows(2).all(|pair| pair[0] > pair[1]);
    if logs.len() > LEAST && (rising || falling) && high - low > matters {
        let word = if rising { "rises" } else { "falls" };
        return Some(format!("it {word} from repeat to repeat, by {} in all", times(low, high)));
    }
    None
}

fn nth(place: usize) -> String {
    match place {
        1 => "first".into(),
        2 => "second".into(),
        3 => "third".into(),
        n => format!("{n}th"),
    }
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn groups_drift_and_a_value_far_out_are_told_and_plain_spread_is_not() {
        let told = |values: &[f64]| shape(values, 0.03).unwrap_or_default();
        assert_eq!(told(&[100.0, 103.0, 98.0, 101.0, 99.0]), "");
        assert_eq!(told(&[90.0, 110.0, 100.0, 95.0, 105.0]), "");
        assert_eq!(
            told(&[100.0, 50.0, 101.0, 51.0, 100.5]),
            "two groups of 2 and 3, a factor of 1.96 apart"
        );
        let far = told(&[100.0, 101.0, 200.0, 99.0, 100.5]);
        assert_eq!(far, "one value, the third in time, lies a factor of 1.98 from all others");
        let drift = told(&[100.0, 104.0, 109.0, 113.0, 117.0, 122.0]);
        assert_eq!(drift, "it rises from repeat to repeat, by a factor of 1.22 in all");
        assert_eq!(told(&[100.0, 104.0, 109.0, 113.0, 117.0]), "", "five in a row come by chance");
        assert_eq!(told(&[1.0, 2.0, 1.0]), "");
        assert_eq!(told(&[0.0, 1.0, 1.0, 1.0, 1.0]), "");
    }
}
