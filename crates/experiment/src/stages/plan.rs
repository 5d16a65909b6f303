//! Stages made ready for a stack: what each works on, what it does there, about how long it takes.

use std::collections::BTreeMap;

use results::model::{StageData, SweepFacts};
use units::{Bytes, Nanos};
use workload::LoadSpec;

use super::{Stage, StageHead, StageTask, kinds};
use crate::action::PlannedAct;
use crate::allocation;
use crate::bounds;
use crate::change::RunningLayers;
use crate::command;
use crate::corpora::Corpora;
use crate::devices::Devices;
use crate::diagnostic::Diagnostic;
use crate::estimate;
use crate::fill::Fill;
use crate::graph::StackPlan;
use crate::load::workload_mistake;
use crate::plan::{self, Aim, StagePlan, Target};
use crate::state::StageMeans;
use crate::sweep::Point;
use crate::targets;
use crate::variants::Variant;

/// Context in which the stages of one stack are planned.
struct Planner<'a> {
    /// The stack, as the stages so far have left it.
    stack: StackPlan,
    running: RunningLayers<'a>,
    devices: &'a Devices,
    corpora: &'a Corpora,
    /// Files that were laid out so far, by the name of the stage.
    layouts: BTreeMap<String, Aim>,
}

/// The stages for one stack.
pub(crate) fn plan(
    stages: &[Stage],
    variant: &Variant,
    stack: &StackPlan,
    (devices, corpora): (&Devices, &Corpora),
    run_tag: &str,
) -> Result<Vec<StagePlan>, Vec<Diagnostic>> {
    let mut planner = Planner {
        stack: stack.clone(),
        running: RunningLayers::new(stack, run_tag),
        devices,
        corpora,
        layouts: BTreeMap::new(),
    };
    let mut planned = Vec::new();
    let mine = |stage: &&Stage| {
        stage.head.only.is_empty() || stage.head.only.iter().any(|v| variant.is(v))
    };
    for stage in stages.iter().filter(mine) {
        let before = planner.running.change(&stage.head).map_err(|mistake| vec![mistake])?;
        let first = planned.len();
        planned.extend(planner.stage(stage).map_err(|mistake| vec![mistake])?);
        if let Some(last) = planned.last_mut() {
            last.settle |= stage.head.settle;
        }
        match planned.get_mut(first) {
            Some(stage) => stage.before = before,
            None if before.is_empty() => {}
            None => return Err(vec![nowhere(&stage.head)]),
        }
    }
    let last = stages.iter().rfind(|stage| matches!(stage.task, StageTask::Sweep(_)));
    if let (true, Some(last)) = (planned.len() > bounds::PLANNED, last) {
        let (count, most) = (planned.len(), bounds::PLANNED);
        let message = format!("With the points of its sweeps a cell has {count} stages");
        let help = format!("at most {most} are possible: sweep fewer values");
        return Err(vec![Diagnostic::at(last.head.places.at("sweep"), message, help)]);
    }
    Ok(planned)
}

