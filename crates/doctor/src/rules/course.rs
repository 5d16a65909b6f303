//! Throughput that did not keep one level within the runs: a mean over them describes no state.

use analysis::{Analysis, RunCourse, VariantFigures};
use results::model::{Finding, Severity};
use results::read::ResultSet;
use stats::Spread;
use units::{Unit, show::significant};

/// An interval below this share of the median of all is a drop-out, percent.
pub(crate) const DROPPED_PERCENT: f64 = 50.0;
/// Least number of intervals: with fewer, a single low one says nothing.
const MIN_INTERVALS: usize = 10;

/// Throughput went from one level to another, still changed at the end, or dropped out.
pub(crate) fn uneven(_: &ResultSet, analysis: &Analysis) -> Vec<Finding> {
    analysis.variants.iter().filter_map(of_variant).collect()
}

fn of_variant(variant: &VariantFigures) -> Option<Finding> {
    let mut changes = Vec::new();
    for (scope, spread) in &variant.interval_throughput {
        let course = variant.courses.get(scope).and_then(changed);
        let how = course.or_else(|| dropped(&spread.spread));
        changes.extend(how.map(|how| format!("{}: {how}", scope.name())));
    }
    (!changes.is_empty()).then(|| Finding {
        rule: "uneven_course".into(),
        severity: Severity::Note,
        subject: Some(variant.name.clone()),
        message: format!(
            "Throughput of {} did not keep one level within the runs: a mean over them describes no state.",
            variant.name
        ),
        evidence: format!("{}.", changes.join("; ")),
        remedy: "Look at throughput over time; where the level of a state is asked, bring the layer to it first, or let the load run until it is steady."
            .into(),
        ..Finding::default()
    })
}

/// Describes the levels between which it changed, or its trend at the end.
fn changed(course: &RunCourse) -> Option<String> {
    let rate = |value: f64| Unit::BytesPerSecond.show(value);
    if let Some(change) = course.change {
        let at =
            change.at_s.map_or_else(String::new, |at| format!(" after {} s", significant(at, 2)));
        let word = if change.step { "at once" } else { "little by little" };
        let (from, to) = (rate(change.before), rate(change.after));
        return Some(format!(
            "from {from} to {to} {word}{at} (in {} of {} runs)",
            change.runs, course.runs
        ));
    }
    let growth = course.growth.as_ref().filter(|growth| growth.counts())?;
    let word = if growth.rate > 0.0 { "still rose" } else { "still fell" };
    let percent = significant(100.0 * 60.0 * growth.rate.abs(), 2);
    Some(format!("it {word} at the end, by {percent} % in a minute"))
}

/// Describes drop-outs: in half of the runs or more an interval was far below the median.
fn dropped(spread: &Spread) -> Option<String> {
    let low = 100.0 * spread.min / spread.median;
    (spread.n >= MIN_INTERVALS && low < DROPPED_PERCENT).then(|| {
        format!(
            "the lowest interval has {} % of the median, in half of the runs or more",
            significant(low, 2)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_far_below_the_median_is_a_drop_out_where_there_are_enough() {
        let drop_out = |low: f64, n: usize| {
            let values: Vec<f64> = (1..n).map(|_| 100.0).chain([low]).collect();
            dropped(&stats::spread(&values).unwrap())
        };
        assert!(drop_out(49.0, 12).unwrap().contains("49 % of the median"));
        assert_eq!((drop_out(51.0, 12), drop_out(10.0, 9)), (None, None));
    }
}
