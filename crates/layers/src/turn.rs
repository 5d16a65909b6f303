//! The point at which throughput changes its level within a stage: metrics of operations, and of layers that can be filled.

use units::{Basis, Better, Metric, Test, Unit};

use crate::kind::Kind;

/// Time from the beginning of a stage until throughput turned.
pub const TURN_TIME: &str = "turn_s";
/// Bytes that an operation had moved until then.
pub const TURN_BYTES: &str = "turn_bytes";
/// The fill of a layer then.
pub const TURN_FILL: &str = "turn_fill_percent";

const fn metric(id: &'static str, name: &'static str, unit: Unit, help: &'static str) -> Metric {
    let (better, basis, test) = (Better::Neither, Basis::Counter, Test::Paired);
    Metric { id, name, unit, better, basis, test, help }
}

/// Metrics of an operation of a load; known where an experiment names them.
pub(crate) static OF_LOADS: &[Metric] = &[
    metric(
        TURN_TIME,
        "time until throughput turns",
        Unit::Seconds,
        "From the beginning of the stage to the point at which the operation's throughput changes from one level to another, or has gone half of the way. It has no value if throughput keeps its level, or turns in fewer than four of five runs.",
    ),
    metric(
        TURN_BYTES,
        "moved until throughput turns",
        Unit::Bytes,
        "Bytes that the operation had moved in the stage when its throughput went from one level to another, or had gone half of the way.",
    ),
];

/// Metrics of a layer that can be filled; known where an experiment names them.
pub(crate) static OF_FILLED: &[Metric] = &[metric(
    TURN_FILL,
    "fill where throughput turns",
    Unit::Percent,
    "Fill of the layer when throughput of a load above it turned, interpolated by time between two readings; of several operations the first to turn counts.",
)];

/// Tells whether a metric is about such a point. Where throughput does not turn it has no value, and an expectation about it is not met.
pub fn is_turn(id: &str) -> bool {
    OF_LOADS.iter().chain(OF_FILLED).any(|metric| metric.id == id)
}

/// Tells whether layers of a kind can have a fill at such a point.
pub(crate) fn has_fill(kind: &Kind) -> bool {
    !kind.fills.is_empty()
}
