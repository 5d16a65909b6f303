//! The layers that a stage worked on.

use serde::{Deserialize, Serialize};

/// A layer that a stage worked on, and its part of the I/Os.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Name of the layer.
    pub name: String,
    /// Files in its directory that a load drove; `None` for a device, or a directory as a whole.
    #[serde(default)]
    pub files: Option<u64>,
    /// Its part of the I/Os, percent.
    pub share_percent: f64,
}
