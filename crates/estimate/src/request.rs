//! Requests for estimates.

use std::path::PathBuf;

use reduce::Policy;

use crate::sizing;

/// The request for an estimate: the data to read, and how to read it.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Files, directories, block devices, images; `-` for standard input.
    pub paths: Vec<PathBuf>,
    /// The format of what is named.
    pub format: Format,
    /// Enter other file systems that are mounted in trees.
    pub other_file_systems: bool,
    /// Take the LZ4 size of every content instead of a sample, and compress every record of the comparison.
    pub exact: bool,
    /// The index, the limit of references, and the memory that the table of contents may take.
    pub policy: Policy,
    /// Workers; all cores when `None`.
    pub workers: Option<usize>,
    /// Options for the volume to be sized, such as the share to leave free.
    pub sizing: sizing::SizingOptions,
}

/// The format of files, devices and standard input that are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Recognised by content.
    #[default]
    Recognised,
    /// Plain bytes, whatever they look like.
    Raw,
    /// A qcow2 image.
    Qcow2,
}
