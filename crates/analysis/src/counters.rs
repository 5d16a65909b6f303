//! Counters of layers that the experiment names, computed from the readings at the edges of its stages, so that results of earlier versions have
//! them too.

use std::collections::BTreeMap;

use layers::{Kind, Window};
use results::model::{PlanFacts, Row, SampleRow, StageRecord};
use results::read::CellData;
use units::Metric;

use crate::scope::{Of, Scope};
use crate::values::{MetricValues, Point};

/// A counter of a layer.
struct Named<'a> {
    layer: &'a str,
    kind: &'static Kind,
    counter: &'static Metric,
}

/// Returns the values of each counter of this variant that the plan names: separately for each measured stage if `apart`, else for the only one.
pub(crate) fn collect(
    plan: &PlanFacts,
    variant: &str,
    cells: &[&CellData],
    apart: bool,
) -> Vec<MetricValues> {
    let named = named_counters(plan, variant);
    if named.is_empty() {
        return Vec::new();
    }
    let mut all: BTreeMap<(Scope, String), Vec<Point>> = BTreeMap::new();
    for cell in cells {
        let Some(record) = &cell.record else { continue };
        for (at, stage) in record.stages.iter().enumerate().filter(|(_, stage)| stage.measured) {
            let window = window(cell, &record.stages, at);
            for Named { layer, kind, counter } in &named {
                let scope = Scope {
                    stage: apart.then(|| stage.name.clone()),
                    of: Of::Layer((*layer).to_owned()),
                };
                let points = all.entry((scope, counter.id.to_owned())).or_default();
                let value = kind.counted(counter, layer, &window);
                points.extend(value.map(|value| Point { repeat: cell.entry.repeat, value }));
            }
        }
    }
    let made = |((scope, metric), points)| MetricValues { scope, metric, points };
    all.into_iter().map(made).collect()
}

/// Returns the window of a stage, from its beginning until the stack had come to rest after it.
fn window<'a>(cell: &'a CellData, stages: &[StageRecord], at: usize) -> Window<'a> {
    let Some((start_ns, end_ns)) = stages.get(at).and_then(|s| Some((s.start_ns, s.end_ns?)))
    else {
        return Window::default();
    };
    let next_ns = stages.get(at + 1).map_or(u64::MAX, |next| next.start_ns);
    Window::of_stage_rows(samples(cell), start_ns, end_ns, next_ns)
}

/// All samples of a cell in their order.
pub(crate) fn samples(cell: &CellData) -> impl Iterator<Item = &SampleRow> {
    cell.rows.iter().filter_map(|row| match row {
        Row::Sample(sample) => Some(sample),
        Row::Interval(_) | Row::Job(_) | Row::Stage(_) => None,
    })
}

/// Returns every metric that the plan names in questions, expectations, figures of the source and pictures, with its layer where one is given.
pub(crate) fn wanted(plan: &PlanFacts) -> Vec<(&String, &Option<String>)> {
    let questions = plan.questions.iter().map(|question| (&question.metric, &question.layer));
    let expected = plan.expectations.iter().flat_map(|expected| {
        std::iter::once(&expected.figure).chain(&expected.of).chain(&expected.evidence)
    });
    let reported = plan.reported.iter().flat_map(|all| all.values.iter().map(|one| &one.figure));
    let figures = expected.chain(reported).map(|figure| (&figure.metric, &figure.layer));
    let drawn = plan.pictures.iter().filter_map(|p| Some((p.metric.as_ref()?, &p.layer)));
    questions.chain(figures).chain(drawn).collect()
}

/// Returns the counters of this variant's layers that the plan names.
fn named_counters<'a>(plan: &'a PlanFacts, variant: &str) -> Vec<Named<'a>> {
    let wanted = wanted(plan);
    let facts = plan.variants.iter().find(|facts| facts.name == variant);
    let stack = facts.into_iter().flat_map(|facts| &facts.stack);
    let mut named = Vec::new();
    for (layer, kind) in stack.filter_map(|layer| Some((layer, layers::kind(&layer.layer)?))) {
        let is_wanted = |(_, of): &&(&String, &Option<String>)| {
            of.as_ref().is_none_or(|wanted| *wanted == layer.name)
        };
        let mut counters: Vec<_> =
            wanted.iter().filter(is_wanted).filter_map(|(id, _)| kind.counter(id)).collect();
        counters.sort_by_key(|counter| counter.id);
        counters.dedup();
        named.extend(counters.into_iter().map(|counter| Named {
            layer: &layer.name,
            kind,
            counter,
        }));
    }
    named
}

#[cfg(test)]
mod tests {
    use results::model::{AskedMetric, Fields};

    use super::*;

    fn question(metric: &str, layer: Option<&str>) -> AskedMetric {
        AskedMetric {
            metric: metric.into(),
            stage: None,
            operation: None,
            layer: layer.map(str::to_owned),
            threshold: 0.03,
        }
    }

    fn read(at_ns: u64, mark: &str, dirty: f64, committed: f64) -> Row {
        let fields = [("blockMap.dirtyPages", dirty), ("journal.entries.committed", committed)];
        Row::Sample(SampleRow {
            at_ns,
            source: "vdo.stats".into(),
            cost_ns: 0,
            cost_cpu_ns: 0,
            mark: Some(mark.into()),
            fields: fields
                .map(|(name, value)| (name.to_owned(), Some(value)))
                .into_iter()
                .collect::<Fields>(),
            error: None,
        })
    }

    #[test]
    fn a_counter_that_is_asked_about_is_a_figure_of_its_layer_growth_where_it_grows_and_a_level_else()
     {
        let mut set = fixture::with(2, 5000.0);
        set.manifest.plan.questions = vec![
            question("stats.blockMap.dirtyPages", Some("vdo")),
            question("stats.journal.entries.committed", None),
        ];
        for cell in set.cells.iter_mut().filter(|cell| cell.entry.variant == "vdo") {
            let stages = &cell.record.as_ref().unwrap().stages;
            let stage = stages.iter().find(|stage| stage.measured).unwrap();
            let (start, end) = (stage.start_ns, stage.end_ns.unwrap());
            cell.rows.retain(|row| !matches!(row, Row::Sample(_)));
            cell.rows.push(read(start, layers::STAGE_START, 3.0, 100.0));
            cell.rows.push(read(end, layers::STAGE_END, 7.0, 350.0));
        }
        let analysis = crate::analyse(&set);
        let vdo = analysis.variants.iter().find(|variant| variant.name == "vdo").unwrap();
        let scope = Scope::layer("vdo");
        let median = |metric: &str| vdo.figure(&scope, metric).and_then(|figure| figure.median);
        assert_eq!(median("stats.blockMap.dirtyPages"), Some(7.0));
        assert_eq!(median("stats.journal.entries.committed"), Some(250.0));
        assert_eq!(vdo.figure(&scope, "stats.blockMap.cleanPages"), None, "nobody asks");
        let plain = analysis.variants.iter().find(|variant| variant.name == "plain").unwrap();
        assert!(plain.figures.keys().all(|scope| scope.as_layer() != Some("vdo")));
    }

    #[test]
    fn a_counter_that_was_not_read_has_no_value_and_is_not_zero() {
        let mut set = fixture::with(2, 5000.0);
        set.manifest.plan.questions = vec![question("stats.blockMap.dirtyPages", None)];
        let analysis = crate::analyse(&set);
        let vdo = analysis.variants.iter().find(|variant| variant.name == "vdo").unwrap();
        let values = vdo.values_of(&Scope::layer("vdo"), "stats.blockMap.dirtyPages").unwrap();
        assert!(values.points.is_empty());
    }
}
