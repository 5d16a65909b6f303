//! Rules about the way in which writes arrived: how many in flight, how often flushed, in parts of blocks, over earlier writes.

use results::model::{SampleRow, Severity};
use units::Unit;

use super::super::geometry::IN_FLIGHT;
use super::cures::{fewer_in_flight, never_durable};
use super::device;
use super::figures::stats;
use crate::machine::DISKSTATS;
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, RuleFacts, Span, Threshold, ThresholdTest, figure,
};

/// Flushes that came in, and writes with FUA. Flushes without data (`emptyFlush`) are among the flushes.
pub(super) fn flushes(stats: &Span) -> Option<f64> {
    Some(stats.counted("biosIn.flush")? + stats.counted("biosIn.fua").unwrap_or(0.0))
}

pub(super) const FLUSH_RATE: LayerRule = LayerRule {
    id: "flush_rate",
    text: "Writes were flushed so often that journal and packer could not gather them.",
    reads: "flushes and FUA writes of biosIn for each write",
    threshold: Threshold::above(1.0, Unit::Percent),
    remedy: "Make writes durable less often (sync = \"fsync:1000\"), or put the journal on a device with fast flushes.",
    source: "thesis 5.5; one journal block with FLUSH and FUA for each",
    check: Check::Stage(flush_rate),
};

fn flush_rate(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let stats = stats(facts, stage)?;
    let written = stats.counted("biosIn.write").filter(|n| *n > 0.0)?;
    let flushes = flushes(&stats)?;
    let share = threshold.passed(100.0 * flushes / written)?;
    let mut figures = vec![
        threshold.figure("flushes and FUA for 100 writes", share),
        figure("flushes and FUA", flushes, Unit::Count),
        figure("writes", written, Unit::Count),
    ];
    let journal = stats.counted("biosJournalCompleted.write");
    figures
        .extend(journal.map(|n| figure("journal writes for each write", n / written, Unit::Ratio)));
    let of_load = never_durable(stage);
    let no_setting = of_load
        .is_empty()
        .then_some("the flushes come from what stands on the volume, or from a sweep");
    let explains_percent = Some(share.min(100.0));
    let remedy = stage.of_command(
        "Put the journal on a device with fast flushes, or use a command that makes its files durable less often.",
    );
    Some(Observation {
        figures,
        explains_percent,
        of_load,
        no_setting,
        remedy,
        ..Observation::default()
    })
}

/// The most I/Os that VDO can have in flight. (The counter `maxVIOs` is the most that it actually had so far.)
pub(super) const POOL: f64 = IN_FLIGHT as f64;

pub(super) const POOL_FULL: LayerRule = LayerRule {
    id: "pool_full",
    text: "VDO's pool of I/Os in flight was full: I/Os beyond it waited before VDO, and the wait counts as latency.",
    reads: "the maximum of currentVIOsInProgress, and of maxVIOs where it grew, as a share of 2048",
    threshold: Threshold::above(90.0, Unit::Percent),
    remedy: "Lower jobs x depth x block size well below 2048 blocks of 4 KiB: the pool cannot be made larger.",
    source: "thesis 4.2.7; dm-vdo: 2048 data_vios",
    check: Check::Stage(pool_full),
};

/// Finds a full pool. The score is the share of samples that saw it full; a pool that was full only in a burst between samples is a note, without
/// a score.
fn pool_full(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let (seen, most) = in_progress(facts, stage)?;
    let share = threshold.passed(100.0 * most / POOL)?;
    let full = seen.iter().filter(|now| threshold.passed(100.0 * **now / POOL).is_some()).count();
    let full = 100.0 * full as f64 / seen.len().max(1) as f64;
    // Half of the pool leaves room for what VDO has acknowledged and not yet finished.
    let of_load = fewer_in_flight(stage, POOL / 2.0);
    let swept = stage.planned.is_some_and(|planned| planned.swept);
    let no_setting = of_load.is_empty().then_some(if swept {
        "a sweep sets how much is in flight"
    } else {
        "the load has at most half of the pool in flight; the rest are writes that VDO has acknowledged but not yet finished"
    });
    let remedy = (of_load.is_empty() && !swept)
        .then(|| "The figures are those of a full pool, which cannot be made larger.".to_owned());
    Some(Observation {
        remedy,
        figures: vec![
            threshold.figure("most of the pool in use", share),
            figure("most I/Os in progress", most, Unit::Count),
            figure("samples that saw it full", full, Unit::Percent),
        ],
        explains_percent: (full > 0.0).then_some(full),
        of_load,
        no_setting,
        ..Observation::default()
    })
}

