//! Undoing what was begun: in reverse, each even when another failed, and never interrupted.

use layers::step::Action;
use results::model::StepRecord;
use sys::interrupt::{Interrupt, Level};
use units::Nanos;

use super::{Executor, Task};
use crate::StepError;

/// What one begun step owes.
pub(super) struct Owed {
    pub(super) about: String,
    pub(super) actions: Vec<Action>,
    pub(super) deadline_s: u64,
}

/// How long a device that is in use is tried again.
const PATIENCE: Nanos = Nanos::from_secs(5);
/// Pause between two tries.
const PAUSE: Nanos = Nanos(500_000_000);

/// Words by which tools say that the object of a removal is not there.
const GONE: [&str; 6] = [
    "not found",
    "No such",
    "does not exist",
    "Failed to find",
    "No PV found",
    "No PV label found",
];
/// Words by which they say that they cannot even look at it; they come with words of [`GONE`], which then do not count.
const HELD: [&str; 4] = ["in use", "busy", "is used by", "Can't open"];

/// Whether a command of teardown failed because its object is not there.
pub(super) fn is_gone(stderr: &str) -> bool {
    let says = |words: &[&str]| words.iter().any(|word| stderr.contains(word));
    says(&GONE) && !says(&HELD)
}

impl Executor {
    /// Undoes every step that was begun, the last one first; every undo is tried even when another failed, a
    /// device in use for some seconds. The user cannot interrupt it: it is bounded by the steps' deadlines.
    pub fn undo_all(&mut self) -> Vec<StepRecord> {
        let mut records = Vec::new();
        while let Some(owed) = self.owed.pop() {
            for action in &owed.actions {
                records.push(self.undo(&owed, action));
            }
        }
        records
    }

    fn undo(&mut self, owed: &Owed, action: &Action) -> StepRecord {
        let about = format!("undo: {}", owed.about);
        let task = Task {
            about: &about,
            deadline_s: owed.deadline_s,
            interrupt: Interrupt::new(),
            undo: true,
        };
        let start = self.clock.now();
        let end = start.0.saturating_add(PATIENCE.0);
        let outcome = loop {
            let outcome = self.act(&task, action);
            let hopeless = match &outcome {
                Ok(()) => true,
                // What cannot be named, or is not installed, will not be a moment later.
                Err(StepError::Unbound { .. }) => true,
                Err(StepError::NotStarted { source, .. }) => {
                    source.kind() == std::io::ErrorKind::NotFound
                }
                Err(_) => false,
            };
            if hopeless || self.clock.now().0 >= end {
                break outcome;
            }
            if self.clock.sleep(PAUSE, &task.interrupt) != Level::None {
                break outcome;
            }
        };
        self.record(&task, action, start, outcome.as_ref().err())
    }
}

#[cfg(test)]
mod tests {
    use super::is_gone;

    #[test]
    fn absent_objects_and_held_ones_are_told_apart() {
        for gone in [
            "  Volume group \"fathom_1_v\" not found\n  Cannot process volume group fathom_1_v",
            "  Failed to find logical volume \"fathom_1_v/pool\"",
            "  No PV found on device /dev/loop0.",
            "Device x not found",
        ] {
            assert!(is_gone(gone), "{gone}");
        }
        for held in [
            "  Logical volume fathom_1_v/volume in use.",
            "  PV /dev/loop0 is used by VG fathom_1_v so please use vgreduce first.",
            "  Can't open /dev/loop0 exclusively - not found in lock",
            "",
        ] {
            assert!(!is_gone(held), "{held}");
        }
    }
}
