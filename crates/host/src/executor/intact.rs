//! The look before and after each action: everything that was claimed or mounted is still itself.

use layers::step::Action;
use results::TranscriptEntry;

use super::{ActionContext, Executor, chain};
use crate::StepError;

impl Executor {
    /// Returns nothing while every claimed device and mounted file system is the one that steps mean.
    ///
    /// # Errors
    /// When one of them is gone or replaced.
    pub fn intact(&mut self, about: &str) -> Result<(), StepError> {
        self.look(about, None)
    }

    /// The same of the devices that `words` name, where there are any.
    fn look(&mut self, about: &str, words: Option<&str>) -> Result<(), StepError> {
        let intact = self.machine.intact(words);
        intact.map_err(|source| StepError::Replaced { about: about.to_owned(), source })
    }

    /// Looks at what the action is about, and writes into the transcript why it is not begun.
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
