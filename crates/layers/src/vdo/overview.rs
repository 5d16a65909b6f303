//! The figures that vdostats prints first about a volume, with the numbers that its shares refer to.

use results::model::Fields;
use units::Unit;

use crate::counter::{Column, Overview};
use crate::figures::ratio;

/// The columns of vdostats, and the two numbers that the saving is computed from.
pub(super) const OVERVIEW: Overview = Overview {
    probe: "stats",
    columns: &[
        Column {
            name: "1K-blocks",
            unit: Unit::Count,
            help: "physicalBlocks x 4",
            of: |f| kib(field(f, "physicalBlocks")),
        },
        Column {
            name: "used",
            unit: Unit::Count,
            help: "(dataBlocksUsed + overheadBlocksUsed) x 4, in 1K-blocks",
            of: |f| kib(used(f)),
        },
        Column {
            name: "available",
            unit: Unit::Count,
            help: "1K-blocks less used",
            of: |f| kib(available(f)),
        },
        Column {
            name: "use",
            unit: Unit::Percent,
            help: "used as a share of 1K-blocks, metadata included",
            of: |f| percent(used(f), field(f, "physicalBlocks")),
        },
        Column {
            name: "logical blocks",
            unit: Unit::Blocks,
            help: "logicalBlocksUsed; the saving is a share of it",
            of: |f| field(f, "logicalBlocksUsed"),
        },
        Column {
            name: "data blocks",
            unit: Unit::Blocks,
            help: "dataBlocksUsed, the space that they take",
            of: |f| field(f, "dataBlocksUsed"),
        },
        Column {
            name: "saving",
            unit: Unit::Percent,
            help: "(logical blocks less data blocks) / logical blocks since the volume was made, zero blocks included; \
                unknown where nothing is mapped (vdostats says 0 %, lvs 100 %)",
            of: |f| percent(saved(f), field(f, "logicalBlocksUsed")),
        },
    ],
};

fn field(fields: &Fields, name: &str) -> Option<f64> {
    fields.get(name).copied().flatten()
}

/// Blocks of 4 KiB as blocks of 1 KiB.
fn kib(blocks: Option<f64>) -> Option<f64> {
    blocks.map(|blocks| 4.0 * blocks)
}

fn used(fields: &Fields) -> Option<f64> {
    Some(field(fields, "dataBlocksUsed")? + field(fields, "overheadBlocksUsed")?)
}

fn available(fields: &Fields) -> Option<f64> {
    Some(field(fields, "physicalBlocks")? - used(fields)?)
}

fn saved(fields: &Fields) -> Option<f64> {
    Some(field(fields, "logicalBlocksUsed")? - field(fields, "dataBlocksUsed")?)
}

fn percent(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    ratio(part, whole).map(|share| 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::super::parsers::parse_stats;
    use super::*;

    #[test]
    fn a_real_volume_is_told_as_vdostats_tells_it() {
        let fields = parse_stats(include_str!("stats-6.12.txt")).unwrap().numbers;
        let message: Vec<_> = OVERVIEW.columns.iter().map(|column| (column.of)(&fields)).collect();
        assert_eq!(message[..3], [Some(7_335_936.0), Some(3_167_052.0), Some(4_168_884.0)]);
        assert!((message[3].unwrap() - 43.17).abs() < 0.01);
        assert_eq!(message[4..6], [Some(20_299.0), Some(5144.0)]);
        assert!((message[6].unwrap() - 74.66).abs() < 0.01);
    }

    #[test]
    fn an_empty_volume_has_no_saving_and_what_is_missing_is_none() {
        let mut fields = parse_stats(include_str!("stats-6.12.txt")).unwrap().numbers;
        fields.insert("logicalBlocksUsed".into(), Some(0.0));
        fields.remove("overheadBlocksUsed");
        let message: Vec<_> = OVERVIEW.columns.iter().map(|column| (column.of)(&fields)).collect();
        assert_eq!((message[1], message[2], message[3], message[6]), (None, None, None, None));
    }
}
