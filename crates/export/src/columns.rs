//! The columns shared by several tables, and their values.

use results::model::LatencySummary;
use results::{CellData, ResultSet};

use crate::table::{Column, Kind, Value};

pub(crate) const fn text(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Text, about }
}

pub(crate) const fn integer(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Integer, about }
}

pub(crate) const fn number(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Number, about }
}

pub(crate) const fn truth(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Truth, about }
}

pub(crate) const RUN_ID: Column = text("run_id", "id of the run, unique");
pub(crate) const CELL: Column = integer("cell", "the cell's place in the order of running, from 0");
pub(crate) const VARIANT: Column = text("variant", "name of the cell's variant");
pub(crate) const REPEAT: Column = integer("repeat", "the cell's repeat, from 1");
pub(crate) const STAGE: Column = integer("stage", "the stage's place in the cell, from 0");
pub(crate) const OPERATION: Column = text("operation", "the operation as given (randwrite)");
pub(crate) const START: Column = integer("start_ns", "start, nanoseconds since the run's epoch");
pub(crate) const END: Column = integer("end_ns", "end, nanoseconds since the run's epoch");
pub(crate) const IOS: Column = integer("ios", "I/Os that completed without error");
pub(crate) const BYTES: Column = integer("bytes", "bytes that they moved");
pub(crate) const ERRORS: Column = integer("errors", "I/Os that failed");
pub(crate) const MEAN: Column =
    number("latency_mean_ns", "mean latency of the completed I/Os, nanoseconds");
pub(crate) const MIN: Column = integer("latency_min_ns", "smallest latency, nanoseconds");
pub(crate) const P50: Column = integer("latency_p50_ns", "median latency, nanoseconds");
pub(crate) const P99: Column =
    integer("latency_p99_ns", "99th percentile of the latency, nanoseconds");
pub(crate) const P999: Column =
    integer("latency_p999_ns", "99.9th percentile of the latency, nanoseconds");
pub(crate) const MAX: Column = integer("latency_max_ns", "largest latency, nanoseconds");

/// Returns the values of a latency, in the order of its columns.
pub(crate) fn latency(of: Option<LatencySummary>) -> [Value<'static>; 6] {
    let whole = |part: fn(LatencySummary) -> u64| Value::integer(of.map(part));
    [
        Value::number(of.map(|of| of.mean_ns)),
        whole(|of| of.min_ns),
        whole(|of| of.p50_ns),
        whole(|of| of.p99_ns),
        whole(|of| of.p999_ns),
        whole(|of| of.max_ns),
    ]
}

/// Returns the values that identify the cell of a row: run, cell, variant, repeat.
pub(crate) fn key<'a>(set: &'a ResultSet, cell: &'a CellData) -> [Value<'a>; 4] {
    [
        Value::Text(&set.manifest.run_id),
        Value::Integer(cell.entry.index as u64),
        Value::Text(&cell.entry.variant),
        Value::Integer(cell.entry.repeat.into()),
    ]
}
