//! The values behind every figure: one per metric and run.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use layers::machine::BUSY;
use layers::{MACHINE_CPU_PER_IO, SLOWEST_JOB};
use results::histogram;
use results::model::{
    CellRecord, ContentFigure, LatencySummary, LayerFigures, LoadSummary, OperationSummary,
    Outcomes, StageRecord, TreeFacts, counted_operations,
};
use results::read::CellData;

use crate::scope::{Of, Scope};

/// Figures by id of their metric.
pub type Figures = BTreeMap<String, stats::Figure>;

/// The value of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The repeat.
    pub repeat: u32,
    /// The value, in the metric's unit.
    pub value: f64,
}

/// The values of one metric, one for each run that has it, in the order of repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricValues {
    /// Scope of the metric.
    pub scope: Scope,
    /// Id of the metric.
    pub metric: String,
    /// The values.
    pub points: Vec<Point>,
}

impl MetricValues {
    /// Returns the values without their repeats.
    pub fn numbers(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.value).collect()
    }
}

/// A repeat that has both values, with base and new.
pub(crate) type Pair = (u32, (f64, f64));

/// The repeats that have both values, and how many repeats have only one.
pub(crate) fn pairs(base: &MetricValues, new: &MetricValues) -> (Vec<Pair>, usize) {
    let new_by_repeat: BTreeMap<u32, f64> =
        new.points.iter().map(|p| (p.repeat, p.value)).collect();
    let both = |p: &Point| Some((p.repeat, (p.value, *new_by_repeat.get(&p.repeat)?)));
    let pairs: Vec<_> = base.points.iter().filter_map(both).collect();
    let alone = base.points.len() + new_by_repeat.len() - 2 * pairs.len();
    (pairs, alone)
}

/// Returns every metric of `cells`, the finished cells of one variant in the order of repeats: separately for each measured stage if `apart`,
/// else for the only one.
pub(crate) fn collect(
    cells: &[&CellData],
    apart: bool,
    mixed: &BTreeSet<Option<String>>,
) -> Vec<MetricValues> {
    let mut all: BTreeMap<(Scope, String), Vec<Point>> = BTreeMap::new();
    for cell in cells {
        let Some(record) = &cell.record else { continue };
        let repeat = cell.entry.repeat;
        for (scope, metric, value) in of_cell(record, apart, mixed) {
            let points = all.entry((scope, metric)).or_default();
            points.extend(value.filter(|v| v.is_finite()).map(|value| Point { repeat, value }));
        }
    }
    let make = |((scope, metric), points)| MetricValues { scope, metric, points };
    all.into_iter().map(make).collect()
}

/// Returns the fewest I/Os that each operation did in a run of these cells: separately for each measured stage if `apart`, else for all together.
pub(crate) fn least_ios(cells: &[&CellData], apart: bool) -> BTreeMap<Scope, u64> {
    let mut least: BTreeMap<Scope, u64> = BTreeMap::new();
    for record in cells.iter().filter_map(|cell| cell.record.as_ref()) {
        let mut cell_ios: BTreeMap<Scope, u64> = BTreeMap::new();
        for stage in record.stages.iter().filter(|stage| stage.measured) {
            let operations = stage.load.iter().flat_map(|load| &load.operations);
            for (name, operation) in operations {
                let stage = apart.then(|| stage.name.clone());
                *cell_ios.entry(Scope { stage, of: Of::Operation(name.clone()) }).or_default() +=
                    operation.ios;
            }
            if let Some(load) = &stage.load {
                let stage = apart.then(|| stage.name.clone());
                *cell_ios.entry(Scope { stage, of: Of::Load }).or_default() += load.counted_ios();
            }
        }
        for (scope, ios) in cell_ios {
            least.entry(scope).and_modify(|least| *least = ios.min(*least)).or_insert(ios);
        }
    }
    least
}

const CPU_PER_IO: &str = "cpu_per_io_us";
const IO_BANDWIDTH: &str = "io_bandwidth_p50_bytes_per_s";

fn median(all: &Histogram<u64>) -> Option<f64> {
    (!all.is_empty()).then(|| all.value_at_quantile(0.5) as f64)
}

type Value = (Of, String, Option<f64>);

