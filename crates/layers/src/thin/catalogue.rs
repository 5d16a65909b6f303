//! The figures of a thin pool and its volume, described, their counters, and what is drawn of them.

use results::model::Fields;
use units::{Basis, Better, Metric, Test, Unit};

use crate::counter::{Column, Overview, counters};
use crate::figures::ratio;
use crate::kind::{Chart, Series};

const fn level(
    id: &'static str,
    name: &'static str,
    unit: Unit,
    better: Better,
    help: &'static str,
) -> Metric {
    Metric { id, name, unit, better, basis: Basis::Level, test: Test::Paired, help }
}

/// Every figure.
pub(super) static METRICS: &[Metric] = &[
    level(
        "pool_used_bytes",
        "pool space used",
        Unit::Bytes,
        Better::Lower,
        "Chunks of the pool that hold data of the volume or of a snapshot, in bytes; shared chunks count once.",
    ),
    level(
        "pool_used_percent",
        "pool used",
        Unit::Percent,
        Better::Lower,
        "Share of the pool's chunks that hold data. When no chunk is left, writes wait or fail.",
    ),
    level(
        "pool_metadata_percent",
        "pool metadata used",
        Unit::Percent,
        Better::Lower,
        "Share of the pool's metadata blocks in use. When none is left the pool becomes read-only.",
    ),
    level(
        "mapped_bytes",
        "mapped",
        Unit::Bytes,
        Better::Neither,
        "Space of the volume that has chunks of the pool, its own or shared.",
    ),
    level(
        "mapped_percent",
        "share mapped",
        Unit::Percent,
        Better::Neither,
        "Share of the volume's size that has chunks of the pool.",
    ),
    Metric {
        id: "chunks_taken",
        name: "chunks taken",
        unit: Unit::Count,
        better: Better::Neither,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "Growth of the chunks in use: chunks that first writes took, plus chunks that writes after a snapshot copied, minus chunks that discards freed.",
    },
    level(
        "transactions",
        "volumes and snapshots made",
        Unit::Count,
        Better::Neither,
        "Changes that lvm made of the pool: one for the volume, one for each snapshot.",
    ),
];

/// Every number of the status lines and of the table.
pub(super) const COUNTERS: &[&[Metric]] = &[
    counters! { "pool":
        "transactions", Count, Level, "Changes that lvm made of the pool.";
        "used_metadata_blocks", Count, Level, "Blocks of metadata in use.";
        "metadata_blocks", Count, Level, "Blocks of metadata that there are.";
        "used_chunks", Count, Level, "Chunks that hold data.";
        "chunks", Count, Level, "Chunks that there are.";
        "out_of_space", Count, Level, "1 where no chunk is left.";
        "read_only", Count, Level, "1 where the pool is read-only.";
        "passes_discards", Count, Level, "1 where discards are passed to the device.";
    },
    counters! { "volume":
        "sectors", Count, Level, "Size of the volume, sectors of 512 bytes.";
        "mapped_sectors", Count, Level, "Sectors among them that have a chunk.";
    },
    counters! { "table":
        "chunk_bytes", Bytes, Level, "Size of a chunk.";
    },
];

/// The fill of the pool, as `lvs` shows it.
pub(super) const OVERVIEW: Overview = Overview {
    probe: "pool",
    columns: &[
        Column { name: "chunks", unit: Unit::Count, help: "chunks", of: |f| field(f, "chunks") },
        Column {
            name: "used",
            unit: Unit::Count,
            help: "used_chunks",
            of: |f| field(f, "used_chunks"),
        },
        Column {
            name: "data use",
            unit: Unit::Percent,
            help: "used_chunks of chunks",
            of: |f| percent(f, "used_chunks", "chunks"),
        },
        Column {
            name: "metadata use",
            unit: Unit::Percent,
            help: "used_metadata_blocks of metadata_blocks",
            of: |f| percent(f, "used_metadata_blocks", "metadata_blocks"),
        },
    ],
};

fn field(fields: &Fields, name: &str) -> Option<f64> {
    fields.get(name).copied().flatten()
}

fn percent(fields: &Fields, part: &str, whole: &str) -> Option<f64> {
    ratio(field(fields, part), field(fields, whole)).map(|share| 100.0 * share)
}

/// Every chart.
pub(super) const CHARTS: &[Chart] = &[
    Chart {
        id: "chunks",
        title: "Chunks of the pool in use",
        help: "Grows with first writes, and with writes after a snapshot; overwrites take none.",
        series: &[
            Series { probe: "pool", field: "used_chunks", label: "used" },
            Series { probe: "pool", field: "chunks", label: "all" },
        ],
        unit: Unit::Count,
        rate: false,
    },
    Chart {
        id: "taken",
        title: "Chunks taken",
        help: "Chunks per second that writes take. Where it falls to 0, the load overwrites.",
        series: &[Series { probe: "pool", field: "used_chunks", label: "taken" }],
        unit: Unit::PerSecond,
        rate: true,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::parsers::{parse_pool, parse_table, parse_volume};
    use super::*;
    use crate::place_of;

    #[test]
    fn every_number_of_a_real_one_is_a_counter_and_every_counter_is_there() {
        let first = |text: &'static str| text.lines().next().unwrap();
        let pool = parse_pool(first(include_str!("recorded/pool"))).unwrap().numbers;
        let volume = parse_volume(first(include_str!("recorded/volume"))).unwrap().numbers;
        let table = parse_table(first(include_str!("recorded/table"))).unwrap().numbers;
        for (group, fields) in COUNTERS.iter().zip([&pool, &volume, &table]) {
            let known: BTreeSet<&str> = group.iter().map(|c| place_of(c).1).collect();
            assert_eq!(fields.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
        }
        assert!(OVERVIEW.columns.iter().all(|column| (column.of)(&pool).is_some()));
    }
}
