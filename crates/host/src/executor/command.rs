//! A command of a step: run, judged, and written into the transcript.

use layers::step::show_argv;
use results::TranscriptEntry;
use sys::causes::chain;
use sys::interrupt::Level;
use units::Nanos;

use super::{ActionContext, Executor};
use crate::{CommandOutput, StepError};

impl Executor {
    /// Runs a command with its names resolved. Where it `removes` something, it is fine that this is not there.
    pub(super) fn command(
        &mut self,
        context: &ActionContext,
        argv: &[String],
        removes: bool,
    ) -> Result<(), StepError> {
        let at = self.clock.now();
        let ran =
            self.machine.command(argv, Nanos::from_secs(context.deadline_s), &context.interrupt);
        let mut entry = TranscriptEntry {
            argv: argv.to_vec(),
            action: show_argv(argv),
            ..self.entry(context, at)
        };
        let outcome = match ran {
            Ok(output) => {
                entry.exit_code = output.code;
                entry.stdout = results::transcript::bounded(output.stdout.as_bytes());
                entry.stderr = results::transcript::bounded(output.stderr.as_bytes());
                entry.killed = output.killed.clone();
                judge(context, argv, removes, &output)
            }
            Err(source) => Err(StepError::NotStarted {
                about: context.about.to_owned(),
                program: argv.first().cloned().unwrap_or_default(),
                source,
            }),
        };
        entry.error = outcome.as_ref().err().map(|error| chain(error));
        self.transcript.push(entry);
        outcome
    }
}

/// Tells whether the way a command ended is a failure.
pub(super) fn judge(
    context: &ActionContext,
    argv: &[String],
    removes: bool,
    output: &CommandOutput,
) -> Result<(), StepError> {
    let (about, command) = (context.about.to_owned(), show_argv(argv));
    if !output.left.is_empty() {
        return Err(StepError::Outlived { about, command, left: output.left.join("; ") });
    }
    let program = argv.first().map_or("", String::as_str);
    if output.overdue {
        let (seconds, last) = (context.deadline_s, String::new());
        return Err(StepError::Deadline { about, action: format!("'{command}'"), seconds, last });
    }
    let ended = match (output.code, output.signal) {
        (Some(0), _) => return Ok(()),
        (Some(_), _) if removes && layers::is_absent(program, &output.stderr) => return Ok(()),
        (None, _) if context.interrupt.level() == Level::Now => {
            return Err(StepError::Interrupted { about });
        }
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or(0)),
    };
    let words: Vec<&str> = output.stderr.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let printed = match words[..] {
        [] => String::new(),
        // The last lines say why; warnings come before them.
        _ => format!(": {}", words[words.len().saturating_sub(3)..].join("; ")),
    };
    let kernel =
        output.kernel.as_ref().map_or(String::new(), |line| format!("; the kernel: {line}"));
    let printed = printed + &kernel;
    Err(StepError::Command { about, command, ended, printed })
}