/// Returns the stages in which the load of some cell has several operations, not counting flushes.
pub(crate) fn mixed(cells: &[CellData], apart: bool) -> BTreeSet<Option<String>> {
    let records = cells.iter().filter(|cell| cell.done()).filter_map(|cell| cell.record.as_ref());
    let stages = records.flat_map(|record| &record.stages).filter(|stage| stage.measured);
    let several = |stage: &&StageRecord| {
        stage
            .load
            .as_ref()
            .is_some_and(|load| counted_operations(load.operations.keys()).count() > 1)
    };
    stages.filter(several).map(|stage| apart.then(|| stage.name.clone())).collect()
}

fn of_cell(
    record: &CellRecord,
    apart: bool,
    mixed: &BTreeSet<Option<String>>,
) -> Vec<(Scope, String, Option<f64>)> {
    let of = |stage: Option<&str>, values: Vec<Value>| {
        let stage = stage.map(str::to_owned);
        let whole = move |(of, id, v)| (Scope { stage: stage.clone(), of }, id, v);
        values.into_iter().map(whole).collect::<Vec<_>>()
    };
    let measured: Vec<&StageRecord> = record.stages.iter().filter(|s| s.measured).collect();
    let mut values = Vec::new();
    if apart {
        for stage in &measured {
            values.extend(of(
                Some(&stage.name),
                of_stages(&[stage], mixed.contains(&Some(stage.name.clone()))),
            ));
            values.extend(of(Some(&stage.name), of_layers(&stage.layers)));
        }
    } else {
        values.extend(of(None, of_stages(&measured, mixed.contains(&None))));
        values.extend(measured.iter().flat_map(|stage| of(None, of_layers(&stage.layers))));
    }
    // A result from before figures were kept per stage has only those of the cell.
    if measured.iter().all(|stage| stage.layers.is_empty()) {
        values.extend(of(None, of_layers(&record.layers)));
    }
    values
}

/// Returns the figures of all loads of these stages together. CPU time belongs to the load where that is `mixed`, else to its only operation.
fn of_stages(stages: &[&StageRecord], mixed: bool) -> Vec<Value> {
    let loads: Vec<&LoadSummary> = stages.iter().filter_map(|stage| stage.load.as_ref()).collect();
    let mut values = Vec::new();
    let operations = operations(&loads);
    for (name, operation) in &operations {
        let of = Of::Operation(name.clone());
        values.extend(operation.metrics().map(|(id, v)| (of.clone(), id.to_owned(), v)));
    }
    let machine = stages.iter().filter(|stage| stage.load.is_some()).map(|stage| &stage.machine);
    let mut whole = cpu(&loads, machine);
    // Jobs of different loads are not the same jobs, and their trees are not the same trees.
    if let [load] = &loads[..] {
        if !load.jobs.is_empty() {
            whole.push((SLOWEST_JOB, load.slowest_job_percent()));
        }
        whole.extend(of_tree(load));
    }
    // In a load with one operation, CPU time and jobs belong to that operation.
    let mut names = counted_operations(operations.keys());
    if let (Some(name), None, false) = (names.next(), names.next(), mixed) {
        let of = Of::Operation(name.clone());
        let is_shared = |id: &str| {
            id.ends_with(CPU_PER_IO) || id == SLOWEST_JOB || layers::owners_of_metric(id).trees
        };
        let shared = whole.iter().filter(|(id, _)| is_shared(id));
        values.extend(shared.map(|(id, v)| (of.clone(), (*id).to_owned(), *v)));
    }
    values.extend(whole.iter().map(|(id, v)| (Of::Load, (*id).to_owned(), *v)));
    // Figures of several commands cannot be added.
    if let [StageRecord { command: Some(command), .. }] = stages {
        let figures = command.metrics().map(|(id, v)| (Of::Command, id.to_owned(), v));
        values.extend(figures);
        let picked = command.figures.iter();
        values.extend(picked.map(|(name, v)| (Of::Command, name.clone(), Some(*v))));
    }
    if let [StageRecord { ageing: Some(ageing), .. }] = stages {
        let figures = ageing.metrics().map(|(id, v)| (Of::Command, id.to_owned(), v));
        values.extend(figures);
    }
    // An action on a stack has the time that it took as its figure.
    if let [stage] = stages
        && let Some(elapsed_s) = stage.timed_s()
    {
        values.push((Of::Command, "elapsed_s".to_owned(), Some(elapsed_s)));
    }
    let written = results::model::written(stages.iter().copied());
    if let Some(achieved) = &written.achieved {
        let figures = results::model::content_figures();
        let figure = |f: &ContentFigure| (Of::Content, f.id.to_owned(), (f.achieved)(achieved));
        values.extend(figures.map(figure));
    }
    values
}

