//! Counters of a layer: every number that it reports, under the layer's own name for it, as a metric. The layer's folder says whether a number
//! grows or is a level, and gives its unit.

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

/// The figures that a layer's own tool prints first, made from one reading of a probe.
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

/// Returns the probe of a counter, and the name of its field in the probe's readings.
pub fn place_of(counter: &Metric) -> (&'static str, &'static str) {
    counter.id.split_once('.').unwrap_or(("", counter.id))
}

/// Growth of a counter; `None` where it fell, as it does when it is reset.
pub(crate) fn grew(ends: &Endpoints, field: &str) -> Option<f64> {
    ends.growth(field).filter(|growth| *growth >= 0.0)
}
