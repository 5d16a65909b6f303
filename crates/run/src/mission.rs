//! What the guest is told to do.

use experiment::Plan;
use std::collections::BTreeMap;

use engine::Choice;
use serde::{Deserialize, Serialize};

use crate::Injection;

/// What the guest is told to do: a plan, and which of its cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mission {
    /// The plan.
    pub plan: Plan,
    /// Positions of the cells to run, in order.
    pub cells: Vec<usize>,
    /// Faults to be injected, for tests of teardown.
    pub injections: Vec<Injection>,
    /// Instead of running cells: raise this cell's stack, keep it until the user is done, take it down.
    pub hold: Option<usize>,
    /// How loads are driven, by stage, as far as an earlier guest has chosen it.
    #[serde(default)]
    pub choices: BTreeMap<String, Choice>,
}
