//! The figures that an experiment expects to find.

use serde::{Deserialize, Serialize};

/// An expected figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedFigure {
    /// The figure.
    pub figure: FigureName,
    /// The bound that it is expected to meet.
    pub bound: Bound,
    /// The figure that it is divided by; `None` where the figure itself is expected.
    pub of: Option<FigureName>,
    /// The document or other source of the expectation.
    pub source: Option<String>,
    /// The kind of that source.
    #[serde(default)]
    pub grounds: Grounds,
    /// The only scale at which it is expected; set only where the run had another one, so that the expectation cannot be checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<String>,
    /// The reason why it is expected only at that scale; set only where the run had another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Why it may be otherwise here, in the words of whoever wrote the experiment; shown if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// Figures that may explain a deviation, shown together with those of the base.
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
            grounds: Grounds::default(),
            scale: None,
            because: None,
            differs: None,
            evidence: Vec::new(),
        }
    }
}

/// Kind of source that an expectation rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grounds {
    /// A statement about the same quantity in a document.
    #[default]
    Document,
    /// Figures in a document's appendix that are not in its text.
    Appendix,
    /// The data sheet of a device.
    DataSheet,
    /// The layer's own documentation or source.
    Layer,
    /// A formula.
    Formula,
    /// A conclusion drawn from a document that does not state it itself.
    Conclusion,
    /// An earlier measurement, by another program or on another machine.
    Measurement,
    /// A model that is built to behave so: a circular expectation, which only shows that the model works.
    Model,
}

impl Grounds {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Document,
        Self::Appendix,
        Self::DataSheet,
        Self::Layer,
        Self::Formula,
        Self::Conclusion,
        Self::Measurement,
        Self::Model,
    ];

    /// Its name in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Appendix => "appendix",
            Self::DataSheet => "data-sheet",
            Self::Layer => "layer",
            Self::Formula => "formula",
            Self::Conclusion => "conclusion",
            Self::Measurement => "measurement",
            Self::Model => "model",
        }
    }
}

/// Figures that a source reported, to be shown with those found here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedFacts {
    /// The source's name for them (`table 5.1, median`).
    pub what: String,
    /// Their unit, as the source writes it (`MB/s`).
    pub unit: String,
    /// The quantity measured here, where it differs from the source's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub here: Option<String>,
    /// The values in the source's order; the others are compared with the first.
    pub values: Vec<ReportedValue>,
}

/// One reported value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedValue {
    /// The figure here that it corresponds to.
    pub figure: FigureName,
    /// The source's number.
    pub value: f64,
    /// Its spread within the source's run, where the source states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<ReportedSpread>,
}

/// The spread of what a source measured within one run, in the source's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReportedSpread {
    /// The lower quartile.
    pub q1: f64,
    /// The upper quartile.
    pub q3: f64,
    /// The smallest value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// The standard deviation.
    pub std_dev: f64,
}

/// A figure of one variant by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureName {
    /// Id of the metric.
    pub metric: String,
    /// The measured stage; `None` where there is only one.
    pub stage: Option<String>,
    /// The operation that it describes.
    pub operation: Option<String>,
    /// The layer that it describes.
    pub layer: Option<String>,
    /// Name of the variant.
    pub variant: String,
}

/// The range in which a figure is expected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Above a value, which itself is not within.
    Above(f64),
    /// Below a value, which itself is not within.
    Below(f64),
    /// At most this distance from a value; both ends are within.
    Near {
        /// The value.
        value: f64,
        /// The distance.
        by: f64,
    },
}

impl Bound {
    /// Returns the ends of the expected range.
    pub fn range(self) -> (f64, f64) {
        match self {
            Self::Above(value) => (value, f64::INFINITY),
            Self::Below(value) => (f64::NEG_INFINITY, value),
            Self::Near { value, by } => (value - by, value + by),
        }
    }

    /// Tells whether a value is as expected.
    pub fn contains(self, found: f64) -> bool {
        match self {
            Self::Above(value) => found > value,
            Self::Below(value) => found < value,
            Self::Near { .. } => (self.range().0..=self.range().1).contains(&found),
        }
    }

    /// Tells whether no value from `low` to `high` is as expected.
    pub fn excludes(self, low: f64, high: f64) -> bool {
        let (least, most) = self.range();
        match self {
            Self::Above(_) => high <= least,
            Self::Below(_) => low >= most,
            Self::Near { .. } => high < least || low > most,
        }
    }
}
