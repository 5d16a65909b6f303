//! The one printer of errors: what, where, why, what to do, and the exit code that says which kind.

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use units::{is_obeyed, printable};

use crate::args::Cli;
use crate::terminal::{Style, Text, answer, say_text, write_error};

/// The reason why a command did not do what was asked.
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

    /// A run left something behind: exit code 6.
    pub fn teardown(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { code: 6, error: error.into(), help: None }
    }

    /// Stopped by the user before there was a result: exit code 130.
    pub fn interrupted() -> Self {
        let error = "Interrupted before there was a result; nothing is left behind";
        Self { code: 130, error: error.into(), help: None }
    }

    /// Returns the failure to write standard output, if there was one; it is reported when all is done.
    pub fn lost_output() -> Option<Self> {
        let message = format!("Standard output could not be written: {}", write_error()?);
        Some(Self::environment(message).with_help("make room where it goes, or send it elsewhere"))
    }

    /// Tells whether the user stopped it.
    pub fn is_interrupt(&self) -> bool {
        self.code == 130
    }

    /// Returns what went wrong, without causes and help.
    pub fn text(&self) -> String {
        self.error.to_string()
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds to a refusal that a killed run may be the cause, and that the command `clean` takes down what it left.
    #[must_use]
    pub fn or_clean(mut self, clean: &str) -> Self {
        if self.code == 4 {
            let help = self.help.map_or_else(String::new, |help| format!("; else: {help}"));
            self.help = Some(format!("{clean} takes down what the killed run left{help}"));
        }
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
        let style = Style::of_stderr();
        let mut text = Text::from(style.bad("error:").and(self.error.to_string()));
        let mut shown = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            let line = error.to_string();
            // Some libraries repeat the cause in their own words; once is enough.
            if !shown.contains(&line) {
                text.line(format!("  because: {line}"));
            }
            shown = line;
            cause = error.source();
        }
        if let Some(help) = &self.help {
            text.line(style.good("help:").and(help));
        }
        say_text(&text);
        ExitCode::from(self.code)
    }
}

/// Prints the error of a command line, or the help that it asks for.
pub fn command_line(error: &clap::Error) -> ExitCode {
    let words = crate::args::words();
    let hint = negative(error, words.iter().cloned())
        .or_else(|| of_tree(error, &words))
        .or_else(|| of_fio(error, &words));
    if let Some(failure) = hint {
        return failure.report();
    }
    if !error.use_stderr() {
        let text = error.render();
        let colour = Style::of_stdout().colour();
        answer(&Text::preformatted(&if colour {
            text.ansi().to_string()
        } else {
            text.to_string()
        }));
        return ExitCode::SUCCESS;
    }
    if !words.iter().any(|word| word.contains(is_obeyed)) {
        // A closed standard error is no reason for another exit code.
        let _ = error.print();
        return ExitCode::from(2);
    }
    // The error quotes the words, in colours of its own, so it is made again from words without control characters.
    match Cli::try_parse_from(words.iter().map(|word| printable(word).into_owned())) {
        Err(shown) if shown.use_stderr() => drop(shown.print()),
        _ => say_text(&Text::lines_of(&error.render().to_string())),
    }
    ExitCode::from(2)
}

/// Returns the failure for a negative number after an option: the parser takes it for another option, and `error` only says that there is no
/// such option.
pub fn negative(error: &clap::Error, words: impl Iterator<Item = String>) -> Option<Failure> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let words: Vec<String> = words.collect();
    let [option, value] = words.windows(2).find_map(|pair| {
        let [option, value] = pair else { return None };
        let number = value.strip_prefix('-')?.trim_start_matches('.');
        let digit = number.starts_with(|c: char| c.is_ascii_digit());
        (digit && option.starts_with("--") && !option.contains('=')).then_some([option, value])
    })?;
    let message = format!("'{value}' is no value for '{option}': it is negative");
    let help = "give a number without a minus: no size, time, rate, count or share is below zero";
    Some(Failure::usage(message).with_help(help))
}

/// Returns the mistake in the operations of a tree load, which differ from those of a load on a device.
fn of_tree(error: &clap::Error, words: &[String]) -> Option<Failure> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    };
    let option = text(ContextKind::InvalidArg)?;
    if !option.starts_with("--ops") || !words.iter().any(|word| word == "--tree") {
        return None;
    }
    let (message, help) = crate::args::mix(text(ContextKind::InvalidValue)?).err()?;
    Some(Failure::usage(message).with_help(help))
}

