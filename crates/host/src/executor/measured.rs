//! A command of a stage: run, measured, judged, and written into the transcript.

use std::io;

use layers::step::show_argv;
use results::TranscriptEntry;
use results::model::CommandFigures;
use sys::causes::chain;
use units::Nanos;

use super::command::judge;
use super::{ActionContext, Executor};
use crate::{CommandOutcome, CommandOutput, Listener, MeasuredCommand, StepError};

impl Executor {
    /// Runs a command of a stage and measures it; `listener` gets every line that it prints. The figures are returned however the command ended.
    pub fn measured(
        &mut self,
        about: &str,
        work: &MeasuredCommand,
        listener: &mut Listener,
    ) -> (CommandFigures, Result<(), StepError>) {
        let interrupt = self.interrupt.clone();
        let deadline_s = work.time_limit.0 / Nanos::PER_SECOND;
        let context =
            ActionContext { about, step: None, part: None, deadline_s, interrupt, undo: false };
        let at = self.clock.now();
        if let Err(error) = self.intact(about) {
            return (CommandFigures::default(), Err(error));
        }
        let ran = self.machine.measured(work, &context.interrupt, listener);
        let mut entry = TranscriptEntry {
            argv: work.argv.clone(),
            action: show_argv(&work.argv),
            ..self.entry(&context, at)
        };
        let (figures, outcome) = match ran {
            Ok(ran) => {
                let outcome = judge_measured(&context, work, &ran);
                (ran.figures, outcome.and_then(|()| self.intact("go on after the command")))
            }
            Err(source) => {
                let program = work.argv.first().cloned().unwrap_or_default();
                (CommandFigures::default(), Err(StepError::Program { program, source }))
            }
        };
        tracing::debug!(argv = ?work.argv, exit_code = ?figures.exit_code, "command of a stage");
        entry.exit_code = figures.exit_code;
        entry.stdout = results::transcript::bounded(figures.stdout.as_bytes());
        entry.stderr = results::transcript::bounded(figures.stderr.as_bytes());
        entry.killed.clone_from(&figures.killed);
        entry.error = outcome.as_ref().err().map(|error| chain(error));
        self.transcript.push(entry);
        (figures, outcome)
    }
}

/// Tells whether the way a measured command ended is a failure.
fn judge_measured(
    context: &ActionContext,
    work: &MeasuredCommand,
    ran: &CommandOutcome,
) -> Result<(), StepError> {
    let about = context.about.to_owned();
    if ran.interrupted {
        return Err(StepError::Interrupted { about });
    }
    let output = CommandOutput {
        code: ran.figures.exit_code,
        signal: ran.signal,
        stderr: ran.figures.stderr.clone(),
        overdue: ran.overdue,
        left: ran.left.clone(),
        ..CommandOutput::default()
    };
    judge(context, &work.argv, false, &output)?;
    match &ran.unsynced {
        None => Ok(()),
        Some(error) => Err(StepError::Action {
            about,
            action: format!("bringing what was written to {} to stable storage", work.target),
            source: io::Error::new(error.kind(), error.to_string()),
        }),
    }
}
