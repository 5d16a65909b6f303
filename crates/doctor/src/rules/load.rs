//! Rules about the loads themselves: what went wrong in them.

use std::collections::{BTreeMap, BTreeSet};

use analysis::Analysis;
use layers::PlannedLoad;
use results::model::{Finding, LayerFigures, LoadSummary, RateFacts, Severity, StageRecord};
use results::read::ResultSet;
use units::Unit;
use units::show::{self, significant};

/// Every load of every finished or failed run, with its variant, repeat and stage.
pub(super) fn loads(
    result: &ResultSet,
) -> impl Iterator<Item = (&str, u32, &StageRecord, &LoadSummary)> {
    result.cells.iter().filter_map(|cell| Some((cell, cell.record.as_ref()?))).flat_map(
        |(cell, record)| {
            record.stages.iter().filter_map(|stage| {
                let load = stage.load.as_ref()?;
                Some((cell.entry.variant.as_str(), cell.entry.repeat, stage, load))
            })
        },
    )
}

/// I/Os failed.
pub(crate) fn errors(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut kinds: BTreeMap<(&str, &str), BTreeMap<&str, u64>> = BTreeMap::new();
    let mut ios: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (variant, _, stage, load) in loads(result) {
        for operation in load.operations.values() {
            let place = (variant, stage.name.as_str());
            *ios.entry(place).or_default() += operation.ios;
            for (kind, count) in operation.errors.iter().filter(|(_, count)| **count > 0) {
                *kinds.entry(place).or_default().entry(kind).or_default() += count;
            }
        }
    }
    let finding = |((variant, stage), kinds): ((&str, &str), BTreeMap<&str, u64>)| {
        let failed: u64 = kinds.values().sum();
        let good = ios.get(&(variant, stage)).copied().unwrap_or(0);
        let list: Vec<String> = kinds.iter().map(|(kind, n)| format!("{kind} {n} times")).collect();
        Finding {
            rule: "load_errors".into(),
            severity: Severity::Error,
            subject: Some(variant.to_owned()),
            message: format!("{failed} I/Os of stage {stage} of {variant} failed."),
            evidence: format!("{}; {good} completed.", list.join(", ")),
            remedy: if kinds.contains_key("ENOSPC") {
                "The layer ran out of space: give its device more, or write less.".into()
            } else {
                "Look at the kernel log and the transcript: rates and latencies leave failed I/Os \
                 out."
                    .into()
            },
            ..Finding::default()
        }
    };
    kinds.into_iter().map(finding).collect()
}

/// Least share of what a load reads that must come from a device, percent.
pub(crate) const FROM_DEVICE_PERCENT: f64 = 50.0;

/// Most of the data that a measured load read came from no device: either there was nothing to read, or something above had it in a cache.
pub(crate) fn reads_of_nothing(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut worst: BTreeMap<(&str, &str), (f64, f64)> = BTreeMap::new();
    let measured = loads(result).filter(|(_, _, stage, load)| stage.measured && load.engine.direct);
    for (variant, _, stage, load) in measured {
        let reads = load.operations.iter().filter(|(name, _)| name.ends_with("read"));
        let read_bytes = reads.map(|(_, operation)| operation.bytes).sum::<u64>() as f64;
        let device = |figures: &LayerFigures| figures.get("device_read_bytes").copied().flatten();
        let devices: Vec<f64> = stage.layers.values().filter_map(device).collect();
        if read_bytes == 0.0 || devices.is_empty() {
            continue;
        }
        let found = (devices.iter().sum::<f64>(), read_bytes * load.ramp_factor());
        let least = worst.entry((variant, stage.name.as_str())).or_insert(found);
        if found.0 * least.1 < least.0 * found.1 {
            *least = found;
        }
    }
    let few = |(_, (from, wanted)): &(_, (f64, f64))| 100.0 * from < FROM_DEVICE_PERCENT * wanted;
    let finding = |((variant, stage), (from, wanted)): ((&str, &str), (f64, f64))| {
        Finding {
        rule: "reads_reach_no_disk".into(),
        severity: Severity::Warning,
        subject: Some(variant.to_owned()),
        message: format!("Most of what stage {stage} of {variant} read came from no disk."),
        evidence: format!(
            "Of {} that it read, devices under the stack delivered {} ({} %).",
            units::show::bytes(wanted),
            units::show::bytes(from),
            significant(100.0 * from / wanted, 3)
        ),
        remedy: "Write the range first (ops = { write = 100 }, passes = 1, content without zeros): a layer itself answers reads of places that hold \
                 nothing, and that is what these figures describe."
            .into(),
        ..Finding::default()
    }
    };
    worst.into_iter().filter(few).map(finding).collect()
}