/// Returns the failure for a load with an option of fio, which names the option to use instead.
fn of_fio(error: &clap::Error, words: &[String]) -> Option<Failure> {
    let load = words.iter().skip(1).any(|word| word == "load");
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let unknown = error.kind() == ErrorKind::UnknownArgument;
    let here = workload::fio_option(option.strip_prefix("--").filter(|_| load && unknown)?)?;
    let help = format!("fio's {option} is here {}", crate::args::as_options(here));
    Some(Failure::usage(format!("A load has no option {option}")).with_help(help))
}

impl From<lab::Error> for Failure {
    fn from(error: lab::Error) -> Self {
        let help = error.help();
        match error {
            lab::Error::LittleMemory { .. } => Self::usage(error),
            lab::Error::ForeignCache { .. } => Self::refused(error),
            _ => Self::environment(error),
        }
        .with_help_if(help)
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

impl From<uvdo::Error> for Failure {
    fn from(error: uvdo::Error) -> Self {
        let help = error.help();
        match error.kind() {
            uvdo::ErrorKind::Usage => Self::usage(error),
            uvdo::ErrorKind::Environment => Self::environment(error),
            uvdo::ErrorKind::Refused => Self::refused(error),
            uvdo::ErrorKind::Data => Self::data(error),
        }
        .with_help(help)
    }
}

impl From<host::RunLockError> for Failure {
    fn from(error: host::RunLockError) -> Self {
        let help = error.help();
        match error {
            host::RunLockError::Live { .. } => Self::refused(error),
            host::RunLockError::Io { .. } => Self::environment(error),
        }
        .with_help(help)
    }
}

impl From<host::PathError> for Failure {
    fn from(error: host::PathError) -> Self {
        let help = error.help();
        Self::usage(error).with_help(help)
    }
}

impl From<run::SourceError> for Failure {
    fn from(error: run::SourceError) -> Self {
        let help = error.help();
        Self::usage(error).with_help(help)
    }
}

impl From<experiment::ExperimentError> for Failure {
    fn from(error: experiment::ExperimentError) -> Self {
        say_text(&Text::preformatted(&error.render(Style::of_stderr().colour())));
        let count = error.mistakes.len();
        let mistakes = if count == 1 { "1 mistake".into() } else { format!("{count} mistakes") };
        Self::usage(format!("{} cannot be used: {mistakes}", error.file))
    }
}

impl From<run::RunError> for Failure {
    fn from(error: run::RunError) -> Self {
        match error {
            run::RunError::Sink(results::sink::SinkError::Exists(_)) => {
                Self::refused(error).with_help("name another with --out, or remove it")
            }
            run::RunError::Guest(_) => Self::environment(error)
                .with_help("fathom doctor says what this machine lacks for the lab"),
            // The outcome's exit code holds although the result was spoiled.
            run::RunError::Spoiled { outcome, .. } if outcome != run::RunOutcome::Complete => {
                Self { code: outcome.exit_code(), error: error.into(), help: None }
            }
            _ => Self::data(error),
        }
    }
}

impl From<run::ResumeError> for Failure {
    fn from(error: run::ResumeError) -> Self {
        let help = error.help();
        match error {
            run::ResumeError::Lock(error) => return error.into(),
            run::ResumeError::Device { .. } => Self::refused(error),
            run::ResumeError::Read(results::ReadError::Missing(_)) => Self::usage(error),
            run::ResumeError::Read(_) | run::ResumeError::Changed { .. } => Self::data(error),
            run::ResumeError::Sink(_) | run::ResumeError::Differs { .. } => Self::usage(error),
        }
        .with_help(help)
    }
}

impl From<results::ReadError> for Failure {
    fn from(error: results::ReadError) -> Self {
        match error {
            results::ReadError::Missing(_) => Self::usage(error),
            results::ReadError::Packed(error) => error.into(),
            _ => Self::data(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_of(line: &str) -> Option<String> {
        let words = || line.split(' ').map(str::to_owned);
        let error = Cli::try_parse_from(words()).unwrap_err();
        negative(&error, words()).map(|failure| failure.error.to_string())
    }

    #[test]
    fn a_negative_value_is_told_from_an_option_that_does_not_exist() {
        for (option, value) in [("--size", "-1"), ("--size", "-1G"), ("--zero", "-.5%")] {
            let text = message_of(&format!("fathom load x {option} {value}"));
            let text = text.unwrap_or_else(|| panic!("{option} {value}: nothing is said"));
            assert!(text.contains(option) && text.contains(&format!("'{value}'")), "{text}");
        }
        for line in ["fathom load x --size", "fathom load x -s 1", "fathom load x --bogus 1"] {
            assert_eq!(message_of(line), None, "{line}");
        }
    }
}
