//! Figures of layers and devices from the samples of a cell: over the whole cell, and of each measured stage.

use std::collections::BTreeMap;

use layers::machine::{LATENCY, RUN_BYTES, device_figures, device_latencies, device_source};
use layers::probe::{NamedDevice, PlacedDevice, Source};
use layers::{FigureFacts, Kind, Window};
use plan::CellPlan;
use results::model::{
    AchievedContent, CellRecord, Criterion, DeviceLatency, Fields, LayerFigures, SampleRow,
    StageRecord,
};
use units::Basis;

/// Returns the figures of every layer from the first measured stage to the end.
pub(crate) fn of_cell(
    plan: &CellPlan,
    samples: &[SampleRow],
    record: &CellRecord,
) -> BTreeMap<String, LayerFigures> {
    let written = record.content_of_growth();
    let (window, achieved) = (Window::of_cell(samples), written.achieved.as_ref());
    let ios = ios(record.stages.iter().filter(|stage| stage.measured));
    let figures = |(name, kind): (&str, &'static Kind)| {
        let facts = FigureFacts { layer: name, window: &window, achieved, ios };
        let mut figures = (kind.figures)(&facts);
        // Metrics of a load have values in the load's stage only.
        for metric in kind.metrics.iter().filter(|metric| metric.basis == Basis::Load) {
            figures.insert(metric.id.to_owned(), None);
        }
        (name.to_owned(), figures)
    };
    kinds(plan).map(figures).collect()
}

/// Gives each measured stage the figures of its layers and of the devices under them; the first `final_stages` have theirs.
pub(crate) fn of_stages(
    plan: &CellPlan,
    samples: &[SampleRow],
    stages: &mut [StageRecord],
    final_stages: usize,
) {
    let starts: Vec<u64> = stages.iter().map(|stage| stage.start_ns).collect();
    let first = stages.iter().position(|stage| stage.measured).unwrap_or(0);
    let written: Vec<_> = (0..stages.len())
        .map(|at| results::model::written(stages.iter().take(at + 1).skip(first)))
        .collect();
    let open = stages.iter_mut().enumerate().skip(final_stages);
    for (at, stage) in open.filter(|(_, stage)| stage.measured) {
        let Some(end_ns) = stage.end_ns else { continue };
        let next_ns = starts.get(at + 1).copied().unwrap_or(u64::MAX);
        let stage_window = Window::of_stage(samples, stage.start_ns, end_ns, next_ns);
        let since = Window::until_stage(samples, stage.start_ns, end_ns, next_ns);
        let load = Window::of_load(samples, stage.start_ns, end_ns);
        let work = Window::of_work(samples, stage.start_ns, end_ns, next_ns);
        let achieved = stage.load.as_ref().and_then(|load| load.achieved.as_ref());
        let done = ([achieved, written[at].achieved.as_ref()], ios([&*stage]));
        let of_layers = kinds(plan).map(|(name, kind)| {
            (name.to_owned(), of_layer(kind, name, [&stage_window, &since, &load, &work], done))
        });
        let of_devices = devices(plan).map(|device| {
            let source = device_source(RUN_BYTES, &device.name);
            let recorded = plan.probes.iter().any(|probe| probe.id == source);
            (device.name.clone(), device_figures([&stage_window, &load], &device.name, recorded))
        });
        (stage.layers, stage.machine) =
            (of_layers.chain(of_devices).collect(), layers::machine::machine_figures(&work));
        stage.latency = latency(plan, &load);
    }
}

/// Returns the latency of every block device over a load; nothing where it was not asked for.
fn latency(plan: &CellPlan, load: &Window) -> Vec<DeviceLatency> {
    let placed = plan.probes.iter().find_map(|probe| match &probe.source {
        Source::Latency { devices, .. } => Some(devices),
        _ => None,
    });
    let of = |placed: &Vec<PlacedDevice>| match load.ends(LATENCY) {
        Some(ends) => device_latencies(ends.before, ends.after, placed),
        None => device_latencies(&Fields::new(), &Fields::new(), placed),
    };
    placed.map(of).unwrap_or_default()
}

