//! A cell as a value: all that another machine needs in order to go on with it.

use host::ExecutorState;
use results::model::{CellRecord, MachineLoad};
use serde::{Deserialize, Serialize};

use crate::known::KnownState;

/// Everything that a machine has to know in order to go on with a cell that another one began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuspendedCell {
    /// Position of the cell in the plan.
    pub cell: usize,
    /// When it stopped, nanoseconds since the run's epoch.
    pub at_ns: u64,
    pub(crate) halt: Halt,
    /// Steps, waits and stages begun so far.
    pub(crate) position: usize,
    /// Names that were bound, facts, and the undo that is owed.
    pub(crate) executor: ExecutorState,
    /// The record so far; figures of stages that have ended are in it.
    pub(crate) record: CellRecord,
    /// The work for others of the machines so far, and how long they had the cell, nanoseconds; `None` where it was not measured.
    pub(crate) machines: Option<(MachineLoad, u64)>,
    /// The known contents of the targets.
    pub(crate) known: KnownState,
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