/// I/Os that VDO had in progress at each sample, and the most of the stage.
fn in_progress(facts: &RuleFacts, stage: &MeasuredStage) -> Option<(Vec<f64>, f64)> {
    let source = format!("{}.stats", facts.layer);
    let field = |row: &SampleRow| row.fields.get("currentVIOsInProgress").copied().flatten();
    let seen: Vec<f64> = stage.samples(&source).filter_map(field).collect();
    let span = stats(facts, stage)?;
    let grew = span.counted("maxVIOs").is_some_and(|grew| grew > 0.0);
    let peak = span.end("maxVIOs").filter(|_| grew);
    let most = seen.iter().copied().chain(peak).max_by(f64::total_cmp)?;
    Some((seen, most))
}

pub(super) const POOL_UNUSED: LayerRule = LayerRule {
    id: "pool_unused",
    text: "VDO's queue was hardly used: the figures describe this load, and VDO may be capable of more.",
    reads: "the maximum of currentVIOsInProgress, and of maxVIOs where it grew, as a share of 2048; busy_ms of diskstats",
    threshold: Threshold::below(10.0, Unit::Percent),
    remedy: "To find VDO's limit, raise jobs x depth x block size to about 2000 blocks of 4 KiB; to measure this load, leave it as it is.",
    source: "thesis 4.2.7; dm-vdo: 2048 data_vios",
    check: Check::Stage(pool_unused),
};

fn pool_unused(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    stage.planned?.load.as_ref()?;
    let (seen, most) = in_progress(facts, stage)?;
    let share = threshold.passed(100.0 * most / POOL)?;
    let elsewhere = |other: MeasuredStage| Some(100.0 * in_progress(facts, &other)?.1 / POOL);
    let never = facts.measured().filter_map(elsewhere).all(|most| threshold.passed(most).is_some());
    // A busy device is the limit, whatever is in flight; where its time is not known, it may be the limit.
    let (_, busy) = device::busiest(facts, &stage.span(DISKSTATS)?)?;
    let saturated = |busy: f64| device::SATURATED.threshold.is_some_and(|most| most.passed(busy));
    if !never || saturated(busy) {
        return None;
    }
    // Between distant samples the pool may have been fuller, unnoticed if maxVIOs was already higher from an earlier time.
    let unseen = stats(facts, stage)?.end("maxVIOs").is_some_and(|ever| ever > most);
    (seen.len() >= LEAST_SAMPLES || !unseen).then(|| Observation {
        figures: vec![
            threshold.figure("most of the pool in use", share),
            figure("most I/Os in progress", most, Unit::Count),
        ],
        ..Observation::default()
    })
}

/// Number of samples of a stage that are enough to tell how full the pool was, where it had been fuller before.
const LEAST_SAMPLES: usize = 5;

pub(super) const PARTIAL: LayerRule = LayerRule {
    id: "partial_writes",
    text: "Writes covered parts of blocks: each costs a read and a write.",
    reads: "biosInPartial.write",
    threshold: Threshold::above(0.0, Unit::Count),
    remedy: "Write multiples of 4k at multiples of 4k: block_size, align and offset of the load; a file system with 4 KiB blocks above.",
    source: "thesis 4.2.3; dm-vdo emulates 512 B blocks",
    check: Check::Stage(partial),
};

fn partial(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let stats = stats(facts, stage)?;
    let partial = threshold.passed(stats.counted("biosInPartial.write")?)?;
    let written = stats.counted("biosIn.write").filter(|n| *n > 0.0)?;
    let share = 100.0 * partial / written;
    Some(Observation {
        severity: Severity::Warning,
        remedy: stage.of_command(
            "Use a command that writes whole blocks, or a file system with blocks of 4 KiB above.",
        ),
        no_setting: Some("with whole blocks it would be a different load"),
        ..Observation::limit(
            share,
            vec![
                threshold.figure("partial writes", partial),
                figure("of all writes", share, Unit::Percent),
            ],
        )
    })
}

pub(super) const WRAPPED: LayerRule = LayerRule {
    id: "writes_wrapped",
    text: "The load wrote more than the volume holds: later writes replace blocks, which costs more than first writes.",
    reads: "biosIn.write of a measured stage, as a share of logicalBlocks",
    threshold: Threshold::above(100.0, Unit::Percent),
    remedy: "For first writes stop after one pass (pattern = \"permutation\", passes = 1), or make logical_size larger.",
    source: "thesis 4.1 and 5.4",
    check: Check::Stage(wrapped),
};

fn wrapped(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let stats = stats(facts, stage)?;
    let written = stats.counted("biosIn.write")?;
    let blocks = stats.end("logicalBlocks").filter(|n| *n > 0.0)?;
    let share = threshold.passed(100.0 * written / blocks)?;
    Some(Observation {
        message: stage.of_command("More was written than the volume holds: later writes replace blocks, which costs more than first writes."),
        remedy: stage.of_command("Make logical_size larger."),
        figures: vec![
            threshold.figure("written of the volume", share),
            figure("writes", written, Unit::Blocks),
            figure("logical blocks", blocks, Unit::Blocks),
        ],
        ..Observation::default()
    })
}