/// A measured load went through the page cache.
pub(crate) fn page_cache(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    // A simulated or null target has no page cache, whatever the results say.
    let buffered: BTreeSet<(&str, &str)> = loads(result)
        .filter(|(_, _, _, load)| !["sim", "null"].contains(&load.engine.backend.as_str()))
        .filter(|(_, _, stage, load)| stage.measured && !load.engine.direct)
        .map(|(variant, _, stage, _)| (variant, stage.name.as_str()))
        .collect();
    let finding = |(variant, stage): (&str, &str)| Finding {
        rule: "page_cache".into(),
        severity: Severity::Warning,
        subject: Some(variant.to_owned()),
        message: format!("Stage {stage} of {variant} went through the page cache."),
        evidence: "The load ran without O_DIRECT.".into(),
        remedy:
            "Use a target that takes O_DIRECT (a block device, XFS, ext4), or read the figures as \
                 those of the page cache."
                .into(),
        ..Finding::default()
    };
    buffered.into_iter().map(finding).collect()
}

/// Loads that were to become steady wrote less than their range once in the window that decides. The cell that wrote least is reported.
pub(crate) fn short_window(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut least: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for (variant, _, stage, load) in loads(result).filter(|(_, _, stage, _)| stage.measured) {
        let Some(planned) = planned(result, variant, &stage.name) else { continue };
        let written = load.operations.iter().filter(|(name, _)| name.ends_with("write"));
        let bytes: u64 = written.map(|(_, operation)| operation.bytes).sum();
        let seconds = load.duration_ns as f64 / 1e9;
        // A load that never settled counts as steady over no window, and says so itself.
        let unsettled = load.steady.as_ref().is_some_and(|steady| steady.settled_ns.is_none());
        if bytes == 0 || seconds <= 0.0 || unsettled {
            continue;
        }
        if let Some(share) = planned.window_percent(bytes as f64 / seconds) {
            let known = least.entry((variant, stage.name.as_str())).or_insert(share);
            *known = known.min(share);
        }
    }
    let finding = |((variant, stage), share): ((&str, &str), f64)| {
        Finding {
        rule: "short_window".into(),
        severity: Severity::Warning,
        subject: Some(variant.to_owned()),
        message: format!(
            "Stage {stage} of {variant} counts as steady over a window in which it wrote less than its range once."
        ),
        evidence: format!(
            "Written in one window: {} % of the range; what a later part of the range costs is not in it.",
            significant(share, 2)
        ),
        remedy: "Make the window of 'steady' as long as one pass over the range takes, or the range smaller."
            .into(),
        ..Finding::default()
    }
    };
    least.into_iter().filter(|(_, share)| *share < 100.0).map(finding).collect()
}

/// Share of the due I/Os, percent, below which an open loop has not kept its rate.
pub(crate) const KEPT_PERCENT: f64 = 95.0;

/// Measured loads did not keep the rate that they were asked for. The cell that did least of it is reported.
pub(crate) fn rate_not_kept(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut least: BTreeMap<(&str, &str), (f64, RateFacts)> = BTreeMap::new();
    for (variant, _, stage, load) in loads(result).filter(|(_, _, stage, _)| stage.measured) {
        let missed = load.rate.filter(|rate| !rate.kept);
        let Some((percent, rate)) = missed.and_then(|rate| Some((rate.done_percent?, rate))) else {
            continue;
        };
        let known = least.entry((variant, stage.name.as_str())).or_insert((percent, rate));
        if percent < known.0 {
            *known = (percent, rate);
        }
    }
    let finding = |((variant, stage), (percent, rate)): ((&str, &str), (f64, RateFacts))| {
        Finding {
        rule: "rate_not_kept".into(),
        severity: Severity::Warning,
        subject: Some(variant.to_owned()),
        message: format!("Stage {stage} of {variant} did not keep the rate that it was asked for."),
        evidence: format!("Of {} that were due {} % were done.", describe_rate(rate), significant(percent, 2)),
        remedy: "Ask for less, or let more be in flight: latencies count from when an I/O was due, so that these are latencies of a backlog, \
                 which grow with the duration."
            .into(),
        ..Finding::default()
    }
    };
    least.into_iter().map(finding).collect()
}

