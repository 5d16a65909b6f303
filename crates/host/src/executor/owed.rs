//! Undos of steps that have begun.

use layers::step::Action;

/// The undo of one step that has begun.
pub(super) struct Owed {
    pub(super) about: String,
    pub(super) actions: Vec<Action>,
    pub(super) deadline_s: u64,
}
