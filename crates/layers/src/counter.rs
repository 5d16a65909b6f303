//! Counters of a layer: every number that it tells of itself, under the layer's own name, as a metric. What a counter is (one that grows or a
//! level, its unit) stands in the folder of the layer.

use results::model::Fields;
use units::{Metric, Unit};

use crate::figures::Endpoints;

/// A group of counters of one probe: the field, its unit, whether it grows (`Counter`) or is a `Level`, and what it is. A counter is called
/// `PROBE.FIELD`.
macro_rules! counters {
    ($probe:literal: $($field:expr, $unit:ident, $basis:ident, $help:expr;)+) => {
        &[$(units::Metric {
            id: concat!($probe, ".", $field),
            name: $field,
            unit: units::Unit::$unit,
            better: units::Better::Neither,
            basis: units::Basis::$basis,
            test: units::Test::Paired,
            help: $help,
        }),+]
    };
}
pub(crate) use counters;

/// The figures that a layer's own tool says first, made from one reading of a probe.
#[derive(Debug, Clone, Copy)]
pub struct Overview {
    /// The probe, without the layer's name.
    pub probe: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
}

/// One column of an overview.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its heading, with the unit where it has one.
    pub name: &'static str,
    /// Unit of the number.
    pub unit: Unit,
    /// The sources that it is made from.
    pub help: &'static str,
    /// The number; `None` where the reading does not say.
    pub of: fn(&Fields) -> Option<f64>,
}

/// Returns the probe of a counter, and the field that it is in the probe's readings.
pub fn place_of(counter: &Metric) -> (&'static str, &'static str) {
    counter.id.split_once('.').unwrap_or(("", counter.id))
}

/// Growth of a counter; `None` where it fell, which it does when it begins anew.
pub(crate) fn grew(ends: &Endpoints, field: &str) -> Option<f64> {
    ends.growth(field).filter(|growth| *growth >= 0.0)
}
