//! A cell as a value: all that another machine needs in order to go on with it.

use host::ExecutorState;
use results::model::CellRecord;
use serde::{Deserialize, Serialize};

use crate::known::KnownState;
use crate::metered::Work;

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
    /// The work of the machines so far for others; `None` where it was not measured.
    pub(crate) machines: Option<Work>,
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

/// The end of a stage, as far as a machine goes.
pub(crate) enum StageEnd {
    /// It is over.
    Over {
        /// Tells whether the layers were read, where they had come to rest, before it was.
        is_read: bool,
    },
    /// The machine boots anew in the midst of it.
    Rebooting(Halt),
}
