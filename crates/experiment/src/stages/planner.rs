//! Context in which the stages of one stack are planned, and the parts that stages are made of.

use std::collections::BTreeMap;

use layers::step::{Action, Step};
use units::{Bytes, Nanos};
use workload::LoadSpec;

use super::head::StageHead;
use crate::kinds::change::RunningLayers;
use crate::kinds::targets;
use crate::planned::devices::Devices;
use crate::planned::estimate;
use crate::planned::graph::StackPlan;
use crate::written::corpora::Corpora;
use crate::written::diagnostic::Diagnostic;
use crate::written::load::workload_mistake;
use plan::{Aim, StagePlan, Target, Task};

/// Context in which the stages of one stack are planned.
pub struct Planner<'a> {
    /// The stack, as the stages so far have left it.
    pub(crate) stack: StackPlan,
    pub(crate) running: RunningLayers<'a>,
    pub(crate) devices: &'a Devices,
    pub(crate) corpora: &'a Corpora,
    /// Files laid out so far, by the name of their stage.
    pub(crate) layouts: BTreeMap<String, Aim>,
}

impl Planner<'_> {
    /// Returns the target of `stage`, on which nothing else may stand.
    pub fn free(&self, stage: &StageHead) -> Result<Target, Diagnostic> {
        targets::free(stage, &self.stack)
    }

    /// Returns what the load of `stage` drives.
    pub(crate) fn aims(&self, stage: &StageHead) -> Result<Vec<Aim>, Diagnostic> {
        targets::aims(stage, &self.stack, &self.layouts)
    }
}

impl StageHead {
    /// Returns the stage that does `steps` on `target`, the deadline of each step limited to that of the stage.
    pub fn doing(
        &self,
        mut steps: Vec<Step>,
        target: Target,
        about: Nanos,
    ) -> Result<StagePlan, Diagnostic> {
        if let Some(deadline) = self.deadline {
            for step in &mut steps {
                if matches!(step.action, Action::Pause { ms } if ms.saturating_mul(1_000_000) > deadline.0)
                {
                    let message = format!(
                        "Stage '{}' waits longer than its deadline of {deadline}",
                        self.name
                    );
                    let help = "remove the deadline, or wait less";
                    let at = self.places.at("deadline");
                    return Err(Diagnostic::at(at, message, help).fix_by_removing());
                }
                step.deadline_s = step.deadline_s.min(deadline.0.div_ceil(Nanos::PER_SECOND));
            }
        }
        Ok(StagePlan { about, ..self.planned(Task::Steps(steps), target) })
    }

    /// Returns the stage that drives `aims` with a load.
    pub(crate) fn driving(&self, spec: &LoadSpec, aims: Vec<Aim>) -> Result<StagePlan, Diagnostic> {
        let (mut ios, mut bytes, mut about) = (Some(0), Some(0), Nanos::default());
        let all: f64 = aims.iter().map(|aim| aim.share.0).sum();
        for aim in &aims {
            let size = aim.bytes();
            let wrong = |error| workload_mistake(&error, &self.places).if_rest_is_right();
            spec.check_target(size, 512).map_err(wrong)?;
            let files = aim.files.as_ref().map_or(1, |files| files.count.max(1));
            let part = spec.part(aim.share.0 / all / files as f64);
            let amount = part.plan(size);
            let sum = |so_far: Option<u64>, one: Option<u64>| Some(so_far? + one? * files);
            ios = sum(ios, amount.map(|amount| amount.ios));
            bytes = sum(bytes, amount.map(|amount| amount.bytes));
            let took = estimate::load(&part, Bytes(size)).0;
            // Aims share a duration; times for amounts add up.
            about = Nanos(if spec.duration.is_some() {
                about.0.max(took)
            } else {
                about.0 + took * files
            });
        }
        self.within(spec)?;
        let Some(Aim { target, .. }) = aims.first().cloned() else {
            let message = format!("Stage '{}' has nothing to drive", self.name);
            return Err(Diagnostic::at(self.places.at("target"), message, "name a target"));
        };
        Ok(StagePlan {
            aims,
            ios,
            bytes: bytes.map(Bytes),
            about,
            fresh_places: self.fresh_places,
            ..self.planned(Task::Load(Box::new(spec.clone())), target)
        })
    }

    /// Refuses a load that cannot end within the deadline of the stage.
    fn within(&self, spec: &LoadSpec) -> Result<(), Diagnostic> {
        let least = spec.duration.or(spec.ramp).unwrap_or_default();
        let Some(deadline) = self.deadline.filter(|deadline| *deadline <= least) else {
            return Ok(());
        };
        let message = format!(
            "The load of stage '{}' takes {least}, and its deadline is {deadline}",
            self.name
        );
        let help = "give it more time, or remove the deadline";
        Err(Diagnostic::at(self.places.at("deadline"), message, help).fix_by_removing())
    }

    /// Returns a stage of this head with `task`, its load fields empty.
    pub(crate) fn planned(&self, task: Task, target: Target) -> StagePlan {
        StagePlan {
            kind: self.kind.name.to_owned(),
            traits: self.kind.traits,
            name: self.name.clone(),
            measured: self.measured,
            settle: self.settle,
            before: Vec::new(),
            sweep: None,
            state: None,
            loses: false,
            cuts_load: false,
            target,
            aims: Vec::new(),
            deadline: self.deadline,
            task,
            fresh_places: false,
            ios: None,
            bytes: None,
            about: Nanos::default(),
        }
    }
}
