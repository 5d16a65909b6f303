//! The simulated machine of a cell: the twins of its layers, and the engine in virtual time on top.

use std::collections::BTreeMap;

use engine::{Context, Event as LoadEvent, SimModel, TargetSpec, WrittenMap, WrittenSince};
use host::{Executor, PlacedTwin, SimulatedMachine};
use layers::step::Action;
use layers::{Offer, Place, SettingError, Writes};
use plan::{Aim, CellPlan, Plan, StagePlan, Task};
use results::model::{AskedContent, LoadSummary};
use sys::clock::Clock;
use units::{Bytes, Nanos, Seed};

use crate::RunError;
use crate::error::Cause;
use crate::loader::Loader;
use crate::reach::reached_from;
use crate::scene::CellContext;
use crate::turn::{LoadId, LoadSpan, aims, hand_in, io_log, load_of};
use crate::watch::CellSamplers;

/// Devices of a simulated machine: any name will do.
pub(crate) fn devices(plan: &Plan) -> BTreeMap<String, String> {
    plan.devices.keys().map(|role| (role.clone(), format!("/dev/simulated-{role}"))).collect()
}

/// Corpora of a simulated machine.
pub(crate) fn corpora(plan: &Plan) -> BTreeMap<String, String> {
    plan.needs.corpora.keys().map(|name| (name.clone(), format!("/simulated/{name}"))).collect()
}

/// The machine whose answers come from the twins of the cell's layers.
pub(crate) fn machine(
    plan: &Plan,
    cell: &CellPlan,
    clock: &Clock,
) -> Result<SimulatedMachine, RunError> {
    let devices = devices(plan);
    let wrong = |error: SettingError| RunError::Plan(error.into());
    let (mut twins, mut paths) = (Vec::new(), Vec::new());
    for layer in &cell.stack {
        let kind = layers::kind(&layer.kind)
            .ok_or_else(|| RunError::Plan(format!("there is no layer '{}'", layer.kind).into()))?;
        let settings = (kind.parse)(&layer.settings).map_err(wrong)?;
        let inputs = resolved(&layer.inputs, &devices);
        let at = Place { name: &layer.name, run_tag: &plan.run_tag, inputs: &inputs };
        twins.push(kind.twin(settings.as_ref(), &at).map_err(wrong)?);
        let raised = settings.raise(&at).map_err(wrong)?;
        paths.push(raised.offer.path().to_owned());
    }
    let reached = reached_from(cell, &paths);
    let placed = twins.into_iter().zip(reached);
    let placed = placed.map(|(twin, reached_from)| PlacedTwin { twin, reached_from }).collect();
    Ok(SimulatedMachine::new(placed, clock).letting(staged(cell, &devices)))
}

/// Returns what is under a layer, with the devices that a simulated machine has.
fn resolved(
    inputs: &BTreeMap<String, Offer>,
    devices: &BTreeMap<String, String>,
) -> BTreeMap<String, Offer> {
    let mut inputs = inputs.clone();
    for offer in inputs.values_mut() {
        if let Offer::Block { device, .. } = offer {
            *device = on_devices(device, devices);
        }
    }
    inputs
}

/// `text` with the devices that a simulated machine has.
fn on_devices(text: &str, devices: &BTreeMap<String, String>) -> String {
    let one = |text: String, (role, path): (&String, &String)| {
        text.replace(&format!("{{device.{role}}}"), path)
    };
    devices.iter().fold(text.to_owned(), one)
}

/// Returns the actions of all steps in the stages of a cell.
fn staged(cell: &CellPlan, devices: &BTreeMap<String, String>) -> Vec<Action> {
    let steps = |stage: &StagePlan| [&stage.before[..], stage.task.steps()].concat();
    let steps = cell.stages.iter().flat_map(steps);
    let actions = steps.flat_map(|step| std::iter::once(step.action).chain(step.undo));
    let resolved = |action: Action| match action {
        Action::Command { argv, removes } => {
            let argv = argv.iter().map(|word| on_devices(word, devices)).collect();
            Action::Command { argv, removes }
        }
        other => other,
    };
    actions.map(resolved).collect()
}

/// The simulated engine of one cell: drives its devices in virtual time.
#[derive(Default)]
pub(crate) struct Twin {
    /// Blocks that were written to each device or file, by its path.
    surfaces: BTreeMap<String, WrittenMap>,
}

