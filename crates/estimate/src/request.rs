//! What is asked of an estimate.

use std::path::PathBuf;

use reduce::Policy;

use crate::sizing;

/// What is to be estimated.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Files, directories, block devices, images; `-` for standard input.
    pub paths: Vec<PathBuf>,
    /// Take the LZ4 size of every content instead of a sample.
    pub exact: bool,
    /// The index, the limit of references, and the memory that the table of contents may take.
    pub policy: Policy,
    /// Workers; all cores when `None`.
    pub workers: Option<usize>,
    /// What the volume to be sized leaves free, and more.
    pub wishes: sizing::Wishes,
}
