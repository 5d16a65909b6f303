//! Thin pools and volumes of a machine: what is read of them, and the rules that need no run.

use results::model::Severity;
use units::Unit;

use super::names::{DATA, POOL, TABLE, VOLUME_STATUS};
use crate::rule::{Observation, StandingRule, Threshold, ThresholdTest, figure};
use crate::standing::{Keeps, ReadFrom, Recognised, Standing, StandingFacts, StandingRead};

const READ_TABLE: StandingRead = StandingRead { from: ReadFrom::Table, parser: TABLE, value: None };

/// The pool, and a volume of it.
pub(super) const FORMS: &[Standing] = &[
    Standing {
        is: Recognised::Target("thin-pool"),
        parts: &[("metadata", 0), (DATA, 1)],
        secret: None,
        reads: &[READ_TABLE, StandingRead { from: ReadFrom::Status, parser: POOL, value: None }],
        keeps_writes: Keeps::Never,
        threads: &["dm-thin"],
    },
    Standing {
        is: Recognised::Target("thin"),
        parts: &[("pool", 0)],
        secret: None,
        reads: &[StandingRead { from: ReadFrom::Status, parser: VOLUME_STATUS, value: None }],
        keeps_writes: Keeps::Never,
        threads: &[],
    },
];

/// Every rule that needs no run.
pub(super) const RULES: &[StandingRule] = &[DATA_LOW, METADATA_LOW, STOPPED, PROMISED, ZEROES];

const DATA_LOW: StandingRule = StandingRule {
    id: "thin_data_low",
    text: "The thin pool is nearly full: when it is, writes to all its volumes wait or fail.",
    reads: "share of chunks in use, in the status line of the pool",
    threshold: Threshold::above(80.0, Unit::Percent),
    remedy: "Grow it (lvextend -L +10G VG/POOL), give space back (fstrim), or let dmeventd grow it (activation/thin_pool_autoextend_threshold in lvm.conf).",
    source: "lvmthin(7); lvm2 warns from 80 % on",
    check: |facts, threshold| filling(facts, threshold, "used_chunks", "chunks", "data space used"),
};

const METADATA_LOW: StandingRule = StandingRule {
    id: "thin_metadata_low",
    text: "The metadata of the thin pool are nearly full: a pool without room for them turns read-only and needs a repair.",
    reads: "share of metadata blocks in use, in the status line of the pool",
    threshold: Threshold::above(75.0, Unit::Percent),
    remedy: "Grow them: lvextend --poolmetadatasize +1G VG/POOL.",
    source: "lvmthin(7)",
    check: |facts, threshold| {
        filling(facts, threshold, "used_metadata_blocks", "metadata_blocks", "metadata used")
    },
};

fn filling(
    facts: &StandingFacts,
    threshold: ThresholdTest,
    used: &str,
    all: &str,
    name: &str,
) -> Option<Observation> {
    let percent = threshold.passed(facts.node.percent(used, all)?)?;
    let severity = if percent > 95.0 { Severity::Error } else { Severity::Warning };
    let figures = vec![threshold.figure(name, percent)];
    Some(Observation { severity, figures, ..Observation::default() })
}

const STOPPED: StandingRule = StandingRule {
    id: "thin_stopped",
    text: "The thin pool takes no more writes.",
    reads: "the mode in the status line of the pool",
    threshold: None,
    remedy: "Out of data space: lvextend the pool. Read-only: deactivate it, and repair its metadata (lvconvert --repair VG/POOL).",
    source: "the kernel's admin-guide/device-mapper/thin-provisioning",
    check: |facts, _| {
        let is = |field: &str| facts.node.number(field).is_some_and(|value| value > 0.0);
        let mode = match (is("out_of_space"), is("read_only")) {
            (true, _) => "out of data space",
            (_, true) => "read-only",
            _ => return None,
        };
        let evidence = format!("the status line says that the pool is {mode}");
        Some(Observation { severity: Severity::Error, evidence, ..Observation::default() })
    },
};

const PROMISED: StandingRule = StandingRule {
    id: "thin_promises",
    text: "The volumes of the thin pool are together larger than the pool, and nothing here shows that the pool grows by itself: it can be full before they are.",
    reads: "sizes of the thin volumes in the pool, as a share of its data space",
    threshold: Threshold::above(100.0, Unit::Percent),
    remedy: "Watch data_percent (lvs), set activation/thin_pool_autoextend_threshold below 100 with room in the group, and mount with fstrim.timer on.",
    source: "lvmthin(7)",
    check: promised,
};

fn promised(facts: &StandingFacts, threshold: ThresholdTest) -> Option<Observation> {
    let pool = facts.node;
    let room = pool.number("chunks")? * pool.number("chunk_bytes")?;
    let all = facts.stack.nodes.iter().chain(&facts.stack.beside);
    let volumes: Vec<f64> = all
        .filter(|node| node.target == "thin" && node.on.iter().any(|(_, id)| *id == pool.id))
        .filter_map(|node| Some(node.bytes? as f64))
        .collect();
    let sum: f64 = volumes.iter().sum();
    let promised = threshold.passed(100.0 * sum / room)?;
    let used = pool.percent("used_chunks", "chunks").unwrap_or(0.0);
    let severity = if used > 50.0 { Severity::Warning } else { Severity::Note };
    let waits = pool.setting("when_full") == Some("queue");
    let full = if waits { "writes wait, 60 s by default, and then fail" } else { "writes fail" };
    Some(Observation {
        severity,
        message: Some(format!(
            "{} volumes are together larger than their thin pool: when it is full, {full}.",
            volumes.len()
        )),
        figures: vec![
            threshold.figure("promised, of the pool", promised),
            figure("used of the pool", used, Unit::Percent),
        ],
        ..Observation::default()
    })
}

const ZEROES: StandingRule = StandingRule {
    id: "thin_zeroes_chunks",
    text: "The chunks of the thin pool are large, and zeroed when they are allocated: the first write to a chunk writes all of it.",
    reads: "chunk_size and zero in the table line of the pool",
    threshold: Threshold::above(524_288.0, Unit::Bytes),
    remedy: "If volumes need not be protected from seeing each other's old data: lvchange --zero n VG/POOL. The size of a chunk is fixed when a pool is made.",
    source: "lvmthin(7); the kernel's admin-guide/device-mapper/thin-provisioning",
    check: |facts, threshold| {
        let zeroed = facts.node.setting("zero") == Some("on");
        let chunk = threshold.passed(facts.node.number("chunk_bytes")?).filter(|_| zeroed)?;
        let figures = vec![threshold.figure("size of a chunk", chunk)];
        Some(Observation { figures, ..Observation::default() })
    },
};