impl Twin {
    /// Tells the layers' twins what was written since the last call.
    fn tell(&self, aims: &[Aim], executor: &mut Executor, content: &AskedContent) {
        for aim in aims {
            let mut writes = Writes::default();
            for (path, _) in aim.paths() {
                let Some(surface) = self.surfaces.get(&path) else { continue };
                let WrittenSince { written, fresh, over_zeros } = surface.take();
                writes.blocks += written;
                writes.fresh += fresh;
                writes.over_zeros += over_zeros;
            }
            executor.wrote(&aim.target.name, &writes, content);
        }
    }
}

impl Loader for Twin {
    fn load(
        &mut self,
        scene: &CellContext,
        plan: &CellPlan,
        turn: LoadId,
        executor: &mut Executor,
        watch: &mut CellSamplers,
    ) -> Result<LoadSummary, Cause> {
        let nothing_done = match &plan.stages[turn.stage].task {
            Task::Copy(_) => Some("bytes"),
            Task::Tree(tree) if tree.equilibrium => Some("equilibrium"),
            Task::Tree(tree) => Some(if tree.ios.is_some() { "ios" } else { "duration" }),
            Task::Load(_) | Task::Fill(_) | Task::Age(_) | Task::Command(_) | Task::Steps(_) => {
                None
            }
        };
        if let Some(ended_by) = nothing_done {
            // Nothing is copied and no file is made, so the contents of the blocks are not known.
            executor.lost_track();
            return Ok(LoadSummary { ended_by: ended_by.into(), ..LoadSummary::empty(Seed(0)) });
        }
        let mut load = load_of(plan, turn);
        let content = content_for_twins(&plan.stages[turn.stage]);
        let driven = aims(&plan.stages[turn.stage], turn);
        for aim in &driven {
            let (bytes, most) = (Bytes(aim.bytes()), most_bytes(plan, aim));
            for (path, share) in aim.paths() {
                let surface = self.surfaces.entry(path).or_insert_with(|| WrittenMap::new(most));
                surface.writes_zeros(content.zero_percent == Some(100.0));
                let surface = Some(surface.clone());
                let target = TargetSpec::Simulated(SimModel { surface, bytes, ..model(plan) });
                load.targets.push(engine::Aim { target, share });
            }
        }
        load.recording.io_log = io_log(scene, plan, turn);
        let context = Context { clock: scene.clock, interrupt: scene.interrupt, foreign_cpu: None };
        let mut span = LoadSpan::of(&load, turn);
        let summary = engine::run(&load, &context, &mut |event| {
            if matches!(event, LoadEvent::Intervals { .. }) {
                self.tell(&driven, executor, &content);
                watch.tick(executor);
            }
            span.read_at(&event, executor, watch);
            hand_in(scene, plan, turn, &event);
        })?;
        span.end(executor, watch);
        Ok(summary)
    }
}

/// Largest size of an aim's target in this cell, bytes: layers can grow.
fn most_bytes(plan: &CellPlan, aim: &Aim) -> Bytes {
    let aims = plan.stages.iter().flat_map(|stage| &stage.aims);
    let same = aims.filter(|other| other.target.name == aim.target.name);
    Bytes(same.map(Aim::bytes).fold(aim.bytes(), u64::max))
}

/// Returns a model of the device that is slower the more layers serve I/O; the amount has no meaning.
fn model(plan: &CellPlan) -> SimModel {
    let plain = SimModel::default();
    let serves = |kind: &str| layers::kind(kind).is_some_and(|kind| kind.headline.is_some());
    let slower = plan.stack.iter().filter(|layer| serves(&layer.kind)).count() as u64 + 1;
    SimModel { write: Nanos(plain.write.0 * slower), ..plain }
}

/// Returns the content of a stage's writes in the form that the layers' twins take.
fn content_for_twins(stage: &StagePlan) -> AskedContent {
    let Some(load) = stage.driven() else { return AskedContent::default() };
    let content = engine::asked_content(&load.content);
    AskedContent {
        // A twin takes live blocks for written ones, and all blocks for blocks of 4 KiB.
        duplicate_percent: content.duplicate_percent.or(content.live_duplicate_percent),
        lz4_size_mean_bytes: None,
        ..content
    }
}

#[cfg(test)]
mod tests;
