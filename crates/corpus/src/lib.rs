//! Directories of files that are made from a seed, for commands to read. A spec chooses sizes, duplicate files, copies of a whole tree in which
//! some blocks differ (images of one system for many guests), and nightly generations with hard links, as rsnapshot makes them.
//!
//! [`CorpusSpec::files`] lists the files and what each holds; [`write()`] makes them. Equal specs give equal names, sizes and bytes on
//! every machine.

#![forbid(unsafe_code)]

mod error;
mod files;
mod limits;
mod sizes;
mod spec;
mod write;

pub use error::CorpusError;
pub use files::{Bytewise, PlannedFile};
pub use limits::{MOST_BYTES, MOST_ENTRIES};
pub use sizes::FileSizes;
pub use spec::{Alike, CorpusSpec};
pub use write::{Progress, is_whole, write};
