//! The figures of one variant.

use std::collections::{BTreeMap, BTreeSet};

use results::model::{AskedContent, CellState};
use results::read::{CellData, ResultSet};
use stats::Figure;

use crate::counters;
use crate::courses::{self, RunCourse};
use crate::places::Devices;
use crate::scope::{Of, Scope};
use crate::turns;
use crate::values::{self, Figures, MetricValues, of_jobs};
use crate::within::{self, RunSpread, TypicalSpread};

/// Figures of one variant.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantFigures {
    /// Its name.
    pub name: String,
    /// Number of runs that ended well: the ones behind the figures.
    pub repeats: usize,
    /// Number of runs that failed or were cut off or interrupted.
    pub failed: usize,
    /// Every figure by its scope and metric.
    pub figures: BTreeMap<Scope, Figures>,
    /// Content that was asked for, by the stage that wrote it (`None` for the only measured one).
    pub asked: BTreeMap<Option<String>, AskedContent>,
    /// Per operation and run: the spread of the throughput of its intervals, bytes per second.
    pub within_run: BTreeMap<Scope, Vec<RunSpread>>,
    /// Per operation: the spread of throughput within a run (each of its figures is the median over the runs), bytes per second.
    pub interval_throughput: BTreeMap<Scope, TypicalSpread>,
    /// Per operation: the spread within a run of the bandwidth of single I/Os (length over latency), bytes per second; each of its figures is the
    /// median over the runs. Empty for results that do not record it.
    pub io_bandwidth: BTreeMap<Scope, TypicalSpread>,
    /// Per operation: the course of throughput within the runs; none where there are too few intervals.
    pub courses: BTreeMap<Scope, RunCourse>,
    /// Per operation the figures of each job, by its number from 0, where they were asked for.
    pub jobs: BTreeMap<Scope, BTreeMap<u32, Figures>>,
    /// Per operation: the fewest I/Os that a run did.
    pub least_ios: BTreeMap<Scope, u64>,
    /// The values behind every figure.
    pub values: Vec<MetricValues>,
    /// Stages in which any variant's load has several operations, not counting flushes. In these stages CPU time belongs to the load, for every
    /// variant; in all others it belongs to the only operation.
    pub mixed: BTreeSet<Option<String>>,
    /// This variant's device names, by the name that all variants share for the device at that place of the stack.
    pub devices: BTreeMap<String, String>,
}

impl VariantFigures {
    /// All figures of an operation, a layer or a load; none where no run has any.
    pub fn of(&self, scope: &Scope) -> &Figures {
        const NONE: &Figures = &Figures::new();
        self.own_scope(scope).and_then(|scope| self.figures.get(&scope)).unwrap_or(NONE)
    }

    /// Converts a shared scope into this variant's own: a device gets this variant's name of it. `None` where the variant has a device of
    /// that name at another place.
    pub fn own_scope(&self, scope: &Scope) -> Option<Scope> {
        scope.as_named_by(&self.devices)
    }

    /// Converts this variant's own scope into the shared one: a device gets the name shared by all variants.
    pub fn common(&self, scope: &Scope) -> Scope {
        let same = |(_, own_name): &(&String, &String)| Some(own_name.as_str()) == scope.as_layer();
        match self.devices.iter().find(same) {
            Some((common, _)) => Scope { of: Of::Layer(common.clone()), ..scope.clone() },
            None => scope.clone(),
        }
    }

    /// Returns the figure of a shared scope and metric; `None` when no run has it.
    pub fn figure(&self, scope: &Scope, metric: &str) -> Option<&Figure> {
        self.of(scope).get(metric)
    }

    /// Returns the content that was achieved in a stage, by metric.
    pub fn achieved(&self, stage: Option<&str>) -> &Figures {
        self.of(&Scope { stage: stage.map(str::to_owned), of: Of::Content })
    }

    /// Tells whether CPU time in this stage belongs to the load as a whole.
    pub fn is_mixed(&self, stage: Option<&str>) -> bool {
        self.mixed.contains(&stage.map(str::to_owned))
    }

