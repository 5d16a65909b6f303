//! A dm-writecache device of a machine: what is read of it, and the rules that need no run.

use results::model::Severity;
use units::Unit;

use super::names::{STATUS, TABLE};
use crate::rule::{Observation, StandingRule, Threshold};
use crate::standing::{Keeps, ReadFrom, Recognised, Standing, StandingRead};

/// A device of dm-writecache.
pub(super) const FORMS: &[Standing] = &[Standing {
    is: Recognised::Target("writecache"),
    parts: &[("origin", 1), ("cache", 2)],
    secret: None,
    reads: &[
        StandingRead { from: ReadFrom::Table, parser: TABLE, value: None },
        StandingRead { from: ReadFrom::Status, parser: STATUS, value: None },
    ],
    keeps_writes: Keeps::Always,
    threads: &["writecache"],
}];

/// Every rule that needs no run.
pub(super) const RULES: &[StandingRule] = &[OVERRUN, FAILED];

/// The rules about devices that were watched.
pub(super) const WATCH_RULES: &[StandingRule] = &[OVERRUN];

const OVERRUN: StandingRule = StandingRule {
    id: "write_cache_overrun",
    text: "Writes waited for room in the write cache, or went around it: they had the speed of the slow device.",
    reads: "writes around and writes blocked as a share of all writes in the status line, of at least 1,000 writes, or of at least 100 while it was watched",
    threshold: Threshold::above(1.0, Unit::Percent),
    remedy: "A larger cache takes longer bursts; on average it cannot take more than the slow device writes back.",
    source: "the kernel's admin-guide/device-mapper/writecache",
    check: |facts, threshold| {
        let beside = facts.node.number("writes_around")? + facts.node.number("writes_blocked")?;
        let writes = facts.node.number("writes").filter(|writes| *writes >= facts.least(1000.0))?;
        let percent = threshold.passed(100.0 * beside / writes)?;
        let figures = vec![threshold.figure("went around it or waited", percent)];
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};

const FAILED: StandingRule = StandingRule {
    id: "write_cache_error",
    text: "The write cache has met an error: data that was written may be missing on the slow device.",
    reads: "the number of the error in the status line",
    threshold: None,
    remedy: "Look into the kernel's log, and save the data before anything else.",
    source: "the kernel's admin-guide/device-mapper/writecache",
    check: |facts, _| {
        let error = facts.node.number("error").filter(|error| *error != 0.0)?;
        let evidence = format!("error {error} in the status line");
        Some(Observation { severity: Severity::Error, evidence, ..Observation::default() })
    },
};
