//! What an experiment expects to find.

use serde::{Deserialize, Serialize};

/// What a figure is expected to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedFigure {
    /// The figure.
    pub figure: FigureName,
    /// What is expected of it.
    pub bound: Bound,
    /// The figure that it is divided by; `None` where it stands for itself.
    pub of: Option<FigureName>,
    /// Where this was found.
    pub source: Option<String>,
}

/// A figure of one variant by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureName {
    /// Id of the metric.
    pub metric: String,
    /// The measured stage; `None` where there is only one.
    pub stage: Option<String>,
    /// The operation it is of.
    pub operation: Option<String>,
    /// The layer it is of.
    pub layer: Option<String>,
    /// Name of the variant.
    pub variant: String,
}

/// Where a figure is expected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Above a value.
    Above(f64),
    /// Below a value.
    Below(f64),
    /// At most so far from a value.
    Near {
        /// The value.
        value: f64,
        /// The distance.
        by: f64,
    },
}

impl Bound {
    /// The least and the greatest value that are as expected.
    pub fn range(self) -> (f64, f64) {
        match self {
            Self::Above(value) => (value, f64::INFINITY),
            Self::Below(value) => (f64::NEG_INFINITY, value),
            Self::Near { value, by } => (value - by, value + by),
        }
    }
}
