//! Undos of steps that have begun.

use layers::step::{Action, Step};
use serde::{Deserialize, Serialize};

/// The undo of one step that has begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Owed {
    /// The purpose of the step.
    pub about: String,
    /// Number of the step among those that build the stack, in the plan of its cell; `None` for any other step.
    pub step: Option<usize>,
    /// Actions that undo it, in this order, each with its number in the step's undo.
    pub actions: Vec<(usize, Action)>,
    /// Longest time that each may take, seconds.
    pub deadline_s: u64,
}

impl Owed {
    /// Returns the whole undo of a step.
    pub fn all_of(number: Option<usize>, step: &Step) -> Self {
        let actions = step.undo.iter().cloned().enumerate().collect();
        Self { about: step.about.clone(), step: number, actions, deadline_s: step.deadline_s }
    }
}
