//! Errors of the server and of its clients, with what to do about each.

use std::io;
use std::path::{Path, PathBuf};

use volume::{ChangeError, DeviceError, Failure, GeometryError, RecoveryError, SuperblockError};

/// The result of what can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error: it decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A value that does not suit a volume.
    Usage,
    /// The machine lacks or fails something.
    Environment,
    /// Refused, to keep data safe.
    Refused,
    /// The volume is damaged, or none.
    Data,
}

/// The reason that a volume is not created, started, checked or asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Sizes that make no volume.
    #[error("{}: {source}", path.display())]
    Sizes {
        /// The backing.
        path: PathBuf,
        /// The reason.
        source: GeometryError,
    },
    /// Something stands at the name of a socket.
    #[error("{} exists, and is not a socket that a server left", .0.display())]
    Occupied(PathBuf),
    /// A value that does not fit.
    #[error("{what}")]
    Value {
        /// The value and what is wrong with it.
        what: String,
        /// The way to put it right.
        help: String,
    },
    /// There is no volume, or it is damaged.
    #[error("{}: {source}", path.display())]
    Volume {
        /// The backing.
        path: PathBuf,
        /// The reason.
        source: RecoveryError,
    },
    /// The volume does not take a change.
    #[error("{}: {source}", path.display())]
    Unchanged {
        /// The backing.
        path: PathBuf,
        /// The reason.
        source: Failure,
    },
    /// The backing has fewer blocks than the volume was made with.
    #[error("{} has {found} blocks, and its volume was made with {made}", path.display())]
    Short {
        /// The backing.
        path: PathBuf,
        /// Blocks that it has.
        found: u64,
        /// Blocks that it was made with.
        made: u64,
    },
    /// A server lives in the directory.
    #[error("a volume is served in {} already", .0.display())]
    Served(PathBuf),
    /// No server lives in the directory.
    #[error("no volume is served in {}", path.display())]
    NotServed {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The process that listens on the control socket does not answer.
    #[error("nothing on {} answered for {seconds} s", path.display())]
    Silent {
        /// The socket.
        path: PathBuf,
        /// The time that was waited for an answer, seconds.
        seconds: u64,
    },
    /// A file, device or socket failed.
    #[error("{} cannot be {what}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The action that failed, as a participle.
        what: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
}

impl Error {
    /// An error of a file.
    pub fn io(path: &Path, what: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), what, source }
    }

    /// An error of a device that does one thing at a time.
    pub fn device(path: &Path, error: DeviceError) -> Self {
        Self::Volume { path: path.to_owned(), source: RecoveryError::Device(error) }
    }

    /// The error of a volume that was to be changed.
    pub fn changed(path: PathBuf, error: ChangeError) -> Self {
        match error {
            ChangeError::Recovery(source) => Self::Volume { path, source },
            ChangeError::Failure(source) => Self::Unchanged { path, source },
        }
    }

    /// Its kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Sizes { .. } | Self::Value { .. } => ErrorKind::Usage,
            Self::NotServed { path, .. } if !path.is_dir() => ErrorKind::Usage,
            Self::Io { source, .. } if is_misnamed(source) => ErrorKind::Usage,
            Self::Volume { source: RecoveryError::Device(_), .. }
            | Self::Io { .. }
            | Self::NotServed { .. }
            | Self::Silent { .. } => ErrorKind::Environment,
            Self::Served(_) | Self::Occupied(_) => ErrorKind::Refused,
            Self::Volume { .. } | Self::Short { .. } | Self::Unchanged { .. } => ErrorKind::Data,
        }
    }

    /// The remedy.
    pub fn help(&self) -> String {
        match self {
            Self::Sizes { source: GeometryError::NotLarger { .. }, .. } => {
                "give a larger --logical-size, or enlarge the backing (truncate, lvextend) before --physical".into()
            }
            Self::Sizes { .. } => "fathom uvdo create --help says which sizes there are".into(),
            Self::Value { help, .. } => help.clone(),
            Self::Volume { source, .. } => match source {
                RecoveryError::Superblock(SuperblockError::None) => {
                    "fathom uvdo create makes a volume; what is there now would be lost".into()
                }
                RecoveryError::Superblock(SuperblockError::Newer(_)) => {
                    "use the version of Fathom that made it, or a newer one".into()
                }
                RecoveryError::Device(_) => "look into the kernel's log (dmesg)".into(),
                _ => "fathom uvdo check lists what is damaged; fathom uvdo rebuild makes counts anew, not the map".into(),
            },
            Self::Unchanged { .. } => "copy the data away, then: fathom uvdo rebuild".into(),
            Self::Short { .. } => "give the file or device back its whole size".into(),
            Self::Occupied(_) => {
                "give another directory, or remove it if nobody needs it".into()
            }
            Self::Served(path) => {
                format!("give another directory, or end it: fathom uvdo stop {}", path.display())
            }
            Self::NotServed { .. } => {
                "give the directory that fathom uvdo start was given, while it runs".into()
            }
            Self::Silent { .. } => {
                "see whether its server is stopped (ps -o stat,pid,cmd -C fathom; kill -CONT PID lets it go on) or still at work on what it was asked".into()
            }
            Self::Io { source, .. } if is_misnamed(source) => {
                "give another path: one that can be made, or that is what is asked for".into()
            }
            Self::Io { .. } => "see the cause".into(),
        }
    }
}

/// Tells if the error comes from a path that leads nowhere or to another kind of file, which is a mistake of the user.
pub fn is_misnamed(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, InvalidFilename, IsADirectory, NotADirectory, NotFound};
    matches!(
        error.kind(),
        NotFound | NotADirectory | AlreadyExists | IsADirectory | InvalidFilename
    )
}
