//! Figures of a block device under a stack in a stage, from diskstats.

use results::model::LayerFigures;
use units::{Basis, Better, Metric, Test, Unit};

use super::{DISKSTATS, write_runs};
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

static WRITE_SIZE: Metric = metric(
    WRITE_BYTES,
    "mean size of a write",
    Unit::Bytes,
    "Bytes written, of each write that the device completed. Writes side by side are merged before they reach it; a device-mapper node merges nothing. Most devices count an empty flush as a write (device-mapper nodes, virtio disks, loop devices): beside many flushes this is less than what a write of data has.",
);

/// Mean length of writes side by side, bytes: tells how far a layer writes in order. Scattered writes cannot be merged, and a hard disk
/// has to seek for them.
static RUN: Metric = metric(
    RUN_BYTES,
    "mean length of a run of writes",
    Unit::Bytes,
    "Bytes that were written side by side, whatever the order of writes under way together. Up to 128 runs go on at once, as a journal does beside data.",
);

/// The mean size of what a device completes.
pub const WRITE_BYTES: &str = "device_write_size_bytes";
/// The figure of a device that is known only where its writes are recorded.
pub const RUN_BYTES: &str = "device_write_run_bytes";
/// Share of dropped writes above which the length of runs is unknown.
const DROPPED: f64 = 0.01;

/// Figures of a device, described.
pub fn metrics() -> impl Iterator<Item = &'static Metric> {
    FIELDS.iter().map(|(_, metric)| metric).chain([&WRITE_SIZE, &RUN])
}

/// The probe that a figure of a device is from.
pub fn device_source(metric: &str, device: &str) -> String {
    if metric == RUN_BYTES { write_runs::probe_id(device) } else { DISKSTATS.to_owned() }
}

/// The mean length of a run; `None` where nobody could read it.
fn run(window: &Window, name: &str) -> Option<f64> {
    let ends = window.ends(&write_runs::probe_id(name))?;
    let (writes, dropped) = (ends.growth("writes"), ends.growth("dropped"));
    let told = ratio(dropped, writes).is_some_and(|dropped| dropped <= DROPPED);
    ratio(ends.growth("bytes"), ends.growth("runs")).filter(|_| told)
}

/// Returns what the device called `name` did in the window; its runs of writes only where they are `recorded`.
pub fn device_figures(window: &Window, name: &str, recorded: bool) -> LayerFigures {
    let ends = window.ends(DISKSTATS);
    let grew = |field: &str| ends.and_then(|ends| ends.growth(&format!("{name}.{field}")));
    let fields = FIELDS.iter().map(|(field, metric)| (metric.id.to_owned(), grew(field)));
    let size = ratio(grew("written_bytes"), grew("writes"));
    let run = recorded.then(|| (RUN.id.to_owned(), run(window, name)));
    fields.chain([(WRITE_SIZE.id.to_owned(), size)]).chain(run).collect()
}
