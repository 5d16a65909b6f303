//! Pairs of values of two variants of a result, repeat by repeat, for one figure: the input of a bisection.

use std::collections::{BTreeMap, BTreeSet};

use results::model::AskedMetric;
use stats::LEAST_REPEATS;
use stats::bisect::Pair;

use crate::comparisons::few_ios;
use crate::{Analysis, MetricValues, Scope, VariantFigures, asks};

/// The greatest difference between equal variants of a figure that counts as unaffected by noise, as a difference of logarithms: 1 %.
const NOISE_FREE_DIFFERENCE: f64 = 0.01;

/// A figure that was the same in all pairs of equal variants, and differs between the ends: usually a count.
#[derive(Debug, Clone, PartialEq)]
pub struct Unmoved {
    /// Scope of the figure.
    pub scope: Scope,
    /// Id of the metric.
    pub metric: String,
    /// The bad end's value over the good end's, the mean of logarithms.
    pub ratio: f64,
}

fn variant<'a>(analysis: &'a Analysis, name: &str) -> Option<&'a VariantFigures> {
    analysis.variants.iter().find(|variant| variant.name == name)
}

/// Returns the scopes in which the variants `names` have the figure that is asked about, under the names shared by all variants.
pub fn scopes(analysis: &Analysis, names: [&str; 2], question: &AskedMetric) -> BTreeSet<Scope> {
    let variants = names.into_iter().filter_map(|name| variant(analysis, name));
    let measured = variants.flat_map(|variant| {
        let known = variant.values.iter().filter(|values| !values.points.is_empty());
        known.map(move |values| (variant.common(&values.scope), &values.metric))
    });
    measured
        .filter(|(scope, metric)| asks(question, scope, metric))
        .map(|(scope, _)| scope)
        .collect()
}

/// Returns the values of the good variant and of the other in each of `repeats` repeats, for one figure; `None` where either is missing.
pub fn beside(
    analysis: &Analysis,
    [good, other]: [&str; 2],
    (scope, metric): (&Scope, &str),
    repeats: u32,
) -> Vec<Pair> {
    let by_repeat = |name: &str| -> BTreeMap<u32, f64> {
        let points = variant(analysis, name).into_iter().flat_map(|variant| {
            let values = variant.values.iter().filter(|values| values.metric == metric);
            let of_scope = values.filter(|values| variant.common(&values.scope) == *scope);
            of_scope.flat_map(|values| &values.points)
        });
        points.map(|point| (point.repeat, point.value)).collect()
    };
    let (good, other) = (by_repeat(good), by_repeat(other));
    (1..=repeats).map(|n| Some((*good.get(&n)?, *other.get(&n)?))).collect()
}

/// Returns the fewest I/Os of a run of these variants if they are too few for this percentile or rate, so that its pairs decide nothing.
pub fn few_ios_of(
    analysis: &Analysis,
    names: [&str; 2],
    (scope, metric): (&Scope, &str),
) -> Option<u64> {
    let variants = names.into_iter().filter_map(|name| variant(analysis, name));
    few_ios(variants.filter_map(|variant| Some((metric, *variant.least_ios.get(scope)?))))
}

/// Returns the figures that differ by at most 1 % in every pair of the good end with itself, and by more than `threshold` (at least 1 %) in the
/// same direction in every pair of the two ends: these decide at once. `itself` and `ends` are results, each with the names of its two variants.
pub fn unmoved(
    itself: (&Analysis, [&str; 2]),
    ends: (&Analysis, [&str; 2]),
    threshold: f64,
) -> Vec<Unmoved> {
    let ((itself, equals), (ends, apart)) = (itself, ends);
    let Some(first) = variant(itself, equals[0]) else { return Vec::new() };
    let zone = threshold.max(NOISE_FREE_DIFFERENCE).ln_1p();
    let one = |values: &MetricValues| {
        let scope = first.common(&values.scope);
        let figure = (&scope, values.metric.as_str());
        let most = values.points.iter().map(|point| point.repeat).max()?;
        let alone = logarithms(&beside(itself, equals, figure, most))?;
        let ends = logarithms(&beside(ends, apart, figure, most))?;
        let differ = ends.iter().all(|log| *log > zone) || ends.iter().all(|log| *log < -zone);
        let ratio = (ends.iter().sum::<f64>() / ends.len() as f64).exp();
        let stays = alone.iter().all(|log| log.abs() <= NOISE_FREE_DIFFERENCE);
        (stays && differ).then(|| Unmoved { scope, metric: values.metric.clone(), ratio })
    };
    first.values.iter().filter_map(one).collect()
}

