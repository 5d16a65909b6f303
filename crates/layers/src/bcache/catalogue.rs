//! The figures of a cached device, described and computed, its counters, and what is drawn of it.

use results::model::LayerFigures;
use units::{Basis, Better, Metric, Test, Unit};

use crate::caching;
use crate::counter::{counters, grew};
use crate::figures::{FigureFacts, ratio};
use crate::kind::{Chart, Series};

/// Every figure.
pub(super) static METRICS: &[Metric] = &[
    caching::READ_HIT,
    Metric {
        id: "bound_percent",
        name: "cache not available",
        unit: Unit::Percent,
        better: Better::Neither,
        basis: Basis::Level,
        test: Test::Paired,
        help: "Buckets that hold dirty data or metadata, or are being filled (100 % less cache_available_percent). Clean blocks do not count: their buckets can be reused at any time.",
    },
    caching::USED,
    caching::NEW,
    Metric {
        id: "cache_written_bytes",
        name: "written to the cache",
        unit: Unit::Bytes,
        better: Better::Neither,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "Bytes written to the cache, its metadata and journal among them. With nothing but reads it is what came into the cache.",
    },
    caching::DIRTY,
    Metric {
        id: "own_count_percent",
        name: "bcache's own count of reads",
        unit: Unit::Percent,
        better: Better::Neither,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "Reads in bcache's own counters, as a share of those that the block layer counted. The counters are updated every 13.6 s, and lose what exceeds 65,536 in that time.",
    },
];

/// The fields of bcache's own counts of reads; each read is counted in one of them.
pub(super) const READS: [&str; 4] =
    ["cache_hits", "cache_misses", "cache_bypass_hits", "cache_bypass_misses"];

/// Every figure of the catalogue; `None` where a marked sample is missing.
pub(super) fn figures(facts: &FigureFacts) -> LayerFigures {
    let grown = |probe: &str, field: &str| grew(&facts.ends(probe)?, field);
    let end = |probe: &str, field: &str| facts.ends(probe)?.end(field);
    // bcache does not report how many buckets hold blocks, only how many do not.
    let unused = facts.ends("buckets").and_then(|ends| ends.growth("unused"));
    let percent = |part, whole| ratio(part, whole).map(|share| 100.0 * share);
    let read = grown("legs", "whole_read_bytes");
    let hit = || Some((read? - grown("legs", "origin_read_bytes")?).max(0.0));
    let stats_reads = READS.iter().map(|field| grown("stats", field)).sum::<Option<f64>>();
    [
        ("read_hit_percent", percent(hit(), read)),
        ("bound_percent", end("available", "value").map(|available| 100.0 - available)),
        ("used_percent", end("buckets", "unused").map(|unused| 100.0 - unused)),
        ("new_percent", unused.map(|grew| (-grew).max(0.0))),
        ("cache_written_bytes", grown("legs", "cache_written_bytes")),
        ("dirty_bytes", end("dirty", "value")),
        ("own_count_percent", percent(stats_reads, grown("legs", "whole_reads"))),
    ]
    .map(|(id, value)| (id.to_owned(), value))
    .into()
}

/// Its own counts, its levels, and the block statistics.
pub(super) const COUNTERS: &[&[Metric]] = &[
    counters! { "stats":
        "bypassed", Bytes, Counter, "Bytes that went past the cache, as bcache counts and rounds them: modulo 32 MiB in each 13.6 s.";
        "cache_bypass_hits", Count, Counter, "Reads past the cache that it answered all the same, as bcache counts them.";
        "cache_bypass_misses", Count, Counter, "Reads that went past the cache, as bcache counts them.";
        "cache_hit_ratio", Percent, Level, "Share of hits in hits and misses since the device came up, as bcache counts them.";
        "cache_hits", Count, Counter, "Reads that the cache answered, as bcache counts them: modulo 65,536 in each 13.6 s.";
        "cache_miss_collisions", Count, Counter, "Misses whose place was written before they could be cached.";
        "cache_misses", Count, Counter, "Reads that the cache did not answer, as bcache counts them.";
    },
    counters! { "dirty":
        "value", Bytes, Level, "Data that is in the cache and not yet on the origin, as bcache rounds it.";
    },
    counters! { "available":
        "value", Percent, Level, "Buckets of the set that hold neither dirty data nor metadata and can be given out.";
    },
    counters! { "buckets":
        "unused", Percent, Level, "Buckets that hold nothing, as bcache rounds it.";
        "clean", Percent, Level, "Buckets of clean blocks.";
        "dirty", Percent, Level, "Buckets of dirty blocks.";
        "metadata", Percent, Level, "Buckets of metadata.";
    },
    counters! { "legs":
        "whole_reads", Count, Counter, "Reads of the cached device.";
        "whole_read_bytes", Bytes, Counter, "Bytes read of the cached device.";
        "whole_written_bytes", Bytes, Counter, "Bytes written to the cached device.";
        "origin_read_bytes", Bytes, Counter, "Bytes read of the origin: what the cache did not have.";
        "origin_written_bytes", Bytes, Counter, "Bytes written to the origin, at once or later.";
        "cache_read_bytes", Bytes, Counter, "Bytes read of the cache, its metadata and what is written back among them.";
        "cache_written_bytes", Bytes, Counter, "Bytes written to the cache, its metadata and journal among them.";
    },
];

