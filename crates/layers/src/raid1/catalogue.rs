//! The figures of a mirror, described and computed, its counters, and what is drawn of it.

use results::model::LayerFigures;
use units::{Basis, Better, Metric, Test, Unit};

use crate::counter::counters;
use crate::figures::{FigureFacts, ratio};
use crate::kind::{Chart, Series};
use crate::members::FAILED;

/// Every figure.
pub(super) static METRICS: &[Metric] = &[
    FAILED,
    Metric {
        id: "synced_percent",
        name: "share in sync",
        unit: Unit::Percent,
        better: Better::Higher,
        basis: Basis::Level,
        test: Test::Paired,
        help: "Part of the volume that every member holds, as the kernel counts it while it copies.",
    },
    Metric {
        id: "resynced_bytes",
        name: "copied between members",
        unit: Unit::Bytes,
        better: Better::Lower,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "Bytes that were brought in sync while the load ran; not known if the copying started over.",
    },
    Metric {
        id: "mismatches",
        name: "sectors that differed",
        unit: Unit::Count,
        better: Better::Lower,
        basis: Basis::Level,
        test: Test::Paired,
        help: "Sectors of members that the last check found to differ; 0 where there was no check.",
    },
];

/// Every figure of the catalogue; `None` where a marked sample is missing.
pub(super) fn figures(facts: &FigureFacts) -> LayerFigures {
    let ends = facts.ends("status");
    let end = |field: &str| ends.and_then(|ends| ends.end(field));
    let copied = ends.and_then(|ends| crate::counter::grew(&ends, "synced_sectors"));
    [
        (FAILED.id, end("failed_members")),
        ("synced_percent", ratio(end("synced_sectors"), end("sectors")).map(|part| 100.0 * part)),
        ("resynced_bytes", copied.map(|sectors| sectors * crate::dm::SECTOR as f64)),
        ("mismatches", end("mismatches")),
    ]
    .map(|(id, value)| (id.to_owned(), value))
    .into()
}

/// Every number of the status line.
pub(super) const COUNTERS: &[&[Metric]] = &[counters! { "status":
    "members", Count, Level, "Devices that the volume lies on.";
    "failed_members", Count, Level, "Members with a failed I/O, or that the kernel no longer uses.";
    "synced_sectors", Count, Level, "Sectors of 512 bytes that are in sync.";
    "sectors", Count, Level, "Sectors of 512 bytes that are to be in sync.";
    "mismatches", Count, Level, "Sectors that the last check found to differ.";
}];

/// Every chart.
pub(super) const CHARTS: &[Chart] = &[Chart {
    id: "synced",
    title: "Sectors in sync",
    help: "Grows while members are brought in sync, which takes I/O from the load; level when they are in sync.",
    series: &[
        Series { probe: "status", field: "synced_sectors", label: "in sync" },
        Series { probe: "status", field: "sectors", label: "all" },
    ],
    unit: Unit::Count,
    rate: false,
}];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::parsers::parse_status;
    use super::*;
    use crate::figures::given::sample;
    use crate::figures::{STAGE_END, STAGE_START, Window};
    use crate::place_of;

    #[test]
    fn every_number_of_a_real_one_is_a_counter_and_every_counter_is_there() {
        let fields = parse_status(include_str!("recorded/status")).unwrap().numbers;
        let known: BTreeSet<&str> = COUNTERS[0].iter().map(|c| place_of(c).1).collect();
        assert_eq!(fields.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
    }

    #[test]
    fn what_was_copied_is_growth_and_unknown_where_it_began_anew() {
        let status = |at, mark, synced| {
            let fields = [("synced_sectors", synced), ("sectors", 200.0), ("failed_members", 1.0)];
            sample(at, "m.status", mark, &fields)
        };
        let of = |before, after| {
            let rows = [status(1, STAGE_START, before), status(9, STAGE_END, after)];
            let window = Window::of_stage(&rows, 0, 10, 11);
            figures(&FigureFacts { layer: "m", window: &window, achieved: None, ios: None })
        };
        let found = of(20.0, 50.0);
        assert_eq!(found["synced_percent"], Some(25.0));
        assert_eq!(found["resynced_bytes"], Some(30.0 * 512.0));
        assert_eq!((found["failed_members"], found["mismatches"]), (Some(1.0), None));
        assert_eq!(of(200.0, 50.0)["resynced_bytes"], None);
    }
}