/// The rate that was asked for, in words.
fn describe_rate(rate: RateFacts) -> String {
    match (rate.asked_iops, rate.asked_bytes_per_s) {
        (Some(ios), _) => format!("{} I/Os per second", significant(ios, 6)),
        (None, bytes) => Unit::BytesPerSecond.show(bytes.unwrap_or_default()),
    }
}

/// The load of a stage as planned.
fn planned(result: &ResultSet, variant: &str, stage: &str) -> Option<PlannedLoad> {
    let variants = &result.manifest.plan.variants;
    let facts = variants.iter().find(|facts| facts.name == variant)?;
    let stages = crate::planned::stages(facts);
    stages.into_iter().find(|planned| planned.name == stage)?.load
}

/// Largest number of notices of one stage that are reported; loads of many repeats may each say the same with another number.
const LISTED: usize = 5;

/// Words in a notice about reads of places that were never written, which the file system answers itself.
const UNWRITTEN: &str = "reads of them need no device";

/// Loads gave notices about themselves. Reads that reached no device are more than a note, because their speed says nothing.
pub(crate) fn notices(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut notices: BTreeMap<(&str, &str, bool), Vec<&str>> = BTreeMap::new();
    for (variant, _, stage, load) in loads(result) {
        let fresh = load.notices.iter().map(String::as_str);
        let fresh = fresh.filter(|text| !text.starts_with(STOOD_STILL));
        for text in fresh {
            let key = (variant, stage.name.as_str(), text.contains(UNWRITTEN));
            let texts = notices.entry(key).or_default();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    let finding = |((variant, stage, unwritten), texts): ((&str, &str, bool), Vec<&str>)| {
        let rest = match texts.len().saturating_sub(LISTED) {
            0 => String::new(),
            n => format!("; and {n} more"),
        };
        let shown: Vec<_> = texts.iter().take(LISTED).copied().collect();
        let (severity, message, remedy) = match unwritten {
            true => (
                Severity::Warning,
                format!(
                    "Reads of stage {stage} of {variant} met parts of a file that were never written: no device was asked for those, and \
                     the speed is not one of a device."
                ),
                "Write all of the file before it is read: a fill, or a stage that writes it.",
            ),
            false => (
                Severity::Note,
                format!("Loads of stage {stage} of {variant} gave notices about themselves."),
                "Read the stage's figures with it in mind.",
            ),
        };
        Finding {
            rule: "load_notices".into(),
            severity,
            subject: Some(variant.to_owned()),
            message,
            evidence: format!("{}{rest}.", shown.join("; ")),
            remedy: remedy.into(),
            ..Finding::default()
        }
    };
    notices.into_iter().map(finding).collect()
}

/// Words of the engine where Fathom itself did not run, in results that have no field for it.
const STOOD_STILL: &str = "Fathom itself did not run for ";

/// The times in which Fathom itself did not run while a load lasted, in words.
fn times_still(load: &LoadSummary) -> Vec<String> {
    if !load.stood_still_ns.is_empty() {
        return load.stood_still_ns.iter().map(|ns| show::nanos(*ns as f64)).collect();
    }
    let notices = load.notices.iter().filter_map(|text| text.strip_prefix(STOOD_STILL));
    notices.filter_map(|rest| Some(rest.split(':').next()?.to_owned())).collect()
}

/// Fathom itself did not run while a load did: I/Os that ended or were due in that time have it in their latency.
pub(crate) fn stood_still(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut runs: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (variant, repeat, stage, load) in loads(result) {
        let still = times_still(load);
        if still.is_empty() {
            continue;
        }
        let maxima = load.operations.values().filter_map(|one| Some(one.latency.as_ref()?.max_ns));
        let longest = maxima.max().map_or_else(String::new, |ns| {
            format!(", and its longest I/O took {}", show::nanos(ns as f64))
        });
        let sentence = format!("repeat {repeat} for {}{longest}", still.join(" and "));
        runs.entry((variant, stage.name.as_str())).or_default().push(sentence);
    }
    let finding = |((variant, stage), sentences): ((&str, &str), Vec<String>)| {
        Finding {
        rule: "stood_still".into(),
        severity: Severity::Warning,
        subject: Some(variant.to_owned()),
        message: format!(
            "Fathom itself stood still in stage {stage} of {variant}: that time is in its longest latencies and its rates, and is not the target's."
        ),
        evidence: format!("{}.", sentences.join("; ")),
        remedy: "Take no p99.9 and no largest latency of these runs for the target's; run again on a machine that nobody suspends or overloads.".into(),
        ..Finding::default()
    }
    };
    runs.into_iter().map(finding).collect()
}
