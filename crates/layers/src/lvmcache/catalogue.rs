//! The figures of a cached volume, described, and what is drawn of it.

use units::{Basis, Better, Metric, Test, Unit};

use crate::caching;
use crate::kind::{Chart, Series};

const fn counter(id: &'static str, name: &'static str, unit: Unit, help: &'static str) -> Metric {
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

/// Every figure.
pub(super) static METRICS: &[Metric] = &[
    caching::HIT,
    caching::READ_HIT,
    counter(
        "write_hit_percent",
        "write hits",
        Unit::Percent,
        "Writes to blocks that were in the cache, as a share of all writes. Writes of whole chunks that go straight into the cache are counted neither as hits nor as misses.",
    ),
    caching::USED,
    caching::NEW,
    caching::DIRTY,
    counter("promotions", "promotions", Unit::Count, "Chunks that were copied into the cache."),
    counter("demotions", "demotions", Unit::Count, "Chunks that were evicted from the cache."),
];

const fn status(field: &'static str, label: &'static str) -> Series {
    Series { probe: "status", field, label }
}

/// Every chart.
pub(super) const CHARTS: &[Chart] = &[
    Chart {
        id: "hits",
        title: "Reads that hit and missed",
        help: "Per second, as dm-cache counts them. A warm cache has few misses.",
        series: &[status("read_hits", "hits"), status("read_misses", "misses")],
        unit: Unit::PerSecond,
        rate: true,
    },
    Chart {
        id: "chunks",
        title: "Chunks in the cache",
        help: "Used chunks grow until the cache is full. After that smq frees at most half of it in each 60 s.",
        series: &[status("used_chunks", "used"), status("dirty_chunks", "dirty")],
        unit: Unit::Count,
        rate: false,
    },
    Chart {
        id: "moves",
        title: "Promotions and demotions",
        help: "Chunks per second that go into the cache and out of it.",
        series: &[status("promotions", "promotions"), status("demotions", "demotions")],
        unit: Unit::PerSecond,
        rate: true,
    },
];
