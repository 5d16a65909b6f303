//! What a block device under a stack did during a stage, from diskstats.

use results::model::LayerFigures;
use units::{Basis, Better, Metric, Test, Unit};

use super::DISKSTATS;
use crate::figures::Window;

const fn metric(id: &'static str, name: &'static str, unit: Unit, help: &'static str) -> Metric {
    Metric {
        id,
        name,
        unit,
        better: Better::Neither,
        basis: Basis::Counter,
        test: Test::Paired,
        help,
    }
}

/// Figures of a device, each the growth of one field of diskstats.
static FIELDS: [(&str, Metric); 6] = [
    ("reads", metric("device_reads", "reads", Unit::Count, "Reads that the device completed.")),
    (
        "read_bytes",
        metric(
            "device_read_bytes",
            "bytes read",
            Unit::Bytes,
            "Bytes that were read from the device.",
        ),
    ),
    ("writes", metric("device_writes", "writes", Unit::Count, "Writes that the device completed.")),
    (
        "written_bytes",
        metric(
            "device_written_bytes",
            "bytes written",
            Unit::Bytes,
            "Bytes that were written to the device.",
        ),
    ),
    (
        "flushes",
        metric("device_flushes", "flushes", Unit::Count, "Flushes that the device completed."),
    ),
    (
        "discarded_bytes",
        metric(
            "device_discarded_bytes",
            "bytes discarded",
            Unit::Bytes,
            "Bytes that were discarded on the device.",
        ),
    ),
];

/// Figures of a device, described.
pub(crate) fn metrics() -> impl Iterator<Item = &'static Metric> {
    FIELDS.iter().map(|(_, metric)| metric)
}

/// What the device called `name` did in the window.
pub fn device_figures(window: &Window, name: &str) -> LayerFigures {
    let ends = window.ends(DISKSTATS);
    let grew = |field: &str| ends.and_then(|ends| ends.growth(&format!("{name}.{field}")));
    FIELDS.iter().map(|(field, metric)| (metric.id.to_owned(), grew(field))).collect()
}