/// Returns how many measured I/Os the loads of these stages completed; `None` where there is no load.
fn ios<'a>(stages: impl IntoIterator<Item = &'a StageRecord>) -> Option<u64> {
    let loads = stages.into_iter().filter_map(|stage| stage.load.as_ref());
    loads.map(results::model::LoadSummary::counted_ios).reduce(|a, b| a + b)
}

/// A metric of a layer after a round of a fill, over the stretch that it is defined for; without an allocation before, over the
/// fill.
pub(crate) fn reached(
    plan: &CellPlan,
    layer: &str,
    metric: &str,
    samples: &[SampleRow],
) -> Option<f64> {
    let (name, kind) = kinds(plan).find(|(name, _)| *name == layer)?;
    let [of_stage, since] = [false, true].map(|of_cell| Window::of_round(samples, of_cell));
    of_layer(kind, name, [&of_stage, &since, &of_stage, &of_stage], ([None; 2], None))
        .get(metric)
        .copied()
        .flatten()
}

/// Returns the value that a criterion judges: a layer's metric as [`reached`] reads it, or, if the criterion compares rounds, since the round
/// that had ended at `since_ns`; a device's metric always since then.
pub(crate) fn judged(
    plan: &CellPlan,
    criterion: &Criterion,
    samples: &[SampleRow],
    since_ns: u64,
) -> Option<f64> {
    let Criterion { layer, metric, must } = criterion;
    if let Some(device) = sampled(plan).find(|device| device.path == *layer) {
        let window = Window::since_round(samples, since_ns);
        return device_figures([&window, &window], &device.name, true)
            .get(metric)
            .copied()
            .flatten();
    }
    if !must.is_of_a_round() {
        return reached(plan, layer, metric, samples);
    }
    since_round(plan, layer, metric, samples, since_ns)
}

/// A metric of a layer since the round that had ended at `since_ns`.
pub(crate) fn since_round(
    plan: &CellPlan,
    layer: &str,
    metric: &str,
    samples: &[SampleRow],
    since_ns: u64,
) -> Option<f64> {
    let (name, kind) = kinds(plan).find(|(name, _)| *name == layer)?;
    let window = Window::since_round(samples, since_ns);
    of_layer(kind, name, [&window; 4], ([None; 2], None)).get(metric).copied().flatten()
}

/// Each figure over the stretch that its metric is defined for, with the content that was written in it: in the stage, and since allocation.
fn of_layer(
    kind: &'static Kind,
    name: &str,
    [of_stage, since, load, work]: [&Window; 4],
    ([done, written], ios): ([Option<&AchievedContent>; 2], Option<u64>),
) -> LayerFigures {
    let over =
        |window, achieved| (kind.figures)(&FigureFacts { layer: name, window, achieved, ios });
    let (of_stage, since) = (over(of_stage, done), over(since, written));
    let (load, work) = (over(load, done), over(work, done));
    let figure = |metric: &units::Metric| {
        let from = match metric.basis {
            Basis::Counter | Basis::Level => &of_stage,
            Basis::Cell => &since,
            Basis::Load => &load,
            Basis::Work => &work,
        };
        (metric.id.to_owned(), from.get(metric.id).copied().flatten())
    };
    kind.metrics.iter().map(figure).collect()
}

fn kinds(plan: &CellPlan) -> impl Iterator<Item = (&str, &'static Kind)> {
    plan.stack.iter().filter_map(|layer| Some((layer.name.as_str(), layers::kind(&layer.kind)?)))
}

/// The devices under the stack: those that diskstats is read of and no layer made.
fn devices(plan: &CellPlan) -> impl Iterator<Item = &NamedDevice> {
    sampled(plan).filter(|device| device.path.starts_with("{device."))
}

/// Every device that diskstats is read of for figures of devices. Probes that layers have for their own figures are not among them.
fn sampled(plan: &CellPlan) -> impl Iterator<Item = &NamedDevice> {
    let sampled = plan.probes.iter().filter_map(|probe| match &probe.source {
        Source::Diskstats { devices } if probe.id == layers::machine::DISKSTATS => Some(devices),
        _ => None,
    });
    sampled.flatten()
}
