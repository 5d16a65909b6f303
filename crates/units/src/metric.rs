//! The description of a figure that Fathom shows: its name, unit, direction and meaning.

use serde::{Deserialize, Serialize};

/// One figure that Fathom shows: the entry in its catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// The key in JSON, with the unit last (`latency_p99_ns`).
    pub id: &'static str,
    /// The name people read.
    pub name: &'static str,
    /// The unit of the stored number.
    pub unit: Unit,
    /// The direction that is good.
    pub better: Better,
    /// The period that the figure of a stage covers.
    pub basis: Basis,
    /// The test that compares this figure of two variants.
    pub test: Test,
    /// One or two sentences: what it is, and what makes it change.
    pub help: &'static str,
}

/// The period that the figure of a stage covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Growth over the stage.
    Counter,
    /// The value at the end of the stage.
    Level,
    /// Growth from the end of allocation to the end of the stage.
    Cell,
    /// Growth over the load of the stage, without its preparation and the wait for rest.
    Load,
    /// Growth from the start of the stage's load, its ramp included, until the stack has come to rest, so that deferred work is included.
    Work,
}

/// The test that compares the repeats of two variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Within each repeat: for rates, means, and what else goes up and down with the machine.
    Paired,
    /// By ranks over all repeats: for tails of distributions and counts of rare things, where one value tells little.
    Ranked,
    /// By the share of runs in which it happened at all: for what should never happen, where the number of events within a run matters little.
    Occurrence,
}

/// The unit of a stored number; decides how it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A plain count.
    Count,
    /// Blocks of 4096 bytes.
    Blocks,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Operations per second.
    PerSecond,
    /// Nanoseconds.
    Nanos,
    /// Microseconds.
    Micros,
    /// Seconds.
    Seconds,
    /// Percent of a whole.
    Percent,
    /// A ratio without a unit.
    Ratio,
}

/// The direction of a figure that is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither; it describes.
    Neither,
}

impl Unit {
    /// Its name next to a bare number.
    pub fn words(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Blocks => "blocks of 4 KiB",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes per second",
            Self::PerSecond => "per second",
            Self::Nanos => "nanoseconds",
            Self::Micros => "microseconds",
            Self::Seconds => "seconds",
            Self::Percent => "percent",
            Self::Ratio => "ratio",
        }
    }

    /// Returns the smallest base for which a ratio is formed, in this unit: fewer than ten events or blocks, or a thousandth of a whole, are chance,
    /// and negligible however large the other value is. Zero where any base is meaningful.
    pub fn least_base(self) -> f64 {
        match self {
            Self::Count | Self::Blocks => 10.0,
            Self::Bytes => 10.0 * 4096.0,
            Self::Percent => 0.1,
            _ => 0.0,
        }
    }

    /// Returns `value` as people read it, with its unit.
    pub fn show(self, value: f64) -> String {
        self.show_with(value, 3)
    }

    /// Returns `value` with its unit and `digits` significant digits.
    pub fn show_with(self, value: f64, digits: usize) -> String {
        use crate::show;
        match self {
            Self::Count | Self::Blocks => show::count_with(value, digits),
            Self::Bytes => show::bytes_with(value, digits),
            Self::BytesPerSecond => format!("{}/s", show::bytes_with(value, digits)),
            Self::PerSecond => format!("{}/s", show::count_with(value, digits)),
            Self::Nanos => show::nanos_with(value, digits),
            Self::Micros => show::nanos_with(value * 1e3, digits),
            Self::Seconds => show::nanos_with(value * 1e9, digits),
            Self::Percent => format!("{} %", show::significant(value, digits)),
            Self::Ratio => show::significant(value, digits),
        }
    }
}
