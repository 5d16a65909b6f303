//! A cell as a value: all that another machine needs in order to continue it.

use std::collections::BTreeMap;

use host::ExecutorState;
use layers::step::{MachineEnd, Step};
use plan::CellPlan;
use results::model::CellRecord;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::known::KnownState;
use crate::metered::Work;

/// Everything that a machine has to know in order to continue a cell that another machine began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuspendedCell {
    /// Position of the cell in the plan.
    pub cell: usize,
    /// The time at which it stopped, nanoseconds since the run's epoch.
    pub at_ns: u64,
    /// The end of the machine that it leaves.
    #[serde(default)]
    pub after: MachineEnd,
    pub(crate) halt: Halt,
    /// Steps, waits and stages begun so far.
    pub(crate) position: usize,
    /// Names that were bound, facts, and the undo actions still to be done.
    pub(crate) executor: ExecutorState,
    /// The record so far; figures of stages that have ended are in it.
    pub(crate) record: CellRecord,
    /// The work for others of the machines so far; `None` where it was not measured.
    pub(crate) machines: Option<Work>,
    /// The known contents of the targets.
    pub(crate) known: KnownState,
}

impl SuspendedCell {
    /// Notes what the disks lost when their power was cut in stage `stage`, by role; returns it in words.
    pub(crate) fn cut(&mut self, stage: &str, losses: &BTreeMap<String, CutLoss>) -> String {
        let mut lines = Vec::new();
        for (role, loss) in losses {
            let CutLoss { at_risk, lost, torn } = *loss;
            for (what, bytes) in [("at_risk", at_risk), ("lost", lost), ("torn", torn)] {
                self.executor
                    .note_fact(&format!("{stage}.{role}.{what}_bytes"), &bytes.to_string());
            }
            if at_risk == 0 {
                continue;
            }
            let torn = if torn > 0 { format!(", {} in part", Bytes(torn)) } else { String::new() };
            lines.push(format!(
                "{role} lost {} of {} that were not safe{torn}",
                Bytes(lost),
                Bytes(at_risk)
            ));
        }
        if losses.values().any(|loss| loss.at_risk > 0) {
            return format!("the power was cut in stage {stage}: {}", lines.join("; "));
        }
        let text = format!(
            "the power was cut in stage {stage}, and no disk had anything in a volatile cache: this proves nothing about the stack's flushes"
        );
        self.record.notices.push(text.clone());
        text
    }
}

/// Loss of a disk at a power cut, bytes of whole sectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CutLoss {
    /// Bytes that were not safe when the power was cut.
    pub at_risk: u64,
    /// Bytes of these that are gone.
    pub lost: u64,
    /// Bytes of these that are there in part.
    pub torn: u64,
}

/// The place in a cell at which another machine goes on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Halt {
    pub stage: usize,
    /// The first step of the stage that was not done.
    pub step: usize,
    /// Start of the stage, nanoseconds since the run's epoch.
    pub start_ns: u64,
}

impl Halt {
    /// Returns the step before it, in which the machine boots.
    pub(crate) fn boot<'p>(&self, plan: &'p CellPlan) -> Option<&'p Step> {
        plan.stages.get(self.stage)?.task.steps().get(self.step.checked_sub(1)?)
    }
}

/// The end of a stage on one machine.
pub(crate) enum StageEnd {
    /// It is over.
    Over {
        /// Tells whether the layers were read at rest before the stage was over.
        is_read: bool,
    },
    /// The machine reboots in the middle of the stage.
    Rebooting(Halt),
}
