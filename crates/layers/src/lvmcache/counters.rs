//! The fields of dm-cache's status line as counters, and the columns made of them that show how full the cache is.

use results::model::Fields;
use units::{Metric, Unit};

use crate::counter::{Column, Overview, counters};
use crate::figures::ratio;

/// Every number of the status line, in its order.
pub(super) const COUNTERS: &[&[Metric]] = &[
    counters! { "status":
        "metadata_block_sectors", Count, Level, "Size of a block of metadata, sectors of 512 bytes.";
        "used_metadata_blocks", Count, Level, "Blocks of metadata in use.";
        "metadata_blocks", Count, Level, "Blocks of metadata that there are.";
        "chunk_sectors", Count, Level, "Size of a chunk of the cache, sectors of 512 bytes.";
        "used_chunks", Count, Level, "Chunks of the cache that hold data.";
        "chunks", Count, Level, "Chunks that the cache has.";
        "dirty_chunks", Count, Level, "Chunks whose newest data is only in the cache.";
    },
    counters! { "status":
        "read_hits", Count, Counter, "Reads that the cache answered.";
        "read_misses", Count, Counter, "Reads that went to the slow device.";
        "write_hits", Count, Counter, "Writes to blocks that the cache holds.";
        "write_misses", Count, Counter, "Writes to blocks that the cache does not hold.";
        "promotions", Count, Counter, "Chunks that were copied to the fast device.";
        "demotions", Count, Counter, "Chunks that were taken off the fast device.";
    },
];

/// The fill of the cache, as `lvs` and `dmsetup status` show it.
pub(super) const OVERVIEW: Overview = Overview {
    probe: "status",
    columns: &[
        Column {
            name: "cache",
            unit: Unit::Bytes,
            help: "chunks x chunk_sectors x 512",
            of: |f| bytes(f, "chunks"),
        },
        Column {
            name: "used",
            unit: Unit::Bytes,
            help: "used_chunks x chunk_sectors x 512",
            of: |f| bytes(f, "used_chunks"),
        },
        Column {
            name: "dirty",
            unit: Unit::Bytes,
            help: "dirty_chunks x chunk_sectors x 512",
            of: |f| bytes(f, "dirty_chunks"),
        },
        Column {
            name: "use",
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

fn bytes(fields: &Fields, chunks: &str) -> Option<f64> {
    Some(field(fields, chunks)? * field(fields, "chunk_sectors")? * 512.0)
}

fn percent(fields: &Fields, part: &str, whole: &str) -> Option<f64> {
    ratio(field(fields, part), field(fields, whole)).map(|share| 100.0 * share)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::parsers::parse_status;
    use super::*;
    use crate::place_of;

    #[test]
    fn every_number_of_a_real_status_line_is_a_counter_and_every_counter_is_there() {
        let text = include_str!("recorded/status").lines().next().unwrap();
        let fields = parse_status(text).unwrap().numbers;
        let known: BTreeSet<&str> =
            COUNTERS.iter().copied().flatten().map(|c| place_of(c).1).collect();
        assert_eq!(fields.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
        let message: Vec<_> = OVERVIEW.columns.iter().map(|column| (column.of)(&fields)).collect();
        // 960 chunks of 64 KiB, none used; 63 of 4096 blocks of metadata.
        assert_eq!(message[..4], [Some(62_914_560.0), Some(0.0), Some(0.0), Some(0.0)]);
        assert!((message[4].unwrap() - 1.538).abs() < 0.001);
    }
}
