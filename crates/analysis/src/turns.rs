//! Figures of the place at which throughput changes its level: time, bytes moved, and how full a layer was, where the experiment names them.

use std::collections::BTreeMap;

use layers::{FigureFacts, Kind, TURN_BYTES, TURN_FILL, TURN_TIME, Window};
use results::model::{PlanFacts, SampleRow, StageRecord};
use results::read::CellData;

use crate::counters::{samples, wanted};
use crate::courses::{RunCourse, Turn};
use crate::scope::{Of, Scope};
use crate::values::{MetricValues, Point};

/// Returns the values of each such metric that the plan names, for a variant's operations and those of its layers that can be filled.
pub(crate) fn collect(
    (plan, variant): (&PlanFacts, &str),
    cells: &[&CellData],
    courses: &BTreeMap<Scope, RunCourse>,
    apart: bool,
) -> Vec<MetricValues> {
    let wanted = wanted(plan);
    let is_wanted = |id: &str| wanted.iter().any(|(metric, _)| *metric == id);
    let mut all = Vec::new();
    for (id, of) in [
        (TURN_TIME, (|turn: &Turn| turn.at_s) as fn(&Turn) -> f64),
        (TURN_BYTES, |turn: &Turn| turn.at_bytes),
    ] {
        let wanted = courses.iter().filter(|_| is_wanted(id));
        all.extend(wanted.map(|(scope, course)| {
            let point = |turn: &Turn| Point { repeat: turn.repeat, value: of(turn) };
            let points = course.turns.iter().map(point).collect();
            MetricValues { scope: scope.clone(), metric: id.to_owned(), points }
        }));
    }
    if is_wanted(TURN_FILL) {
        let facts = plan.variants.iter().filter(|facts| facts.name == variant);
        for layer in facts.flat_map(|facts| &facts.stack) {
            let Some(kind) = layers::kind(&layer.layer) else { continue };
            let Some(fill) = kind.fills.first() else { continue };
            let of = Filled { layer: &layer.name, kind, metric: fill.metric };
            all.extend(fills(&of, cells, courses, apart));
        }
    }
    all
}

/// A layer that can be filled, and the metric that says how full it is.
struct Filled<'a> {
    layer: &'a str,
    kind: &'static Kind,
    metric: &'static str,
}

/// Returns how full a layer was where throughput changed, for each measured stage whose course is known.
fn fills(
    filled: &Filled,
    cells: &[&CellData],
    courses: &BTreeMap<Scope, RunCourse>,
    apart: bool,
) -> Vec<MetricValues> {
    let mut all: BTreeMap<Option<String>, BTreeMap<u32, f64>> = BTreeMap::new();
    for (scope, course) in courses {
        let first = all.entry(scope.stage.clone()).or_default();
        for turn in &course.turns {
            let at = first.entry(turn.repeat).or_insert(turn.at_s);
            *at = at.min(turn.at_s);
        }
    }
    let point = |stage: &Option<String>, (repeat, at_s): (u32, f64)| {
        let cell = cells.iter().find(|cell| cell.entry.repeat == repeat)?;
        let stages = &cell.record.as_ref()?.stages;
        let is_stage =
            |one: &&StageRecord| one.measured && (!apart || Some(&one.name) == stage.as_ref());
        let start_ns = stages.iter().find(is_stage)?.start_ns;
        let value = filled.fullness_at(cell, start_ns, start_ns + (at_s * 1e9) as u64)?;
        Some(Point { repeat, value })
    };
    let made = |(stage, turns): (Option<String>, BTreeMap<u32, f64>)| MetricValues {
        points: turns.into_iter().filter_map(|turn| point(&stage, turn)).collect(),
        scope: Scope { stage, of: Of::Layer(filled.layer.to_owned()) },
        metric: TURN_FILL.to_owned(),
    };
    all.into_iter().map(made).collect()
}

impl Filled<'_> {
    /// Returns how full the layer was at a time, percent, interpolated between the readings before and after it; `None` where one is missing.
    fn fullness_at(&self, cell: &CellData, start_ns: u64, at_ns: u64) -> Option<f64> {
        let prefix = format!("{}.", self.layer);
        let (mut begin, mut before, mut after) = (Rows::new(), Rows::new(), Rows::new());
        let is_of_source =
            |row: &&SampleRow| row.error.is_none() && row.source.starts_with(&prefix);
        for row in samples(cell).filter(is_of_source).filter(|row| row.at_ns >= start_ns) {
            begin.entry(&row.source).or_insert(row);
            if row.at_ns <= at_ns {
                before.insert(&row.source, row);
            } else {
                after.entry(&row.source).or_insert(row);
            }
        }
        let (from, to) = (self.value(&begin, &before)?, self.value(&begin, &after)?);
        let earlier = before.values().map(|row| row.at_ns).max()?;
        let later = after.values().map(|row| row.at_ns).min()?;
        let part = (at_ns - earlier) as f64 / (later - earlier) as f64;
        Some(from + part * (to - from))
    }

    fn value(&self, begin: &Rows<'_>, end: &Rows<'_>) -> Option<f64> {
        let begin: Vec<_> = begin.values().copied().collect();
        let end: Vec<_> = end.values().copied().collect();
        let window = Window::of_rows(&begin, &end);
        let facts = FigureFacts { layer: self.layer, window: &window, achieved: None, ios: None };
        (self.kind.figures)(&facts).get(self.metric).copied().flatten()
    }
}

/// A reading of each source.
type Rows<'a> = BTreeMap<&'a str, &'a SampleRow>;
