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
    /// Which direction is good.
    pub better: Better,
    /// Over what the figure of a stage is taken.
    pub basis: Basis,
    /// The test that compares two variants in it.
    pub test: Test,
    /// One or two sentences: what it is, and what makes it change.
    pub help: &'static str,
}

/// Over what the figure of a stage is taken.
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
    /// Growth from where the load of the stage begins, its ramp with it, until the stack has come to rest: what was put off is paid by then.
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
    /// By the share of runs in which it happened at all: for what should never happen, where how often says nothing of whether.
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

/// Which direction of a figure is good.
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
    /// Its name beside a bare number.
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

    /// The least base that a ratio is made to, in the unit: fewer than ten of what is counted, or of blocks, are chance, and next to nothing whatever
    /// many stand beside; so is a thousandth of a whole. Zero where any base has a meaning.
    pub fn least_base(self) -> f64 {
        match self {
            Self::Count | Self::Blocks => 10.0,
            Self::Bytes => 10.0 * 4096.0,
            Self::Percent => 0.1,
            _ => 0.0,
        }
    }

    /// `value` as people read it, with its unit.
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
