//! Undos of steps that have begun.

use layers::step::Action;
use serde::{Deserialize, Serialize};

/// The undo of one step that has begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Owed {
    pub(super) about: String,
    pub(super) actions: Vec<Action>,
    pub(super) deadline_s: u64,
}
