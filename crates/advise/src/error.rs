//! Errors of this crate. Each says what cannot be done, and what to do about it.

use std::path::PathBuf;

/// The result of what can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason that traces cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: std::io::Error,
    },
    /// A file is none of the kinds that are known.
    #[error("{} is no trace that is known here", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// A file is damaged, or of a version that is not known.
    #[error("{}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The place, and what is wrong.
        why: String,
    },
    /// A log of fio does not say where its I/Os went.
    #[error("{} does not say where its I/Os went", path.display())]
    NoOffsets {
        /// The log.
        path: PathBuf,
    },
    /// Files that do not go together.
    #[error("{why}")]
    DoNotBelongTogether {
        /// The reason: the different devices, kinds or jobs that they belong to.
        why: String,
        /// The files to name instead.
        help: &'static str,
    },
    /// A histogram cannot be made.
    #[error("a histogram cannot be made: {0}")]
    Histogram(#[from] hdrhistogram::CreationError),
    /// There is no read or write in any of the files.
    #[error("there is no read and no write in {}{}", names(paths), besides(others))]
    Empty {
        /// The files.
        paths: Vec<PathBuf>,
        /// The flushes and the discards that are in them.
        others: [u64; 2],
    },
}

fn names(paths: &[PathBuf]) -> String {
    let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    units::show::names(&names)
}

fn besides([flushes, discards]: &[u64; 2]) -> String {
    match (flushes, discards) {
        (0, 0) => String::new(),
        _ => format!(": flushes {flushes}, discards {discards}"),
    }
}

impl Error {
    /// Returns what to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Io { .. } => "name files that are there and can be read",
            Self::Unknown { .. } => {
                "name blktrace's binary files (NAME.blktrace.0 ..., not blkparse's text), what fio wrote with write_iolog or write_lat_log and log_offset=1, a log of I/Os (fathom load --io-log), or the trace of a modelled disk; each as it is or packed with gzip or zstd"
            }
            Self::Damaged { .. } => "record it again, or copy it again from where it was recorded",
            Self::NoOffsets { .. } => {
                "run fio with log_offset=1 and without log_avg_msec, so that each I/O has its line"
            }
            Self::DoNotBelongTogether { help, .. } => help,
            Self::Histogram(_) => "report this as a mistake of Fathom",
            Self::Empty { .. } => {
                "record while the load runs: blktrace -d DEVICE -w 600 writes ten minutes of it"
            }
        }
    }

    /// Tells whether the request is wrong, and not a file.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::DoNotBelongTogether { .. } => true,
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
            _ => false,
        }
    }
}
