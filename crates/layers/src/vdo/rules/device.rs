//! Rules about the devices below.

use units::Unit;

use super::cures::{cured, faster_device, has_tail, journal_apart};
use super::figures::stats;
use crate::machine::DISKSTATS;
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, RuleFacts, Span, Threshold, ThresholdTest, figure,
};

pub(super) const SATURATED: LayerRule = LayerRule {
    id: "device_saturated",
    text: "The device below was busy all the time: it limits the speed.",
    reads: "busy_ms of diskstats, as a share of the time",
    threshold: Threshold::above(90.0, Unit::Percent),
    remedy: "Take a faster device, or send it less: metadata writes, flushes and block map misses come from VDO itself.",
    source: "thesis 5.2; a device that serves many I/Os at once may be busy and still have capacity left",
    check: Check::Stage(saturated),
};

/// Returns the device below that was busy the longest, and the share of the time in which it was busy, percent.
pub(super) fn busiest<'a>(facts: &RuleFacts<'a>, disks: &Span) -> Option<(&'a str, f64)> {
    let busy = |name| Some((name, 100.0 * disks.rate(&format!("{name}.busy_ms"))? / 1000.0));
    facts.devices().filter_map(busy).max_by(|a, b| a.1.total_cmp(&b.1))
}

fn saturated(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let disks = stage.span(DISKSTATS)?;
    let (name, share) = busiest(facts, &disks)?;
    let share = threshold.passed(share)?;
    let mut figures = vec![threshold.figure(format!("time that device {name} was busy"), share)];
    let queue = disks.rate(&format!("{name}.weighted_ms")).map(|ms| ms / 1000.0);
    figures.extend(queue.map(|n| figure("I/Os in its queue on average", n, Unit::Ratio)));
    Some(cured(
        Observation::limit(share, figures),
        faster_device(facts),
        "the volume is on the fastest device that the lab has, or does not stand on a device itself",
    ))
}

pub(super) const FLUSH_TIME: LayerRule = LayerRule {
    id: "flush_time",
    text: "The device below spent its time on flushes: VDO's journal waits for each.",
    reads: "flush_ms of diskstats, as a share of the time; the mean of one flush",
    threshold: Threshold::above(30.0, Unit::Percent),
    remedy: "Put the journal, which is the tail of the pool's device, on one with fast flushes (power-loss protection), or make writes durable less often.",
    source: "thesis 5.6; each journal block is written with FLUSH and FUA",
    check: Check::Stage(flush_time),
};

fn flush_time(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let disks = stage.span(DISKSTATS)?;
    let percent = |name| Some((name, 100.0 * disks.rate(&format!("{name}.flush_ms"))? / 1000.0));
    let most = facts.devices().filter_map(percent).max_by(|a, b| a.1.total_cmp(&b.1));
    let (name, share) = most?;
    let share = threshold.passed(share)?;
    let of = |field: &str| disks.counted(&format!("{name}.{field}"));
    let mut figures =
        vec![threshold.figure(format!("time that device {name} spent on flushes"), share)];
    if let Some((ms, flushes)) = of("flush_ms").zip(of("flushes")).filter(|(_, n)| *n > 0.0) {
        figures.push(figure("one flush on average", 1e6 * ms / flushes, Unit::Nanos));
        figures.push(figure("flushes", flushes, Unit::Count));
    }
    Some(cured(Observation::limit(share, figures), journal_apart(facts), NOT_APART))
}

/// The reason why the journal cannot be put elsewhere.
const NOT_APART: &str =
    "the journal is on a separate device, or the volume does not stand directly on a device";

/// Percentage of the time that the device must be busy: otherwise it does not limit writes, even if each waits for it.
const OFTEN_BUSY: f64 = 50.0;

pub(super) const JOURNAL_ON_DATA: LayerRule = LayerRule {
    id: "journal_on_data",
    text: "The device below was busy, and many of its writes were the journal's, far from the data.",
    reads: "biosJournalCompleted.write as a share of the data writes of the only device below (as it counts them, but not more than the volume sent: many devices count flushes as writes), where it was busy for half of the time",
    threshold: Threshold::above(20.0, Unit::Percent),
    remedy: "Put the journal, which is the tail of the pool's device, on a faster one: via = \"table\" and on = { data = \"data\", tail = \"journal\" } with a [devices.journal].",
    source: "thesis 5.6",
    check: Check::Stage(journal_on_data),
};

fn journal_on_data(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let mut devices = facts.devices();
    let (name, None) = (devices.next()?, devices.next()) else { return None };
    if has_tail(facts) {
        return None;
    }
    let disks = stage.span(DISKSTATS)?;
    let busy = disks.rate(&format!("{name}.busy_ms"))? / 10.0;
    let often = busy > OFTEN_BUSY;
    let volume = stats(facts, stage)?;
    let sent = |field: &str| volume.counted(field);
    let journal = sent("biosJournalCompleted.write")?;
    let counted = disks.counted(&format!("{name}.writes")).filter(|n| often && *n > 0.0)?;
    // Most devices count a flush without data as a write; at most as many writes have data as the volume sent.
    let all = sent("biosOutCompleted.write").zip(sent("biosMetaCompleted.write"));
    let writes = all.map_or(counted, |(data, meta)| counted.min((data + meta).max(journal)));
    let share = threshold.passed(100.0 * journal / writes)?;
    let figures = vec![
        threshold.figure(format!("the journal's part of the writes to device {name}"), share),
        figure("journal writes", journal, Unit::Count),
        figure(format!("time that device {name} was busy"), busy, Unit::Percent),
    ];
    Some(cured(Observation::limit(share, figures), journal_apart(facts), NOT_APART))
}
