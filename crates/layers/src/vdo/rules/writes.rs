//! How writes came: in flight, flushed, in parts of blocks, over each other.

use results::model::{SampleRow, Severity};
use units::Unit;

use super::super::geometry::IN_FLIGHT;
use super::figures::stats;
use crate::rule::{Bar, Check, LayerRule, Noticed, RuleFacts, Span, Stretch, Threshold, figure};

/// Flushes that came in, and writes with FUA. Flushes without data (`emptyFlush`) are among the flushes.
pub(super) fn flushes(stats: &Span) -> Option<f64> {
    Some(stats.counted("biosIn.flush")? + stats.counted("biosIn.fua").unwrap_or(0.0))
}

pub(super) const FLUSH_RATE: LayerRule = LayerRule {
    id: "flush_rate",
    text: "Writes were flushed so often that journal and packer could not gather them.",
    reads: "biosIn flushes and FUA for each write",
    threshold: Threshold::above(1.0, Unit::Percent),
    remedy: "Make durable less often (sync = \"fsync:N\" with a larger N), or put the journal on a device with fast flushes.",
    source: "thesis 5.5; one journal block with FLUSH and FUA for each",
    check: Check::Stage(flush_rate),
};

fn flush_rate(facts: &RuleFacts, stage: &Stretch, bar: Bar) -> Option<Noticed> {
    let stats = stats(facts, stage)?;
    let written = stats.counted("biosIn.write").filter(|n| *n > 0.0)?;
    let flushes = flushes(&stats)?;
    let share = bar.passed(100.0 * flushes / written)?;
    let mut figures = vec![
        bar.figure("flushes and FUA for 100 writes", share),
        figure("flushes and FUA", flushes, Unit::Count),
        figure("writes", written, Unit::Count),
    ];
    let journal = stats.counted("biosJournalCompleted.write");
    figures
        .extend(journal.map(|n| figure("journal writes for each write", n / written, Unit::Ratio)));
    Some(Noticed { figures, explains_percent: Some(share.min(100.0)), ..Noticed::default() })
}

/// I/Os that VDO has in flight at most. `maxVIOs` is not that: it is the most that there ever were.
pub(super) const POOL: f64 = IN_FLIGHT as f64;

pub(super) const POOL_FULL: LayerRule = LayerRule {
    id: "pool_full",
    text: "VDO's pool of I/Os in flight was full: what is more waits before it, and counts as latency.",
    reads: "the most of currentVIOsInProgress, and of maxVIOs where it grew, of 2048",
    threshold: Threshold::above(90.0, Unit::Percent),
    remedy: "Lower jobs x depth x block size below 2048 blocks of 4 KiB: the pool cannot be made larger.",
    source: "thesis 4.2.7; dm-vdo: 2048 data_vios",
    check: Check::Stage(pool_full),
};

/// The score is the share of samples that saw it full. One that was full in a burst between them limits nothing, and is a note.
fn pool_full(facts: &RuleFacts, stage: &Stretch, bar: Bar) -> Option<Noticed> {
    let source = format!("{}.stats", facts.layer);
    let field = |row: &SampleRow| row.fields.get("currentVIOsInProgress").copied().flatten();
    let seen: Vec<f64> = stage.samples(&source).filter_map(field).collect();
    let span = stats(facts, stage)?;
    let grew = span.counted("maxVIOs").is_some_and(|grew| grew > 0.0);
    let peak = span.end("maxVIOs").filter(|_| grew);
    let most = seen.iter().copied().chain(peak).max_by(f64::total_cmp)?;
    let share = bar.passed(100.0 * most / POOL)?;
    let full = seen.iter().filter(|now| bar.passed(100.0 * **now / POOL).is_some()).count();
    let full = 100.0 * full as f64 / seen.len().max(1) as f64;
    Some(Noticed {
        figures: vec![
            bar.figure("most of the pool in use", share),
            figure("most I/Os in progress", most, Unit::Count),
            figure("samples that saw it full", full, Unit::Percent),
        ],
        explains_percent: (full > 0.0).then_some(full),
        ..Noticed::default()
    })
}

pub(super) const PARTIAL: LayerRule = LayerRule {
    id: "partial_writes",
    text: "Writes covered parts of blocks: each is a read and a write.",
    reads: "biosInPartial.write",
    threshold: Threshold::above(0.0, Unit::Count),
    remedy: "Write multiples of 4k at multiples of 4k: block_size, align and offset of the load; a file system with 4 KiB blocks above.",
    source: "thesis 4.2.3; dm-vdo emulates 512 B blocks",
    check: Check::Stage(partial),
};

fn partial(facts: &RuleFacts, stage: &Stretch, bar: Bar) -> Option<Noticed> {
    let stats = stats(facts, stage)?;
    let partial = bar.passed(stats.counted("biosInPartial.write")?)?;
    let written = stats.counted("biosIn.write").filter(|n| *n > 0.0)?;
    let share = 100.0 * partial / written;
    Some(Noticed {
        severity: Severity::Warning,
        figures: vec![
            bar.figure("partial writes", partial),
            figure("of all writes", share, Unit::Percent),
        ],
        explains_percent: Some(share.min(100.0)),
        ..Noticed::default()
    })
}

pub(super) const WRAPPED: LayerRule = LayerRule {
    id: "writes_wrapped",
    text: "The load wrote more than the volume holds: later writes replace blocks, which costs more than first writes.",
    reads: "biosIn.write of a measured stage, of logicalBlocks",
    threshold: Threshold::above(100.0, Unit::Percent),
    remedy: "For first writes stop after one pass (pattern = \"permutation\", passes = 1), or make logical_size larger.",
    source: "thesis 4.1 and 5.4",
    check: Check::Stage(wrapped),
};

fn wrapped(facts: &RuleFacts, stage: &Stretch, bar: Bar) -> Option<Noticed> {
    let stats = stats(facts, stage)?;
    let written = stats.counted("biosIn.write")?;
    let blocks = stats.end("logicalBlocks").filter(|n| *n > 0.0)?;
    let share = bar.passed(100.0 * written / blocks)?;
    Some(Noticed {
        figures: vec![
            bar.figure("written of the volume", share),
            figure("writes", written, Unit::Blocks),
            figure("logical blocks", blocks, Unit::Blocks),
        ],
        ..Noticed::default()
    })
}

/// Writes after which the recovery journal and the era of the block map have wrapped.
pub(super) const WRITES_TO_WRAP: f64 = 2_500_000.0;

pub(super) const NOT_STEADY: LayerRule = LayerRule {
    id: "not_steady",
    text: "A load that runs until it is steady ended before the journal had wrapped.",
    reads: "biosIn.write since the volume was started, where the load runs until a metric has settled",
    threshold: Threshold::below(WRITES_TO_WRAP, Unit::Count),
    remedy: "Write 2.5 million blocks (9.7 GiB) before it, in a load or fill that is not measured.",
    source: "dm-vdo's own performance tests; thesis 5.1.1",
    check: Check::Stage(not_steady),
};

fn not_steady(facts: &RuleFacts, stage: &Stretch, bar: Bar) -> Option<Noticed> {
    stage.planned?.load.as_ref().filter(|load| load.until_steady)?;
    let written = bar.passed(stats(facts, stage)?.end("biosIn.write")?)?;
    Some(Noticed {
        severity: Severity::Warning,
        figures: vec![bar.figure("writes since the start", written)],
        ..Noticed::default()
    })
}
