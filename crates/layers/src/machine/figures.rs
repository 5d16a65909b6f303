//! What a block device under a stack did during a stage, from diskstats.

use results::model::LayerFigures;
use units::{Basis, Better, Metric, Test, Unit};

use super::DISKSTATS;
use crate::figures::{Window, ratio};

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

/// How long the runs are that a layer writes: what it scatters cannot be merged.
static WRITE_SIZE: Metric = metric(
    "device_write_size_bytes",
    "mean size of a write",
    Unit::Bytes,
    "Bytes written, of each write that the device completed. Writes side by side are merged before they reach it.",
);

/// Figures of a device, described.
pub(crate) fn metrics() -> impl Iterator<Item = &'static Metric> {
    FIELDS.iter().map(|(_, metric)| metric).chain([&WRITE_SIZE])
}

/// What the device called `name` did in the window.
pub fn device_figures(window: &Window, name: &str) -> LayerFigures {
    let ends = window.ends(DISKSTATS);
    let grew = |field: &str| ends.and_then(|ends| ends.growth(&format!("{name}.{field}")));
    let fields = FIELDS.iter().map(|(field, metric)| (metric.id.to_owned(), grew(field)));
    let size = ratio(grew("written_bytes"), grew("writes"));
    fields.chain([(WRITE_SIZE.id.to_owned(), size)]).collect()
}
