//! The check, before each action and around measured work, that nothing that was claimed or mounted has been replaced.

use std::collections::BTreeSet;

use layers::step::{Action, Step};
use results::TranscriptEntry;
use sys::causes::chain;

use super::{ActionContext, Executor};
use crate::StepError;
use crate::held::nodes_in;

impl Executor {
    /// Holds every block device that `steps` and their undo name, and those called `others`: from now on each name has to lead to the device that it
    /// leads to now. Names that lead nowhere yet are not held.
    ///
    /// # Errors
    /// When the name of a released device now leads to another one, or one of `others` does not exist.
    pub fn hold(&mut self, steps: &[Step], others: &[&str]) -> Result<(), StepError> {
        let needed: Vec<_> = others.iter().filter_map(|name| self.resolve(name).ok()).collect();
        let actions = steps.iter().flat_map(|step| step.undo.iter().chain([&step.action]));
        let texts = actions.map(Action::show).chain(others.iter().map(|&name| name.to_owned()));
        let texts: Vec<_> = texts.filter_map(|text| self.resolve(&text).ok()).collect();
        let names: BTreeSet<_> = texts.iter().flat_map(|text| nodes_in(text)).collect();
        let names: Vec<_> = names.into_iter().map(str::to_owned).collect();
        let held = self.machine.hold(&names, &needed);
        held.map_err(|source| StepError::Replaced {
            about: "hold the devices of the stack".into(),
            source,
        })
    }

    /// Releases the devices of the stack, because its layers are about to change them. They are held again by [`Executor::hold`].
    pub fn release(&mut self) {
        self.machine.release();
    }

    /// Checks that every claimed device and mounted file system is still the one that steps mean.
    ///
    /// # Errors
    /// When one of them is gone or replaced.
    pub fn intact(&mut self, about: &str) -> Result<(), StepError> {
        self.look(about, None)
    }

    /// Does the same, but only for the devices that `words` name, where words are given.
    fn look(&mut self, about: &str, words: Option<&str>) -> Result<(), StepError> {
        let intact = self.machine.intact(words);
        intact.map_err(|source| StepError::Replaced { about: about.to_owned(), source })
    }

    /// Checks the devices and mounts before an action; a failure is written into the transcript.
    pub(super) fn look_before(
        &mut self,
        context: &ActionContext,
        action: &Action,
    ) -> Result<(), StepError> {
        let shown = action.show();
        let words = context.undo.then(|| self.resolve(&shown).unwrap_or(shown));
        let looked = self.look(context.about, words.as_deref());
        if let Err(error) = &looked {
            let entry = TranscriptEntry {
                action: action.show(),
                error: Some(chain(error)),
                ..self.entry(context, self.clock.now())
            };
            self.transcript.push(entry);
        }
        looked
    }
}