fn of_layers(layers: &BTreeMap<String, LayerFigures>) -> Vec<Value> {
    let figures = layers.iter().flat_map(|(layer, figures)| {
        figures.iter().map(|(id, v)| (Of::Layer(layer.clone()), id.clone(), *v))
    });
    figures.collect()
}

/// Returns the figures of each job of each operation of `cells`, where asked for: for each measured stage if `apart`, else for the only one.
pub(crate) fn of_jobs(cells: &[&CellData], apart: bool) -> BTreeMap<Scope, BTreeMap<u32, Figures>> {
    type Values = BTreeMap<&'static str, Vec<f64>>;
    let mut all: BTreeMap<Scope, BTreeMap<u32, Values>> = BTreeMap::new();
    let stages = cells.iter().filter_map(|cell| cell.record.as_ref()).flat_map(|r| &r.stages);
    for stage in stages.filter(|stage| stage.measured) {
        for job in stage.load.iter().flat_map(|load| &load.jobs) {
            for (name, operation) in &job.operations {
                let stage = apart.then(|| stage.name.clone());
                let scope = Scope { stage, of: Of::Operation(name.clone()) };
                let of_job = all.entry(scope).or_default().entry(job.job).or_default();
                let mut total = Total::default();
                total.add(operation, job.duration_ns);
                for (id, value) in total.metrics() {
                    of_job.entry(id).or_default().extend(value);
                }
            }
        }
    }
    let figures = |values: Values| {
        values.into_iter().map(|(id, values)| (id.to_owned(), stats::figure(&values))).collect()
    };
    let of_job = |jobs: BTreeMap<u32, Values>| {
        jobs.into_iter().map(|(job, values)| (job, figures(values))).collect()
    };
    all.into_iter().map(|(scope, jobs)| (scope, of_job(jobs))).collect()
}

/// Returns the figures of a load of a tree as a whole; none for other loads.
fn of_tree(load: &LoadSummary) -> Vec<(&'static str, Option<f64>)> {
    if load.operations.values().all(|operation| operation.attempted.is_none()) {
        return Vec::new();
    }
    let names = counted_operations(load.operations.keys());
    let done: u64 =
        names.filter_map(|name| load.operations.get(name)).map(|summary| summary.ios).sum();
    let at_end = |of: fn(&TreeFacts) -> u64| load.tree.as_ref().map(|tree| of(tree) as f64);
    vec![
        ("operations_per_s", per_second(done, load.duration_ns).filter(|_| done > 0)),
        ("tree_files", at_end(|tree| tree.files)),
        ("tree_directories", at_end(|tree| tree.directories)),
        ("tree_bytes", at_end(|tree| tree.bytes)),
    ]
}

fn per_second(n: u64, nanos: u64) -> Option<f64> {
    (nanos > 0).then(|| n as f64 / (nanos as f64 / 1e9))
}

/// One operation over several loads.
#[derive(Default)]
struct Total {
    ios: u64,
    /// The outcomes that only operations on a tree have.
    outcomes: Option<Outcomes>,
    bytes: u64,
    errors: u64,
    nanos: u64,
    parts: usize,
    latency: Option<LatencySummary>,
    latencies: Option<Histogram<u64>>,
    bandwidths: Option<Histogram<u64>>,
}

fn operations(loads: &[&LoadSummary]) -> BTreeMap<String, Total> {
    let mut totals: BTreeMap<String, Total> = BTreeMap::new();
    for load in loads {
        for (name, operation) in &load.operations {
            totals.entry(name.clone()).or_default().add(operation, load.duration_ns);
        }
    }
    totals
}

