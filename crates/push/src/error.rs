//! Reasons why a result is not in a store.

use std::io::{self, ErrorKind};
use std::path::Path;

/// Kinds of reasons, as exit codes tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The destination, or a name, cannot be meant.
    Usage,
    /// The network, the store, or the right to it is lacking.
    Environment,
    /// Other bytes are there, and stay.
    Refused,
}

/// The reason why a result is not in a store.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct PushError {
    /// The kind of the reason.
    pub kind: Kind,
    /// The place and the reason, one sentence.
    pub what: String,
    /// A remedy.
    pub help: Option<String>,
}

impl PushError {
    /// Creates an error with a remedy.
    pub(crate) fn new(kind: Kind, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, what: what.into(), help: Some(help.into()) }
    }

    /// Creates the error for an object with other bytes.
    pub(crate) fn other_bytes(place: &str) -> Self {
        let what = format!("{place} is there already, with other bytes; it stays as it is");
        let help = "--replace puts this result in its place; or give the result another name";
        Self::new(Kind::Refused, what, help)
    }

    /// Creates the error for a file of this machine that cannot be read or written.
    pub(crate) fn file(place: &Path, error: &io::Error) -> Self {
        let what = format!("{}: {error}", place.display());
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                Self::new(Kind::Environment, what, "make room there, or name another destination")
            }
            ErrorKind::AlreadyExists => {
                Self::new(Kind::Refused, what, "look what it is, or give the result another name")
            }
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                Self::new(Kind::Usage, what, "make the directory first, or name another one")
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                let help = "name a directory that you may write to";
                Self::new(Kind::Environment, what, help)
            }
            _ => Self { kind: Kind::Environment, what, help: None },
        }
    }

    /// Creates the error for a package that changed while it was sent.
    pub(crate) fn changed(path: &Path) -> Self {
        let what = format!("{} was changed while it was sent", path.display());
        Self::new(Kind::Environment, what, "send it once nothing writes it")
    }
}
