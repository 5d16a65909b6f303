//! Who drives the load of a stage: the engine on the real target, or its twin in virtual time.

use engine::{Context, Event as Said, Load, TargetSpec};
use host::Executor;
use results::model::{LoadSummary, Row};

use crate::cell::Scene;
use crate::watch::Watch;
use crate::{Event, OperationBrief};
use experiment::CellPlan;

/// Drives the load of one stage; the error says why it could not run at all.
pub(crate) trait Loader {
    fn load(
        &mut self,
        scene: &Scene,
        plan: &CellPlan,
        stage: usize,
        target: &str,
        executor: &mut Executor,
        watch: &mut Watch,
    ) -> Result<LoadSummary, String>;
}

/// The engine on the real target.
pub(crate) struct Real;

impl Loader for Real {
    fn load(
        &mut self,
        scene: &Scene,
        plan: &CellPlan,
        stage: usize,
        target: &str,
        _: &mut Executor,
        watch: &mut Watch,
    ) -> Result<LoadSummary, String> {
        let load = load_of(plan, stage, TargetSpec::Path(target.into()));
        let foreign = watch.cpu_meter();
        let context = Context {
            clock: scene.clock,
            interrupt: scene.interrupt,
            foreign_cpu: Some(&*foreign),
        };
        engine::run(&load, &context, &mut |said| hand_in(scene, plan, stage, &said))
            .map_err(|error| crate::chain(&error))
    }
}

/// The load of a stage. The seed depends on the repeat and the stage, not on the variant.
pub(crate) fn load_of(plan: &CellPlan, stage: usize, target: TargetSpec) -> Load {
    let planned = &plan.stages[stage];
    Load {
        spec: planned.load.clone(),
        seed: plan.seed.derive(&format!("stage {}", planned.name)),
        targets: target.alone(),
        choice: None,
        verification: Default::default(),
        stage,
        may_create: None,
        recording: engine::Recording::default(),
    }
}

/// Puts what the engine says into the result and before people's eyes.
pub(crate) fn hand_in(scene: &Scene, plan: &CellPlan, stage: usize, said: &Said) {
    let name = &plan.stages[stage].name;
    match said {
        Said::Intervals { rows, progress } => {
            for row in rows {
                scene.recorder.row(&Row::Interval(row.clone()));
            }
            scene.recorder.event(Event::Progress {
                cell: plan.index,
                stage: name.clone(),
                elapsed_ns: progress.elapsed_ns,
                remaining_ns: progress.remaining_ns,
                fraction: progress.fraction,
                operations: rows.iter().map(OperationBrief::from).collect(),
            });
        }
        Said::Notice(text) => {
            scene.recorder.event(Event::Notice { cell: Some(plan.index), text: text.clone() });
        }
        Said::Started { .. } => {}
    }
}
