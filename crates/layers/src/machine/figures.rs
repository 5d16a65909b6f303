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
    (
        "writes",
        metric(
            "device_writes",
            "writes",
            Unit::Count,
            "Writes that the device completed. Most devices count an empty flush as a write, too.",
        ),
    ),
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
    "Bytes written per write that the device completed. Adjacent writes are merged before they reach it; a device-mapper node merges nothing. Most devices count an empty flush as a write (device-mapper nodes, virtio disks, loop devices): with many flushes this is less than the size of a data write.",
);

static LATENCY: Metric = metric(
    "device_latency_ns",
    "mean latency of the device",
    Unit::Nanos,
    "Mean time from the submission of a read or write to the device until its completion; merged requests count once each. The kernel adds up whole milliseconds.",
);

static BUSY: Metric = metric(
    "device_busy_percent",
    "device busy",
    Unit::Percent,
    "Share of the time in which the device had at least one request: of the time that the load ran after its ramp, or of the stage where it has no load. A device that works on many requests at once may have capacity left at 100 %.",
);

/// Mean length of a run of adjacent writes, bytes: tells how far a layer writes in order. Scattered writes cannot be merged, and a hard disk
/// has to seek for them.
static RUN: Metric = metric(
    RUN_BYTES,
    "mean length of a run of writes",
    Unit::Bytes,
    "Bytes that were written adjacent to each other, in whatever order writes that were in flight together arrived. Up to 128 runs are followed at once, such as those of a journal and of data.",
);

/// The mean size of what a device completes.
pub const WRITE_BYTES: &str = "device_write_size_bytes";
/// The mean length of a run of writes, known only where the writes of a device are recorded.
pub const RUN_BYTES: &str = "device_write_run_bytes";
/// Share of dropped writes above which the length of runs is unknown.
const DROPPED: f64 = 0.01;

/// Figures of a device, described.
pub fn metrics() -> impl Iterator<Item = &'static Metric> {
    FIELDS.iter().map(|(_, metric)| metric).chain([&LATENCY, &BUSY, &WRITE_SIZE, &RUN])
}

/// Returns the probe that a figure of a device comes from.
pub fn device_source(metric: &str, device: &str) -> String {
    if metric == RUN_BYTES { write_runs::probe_id(device) } else { DISKSTATS.to_owned() }
}

/// Returns the mean length of a run; `None` where it could not be read, or too many writes were dropped from the record.
fn run(window: &Window, name: &str) -> Option<f64> {
    let ends = window.ends(&write_runs::probe_id(name))?;
    let (writes, dropped) = (ends.growth("writes"), ends.growth("dropped"));
    let is_complete = ratio(dropped, writes).is_some_and(|dropped| dropped <= DROPPED);
    ratio(ends.growth("bytes"), ends.growth("runs")).filter(|_| is_complete)
}

/// Returns the figures of the device called `name` over the window of a stage, and how busy it was over the window of its load; its runs of
/// writes only where they are `recorded`.
pub fn device_figures([window, load]: [&Window; 2], name: &str, recorded: bool) -> LayerFigures {
    let ends = window.ends(DISKSTATS);
    let grew = |field: &str| ends.and_then(|ends| ends.growth(&format!("{name}.{field}")));
    let fields = FIELDS.iter().map(|(field, metric)| (metric.id.to_owned(), grew(field)));
    let size = ratio(grew("written_bytes"), grew("writes"));
    let sum = |one: &str, other: &str| Some(grew(one)? + grew(other)?);
    let spent_ms = ratio(sum("read_ms", "write_ms"), sum("reads", "writes"));
    let busy_ms = load.ends(DISKSTATS).and_then(|ends| ends.growth(&format!("{name}.busy_ms")));
    let busy = ratio(busy_ms, load.seconds(DISKSTATS));
    let computed = [
        (LATENCY.id, spent_ms.map(|ms| ms * 1e6)),
        (BUSY.id, busy.map(|ms| (ms / 10.0).min(100.0))),
        (WRITE_SIZE.id, size),
    ];
    let computed = computed.map(|(id, value)| (id.to_owned(), value));
    let run = recorded.then(|| (RUN.id.to_owned(), run(window, name)));
    fields.chain(computed).chain(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::given::sample;
    use crate::figures::{LOAD_END, LOAD_START, STAGE_END, STAGE_START};

    #[test]
    fn latency_is_the_mean_of_what_ended_and_none_where_nothing_did() {
        let row = |at, mark, ios: f64, ms: f64| {
            let fields = [
                ("d.reads", ios),
                ("d.writes", ios),
                ("d.read_ms", 2.0 * ms),
                ("d.write_ms", ms),
                ("d.busy_ms", ms),
            ];
            sample(at, DISKSTATS, mark, &fields)
        };
        let of = |ios, ms| {
            let rows = [row(0, STAGE_START, 10.0, 500.0), row(2_000_000_000, STAGE_END, ios, ms)];
            let window = Window::of_stage(&rows, 0, 2_000_000_000, 2_000_000_001);
            device_figures([&window, &window], "d", false)
        };
        let found = of(110.0, 1500.0);
        assert_eq!(found["device_latency_ns"], Some(15e6), "3000 ms of 200 I/Os");
        assert_eq!(found["device_busy_percent"], Some(50.0));
        let idle = of(10.0, 500.0);
        assert_eq!((idle["device_latency_ns"], idle["device_busy_percent"]), (None, Some(0.0)));
    }

    #[test]
    fn a_device_is_as_busy_as_its_load_makes_it_and_not_as_its_preparation_leaves_it() {
        let row = |s: u64, mark, ms: f64| {
            sample(s * 1_000_000_000, DISKSTATS, mark, &[("d.busy_ms", ms), ("d.writes", ms)])
        };
        let rows = [
            row(0, STAGE_START, 0.0),
            row(6, LOAD_START, 0.0),
            row(10, LOAD_END, 3000.0),
            row(12, STAGE_END, 3100.0),
        ];
        let stage = Window::of_stage(&rows, 0, 12_000_000_000, u64::MAX);
        let load = Window::of_load(&rows, 0, 12_000_000_000);
        let found = device_figures([&stage, &load], "d", false);
        assert_eq!(found["device_busy_percent"], Some(75.0));
        assert_eq!(found["device_writes"], Some(3100.0), "of all that was written");
    }
}