impl Planner<'_> {
    /// Returns what one stage of the file becomes.
    fn stage(&mut self, stage: &Stage) -> Result<Vec<StagePlan>, Diagnostic> {
        let Stage { head: stage, task } = stage;
        let stack = &self.stack;
        Ok(match task {
            StageTask::Allocate => allocation::plan(stage, stack, &self.running)?,
            StageTask::Layout(layout) => {
                let aim = layout.aim(stage, stack)?;
                let planned = fitted(stage, layout.load(), vec![aim.clone()])?;
                self.layouts.insert(stage.name.clone(), made(aim));
                vec![planned]
            }
            StageTask::Load(spec) => vec![fitted(stage, spec, self.aims(stage)?)?],
            StageTask::Sweep(points) => swept(stage, points, &self.aims(stage)?)?,
            StageTask::Fill(fill) => {
                let planned = filled(stage, fill, stack, |stage| self.aims(stage))?;
                if let plan::Task::Fill(task) = &planned.task {
                    self.running.whole(&task.layer, stage)?;
                }
                vec![planned]
            }
            StageTask::Copy(copy) => {
                let (spec, from) = copy.plan(self.devices, stage)?;
                let target = targets::block(stage, stack)?;
                let fitted = fitted(stage, &spec, vec![Aim::alone(target)])?;
                let task = plan::Task::Copy(from);
                vec![StagePlan { task, ios: None, aims: Vec::new(), ..fitted }]
            }
            StageTask::Command(command) => {
                let (mut task, target) = command.plan(stage, stack, self.corpora)?;
                task.time_limit =
                    stage.deadline.map_or(task.time_limit, |d| d.min(task.time_limit));
                let about = command::ASSUMED.min(task.time_limit);
                let task = plan::Task::Command(task);
                vec![StagePlan { about, ..other(stage, task, target) }]
            }
            StageTask::State(state) => {
                let (head, means, plan) = state.plan(stage, stack, &mut self.running)?;
                let traits = kinds::traits(&head.kind).unwrap_or(stage.traits);
                let head = StageHead { traits, ..head };
                let task = match means {
                    StageMeans::Steps(steps) => StageTask::Steps(steps),
                    StageMeans::Allocate => StageTask::Allocate,
                    StageMeans::Act(act) => StageTask::Layer(act),
                    StageMeans::Fill(fill) => StageTask::Fill(fill),
                };
                let mut planned = self.stage(&Stage { head, task })?;
                if let Some(last) = planned.last_mut() {
                    last.name.clone_from(&stage.name);
                    last.state = Some(plan);
                    if last.traits.data == StageData::Rounds {
                        last.traits.data = StageData::State;
                    }
                }
                planned
            }
            StageTask::Layer(act) => {
                let PlannedAct { steps, target, loses } =
                    act.plan(stage, &mut self.stack, &mut self.running)?;
                let about = Nanos::from_secs(1);
                vec![StagePlan { about, loses, ..other(stage, bounded(stage, steps)?, target) }]
            }
            StageTask::Steps(steps) => {
                let (steps, target, about) = steps.plan(stage, stack)?;
                vec![StagePlan { about, ..other(stage, bounded(stage, steps)?, target) }]
            }
        })
    }

    fn aims(&self, stage: &StageHead) -> Result<Vec<Aim>, Diagnostic> {
        targets::aims(stage, &self.stack, &self.layouts)
    }
}

/// Files that are there from now on.
fn made(mut aim: Aim) -> Aim {
    aim.files.iter_mut().for_each(|files| files.make = false);
    aim
}

/// Steps that take no longer than the stage may.
fn bounded(
    stage: &StageHead,
    mut steps: Vec<layers::step::Step>,
) -> Result<plan::Task, Diagnostic> {
    use layers::step::Action;
    if let Some(deadline) = stage.deadline {
        for step in &mut steps {
            if matches!(step.action, Action::Pause { ms } if ms.saturating_mul(1_000_000) > deadline.0)
            {
                let message =
                    format!("Stage '{}' waits longer than its deadline of {deadline}", stage.name);
                let help = "take the deadline away, or wait less";
                return Err(Diagnostic::at(stage.places.at("deadline"), message, help).without());
            }
            step.deadline_s = step.deadline_s.min(deadline.0.div_ceil(Nanos::PER_SECOND));
        }
    }
    Ok(plan::Task::Steps(steps))
}

/// A stage that does nothing on this stack cannot change anything either.
fn nowhere(stage: &StageHead) -> Diagnostic {
    Diagnostic::at(
        stage.places.at("set"),
        format!(
            "Nothing is done in stage '{}' of this stack, so it changes no setting",
            stage.name
        ),
        "give the setting to the stage that follows",
    )
    .resting()
}