    /// Returns the values of a metric in a shared scope.
    pub fn values_of(&self, scope: &Scope, metric: &str) -> Option<&MetricValues> {
        let scope = self.own_scope(scope)?;
        self.values.iter().find(|values| values.scope == scope && values.metric == metric)
    }
}

/// Returns the figures of a variant: separately for each measured stage if `apart`, else for the only one.
pub(crate) fn figures(
    result: &ResultSet,
    name: &str,
    apart: bool,
    (mixed, devices): (&BTreeSet<Option<String>>, Devices),
) -> VariantFigures {
    let cells: Vec<&CellData> = result.cells_of(name).collect();
    let begun = |state| !matches!(state, CellState::Pending | CellState::Skipped);
    let lost = |cell: &&&CellData| !cell.done() && begun(cell.state());
    let failed = cells.iter().filter(lost).count();
    let done: Vec<&CellData> = cells.into_iter().filter(|cell| cell.done()).collect();
    let within_run = within::spreads(&done, apart);
    let mut values = values::collect(&done, apart, mixed);
    let plan = &result.manifest.plan;
    values.extend(counters::collect(plan, name, &done, apart));
    let courses = courses::courses(&done, apart);
    values.extend(turns::collect((plan, name), &done, &courses, apart));
    values.extend(unpicked(result, name, apart, &values));
    let mut figures: BTreeMap<Scope, Figures> = BTreeMap::new();
    for values in &values {
        let of_scope = figures.entry(values.scope.clone()).or_default();
        of_scope.insert(values.metric.clone(), stats::figure(&values.numbers()));
    }
    VariantFigures {
        name: name.to_owned(),
        repeats: done.len(),
        failed,
        figures,
        asked: asked_content(&done, apart),
        interval_throughput: within_run
            .iter()
            .filter_map(|(of, runs)| {
                let spreads: Vec<_> = runs.iter().map(|run| &run.spread).collect();
                Some((of.clone(), within::typical(&spreads)?))
            })
            .collect(),
        io_bandwidth: within::io_bandwidths(&done, apart)
            .into_iter()
            .filter_map(|(of, runs)| Some((of, within::typical(&runs.iter().collect::<Vec<_>>())?)))
            .collect(),
        within_run,
        courses,
        jobs: of_jobs(&done, apart),
        least_ios: values::least_ios(&done, apart),
        values,
        mixed: mixed.clone(),
        devices,
    }
}

/// Returns the figures that a stage of the variant should have picked from its command's output, but no run did.
fn unpicked(
    result: &ResultSet,
    variant: &str,
    apart: bool,
    found: &[MetricValues],
) -> Vec<MetricValues> {
    let facts = result.manifest.plan.variants.iter().find(|facts| facts.name == variant);
    let stages = facts.into_iter().flat_map(|facts| &facts.stages).filter(|stage| stage.measured);
    let planned = stages.flat_map(|stage| {
        let stage_name = apart.then(|| stage.name.clone());
        stage.figures.keys().map(move |metric| MetricValues {
            scope: Scope { stage: stage_name.clone(), of: Of::Command },
            metric: metric.clone(),
            points: Vec::new(),
        })
    });
    let there = |one: &MetricValues| {
        found.iter().any(|other| other.scope == one.scope && other.metric == one.metric)
    };
    planned.filter(|one| !there(one)).collect()
}

/// Returns the content that the measured loads were asked to write, from the first cell that records it.
fn asked_content(cells: &[&CellData], apart: bool) -> BTreeMap<Option<String>, AskedContent> {
    let mut found = BTreeMap::new();
    for record in cells.iter().filter_map(|cell| cell.record.as_ref()) {
        if apart {
            for stage in record.stages.iter().filter(|stage| stage.measured) {
                let Some(content) = results::model::written([stage]).asked else { continue };
                found.entry(Some(stage.name.clone())).or_insert(content);
            }
        } else if let Some(content) = record.measured_content().asked {
            found.entry(None).or_insert(content);
        }
    }
    found
}