const fn legs(field: &'static str, label: &'static str) -> Series {
    Series { probe: "legs", field, label }
}

/// Every chart.
pub(super) const CHARTS: &[Chart] = &[
    Chart {
        id: "reads",
        title: "Where reads were answered",
        help: "Bytes per second that were read from the cached device, and how many of them came from the origin. With a warm cache the origin has little to do.",
        series: &[legs("whole_read_bytes", "all"), legs("origin_read_bytes", "from the origin")],
        unit: Unit::BytesPerSecond,
        rate: true,
    },
    Chart {
        id: "writes",
        title: "Where writes went",
        help: "Bytes per second that were written to the cached device, to the cache and to the origin, including what is written back later.",
        series: &[
            legs("whole_written_bytes", "all"),
            legs("cache_written_bytes", "to the cache"),
            legs("origin_written_bytes", "to the origin"),
        ],
        unit: Unit::BytesPerSecond,
        rate: true,
    },
    Chart {
        id: "dirty",
        title: "Dirty data",
        help: "Bytes that are in the cache and not yet on the origin, as bcache rounds them.",
        series: &[Series { probe: "dirty", field: "value", label: "dirty" }],
        unit: Unit::Bytes,
        rate: false,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::parsers::{parse_buckets, parse_legs, parse_stats};
    use super::*;
    use crate::figures::given::sample;
    use crate::figures::{STAGE_END, STAGE_START, Window};
    use crate::place_of;

    #[test]
    fn every_number_of_a_real_one_is_a_counter_and_every_counter_is_there() {
        let stats = parse_stats(include_str!("recorded/stats_total")).unwrap().numbers;
        let legs = parse_legs(include_str!("recorded/legs")).unwrap().numbers;
        let buckets = parse_buckets(include_str!("recorded/priority_stats")).unwrap().numbers;
        for (group, fields) in
            [(COUNTERS[0], &stats), (COUNTERS[3], &buckets), (COUNTERS[4], &legs)]
        {
            let known: BTreeSet<&str> = group.iter().map(|c| place_of(c).1).collect();
            assert_eq!(fields.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
        }
    }

    #[test]
    fn what_the_origin_did_not_read_was_a_hit_and_bcaches_own_count_is_held_against_it() {
        let mut rows = Vec::new();
        for (at, mark, read) in [(1, STAGE_START, 0.0), (9, STAGE_END, 100.0)] {
            let legs = [
                ("whole_reads", read),
                ("whole_read_bytes", 4096.0 * read),
                ("origin_read_bytes", 1024.0 * read),
                ("cache_written_bytes", 1024.0 * read),
            ];
            rows.push(sample(at, "c.buckets", mark, &[("unused", 90.0 - read / 2.0)]));
            rows.push(sample(at, "c.legs", mark, &legs));
            rows.push(sample(at, "c.stats", mark, &READS.map(|field| (field, read / 8.0))));
            rows.push(sample(at, "c.available", mark, &[("value", 75.0)]));
            rows.push(sample(at, "c.dirty", mark, &[("value", 512.0)]));
        }
        let window = Window::of_stage(&rows, 0, 10, 11);
        let facts = FigureFacts { layer: "c", window: &window, achieved: None, ios: None };
        let found = figures(&facts);
        for (id, value) in [
            ("read_hit_percent", 75.0),
            ("own_count_percent", 50.0),
            ("bound_percent", 25.0),
            ("dirty_bytes", 512.0),
            ("used_percent", 60.0),
            ("new_percent", 50.0),
            ("cache_written_bytes", 102_400.0),
        ] {
            assert_eq!(found[id], Some(value), "{id}");
        }
    }
}
