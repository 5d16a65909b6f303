//! Options of a load's verification beyond its spec.

use std::path::PathBuf;

use super::carried::CarriedTargets;
use super::expected_blocks::Width;

/// Options of a load's verification, beyond what its spec says.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A file that keeps what is known of the targets' contents: read at the start if it is there, replaced at the end.
    pub state: Option<PathBuf>,
    /// Take the state file although it was written for other targets than these.
    pub state_of_another: bool,
    /// The targets in what loads of this process carry on, in place of a file.
    pub carried: Option<CarriedTargets>,
    /// Memory for each block.
    pub width: Width,
}
