//! The figures of a fill, and the proof that it reached the value asked for.

use serde::{Deserialize, Serialize};

/// A load in rounds until a figure of a layer was reached.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FillFigures {
    /// Name of the layer that was read.
    pub layer: String,
    /// The metric of the layer that was read.
    pub metric: String,
    /// The value that was asked for.
    pub at_least: f64,
    /// The value before the first round; `None` when the layer reported none.
    pub before: Option<f64>,
    /// The value that was read last; `None` when the layer reported none.
    pub value: Option<f64>,
    /// Tells whether the value asked for was reached.
    pub reached: bool,
    /// Number of rounds that were driven.
    pub rounds: u32,
    /// Bytes that their writes moved.
    pub bytes_written: u64,
    /// Bytes that their reads moved.
    pub bytes_read: u64,
}
