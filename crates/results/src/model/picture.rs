//! The pictures that an experiment puts on the first screen of a page.

use serde::{Deserialize, Serialize};

/// A picture for the first screen of a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PictureFacts {
    /// The subject of the picture.
    pub show: Show,
    /// The measured stage that it shows; `None` for every one.
    #[serde(default)]
    pub stage: Option<String>,
    /// The operation that it shows; `None` for every one.
    #[serde(default)]
    pub operation: Option<String>,
    /// The layer that it shows.
    #[serde(default)]
    pub layer: Option<String>,
    /// The layer's figures that are drawn: metrics, or fields of its charts.
    #[serde(default)]
    pub series: Vec<String>,
    /// Percentiles of latency, from above 0 to below 100.
    #[serde(default)]
    pub percentiles: Vec<f64>,
    /// The figure of a curve or of bars.
    #[serde(default)]
    pub metric: Option<String>,
    /// The factor or swept key on a curve's horizontal axis; `None` for the one with the most levels.
    #[serde(default)]
    pub by: Option<String>,
}

/// The subject of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Show {
    /// I/Os per second of each interval, all jobs together.
    #[serde(rename = "iops over time")]
    IopsOverTime,
    /// Bytes per second of each interval, all jobs together.
    #[serde(rename = "throughput over time")]
    ThroughputOverTime,
    /// Percentiles of the latency of each interval.
    #[serde(rename = "latency over time")]
    LatencyOverTime,
    /// Percentiles of the latency of a whole stage, side by side.
    #[serde(rename = "latency bars")]
    LatencyBars,
    /// Figures of a layer over time.
    #[serde(rename = "series")]
    Series,
    /// A figure over the levels of a factor or a sweep.
    #[serde(rename = "curve")]
    Curve,
    /// A figure of each variant, stage by stage.
    #[serde(rename = "comparison")]
    Comparison,
    /// A subject that only a later version can draw.
    #[serde(other)]
    Unknown,
}

impl Show {
    /// All subjects that can be asked for.
    pub const ALL: [Self; 7] = [
        Self::IopsOverTime,
        Self::ThroughputOverTime,
        Self::LatencyOverTime,
        Self::LatencyBars,
        Self::Series,
        Self::Curve,
        Self::Comparison,
    ];

    /// The word for it in an experiment's file.
    pub fn word(self) -> &'static str {
        match self {
            Self::IopsOverTime => "iops over time",
            Self::ThroughputOverTime => "throughput over time",
            Self::LatencyOverTime => "latency over time",
            Self::LatencyBars => "latency bars",
            Self::Series => "series",
            Self::Curve => "curve",
            Self::Comparison => "comparison",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_file_are_those_of_the_result() {
        for show in Show::ALL {
            assert_eq!(serde_json::to_value(show).unwrap(), show.word());
        }
        let later: Show = serde_json::from_str("\"heat map\"").unwrap();
        assert_eq!(later, Show::Unknown);
    }
}
