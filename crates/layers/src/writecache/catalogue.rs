//! The figures of a volume with a write cache, described, its counters, and what is drawn of it.

use results::model::Fields;
use units::{Basis, Better, Metric, Test, Unit};

use crate::caching;
use crate::counter::{Column, Overview, counters};
use crate::figures::ratio;
use crate::kind::{Chart, Series};

const fn counter(
    id: &'static str,
    name: &'static str,
    better: Better,
    help: &'static str,
) -> Metric {
    Metric { id, name, unit: Unit::Count, better, basis: Basis::Counter, test: Test::Paired, help }
}

/// Every figure.
pub(super) static METRICS: &[Metric] = &[
    caching::HIT,
    caching::READ_HIT,
    caching::USED,
    caching::DIRTY,
    counter(
        "writes_around",
        "writes around the cache",
        Better::Lower,
        "Blocks that were written to the slow device because the cache had no free block, or takes no such blocks (cleaner, metadata_only).",
    ),
    counter(
        "blocked_on_freelist",
        "writes that waited",
        Better::Lower,
        "Writes that waited until a block of the cache was free: they go at the speed of the slow device.",
    ),
    counter(
        "flushes_taken",
        "flushes",
        Better::Neither,
        "Flushes that reached the cache: at each it makes its metadata durable.",
    ),
];

/// Every number of the status line, in its order, and of the table.
pub(super) const COUNTERS: &[&[Metric]] = &[
    counters! { "writecache":
        "error", Count, Level, "The error that made the cache fail; 0 where there was none.";
        "blocks", Count, Level, "Blocks that the cache has.";
        "free_blocks", Count, Level, "Blocks of it that hold nothing.";
        "writeback_blocks", Count, Level, "Blocks that are being written back.";
        "reads", Count, Counter, "Blocks that were read.";
        "read_hits", Count, Counter, "Blocks among them that the cache had.";
        "writes", Count, Counter, "Blocks that were written.";
        "write_hits_uncommitted", Count, Counter, "Blocks among them that the cache had, but had not made durable.";
        "write_hits_committed", Count, Counter, "Blocks among them that the cache had, and had made durable.";
        "writes_around", Count, Counter, "Blocks among them that went to the slow device.";
        "writes_allocated", Count, Counter, "Blocks among them that took a free block of the cache.";
        "writes_blocked", Count, Counter, "Writes that waited for a free block.";
        "flushes", Count, Counter, "Flushes that reached it.";
        "discards", Count, Counter, "Blocks that were discarded.";
    },
    counters! { "table":
        "block_bytes", Bytes, Level, "Size of a block of the cache.";
    },
];

/// The fill of the cache, as `lvs` shows it.
pub(super) const OVERVIEW: Overview = Overview {
    probe: "writecache",
    columns: &[
        Column { name: "blocks", unit: Unit::Count, help: "blocks", of: |f| field(f, "blocks") },
        Column {
            name: "used",
            unit: Unit::Count,
            help: "blocks - free_blocks",
            of: |f| Some(field(f, "blocks")? - field(f, "free_blocks")?),
        },
        Column {
            name: "use",
            unit: Unit::Percent,
            help: "used of blocks",
            of: |f| Some(100.0 - 100.0 * ratio(field(f, "free_blocks"), field(f, "blocks"))?),
        },
        Column {
            name: "being written back",
            unit: Unit::Count,
            help: "writeback_blocks",
            of: |f| field(f, "writeback_blocks"),
        },
    ],
};

fn field(fields: &Fields, name: &str) -> Option<f64> {
    fields.get(name).copied().flatten()
}

const fn status(field: &'static str, label: &'static str) -> Series {
    Series { probe: "writecache", field, label }
}

/// Every chart.
pub(super) const CHARTS: &[Chart] = &[
    Chart {
        id: "fill",
        title: "Blocks in the cache",
        help: "Blocks that are free, and that are being written back. Where none is free, writes go at the speed of the slow device.",
        series: &[status("free_blocks", "free"), status("writeback_blocks", "being written back")],
        unit: Unit::Count,
        rate: false,
    },
    Chart {
        id: "writes",
        title: "Where writes went",
        help: "Blocks per second that took a free block of the cache, that replaced a block there, and that went around it to the slow device.",
        series: &[
            status("writes_allocated", "into the cache"),
            status("write_hits_committed", "over durable ones there"),
            status("write_hits_uncommitted", "over others there"),
            status("writes_around", "past it"),
        ],
        unit: Unit::PerSecond,
        rate: true,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::parsers::{parse_status, parse_table};
    use super::*;
    use crate::place_of;

    #[test]
    fn every_number_of_a_real_one_is_a_counter_and_every_counter_is_there() {
        let status = include_str!("recorded/status").lines().next().unwrap();
        let status = parse_status(status).unwrap().numbers;
        let table = parse_table(include_str!("recorded/table")).unwrap().numbers;
        for (group, fields) in COUNTERS.iter().zip([&status, &table]) {
            let known: BTreeSet<&str> = group.iter().map(|c| place_of(c).1).collect();
            assert_eq!(fields.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
        }
        assert!(OVERVIEW.columns.iter().all(|column| (column.of)(&status).is_some()));
    }
}
