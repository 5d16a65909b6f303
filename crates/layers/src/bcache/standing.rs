//! A bcache device of a machine: what is read of it, and the rules that need no run.

use results::model::Severity;
use units::Unit;

use super::names::{CACHE, ORIGIN, VALUE};
use crate::rule::{Observation, StandingRule, Threshold, figure};
use crate::standing::{Keeps, ReadFrom, Recognised, Standing, StandingRead};

const fn attribute(path: &'static str, name: &'static str) -> StandingRead {
    StandingRead { from: ReadFrom::Attribute(path), parser: VALUE, value: Some(name) }
}

/// A cached device.
pub(super) const FORMS: &[Standing] = &[Standing {
    is: Recognised::Device("bcache"),
    parts: &[(ORIGIN, 0), (CACHE, 1)],
    secret: None,
    reads: &[
        attribute("bcache/cache_mode", "cache_mode"),
        attribute("bcache/state", "state"),
        attribute("bcache/dirty_data", "dirty_bytes"),
        attribute("bcache/sequential_cutoff", "sequential_cutoff"),
        attribute("bcache/writeback_percent", "writeback_percent"),
        attribute("bcache/io_errors", "io_errors"),
        attribute("bcache/stats_total/cache_hits", "cache_hits"),
        attribute("bcache/stats_total/cache_misses", "cache_misses"),
        attribute("bcache/stats_total/cache_bypass_hits", "cache_bypass_hits"),
        attribute("bcache/stats_total/cache_bypass_misses", "cache_bypass_misses"),
        attribute("bcache/cache/cache_available_percent", "cache_available_percent"),
        attribute("bcache/cache/congested_read_threshold_us", "congested_read_threshold_us"),
    ],
    keeps_writes: Keeps::While("cache_mode", "writeback"),
    threads: &["bcache", "bch_"],
}];

/// Every rule that needs no run.
pub(super) const RULES: &[StandingRule] = &[STATE, LOW_HITS, BYPASSED];

/// The rules about devices that were watched.
pub(super) const WATCH_RULES: &[StandingRule] = &[LOW_HITS, BYPASSED];

const STATE: StandingRule = StandingRule {
    id: "bcache_state",
    text: "The device runs without a cache, or its state cannot be trusted.",
    reads: "bcache/state and bcache/io_errors in sysfs",
    threshold: None,
    remedy: "no cache: attach the set (echo UUID > /sys/block/bcacheN/bcache/attach). inconsistent: the cache with its newest writes is gone; bring that device back first.",
    source: "admin-guide/bcache",
    check: |facts, _| {
        let state = facts.node.setting("state")?;
        let errors = facts.node.number("io_errors").unwrap_or(0.0);
        let severity = match state {
            "inconsistent" => Severity::Error,
            "no cache" => Severity::Warning,
            _ if errors > 0.0 => Severity::Error,
            _ => return None,
        };
        let evidence = format!("state {state}, io_errors {errors}");
        Some(Observation { severity, evidence, ..Observation::default() })
    },
};

const LOW_HITS: StandingRule = StandingRule {
    id: "bcache_low_hits",
    text: "Less than half of what went through the cache hit it.",
    reads: "cache_hits and cache_misses of bcache/stats_total in sysfs, of at least 10,000 I/Os, or of at least 1,000 while it was watched; these counters lose some, and are updated every 13.6 s",
    threshold: Threshold::below(50.0, Unit::Percent),
    remedy: "See cache_available_percent: near 0 the data in use are larger than the cache. Else it is still warming up.",
    source: "admin-guide/bcache",
    check: |facts, threshold| {
        let hits = facts.node.share(&["cache_hits"], &["cache_misses"], facts.least(10_000.0))?;
        let mut figures = vec![threshold.figure("hits", threshold.passed(hits)?)];
        let free = facts.node.number("cache_available_percent");
        figures.extend(free.map(|free| figure("cache_available_percent", free, Unit::Percent)));
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};

const BYPASSED: StandingRule = StandingRule {
    id: "bcache_bypassed",
    text: "Most I/Os bypassed the cache: sequential ones beyond sequential_cutoff, and all while it counted as congested.",
    reads: "hits and misses of bcache/stats_total in sysfs, with those that bypassed, of at least 10,000 I/Os, or of at least 1,000 while it was watched",
    threshold: Threshold::above(50.0, Unit::Percent),
    remedy: "echo 0 > /sys/block/bcacheN/bcache/sequential_cutoff caches sequential I/Os too; echo 0 into congested_read_threshold_us and congested_write_threshold_us of /sys/fs/bcache/UUID ends the other bypass. Copies and backups then push out what is hot.",
    source: "admin-guide/bcache: troubleshooting performance",
    check: |facts, threshold| {
        let past = ["cache_bypass_hits", "cache_bypass_misses"];
        let percent =
            facts.node.share(&past, &["cache_hits", "cache_misses"], facts.least(10_000.0))?;
        let mut figures = vec![threshold.figure("past the cache", threshold.passed(percent)?)];
        for (name, unit) in
            [("sequential_cutoff", Unit::Bytes), ("congested_read_threshold_us", Unit::Micros)]
        {
            figures.extend(facts.node.number(name).map(|value| figure(name, value, unit)));
        }
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};