/// The points of a sweep, in the order of the file.
fn swept(stage: &StageHead, points: &[Point], aims: &[Aim]) -> Result<Vec<StagePlan>, Diagnostic> {
    let point = |point: &Point| {
        let sweep = Some(SweepFacts { stage: stage.name.clone(), point: point.at.clone() });
        let (name, places) = (point.name.clone(), point.places.clone());
        let one = StageHead { name, places, ..stage.clone() };
        Ok(StagePlan { sweep, ..fitted(&one, &point.spec, aims.to_vec())? })
    };
    points.iter().map(point).collect()
}

/// A fill on this stack.
fn filled(
    stage: &StageHead,
    fill: &Fill,
    stack: &StackPlan,
    aims: impl FnOnce(&StageHead) -> Result<Vec<Aim>, Diagnostic>,
) -> Result<StagePlan, Diagnostic> {
    let (task, aims) = fill.plan(stage, stack, aims)?;
    let by = StageHead { places: fill.places(&stage.places).clone(), ..stage.clone() };
    let deadline = stage.deadline.unwrap_or(Fill::USUAL_DEADLINE);
    let first = fitted(&by, &task.first_round(), aims)?;
    Ok(StagePlan {
        task: plan::Task::Fill(task),
        ios: None,
        bytes: None,
        about: Fill::ASSUMED.min(deadline),
        deadline: Some(deadline),
        ..first
    })
}

/// A load that drives `aims`.
fn fitted(stage: &StageHead, spec: &LoadSpec, aims: Vec<Aim>) -> Result<StagePlan, Diagnostic> {
    let (mut ios, mut bytes, mut about) = (Some(0), Some(0), Nanos::default());
    let all: f64 = aims.iter().map(|aim| aim.share.0).sum();
    for aim in &aims {
        let size = aim.bytes();
        let wrong = |error| workload_mistake(&error, &stage.places).resting();
        spec.check_target(size, 512).map_err(wrong)?;
        let files = aim.files.as_ref().map_or(1, |files| files.count.max(1));
        let part = spec.part(aim.share.0 / all / files as f64);
        let amount = part.plan(size);
        let sum = |so_far: Option<u64>, one: Option<u64>| Some(so_far? + one? * files);
        ios = sum(ios, amount.map(|amount| amount.ios));
        bytes = sum(bytes, amount.map(|amount| amount.bytes));
        let took = estimate::load(&part, Bytes(size)).0;
        // Time is shared, amounts add up.
        about =
            Nanos(if spec.duration.is_some() { about.0.max(took) } else { about.0 + took * files });
    }
    within(stage, spec)?;
    let Some(Aim { target, .. }) = aims.first().cloned() else {
        let message = format!("Stage '{}' has nothing to drive", stage.name);
        return Err(Diagnostic::at(stage.places.at("target"), message, "name a target"));
    };
    let task = plan::Task::Load(Box::new(spec.clone()));
    Ok(StagePlan {
        aims,
        ios,
        bytes: bytes.map(Bytes),
        about,
        fresh_places: stage.fresh_places,
        ..other(stage, task, target)
    })
}

/// Refuses a load that cannot end within the deadline of its stage.
fn within(stage: &StageHead, spec: &LoadSpec) -> Result<(), Diagnostic> {
    let least = spec.duration.or(spec.ramp).unwrap_or_default();
    let Some(deadline) = stage.deadline.filter(|deadline| *deadline <= least) else {
        return Ok(());
    };
    let message =
        format!("The load of stage '{}' takes {least}, and its deadline is {deadline}", stage.name);
    let help = "give it more time, or take the deadline away";
    Err(Diagnostic::at(stage.places.at("deadline"), message, help).without())
}

/// A stage that drives no load.
fn other(stage: &StageHead, task: plan::Task, target: Target) -> StagePlan {
    StagePlan {
        kind: stage.kind.clone(),
        traits: stage.traits,
        name: stage.name.clone(),
        measured: stage.measured,
        settle: stage.settle,
        before: Vec::new(),
        sweep: None,
        state: None,
        loses: false,
        target,
        aims: Vec::new(),
        deadline: stage.deadline,
        task,
        fresh_places: false,
        ios: None,
        bytes: None,
        about: Nanos::default(),
    }
}
