//! Reasons why a step failed.

use layers::ParseError;

/// Reason why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A placeholder that nothing has bound.
    #[error("'{text}' names {{{name}}}, which no step has bound")]
    Unbound {
        /// The text with the placeholder.
        text: String,
        /// The name in it.
        name: String,
    },
    /// A command ended with an error.
    #[error("Cannot {about}: '{command}' ended with {ended}{printed}")]
    Command {
        /// The purpose of the step.
        about: String,
        /// The command as typed.
        command: String,
        /// Exit code or signal, in words.
        ended: String,
        /// The last lines of its standard error with a colon before them, and the kernel's message; empty when there is neither.
        printed: String,
    },
    /// A command could not be started.
    #[error("Cannot {about}: '{program}' cannot be started; install it, or run this in the lab")]
    NotStarted {
        /// The purpose of the step.
        about: String,
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// The program of a stage could not be started.
    #[error(
        "'{program}' cannot be started; in the lab name its Debian package, packages = [\"...\"], and on a host install it"
    )]
    Program {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// Processes that a command had started outlived it.
    #[error("Cannot {about}: '{command}' left processes that cannot be killed: {left}")]
    Outlived {
        /// Its purpose.
        about: String,
        /// The command as typed.
        command: String,
        /// The processes.
        left: String,
    },
    /// An action other than a command failed.
    #[error("Cannot {about}: {action} failed")]
    Action {
        /// The purpose of the step.
        about: String,
        /// The action in words.
        action: String,
        /// Why.
        source: std::io::Error,
    },
    /// A claimed device or a mounted file system is no longer the one that was meant.
    #[error("Cannot {about}")]
    Replaced {
        /// The purpose of the step.
        about: String,
        /// The error that names what is there instead, and the remedy.
        source: std::io::Error,
    },
    /// A text that was read is not in the form that its parser expects.
    #[error("Cannot {about}: what {from} says is not understood")]
    Parse {
        /// The purpose of the step.
        about: String,
        /// The source that was read.
        from: String,
        /// Why.
        source: ParseError,
    },
    /// A command or a wait exceeded its deadline.
    #[error("Cannot {about}: {action} took longer than {seconds} s{last}")]
    Deadline {
        /// The purpose of the step.
        about: String,
        /// The command, or what was waited for.
        action: String,
        /// The deadline.
        seconds: u64,
        /// The last reading, in parentheses; empty when there was none.
        last: String,
    },
    /// The user wished to stop.
    #[error("stopped by the user while about to {about}")]
    Interrupted {
        /// The purpose of the step.
        about: String,
    },
}

impl StepError {
    /// Tells whether the user stopped the step, which is not a failure.
    pub fn interrupted(&self) -> bool {
        matches!(self, Self::Interrupted { .. })
    }
}
