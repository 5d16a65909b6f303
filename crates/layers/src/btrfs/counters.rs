//! The space of btrfs as it reports it: chunks of the device that it allocated for data, for metadata and for itself, and how much of them is used.

use results::model::LayerFigures;
use units::{Basis, Better, Metric, Test, Unit};

use crate::counter::counters;
use crate::figures::FigureFacts;
use crate::filesystem::{self, counted, read_fields};
use crate::kind::{Chart, Series};
use crate::{ParseError, Parsed};

pub(super) const DATA: &str = "btrfs.data";
pub(super) const METADATA: &str = "btrfs.metadata";
pub(super) const SYSTEM: &str = "btrfs.system";

/// Fields of each of the three directories in sysfs.
const FIELDS: [&str; 6] =
    ["total_bytes", "bytes_used", "disk_total", "disk_used", "bytes_pinned", "bytes_reserved"];

/// The counters of one directory.
macro_rules! allocation {
    ($of:literal) => {
        counters! { $of:
            "total_bytes", Bytes, Level, "Room in its chunks.";
            "bytes_used", Bytes, Level, "Room that is used.";
            "disk_total", Bytes, Level, "Space of the device that its chunks take, each copy counted.";
            "disk_used", Bytes, Level, "Space of the device that is used, each copy counted.";
            "bytes_pinned", Bytes, Level, "Room that was freed and may be used again after the next commit.";
            "bytes_reserved", Bytes, Level, "Room that is reserved for what is being written.";
        }
    };
}

pub(super) const COUNTERS: &[&[Metric]] =
    &[filesystem::COUNTERS, allocation!("data"), allocation!("metadata"), allocation!("system")];

const fn space(id: &'static str, name: &'static str, help: &'static str) -> Metric {
    Metric {
        id,
        name,
        unit: Unit::Bytes,
        better: Better::Lower,
        basis: Basis::Level,
        test: Test::Paired,
        help,
    }
}

pub(super) const METRICS: [Metric; 5] = [
    filesystem::METRICS[0],
    filesystem::METRICS[1],
    space(
        "filesystem_data_bytes",
        "space of data",
        "Space that the contents of files take on the device, compressed as they are stored.",
    ),
    space(
        "filesystem_metadata_bytes",
        "space of metadata",
        "Space that metadata takes on the device, each copy counted; small files are stored in it.",
    ),
    space(
        "filesystem_allocated_bytes",
        "space allocated",
        "Space of the device that was set aside for data or for metadata, used or not.",
    ),
];

pub(super) const CHART: Chart = Chart {
    id: "allocation",
    title: "Data and metadata over time",
    help: "Space of the device that data and metadata take, and what was set aside for them. What was set aside for one cannot be used for the other.",
    series: &[
        Series { probe: "data", field: "disk_used", label: "data" },
        Series { probe: "data", field: "disk_total", label: "set aside for data" },
        Series { probe: "metadata", field: "disk_used", label: "metadata" },
        Series { probe: "metadata", field: "disk_total", label: "set aside for metadata" },
    ],
    unit: Unit::Bytes,
    rate: false,
};

pub(super) fn figures(facts: &FigureFacts) -> LayerFigures {
    let allocated = ["data", "metadata", "system"].map(|of| counted(facts, of, "disk_total"));
    let mut figures = filesystem::figures(facts);
    figures.extend([
        ("filesystem_data_bytes".to_owned(), counted(facts, "data", "disk_used")),
        ("filesystem_metadata_bytes".to_owned(), counted(facts, "metadata", "disk_used")),
        ("filesystem_allocated_bytes".to_owned(), allocated.into_iter().sum()),
    ]);
    figures
}

pub(super) fn parse_data(text: &str) -> Result<Parsed, ParseError> {
    read_fields(DATA, &FIELDS, text)
}

pub(super) fn parse_metadata(text: &str) -> Result<Parsed, ParseError> {
    read_fields(METADATA, &FIELDS, text)
}

pub(super) fn parse_system(text: &str) -> Result<Parsed, ParseError> {
    read_fields(SYSTEM, &FIELDS, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;
    use crate::figures::given::sample;
    use crate::figures::{STAGE_END, STAGE_START};

    #[test]
    fn what_is_allocated_is_known_when_all_three_parts_are() {
        let probes = ["fs.data", "fs.metadata", "fs.system"];
        let rows: Vec<_> = [(1, STAGE_START, 1.0), (2, STAGE_END, 8.0)]
            .into_iter()
            .flat_map(|(at, mark, n)| {
                probes.map(|probe| sample(at, probe, mark, &[("disk_total", n), ("disk_used", n)]))
            })
            .collect();
        let allocated = |rows: &[_]| {
            let window = Window::of_stage(rows, 0, 3, u64::MAX);
            let facts = FigureFacts { layer: "fs", window: &window, achieved: None, ios: None };
            figures(&facts)
        };
        let all = allocated(&rows);
        assert_eq!(all["filesystem_allocated_bytes"], Some(24.0));
        assert_eq!(all["filesystem_data_bytes"], Some(8.0));
        let without_system = allocated(&rows[..5]);
        assert_eq!(without_system["filesystem_allocated_bytes"], None);
        assert_eq!(without_system["filesystem_metadata_bytes"], Some(8.0));
    }
}
