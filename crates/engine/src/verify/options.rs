//! Options of a load's verification that are not in its spec.

use std::path::PathBuf;

use super::carried::CarriedTargets;
use super::expected_blocks::Width;

/// Options of a load's verification that are not in its spec.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A file with what is known about the targets' contents: read at the start if it exists, replaced at the end.
    pub state: Option<PathBuf>,
    /// Tells whether to accept the state file even if it was written for other targets.
    pub state_of_another: bool,
    /// Known contents of the targets, carried on between the loads of this process instead of through a state file.
    pub carried: Option<CarriedTargets>,
    /// Size of the tag that is kept in memory for each block.
    pub width: Width,
}
