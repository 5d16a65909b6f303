//! Repeats that are not alike: their median says little about any of them.

use analysis::{Analysis, MetricValues, asks};
use results::model::{AskedMetric, Finding, Severity};
use results::read::ResultSet;
use units::Test;

/// Least number of repeats: with fewer, chance looks like a pattern.
const MIN_REPEATS: usize = 5;

/// Number of times that two groups must lie farther apart than either is wide: 1.0 % of samples of five normally distributed values do.
const MIN_GAP_RATIO: f64 = 5.0;

/// Smallest distance from its neighbour at which a value counts as lying far out, in spreads of the other values; for five values, six,
/// seven, and more. The neighbour is left out of the spread: where two values lie out, one behind the other, the nearer would hide the
/// farther. 1 % of samples of a normal distribution have such a value.
const OUTLIER_RATIOS: [f64; 4] = [12.0, 5.0, 3.5, 2.5];

/// A difference is reported from this multiple of the threshold of what matters.
const MATTERS: f64 = 3.0;

/// Repeats of a metric that is asked about fall into two groups, drift, or lie far out.
pub(crate) fn uneven(result: &ResultSet, analysis: &Analysis) -> Vec<Finding> {
    let questions = &result.manifest.plan.questions;
    let mut seen = Vec::new();
    let mut tests = Vec::new();
    for variant in &analysis.variants {
        for values in &variant.values {
            let asks_it = |question: &&AskedMetric| asks(question, &values.scope, &values.metric);
            let Some(question) = questions.iter().find(asks_it) else { continue };
            if let Some(how) = shape(&numbers(values), question.threshold) {
                let metric = layers::metric(&values.metric);
                let label = metric.map_or(&*values.metric, |m| m.name);
                tests.extend(metric.map(|m| m.test));
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
        message: "Some repeats are not like the others: a median says little about them.".into(),
        evidence: format!("{}.", seen.join("; ")),
        remedy: remedy(&tests),
        ..Finding::default()
    }]
}

/// Returns the remedy, by the ways in which the metrics are compared.
fn remedy(tests: &[Test]) -> String {
    let has = |test| tests.contains(&test);
    let ranked = "what is compared by ranks is decided by more repeats (--repeat)";
    let paired = "what is compared in pairs stays uncertain while such repeats come";
    let more = match (has(Test::Paired), has(Test::Ranked)) {
        (true, true) => format!("; {ranked}, {paired}"),
        (true, false) => format!("; {paired}, however many there are"),
        (false, true) => format!("; {ranked}"),
        (false, false) => String::new(),
    };
    format!("Look at the repeats on the page, and at what else the machine did then{more}.")
}

/// Returns the values in the order of the repeats.
fn numbers(values: &MetricValues) -> Vec<f64> {
    values.points.iter().map(|point| point.value).collect()
}

/// Describes what is uneven about these values; `None` if nothing is, and if a value is not above zero.
fn shape(values: &[f64], threshold: f64) -> Option<String> {
    if values.len() < MIN_REPEATS || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let matters = MATTERS * threshold.max(0.01);
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mut sorted = logs.clone();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (*sorted.first()?, *sorted.last()?);
    let times = |from: f64, to: f64| format!("a factor of {:.2}", (to - from).exp());
    if let Some(gap) = widest_gap(&sorted).filter(|gap| sorted[*gap] - sorted[gap - 1] > matters) {
        let n = sorted.len();
        let apart = times(sorted[gap - 1], sorted[gap]);
        if gap == 1 || gap == n - 1 {
            let far = if gap == 1 { low } else { high };
            let who = 1 + logs.iter().position(|v| *v == far).unwrap_or(0);
            return Some(format!(
                "one value, the {} in time, lies {apart} from all others",
                nth(who)
            ));
        }
        return Some(format!("two groups of {gap} and {}, {apart} apart", n - gap));
    }
    // All in order, rising or falling: chance does that in 2 of n! cases, below 1 % from six values on.
    let rising = logs.windows(2).all(|pair| pair[0] < pair[1]);
    let falling = logs.windows(2).all(|pair| pair[0] > pair[1]);
    if logs.len() > MIN_REPEATS && (rising || falling) && high - low > matters {
        let word = if rising { "rises" } else { "falls" };
        return Some(format!("it {word} from repeat to repeat, by {} in all", times(low, high)));
    }
    None
}

/// Returns the number of values below the widest gap between sorted values; `None` unless the gap parts them into two groups that lie apart,
/// or one value from all others.
fn widest_gap(sorted: &[f64]) -> Option<usize> {
    let n = sorted.len();
    let width = |gap: &usize| sorted[*gap] - sorted[gap - 1];
    let gap = (1..n).max_by(|a, b| width(a).total_cmp(&width(b)))?;
    let spread = |from: usize, to: usize| sorted[to] - sorted[from];
    let alone = OUTLIER_RATIOS[(n - MIN_REPEATS).min(OUTLIER_RATIOS.len() - 1)];
    let least = match gap {
        1 => alone * spread(2, n - 1),
        _ if gap == n - 1 => alone * spread(0, n - 3),
        _ => MIN_GAP_RATIO * f64::max(spread(0, gap - 1), spread(gap, n - 1)),
    };
    (width(&gap) > least).then_some(gap)
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
    use units::Test;

    use super::{remedy, shape};

    #[test]
    fn groups_drift_and_a_value_far_out_are_told_and_plain_spread_is_not() {
        let shape_of = |values: &[f64]| shape(values, 0.03).unwrap_or_default();
        assert_eq!(shape_of(&[100.0, 103.0, 98.0, 101.0, 99.0]), "");
        assert_eq!(shape_of(&[90.0, 110.0, 100.0, 95.0, 105.0]), "");
        assert_eq!(
            shape_of(&[100.0, 50.0, 101.0, 51.0, 100.5]),
            "two groups of 2 and 3, a factor of 1.96 apart"
        );
        let far = shape_of(&[100.0, 101.0, 200.0, 99.0, 100.5]);
        assert_eq!(far, "one value, the third in time, lies a factor of 1.98 from all others");
        let drift = shape_of(&[100.0, 104.0, 109.0, 113.0, 117.0, 122.0]);
        assert_eq!(drift, "it rises from repeat to repeat, by a factor of 1.22 in all");
        assert_eq!(
            shape_of(&[100.0, 104.0, 109.0, 113.0, 117.0]),
            "",
            "five in a row come by chance"
        );
        assert_eq!(shape_of(&[1.0, 2.0, 1.0]), "");
        assert_eq!(shape_of(&[0.0, 1.0, 1.0, 1.0, 1.0]), "");
        // Of a real run: the fourth lies out too, and does not hide the fifth.
        let real = shape_of(&[84.8, 82.3, 83.8, 74.3, 44.8]);
        assert_eq!(real, "one value, the 5th in time, lies a factor of 1.66 from all others");
    }

    #[test]
    fn repeats_that_spread_as_chance_has_it_are_told_of_two_in_a_hundred_at_most() {
        // Sums of twelve numbers are near enough to normal; a linear congruential generator is enough for them.
        let mut state = 1u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for repeats in [5, 6, 7, 10, 20] {
            let mut wrong = 0;
            for _ in 0..10_000 {
                let normal = |_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                let values: Vec<f64> = (0..repeats).map(normal).map(|z| (0.2 * z).exp()).collect();
                wrong += u32::from(shape(&values, 0.01).is_some());
            }
            assert!(wrong <= 200, "{wrong} of 10,000 samples of {repeats}");
        }
    }

    #[test]
    fn the_remedy_goes_by_how_the_metrics_are_compared() {
        let paired = remedy(&[Test::Paired]);
        assert!(paired.contains("in pairs") && !paired.contains("ranks"), "{paired}");
        assert!(remedy(&[Test::Ranked, Test::Ranked]).ends_with("more repeats (--repeat)."));
        assert!(remedy(&[]).ends_with("the machine did then."));
    }
}
