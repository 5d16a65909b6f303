//! `do = "reboot"`: a restart of the whole stack, with a reboot of the machine while the stack is down.

use layers::step::{Action, MachineEnd, Step};
use results::model::StageData;
use units::Nanos;

use crate::kinds::restart::{self, Way};
use crate::stages::{KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::Diagnostic;
use plan::StagePlan;

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
        let boot = boot(on, MachineEnd::Shutdown, "boot the machine anew");
        restart::plan(stage, on, (Way::Down, boot), ABOUT)
    }
}

/// Time that it takes a machine to end and to boot, and a stack to come up.
pub(crate) const ABOUT: Nanos = Nanos::from_secs(30);

/// Returns the step that reboots the machine, and those that restart the recording of its devices and set their queues again.
pub(crate) fn boot(on: &Planner, after: MachineEnd, about: &str) -> Vec<Step> {
    let boot = Step {
        about: about.into(),
        action: Action::Reboot { after },
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
    std::iter::once(boot).chain(anew).collect()
}
