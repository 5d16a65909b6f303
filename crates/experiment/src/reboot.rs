//! `do = "reboot"`: a restart of the whole stack, with the machine booted anew while it is down.

use layers::step::{Action, Step};
use results::model::StageData;
use units::Nanos;

use crate::diagnostic::Diagnostic;
use crate::plan::StagePlan;
use crate::restart;
use crate::stages::{KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};

/// Longest time that a machine may take to go off and come up again, seconds.
const BOOT_S: u64 = 600;

pub(crate) const KIND: StageKind = StageKind {
    facts: KindFacts::new("reboot", "A reboot", WorksOn::Nothing, StageData::Nothing)
        .timed()
        .down(),
    read: |table, _| table.finish().map(|()| Box::new(Reboot) as Box<dyn StageTask>),
};

/// A reboot of the machine.
#[derive(Clone)]
struct Reboot;

impl StageTask for Reboot {
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        restart::plan(stage, on, boot(stage, on)?, Nanos::from_secs(30))
    }
}

/// The step that boots the machine, and those that begin anew what it recorded of its devices, and set their queues.
fn boot(stage: &StageHead, on: &Planner) -> Result<Vec<Step>, Diagnostic> {
    let used = |role: &&String| on.stack.stands_on(role).is_some();
    if let Some(role) = on.devices.models.keys().find(used) {
        let message = format!(
            "The modelled disk '{role}' forgets what it holds when its machine ends, and stage '{}' boots it anew",
            stage.name
        );
        let help = format!("leave 'like' of [devices.{role}] out; or write do = \"restart\"");
        return Err(Diagnostic::at(stage.places.at("do"), message, help).resting());
    }
    let boot = Step {
        about: "boot the machine anew".into(),
        action: Action::Reboot,
        undo: Vec::new(),
        deadline_s: BOOT_S,
    };
    let of_device = |step: &&Step| match &step.action {
        Action::Trace { writes_to: Some(to), .. } => to.starts_with("{device."),
        Action::Set { .. } => true,
        _ => false,
    };
    let anew =
        on.stack.up.iter().filter(of_device).map(|step| Step { undo: Vec::new(), ..step.clone() });
    Ok(std::iter::once(boot).chain(anew).collect())
}
