//! The one printer of errors: what, where, why, what to do, and the exit code that says which kind.

use std::error::Error;
use std::process::ExitCode;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    error: Box<dyn Error + Send + Sync>,
    help: Option<String>,
}

impl Failure {
    /// Wrong usage: exit code 2.
    pub fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { code: 2, error: error.into(), help: None }
    }

    /// The environment lacks something: exit code 3.
    pub fn environment(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { code: 3, error: error.into(), help: None }
    }

    /// Refused, to keep data safe: exit code 4.
    pub fn refused(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { code: 4, error: error.into(), help: None }
    }

    /// Measured data is incomplete or unreadable: exit code 5.
    pub fn data(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { code: 5, error: error.into(), help: None }
    }

    /// Stopped by the user before anything was measured: exit code 130.
    pub fn interrupted() -> Self {
        let error = "Interrupted before anything was measured; nothing is left behind";
        Self { code: 130, error: error.into(), help: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds what to do about it, if there is something.
    #[must_use]
    pub fn with_help_if(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }

    /// Prints it to standard error, causes below it, and gives the exit code.
    pub fn report(&self) -> ExitCode {
        let style = crate::terminal::Style::of_stderr();
        let mut text = format!("{} {}", style.bad("error:"), self.error);
        let mut said = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            let line = error.to_string();
            // Some libraries repeat the cause in their own words; once is enough.
            if !said.contains(&line) {
                text.push_str(&format!("\n  because: {line}"));
            }
            said = line;
            cause = error.source();
        }
        if let Some(help) = &self.help {
            text.push_str(&format!("\n{} {help}", style.good("help:")));
        }
        crate::terminal::say(&text);
        ExitCode::from(self.code)
    }
}

impl From<lab::Error> for Failure {
    fn from(error: lab::Error) -> Self {
        let help = error.help();
        Self::environment(error).with_help_if(help)
    }
}

impl From<host::ClaimError> for Failure {
    fn from(error: host::ClaimError) -> Self {
        let help = error.help().to_owned();
        match error.kind() {
            host::ClaimKind::Usage => Self::usage(error),
            host::ClaimKind::Environment => Self::environment(error),
            _ => Self::refused(error),
        }
        .with_help(help)
    }
}

impl From<experiment::ExperimentError> for Failure {
    fn from(error: experiment::ExperimentError) -> Self {
        let style = crate::terminal::Style::of_stderr();
        crate::terminal::say(&error.render(style.colour()));
        let count = error.mistakes.len();
        let mistakes = if count == 1 { "1 mistake".into() } else { format!("{count} mistakes") };
        Self::usage(format!("{} cannot be used: {mistakes}", error.file))
    }
}

impl From<run::RunError> for Failure {
    fn from(error: run::RunError) -> Self {
        match error {
            run::RunError::Sink(results::sink::SinkError::Exists(_)) => Self::usage(error),
            run::RunError::Guest(_) => Self::environment(error)
                .with_help("fathom doctor says what this machine lacks for the lab"),
            _ => Self::data(error),
        }
    }
}

impl From<results::ReadError> for Failure {
    fn from(error: results::ReadError) -> Self {
        Self::data(error)
    }
}
