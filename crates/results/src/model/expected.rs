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
    /// The only scale at which it is expected, where the run had another one: nothing can be said then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<String>,
    /// Why it can be expected at that scale alone, where the run had another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Why it may be otherwise here, in the words of whoever wrote the experiment; shown where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// Figures that show why, beside those of the base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<FigureName>,
}

impl ExpectedFigure {
    /// An expectation of one figure, without a source.
    pub fn new(figure: FigureName, bound: Bound) -> Self {
        Self {
            figure,
            bound,
            of: None,
            source: None,
            scale: None,
            because: None,
            differs: None,
            evidence: Vec::new(),
        }
    }
}

/// Figures that a source reported, to be shown beside what is found here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedFacts {
    /// What the source calls them (`table 5.1, median`).
    pub what: String,
    /// Their unit, as the source writes it (`MB/s`).
    pub unit: String,
    /// In the source's order; the others are compared with the first.
    pub values: Vec<ReportedValue>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedValue {
    /// The figure here that it stands for.
    pub figure: FigureName,
    /// The source's number.
    pub value: f64,
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
