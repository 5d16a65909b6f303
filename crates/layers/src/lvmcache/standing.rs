//! A dm-cache device of a machine: what is read of it, and the rules that need no run.

use results::model::Severity;
use units::Unit;

use super::names::STATUS;
use crate::rule::{Observation, StandingRule, Threshold, figure};
use crate::standing::{Keeps, ReadFrom, Recognised, Standing, StandingRead};

/// A device of dm-cache.
pub(super) const FORMS: &[Standing] = &[Standing {
    is: Recognised::Target("cache"),
    parts: &[("metadata", 0), ("cache", 1), ("origin", 2)],
    secret: None,
    reads: &[StandingRead { from: ReadFrom::Status, parser: STATUS, value: None }],
    keeps_writes: Keeps::While("mode", "writeback"),
    threads: &["dm-cache"],
}];

/// Every rule that needs no run.
pub(super) const RULES: &[StandingRule] = &[LOW_HITS, DIRTY, LARGE_CHUNKS, METADATA_LOW];

/// The rules about devices that were watched.
pub(super) const WATCH_RULES: &[StandingRule] = &[LOW_HITS];

/// Fewest I/Os for which a hit rate is reported.
const MIN_IOS: f64 = 10_000.0;

const LOW_HITS: StandingRule = StandingRule {
    id: "cache_low_hits",
    text: "Less than half of the I/Os hit the cache.",
    reads: "read and write hits and misses in the status line, of at least 10,000 I/Os since the device was activated, or of at least 1,000 while it was watched",
    threshold: Threshold::below(50.0, Unit::Percent),
    remedy: "Check whether it is full. If so, the data in use are larger than the cache, or are read only once (backups, copies). If not, it is still warming up: hot blocks come in only when they are used again and again.",
    source: "lvmcache(7); dm-cache-policy-smq.c",
    check: |facts, threshold| {
        let (hits, misses) = (["read_hits", "write_hits"], ["read_misses", "write_misses"]);
        let percent =
            threshold.passed(facts.node.share(&hits, &misses, facts.least(MIN_IOS))?)?;
        let full = facts.node.percent("used_chunks", "chunks");
        let mut figures = vec![threshold.figure("hits", percent)];
        figures.extend(full.map(|full| figure("cache in use", full, Unit::Percent)));
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};

const DIRTY: StandingRule = StandingRule {
    id: "cache_dirty",
    text: "Much of the cache is dirty: removing the cache, or a repair, first writes all of that to the slow device.",
    reads: "share of dirty chunks in the cache, in the status line",
    threshold: Threshold::above(50.0, Unit::Percent),
    remedy: "lvchange --cachepolicy cleaner VG/LV writes it back, then --cachepolicy smq resumes caching; lvchange --cachemode writethrough VG/LV keeps it clean.",
    source: "lvm2 issues 22, 141 and 188: hours of flushing",
    check: |facts, threshold| {
        let percent = threshold.passed(facts.node.percent("dirty_chunks", "chunks")?)?;
        let figures = vec![threshold.figure("dirty, of the cache", percent)];
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};

const LARGE_CHUNKS: StandingRule = StandingRule {
    id: "cache_large_chunks",
    text: "The chunks of the cache are large: one hot block brings in a whole chunk, and one small write makes a whole chunk dirty.",
    reads: "the size of a chunk in the status line",
    threshold: Threshold::above(262_144.0, Unit::Bytes),
    remedy: "Recreate the cache with smaller chunks (lvconvert --chunksize 64k); lvm2 takes larger ones for caches of more than 1,000,000 chunks (allocation/cache_pool_max_chunks).",
    source: "lvmcache(7); lvm2 issue 43",
    check: |facts, threshold| {
        let bytes = threshold.passed(facts.node.number("chunk_sectors")? * 512.0)?;
        let figures = vec![threshold.figure("size of a chunk", bytes)];
        Some(Observation { figures, ..Observation::default() })
    },
};

const METADATA_LOW: StandingRule = StandingRule {
    id: "cache_metadata_low",
    text: "The metadata of the cache are nearly full.",
    reads: "share of metadata blocks in use, in the status line",
    threshold: Threshold::above(90.0, Unit::Percent),
    remedy: "Remove the cache (lvconvert --splitcache), and recreate it with more room for metadata (--poolmetadatasize).",
    source: "lvmcache(7)",
    check: |facts, threshold| {
        let used = facts.node.percent("used_metadata_blocks", "metadata_blocks")?;
        let figures = vec![threshold.figure("metadata used", threshold.passed(used)?)];
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};
