//! Errors of setting up or running a comparison.

use std::path::PathBuf;

/// An error of setting up or running a comparison.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A program is not there.
    #[error("There is no program {0} on this machine")]
    NoProgram(String),
    /// A program could not be started.
    #[error("Cannot start {program}")]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// A program failed.
    #[error("{line} failed ({status}): {output}")]
    Failed {
        /// Its command line.
        line: String,
        /// Its exit status.
        status: String,
        /// The end of its output.
        output: String,
    },
    /// The output of a program is not as it should be.
    #[error("{line} printed something that cannot be read: {why}")]
    Output {
        /// Its command line.
        line: String,
        /// The fault in it.
        why: String,
    },
    /// A target could not be made or removed.
    #[error("Cannot {what} {target}")]
    Target {
        /// The action that was tried.
        what: &'static str,
        /// The target or the file in the way.
        target: String,
        /// The system's message.
        source: std::io::Error,
    },
    /// A target of the user's own cannot be read.
    #[error("Cannot read {}: {source}", path.display())]
    Unreadable {
        /// The target.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// A target of the user's own is too small.
    #[error("{} holds {bytes} bytes only", path.display())]
    Small {
        /// The target.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// Nothing is left to compare.
    #[error("No case is left to compare")]
    NoCase,
    /// A file with content could not be written or read back.
    #[error("Cannot write content to {path} and read it back")]
    Content {
        /// The file.
        path: PathBuf,
        /// The message of the system or of the generator.
        source: std::io::Error,
    },
    /// The user wants it to stop.
    #[error("Interrupted")]
    Interrupted,
    /// The result could not be written.
    #[error(transparent)]
    Result(#[from] results::sink::SinkError),
}

impl BenchError {
    /// Returns what to do about it.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::NoProgram(_) => {
                Some("install it (Debian: apt install fio), or name it with --fio PATH")
            }
            Self::Start { .. } => Some("check that the file exists and may be executed"),
            Self::Failed { .. } | Self::Output { .. } => {
                Some("run the printed command line by itself to see all that it prints")
            }
            Self::Target { .. } if rustix::process::geteuid().is_root() => Some(
                "see the cause; loop and zram need a kernel that has them. Or name a target with --target",
            ),
            Self::Target { .. } => {
                Some("run as root for loop and zram, or name a target with --target")
            }
            Self::Small { .. } => Some("a target needs at least 1 MiB"),
            Self::NoCase => {
                Some("--only, --depth and --case leave nothing; depths are 1, 32 and 128")
            }
            Self::Content { .. } => Some("name a folder with room for 64 MiB with --dir"),
            Self::Unreadable { .. } | Self::Interrupted | Self::Result(_) => None,
        }
    }
}
