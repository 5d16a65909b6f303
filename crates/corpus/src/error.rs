//! Errors of corpora.

use std::path::PathBuf;

use units::Bytes;

/// A corpus that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// It has no bytes.
    #[error("A corpus of 0 B has no files")]
    Empty,
    /// It is larger than a guest allows.
    #[error("It would take {}, but a corpus may take {} at most", .bytes.exact(), crate::limits::MOST_BYTES)]
    TooLarge {
        /// Bytes on disk of all its files; those of hard links count once.
        bytes: Bytes,
    },
    /// It has more files and directories than a guest allows.
    #[error(
        "It would have more than {} files and directories, the most that a corpus may",
        units::show::grouped(crate::limits::MOST_ENTRIES)
    )]
    TooMany,
    /// Content that cannot be written.
    #[error(transparent)]
    Content(#[from] content::ContentError),
    /// A file or directory could not be made.
    #[error("Cannot make {path}")]
    Io {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The caller asked to stop.
    #[error("Stopped before the corpus was whole")]
    Stopped,
}
