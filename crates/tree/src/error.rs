//! Errors of the specification of a load.

/// A load of a tree that cannot be run as specified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TreeError {
    /// The key as written.
    pub key: &'static str,
    /// The mistake, with the value.
    pub message: String,
    /// Advice on what to write instead.
    pub help: &'static str,
}

impl TreeError {
    pub(crate) fn new(key: &'static str, message: impl Into<String>, help: &'static str) -> Self {
        Self { key, message: message.into(), help }
    }
}
