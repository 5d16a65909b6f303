//! What a load says about its verification beyond its spec.

use std::path::PathBuf;

use super::expected_blocks::Width;

/// How a load is verified, beyond what its spec says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// A file that keeps what is known of the targets' contents: read at the start if it is there, replaced at the end.
    pub state: Option<PathBuf>,
    /// Memory for each block.
    pub width: Width,
}
