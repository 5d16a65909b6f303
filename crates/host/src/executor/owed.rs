//! What was begun and is to be undone.

use layers::step::Action;

/// The undo of one step that has begun.
pub(super) struct Owed {
    pub(super) about: String,
    pub(super) actions: Vec<Action>,
    pub(super) deadline_s: u64,
}