/// Returns the logarithms of the ratios of all pairs; `None` if there are fewer than five, or if a pair has no ratio.
fn logarithms(pairs: &[Pair]) -> Option<Vec<f64>> {
    let log = |pair: &Pair| {
        let (good, other) = (*pair)?;
        Some((other / good).ln()).filter(|log| log.is_finite())
    };
    let logs: Option<Vec<f64>> = pairs.iter().map(log).collect();
    logs.filter(|logs| logs.len() >= LEAST_REPEATS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;

    fn question(metric: &str) -> AskedMetric {
        let metric = metric.to_owned();
        AskedMetric { metric, stage: None, operation: None, layer: None, threshold: 0.03 }
    }

    #[test]
    fn values_of_two_variants_stand_beside_each_other_by_their_repeat() {
        let mut set = fixture::with(5, 7_600.0);
        let names: Vec<String> =
            set.manifest.plan.variants.iter().map(|variant| variant.name.clone()).collect();
        let names = [names[0].as_str(), names[1].as_str()];
        let found = scopes(&analyse(&set), names, &question("iops"));
        let scope = found.first().unwrap().clone();
        let all = beside(&analyse(&set), names, (&scope, "iops"), 5);
        assert!(all.iter().all(Option::is_some) && all.len() == 5, "{all:?}");
        // A repeat with a failed cell has no pair, nor has a repeat that was not run.
        set.cells[2].record = None;
        let gone = set.cells[2].entry.repeat as usize;
        let some = beside(&analyse(&set), names, (&scope, "iops"), 6);
        let expected = [&all[..], &[None]].concat();
        let expected = expected.iter().enumerate();
        let expected: Vec<Pair> =
            expected.map(|(at, pair)| pair.filter(|_| at + 1 != gone)).collect();
        assert_eq!(some, expected);
        assert!(scopes(&analyse(&set), names, &question("no_such")).is_empty());
    }

    #[test]
    fn pairs_of_too_few_ios_of_a_run_are_told() {
        let mut set = fixture::with(5, 7_600.0);
        let records = set.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
        let loads = records.flat_map(|record| &mut record.stages).filter_map(|s| s.load.as_mut());
        loads
            .flat_map(|load| load.operations.values_mut())
            .for_each(|operation| operation.ios = 999);
        let analysis = analyse(&set);
        let names: Vec<&str> = analysis.variants.iter().map(|v| v.name.as_str()).collect();
        let names = [names[0], names[1]];
        let few = |metric: &str| {
            let scope = scopes(&analysis, names, &question(metric)).pop_first().unwrap();
            few_ios_of(&analysis, names, (&scope, metric))
        };
        assert_eq!(
            (few("latency_p99_ns"), few("iops"), few("latency_max_ns")),
            (Some(999), None, None)
        );
    }

    #[test]
    fn a_figure_decides_at_once_that_equals_leave_alone_and_the_ends_do_not() {
        let set = fixture::with(5, 7_600.0);
        let analysis = analyse(&set);
        let names: Vec<&str> = analysis.variants.iter().map(|v| v.name.as_str()).collect();
        let (same, ends) = ([names[0]; 2], [names[0], names[1]]);
        let found = unmoved((&analysis, same), (&analysis, ends), 0.03);
        assert!(!found.is_empty(), "{found:?}");
        let apart = found.iter().all(|one| (one.ratio.ln()).abs() > 0.03_f64.ln_1p());
        assert!(apart, "{found:?}");
        // The ends as the pair of equals: nothing that differs between them is left alone.
        assert!(unmoved((&analysis, ends), (&analysis, ends), 0.03).is_empty());
        assert!(unmoved((&analysis, same), (&analysis, same), 0.03).is_empty());
    }
}
