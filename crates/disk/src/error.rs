//! Errors of this crate. Each says what cannot be done, and gives a remedy.

use std::path::PathBuf;

use units::Bytes;

/// The result of a fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a disk cannot be as it was asked for, or a trace cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value that does not make sense.
    #[error("{place}: {what}")]
    Bad {
        /// The key that it was given for, from the outside in: `like.rpm`.
        place: String,
        /// The value and what is wrong with it.
        what: String,
        /// The way to put it right.
        help: String,
    },
    /// The disks may hold more data than fits into memory.
    #[error("the modelled disks may hold {needed} in memory, and {available} are available")]
    Memory {
        /// Bytes that the disks may hold.
        needed: Bytes,
        /// Bytes that are available.
        available: Bytes,
    },
    /// A file is not a trace, or is damaged.
    #[error("{}: {why}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A disk cannot be served to a virtual machine.
    #[error("the modelled disk {what}: {why}")]
    Front {
        /// The action that is not possible.
        what: String,
        /// Why.
        why: String,
    },
    /// A file cannot be read or written.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// The action that failed.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn bad(
        place: impl Into<String>,
        what: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::Bad { place: place.into(), what: what.into(), help: help.into() }
    }

    /// Returns what to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Bad { help, .. } => help.clone(),
            Self::Memory { .. } => {
                "let less be written (sizes of loads and files count, not the disks'), or give the host more memory".into()
            }
            Self::Trace { .. } => "name a trace of a modelled disk, as a result of the lab holds them: lab/ROLE.trace".into(),
            Self::Front { .. } => "run it again; the lab's page says which QEMU was used".into(),
            Self::Io { .. } => "name a file that exists and can be read".into(),
        }
    }

    /// Tells whether the request is wrong, rather than the environment or a file.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Bad { .. })
    }
}
