//! Errors of a load that could not be run.

/// The kind of an error; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request does not fit the target; a different request would work.
    Usage,
    /// The machine lacks something: io_uring, memory, a permission.
    Environment,
    /// The target cannot be opened, is too small, or refuses.
    Target,
    /// A file that somebody else made is in the place where a new one was to be.
    Refused,
}

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a load could not be run: what failed in words, its remedy, and the cause below it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    kind: ErrorKind,
    message: String,
    help: String,
    source: Option<Source>,
}

impl EngineError {
    pub(crate) fn new(
        kind: ErrorKind,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { kind, message: message.into(), help: help.into(), source: None }
    }

    pub(crate) fn because(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the remedy.
    pub fn help(&self) -> &str {
        &self.help
    }
}
