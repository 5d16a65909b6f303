//! The undo of all steps that were begun: in reverse order, each even when another failed, and never interrupted.

use layers::step::Action;
use results::model::StepRecord;
use sys::interrupt::{Interrupt, Level};
use units::Nanos;

use super::owed::Owed;
use super::{ActionContext, Executor};
use crate::StepError;

/// Longest time over which the undo is tried again while a device is in use.
const PATIENCE: Nanos = Nanos::from_secs(5);
/// Pause between two tries.
const PAUSE: Nanos = Nanos(500_000_000);

impl Executor {
    /// Undoes every step that was begun, the last one first; every undo is tried even when another failed, and tried again for some seconds while a
    /// device is in use. The user cannot interrupt it: the steps' deadlines limit its time.
    pub fn undo_all(&mut self) -> Vec<StepRecord> {
        let mut records = Vec::new();
        while let Some(owed) = self.owed.pop() {
            for (part, action) in &owed.actions {
                records.push(self.undo(&owed, *part, action));
            }
        }
        records
    }

    fn undo(&mut self, owed: &Owed, part: usize, action: &Action) -> StepRecord {
        let about = format!("undo: {}", owed.about);
        let context = ActionContext {
            about: &about,
            step: owed.step,
            part: owed.step.map(|_| part),
            deadline_s: owed.deadline_s,
            interrupt: Interrupt::new(),
            undo: true,
        };
        let start = self.clock.now();
        let end = start.0.saturating_add(PATIENCE.0);
        let outcome = loop {
            let outcome = self.act(&context, action);
            let hopeless = match &outcome {
                Ok(()) => true,
                // What cannot be named, or is not installed, will not change a moment later.
                Err(StepError::Unbound { .. } | StepError::Replaced { .. }) => true,
                Err(StepError::NotStarted { source, .. }) => {
                    source.kind() == std::io::ErrorKind::NotFound
                }
                // Once another run lets its device go, there is that run's data on it.
                Err(StepError::Action { source, .. }) => {
                    source.kind() == std::io::ErrorKind::WouldBlock
                }
                Err(_) => false,
            };
            if hopeless || self.clock.now().0 >= end {
                break outcome;
            }
            if self.clock.sleep(PAUSE, &context.interrupt) != Level::None {
                break outcome;
            }
        };
        if let Action::Set { .. } = action
            && outcome.is_err()
        {
            let left = self.resolve(&action.show()).unwrap_or_else(|_| action.show());
            self.unrestored.push(format!("value of the run, which this would put back: {left}"));
        }
        self.record(&context, action, start, outcome.as_ref().err())
    }
}