impl Total {
    fn add(&mut self, operation: &OperationSummary, duration_ns: u64) {
        self.parts += 1;
        self.ios += operation.ios;
        self.bytes += operation.bytes;
        self.errors += operation.errors.values().sum::<u64>();
        self.nanos += duration_ns;
        if let Some(attempted) = operation.attempted {
            let all = self.outcomes.get_or_insert_default();
            all.attempted += attempted;
            all.expected +=
                operation.expected_errors.iter().flat_map(BTreeMap::values).sum::<u64>();
            all.skipped += operation.skipped.unwrap_or_default();
        }
        self.latency = operation.latency;
        let next = histogram::merge(operation.histogram.as_deref()).ok().flatten();
        let all = self.latencies.take();
        self.latencies = self.together(all, next);
        let all = self.bandwidths.take();
        self.bandwidths = self.together(all, histogram::bandwidths(operation));
    }

    /// Returns the latencies so far merged with those of the next stage; if they are lost for one stage, there are no quantiles over all stages.
    fn together(
        &self,
        all: Option<Histogram<u64>>,
        next: Option<Histogram<u64>>,
    ) -> Option<Histogram<u64>> {
        match (all, next) {
            (Some(mut all), Some(next)) => all.add(next).ok().map(|()| all),
            (None, next) if self.parts == 1 => next,
            _ => None,
        }
    }

    fn metrics(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        // If nothing was done and nothing failed, there is no figure.
        let tried = |all: Outcomes| all.attempted + all.expected > 0;
        let some = self.ios + self.errors > 0 || self.outcomes.is_some_and(tried);
        let rate = |n: u64| per_second(n, self.nanos).filter(|_| some);
        let of_tree = self.outcomes.map(|all| {
            [
                ("attempted_per_s", rate(all.attempted)),
                ("expected_errors", Some(all.expected as f64)),
                ("skipped", Some(all.skipped as f64)),
            ]
        });
        // For a single stage the summary is the one that the load itself made.
        let merged = || self.latencies.as_ref().and_then(histogram::summary);
        let latency = if self.parts == 1 { self.latency } else { merged() };
        [
            ("iops", rate(self.ios)),
            // An operation that moves no bytes, such as a flush, has no throughput.
            (
                "throughput_bytes_per_s",
                rate(self.bytes).filter(|_| self.bytes > 0 || self.ios == 0),
            ),
            ("errors", some.then_some(self.errors as f64)),
            ("latency_mean_ns", latency.map(|l| l.mean_ns)),
            ("latency_min_ns", latency.map(|l| l.min_ns as f64)),
            ("latency_p50_ns", latency.map(|l| l.p50_ns as f64)),
            ("latency_p99_ns", latency.map(|l| l.p99_ns as f64)),
            ("latency_p999_ns", latency.map(|l| l.p999_ns as f64)),
            ("latency_max_ns", latency.map(|l| l.max_ns as f64)),
        ]
        .into_iter()
        .chain(of_tree.into_iter().flatten())
        .chain(self.bandwidths.as_ref().map(|all| (IO_BANDWIDTH, median(all))))
    }
}

/// Returns the CPU time of these loads, and of the machine while they ran; nothing if it is unknown for one of them.
fn cpu<'a>(
    loads: &[&LoadSummary],
    machine: impl Iterator<Item = &'a LayerFigures>,
) -> Vec<(&'static str, Option<f64>)> {
    let all: Option<Vec<_>> = loads.iter().map(|load| load.cpu).collect();
    let all = all.filter(|all| !all.is_empty());
    let user = all.as_ref().map(|all| all.iter().map(|cpu| cpu.user_s).sum::<f64>());
    let system = all.as_ref().map(|all| all.iter().map(|cpu| cpu.system_s).sum::<f64>());
    let ios: u64 = loads.iter().map(|load| load.counted_ios()).sum();
    let per_io = |seconds: Option<f64>| seconds.filter(|_| ios > 0).map(|s| s * 1e6 / ios as f64);
    let total = user.zip(system).map(|(user, system)| user + system);
    let mut values =
        vec![("cpu_user_s", user), ("cpu_system_s", system), (CPU_PER_IO, per_io(total))];
    // Results of earlier versions have no such figure, which is not reported as missing.
    let busy: Vec<_> = machine.filter_map(|figures| figures.get(BUSY).copied()).collect();
    if !busy.is_empty() && busy.len() == loads.len() {
        values.push((MACHINE_CPU_PER_IO, per_io(busy.into_iter().sum())));
    }
    values
}
