//! Who drives the load of a stage: the engine on the real target, or its twin in virtual time.

use std::collections::BTreeMap;
use std::io::Read;

use engine::{Choice, Context, Event as Said, Load, TargetSpec, Waiting};
use host::Executor;
use results::model::{LoadSummary, Row};

use crate::cell::Scene;
use crate::copier;
use crate::message::{Chosen, Message};
use crate::watch::Watch;
use crate::{Event, OperationBrief};
use experiment::{CellPlan, Task};

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

    /// The next load's target is to be overwritten behind its back; twins keep no data that could be.
    fn spoil_next(&mut self) {}
}

/// The engine on the real target.
#[derive(Default)]
pub(crate) struct Real {
    /// How the loads of each stage are driven, by its name: chosen once, for all variants and repeats.
    pub choices: BTreeMap<String, Choice>,
    /// Whether the next load's target is overwritten behind its back.
    pub spoil: bool,
}

/// How much of a target's start is overwritten on purpose, bytes.
const SPOILT: u64 = 32 << 20;

/// Overwrites the start of `target` with what no load writes.
fn spoil(target: &str) -> Result<(), String> {
    let mut file = std::fs::File::options().write(true).open(target).map_err(|e| e.to_string())?;
    let written = std::io::copy(&mut std::io::repeat(0xA5).take(SPOILT), &mut file);
    written.and_then(|_| file.sync_all()).map_err(|error| format!("cannot spoil {target}: {error}"))
}

impl Loader for Real {
    fn load(
        &mut self,
        scene: &Scene,
        plan: &CellPlan,
        stage: usize,
        target: &str,
        executor: &mut Executor,
        watch: &mut Watch,
    ) -> Result<LoadSummary, String> {
        let planned = &plan.stages[stage];
        if let Task::Copy(copy) = &planned.task {
            let from = executor.resolve(&copy.from).map_err(|error| crate::chain(&error))?;
            return copier::copy(scene, plan.index, planned, copy, &from, target);
        }
        let mut load = load_of(plan, stage, TargetSpec::Path(target.into()));
        let foreign = watch.cpu_meter();
        let context = Context {
            clock: scene.clock,
            interrupt: scene.interrupt,
            foreign_cpu: Some(&*foreign),
        };
        let name = &plan.stages[stage].name;
        let choice = match self.choices.get(name) {
            Some(choice) => choice.clone(),
            None => {
                let choice = engine::untimed(&load.targets, &load.spec)
                    .map_err(|error| crate::chain(&error))?;
                let chosen = Chosen { stage: name.clone(), choice: choice.clone() };
                scene.recorder.send(Message::Chosen(chosen));
                self.choices.insert(name.clone(), choice.clone());
                choice
            }
        };
        load.choice = Some(choice);
        let (spoiling, mut spoilt) = (std::mem::take(&mut self.spoil), Ok(()));
        let summary = engine::run(&load, &context, &mut |said| {
            // The last intervals come when the load is over and has not been read back.
            if spoiling && matches!(said, Said::Intervals { .. }) {
                spoilt = spoil(target);
            }
            hand_in(scene, plan, stage, &said);
        })
        .map_err(|error| crate::chain(&error))?;
        spoilt.map(|()| summary)
    }

    fn spoil_next(&mut self) {
        self.spoil = true;
    }
}

/// The load of a stage. The seed depends on the repeat and the stage, not on the variant.
pub(crate) fn load_of(plan: &CellPlan, stage: usize, target: TargetSpec) -> Load {
    let planned = &plan.stages[stage];
    let mut spec = planned.load().cloned().unwrap_or_default();
    if spec.hot_seed.is_none() && !planned.fresh_places {
        spec.hot_seed = Some(plan.seed);
    }
    Load {
        spec,
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
        // The rows follow; until then the view shows that the load goes on.
        Said::Waiting(Waiting { progress, .. }) => scene.recorder.event(Event::Progress {
            cell: plan.index,
            stage: name.clone(),
            elapsed_ns: progress.elapsed_ns,
            remaining_ns: progress.remaining_ns,
            fraction: progress.fraction,
            operations: Vec::new(),
        }),
        Said::Notice(text) => {
            scene.recorder.event(Event::Notice { cell: Some(plan.index), text: text.clone() });
        }
        Said::Started { .. } => {}
    }
}
