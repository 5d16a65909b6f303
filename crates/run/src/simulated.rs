//! The simulated machine of a cell: the twins of its layers, and the engine in virtual time on top.

use std::collections::BTreeMap;

use engine::{Context, Event as Said, SimModel, TargetSpec, WrittenMap, WrittenSince};
use experiment::{Aim, CellPlan, Plan, StagePlan};
use host::{Executor, SimulatedMachine};
use layers::{Place, Twin as LayerTwin, Writes};
use results::model::{AskedContent, LoadSummary};
use sys::clock::Clock;
use units::{Bytes, Nanos};

use crate::RunError;
use crate::loader::{LoadId, Loader, aims, hand_in, load_of};
use crate::scene::Scene;
use crate::watch::Watch;

/// Devices of a simulated machine: any name will do.
pub(crate) fn devices(plan: &Plan) -> BTreeMap<String, String> {
    plan.devices.keys().map(|role| (role.clone(), format!("/dev/simulated-{role}"))).collect()
}

/// Trees of a simulated machine.
pub(crate) fn trees(plan: &Plan) -> BTreeMap<String, String> {
    plan.needs.trees.keys().map(|name| (name.clone(), format!("/simulated/{name}"))).collect()
}

/// The machine that answers as the twins of the cell's layers do.
pub(crate) fn machine(
    plan: &Plan,
    cell: &CellPlan,
    clock: &Clock,
) -> Result<SimulatedMachine, RunError> {
    let mut twins: Vec<Box<dyn LayerTwin>> = Vec::new();
    for layer in &cell.stack {
        let kind = layers::kind(&layer.kind)
            .ok_or_else(|| RunError::Plan(format!("there is no layer '{}'", layer.kind)))?;
        let settings =
            (kind.parse)(&layer.settings).map_err(|error| RunError::Plan(error.to_string()))?;
        let at = Place { name: &layer.name, run_tag: &plan.run_tag, inputs: &layer.inputs };
        let twin = kind.twin(settings.as_ref(), &at);
        twins.push(twin.map_err(|error| RunError::Plan(error.to_string()))?);
    }
    Ok(SimulatedMachine::new(twins, clock))
}

/// The simulated engine of one cell: drives its device in virtual time.
pub(crate) struct Twin {
    surface: WrittenMap,
}

impl Twin {
    pub(crate) fn new(plan: &CellPlan) -> Self {
        let aims = plan.stages.iter().flat_map(|stage| &stage.aims).map(Aim::bytes);
        let bytes = aims.chain([plan.target.offer.bytes()]).max().unwrap_or_default();
        Self { surface: WrittenMap::new(Bytes(bytes)) }
    }

    /// Tells the layers' twins what was written since they were told last.
    fn tell(&self, executor: &mut Executor, content: &AskedContent) {
        let WrittenSince { written, fresh, over_zeros } = self.surface.take();
        executor.wrote(&Writes { blocks: written, fresh, over_zeros }, content);
    }
}

impl Loader for Twin {
    fn load(
        &mut self,
        scene: &Scene,
        plan: &CellPlan,
        turn: LoadId,
        executor: &mut Executor,
        watch: &mut Watch,
    ) -> Result<LoadSummary, String> {
        let mut load = load_of(plan, turn);
        for aim in aims(&plan.stages[turn.stage], turn) {
            let bytes = Bytes(aim.bytes());
            for (_, share) in aim.paths() {
                // What several targets keep is not told apart: the first stands for the volume.
                let surface = load.targets.is_empty().then(|| self.surface.clone());
                let target = TargetSpec::Simulated(SimModel { surface, bytes, ..model(plan) });
                load.targets.push(engine::Aim { target, share });
            }
        }
        let context = Context { clock: scene.clock, interrupt: scene.interrupt, foreign_cpu: None };
        let content = asked(&plan.stages[turn.stage]);
        self.surface.writes_zeros(content.zero_percent == Some(100.0));
        engine::run(&load, &context, &mut |said| {
            if matches!(said, Said::Intervals { .. }) {
                self.tell(executor, &content);
                watch.tick(executor);
            }
            hand_in(scene, plan, turn, &said);
        })
        .map_err(|error| crate::chain(&error))
    }
}

/// Every layer that is there for a figure of its own makes the simulated device slower; by how much means nothing.
fn model(plan: &CellPlan) -> SimModel {
    let plain = SimModel::default();
    let serves = |kind: &str| layers::kind(kind).is_some_and(|kind| kind.headline.is_some());
    let slower = plan.stack.iter().filter(|layer| serves(&layer.kind)).count() as u64 + 1;
    SimModel { write: Nanos(plain.write.0 * slower), ..plain }
}

/// What the twins of layers are told of the blocks that a stage writes.
fn asked(stage: &StagePlan) -> AskedContent {
    let Some(load) = stage.driven() else { return AskedContent::default() };
    let asked = engine::asked(&load.content);
    AskedContent {
        // To a twin all blocks are written, and blocks are of 4 KiB.
        duplicate_percent: asked.duplicate_percent.or(asked.live_duplicate_percent),
        lz4_size_mean_bytes: None,
        ..asked
    }
}
