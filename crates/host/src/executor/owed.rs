//! What was begun and is to be undone.

use layers::step::Action;

/// What one begun step owes.
pub(super) struct Owed {
    pub(super) about: String,
    pub(super) actions: Vec<Action>,
    pub(super) deadline_s: u64,
}
