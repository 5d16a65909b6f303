//! Rules that look at a plan before it runs, whatever the layers are.

use std::collections::BTreeSet;

use layers::{
    Observation, OperationKind, Order, PlannedLoad, PlannedOperation, PlannedStage, Rule,
    Threshold, ThresholdTest,
};
use results::model::{PlanFacts, Severity, StageData, VariantFacts};
use stats::LEAST_REPEATS;
use units::Unit;

/// A rule's view of a plan: its facts, and the stages of each variant.
pub(crate) struct Plan<'a> {
    pub facts: &'a PlanFacts,
    pub variants: &'a [(&'a VariantFacts, Vec<PlannedStage>)],
}

/// A rule that looks at a plan.
pub(crate) type PlanRule = Rule<fn(&Plan, ThresholdTest) -> Vec<VariantObservation>>;

/// An observation of a rule, with the variant that it is about; `None` where it is about the whole plan.
pub(crate) type VariantObservation = (Option<String>, Observation);

/// Every common rule that looks at a plan.
pub(crate) const RULES: [PlanRule; 7] = [
    Rule {
        id: "few_repeats",
        text: "There are too few repeats for a verdict between variants: each verdict will be 'unclear'.",
        reads: "repeat, where variants are compared",
        threshold: Threshold::below(LEAST_REPEATS as f64, Unit::Count),
        remedy: "Set repeat = 5, or run with --repeat 5.",
        source: "docs/method.md",
        check: few_repeats,
    },
    Rule {
        id: "cached_io",
        text: "A measured load goes through the page cache, and nothing makes its writes durable.",
        reads: "direct and sync of measured loads",
        threshold: None,
        remedy: "Set direct = true, or sync = \"fsync:32\" to measure what has become durable.",
        source: "thesis 4.2; slides on VDO",
        check: cached_io,
    },
    Rule {
        id: "command_not_synced",
        text: "A measured command ends before what it wrote is on the layer.",
        reads: "sync of measured commands",
        threshold: None,
        remedy: "Set sync = true, and compare elapsed_with_sync_s.",
        source: "slides on VDO",
        check: command_not_synced,
    },
    Rule {
        id: "content_doubtful",
        text: "Content can be made as asked, but will not do what one expects of it.",
        reads: "content of measured loads: packing, references, distances, flushes, length",
        threshold: None,
        remedy: "Change what the finding names, or keep it if that is the question.",
        source: "docs/content.md",
        check: content_doubtful,
    },
    Rule {
        id: "bytes_in_flight_differ",
        text: "Variants differ in block size and in bytes in flight: the result cannot show which of the two makes a difference.",
        reads: "block_size, jobs and depth of a measured load in all variants",
        threshold: None,
        remedy: "Keep jobs x depth x block size: depth_unit = \"4k\" counts depth in blocks of 4 KiB.",
        source: "articles on request size and parallelism",
        check: bytes_in_flight_differ,
    },
    Rule {
        id: "reads_of_nothing",
        text: "A measured load reads places that nothing has written, through a layer that answers such reads itself: most never reach the disk.",
        reads: "the share of the range that a load reads which stages before it write",
        threshold: Threshold::below(50.0, Unit::Percent),
        remedy: "Write the range first: a [[stage]] with do = \"load\", ops = { write = 100 } and passes = 1.",
        source: "drivers/md/dm-vdo: a block that is not mapped reads as zeros",
        check: reads_of_nothing,
    },
    Rule {
        id: "window_below_a_pass",
        text: "A load is to count as steady over a window in which it cannot write its range once.",
        reads: "bytes that measured loads with 'steady' can write in one window at their rate or limit, as a share of their range",
        threshold: Threshold::below(100.0, Unit::Percent),
        remedy: "Make the window of 'steady' as long as one pass over the range takes, or the range smaller.",
        source: "docs/method.md; SNIA's performance test specification for solid-state storage",
        check: window_below_a_pass,
    },
];

fn few_repeats(plan: &Plan, threshold: ThresholdTest) -> Vec<VariantObservation> {
    let compares = plan.variants.len() > 1 && !plan.facts.questions.is_empty();
    let few = threshold.passed(f64::from(plan.facts.repeat)).filter(|_| compares);
    let noticed = |few| Observation {
        severity: Severity::Warning,
        figures: vec![threshold.figure("repeats", few)],
        ..Observation::default()
    };
    few.map(|few| (None, noticed(few))).into_iter().collect()
}

/// Returns the measured stages of all variants that `which` picks, each name once, with the variant that has it first. Stages of one name count apart
/// where the doubts about their content are worded differently.
fn measured<'a>(
    plan: &'a Plan,
    which: impl Fn(&PlannedStage) -> bool,
) -> Vec<(&'a str, &'a PlannedStage)> {
    let mut seen = BTreeSet::new();
    let doubts = |stage: &PlannedStage| stage.load.as_ref().map(|load| load.doubts.clone());
    let stages = plan
        .variants
        .iter()
        .flat_map(|(variant, stages)| stages.iter().map(|stage| (variant.name.as_str(), stage)));
    let found = stages.filter(|(_, stage)| stage.measured && which(stage));
    found.filter(|(_, stage)| seen.insert((stage.name.clone(), doubts(stage)))).collect()
}

fn warned(variant: &str, message: String, evidence: String) -> VariantObservation {
    let message = Some(message);
    let noticed =
        Observation { severity: Severity::Warning, message, evidence, ..Observation::default() };
    (Some(variant.to_owned()), noticed)
}

fn cached_io(plan: &Plan, _: ThresholdTest) -> Vec<VariantObservation> {
    let cached = |load: &PlannedLoad| !load.direct && load.sync_every.is_none();
    let found = measured(plan, |stage| stage.load.as_ref().is_some_and(cached));
    let observations = found.into_iter().map(|(variant, stage)| {
        let message = format!("Stage {} goes through the page cache.", stage.name);
        warned(variant, message, "direct = false, and no sync.".into())
    });
    observations.collect()
}

fn command_not_synced(plan: &Plan, _: ThresholdTest) -> Vec<VariantObservation> {
    let found = measured(plan, |stage| stage.synced == Some(false));
    let observations = found.into_iter().map(|(variant, stage)| {
        let message = format!("Command {} ends before what it wrote is on the layer.", stage.name);
        warned(variant, message, "sync = false.".into())
    });
    observations.collect()
}

/// The other variants are compared with the first one.
fn bytes_in_flight_differ(plan: &Plan, _: ThresholdTest) -> Vec<VariantObservation> {
    let Some(((_, base), others)) = plan.variants.split_first() else { return Vec::new() };
    let sizes = |load: &PlannedLoad| load.operations.iter().map(|op| op.size_unit).max();
    let mut observations: Vec<VariantObservation> = Vec::new();
    for (variant, stages) in others {
        let pairs =
            stages.iter().filter(|stage| stage.measured && !stage.swept).filter_map(|stage| {
                let same =
                    base.iter().find(|of_base| of_base.measured && of_base.name == stage.name)?;
                Some((stage, stage.load.as_ref()?, same.load.as_ref()?))
            });
        for (stage, new, old) in pairs {
            let apart = new.blocks_in_flight.abs_diff(old.blocks_in_flight) > 0;
            if apart
                && sizes(new) != sizes(old)
                && !observations.iter().any(|(_, noticed)| is_of(noticed, stage))
            {
                let evidence = format!(
                    "{} has {} blocks of 4 KiB in flight, the first variant {}.",
                    variant.name, new.blocks_in_flight, old.blocks_in_flight
                );
                let (subject, noticed) = warned(&variant.name, differs(stage), evidence);
                observations.push((subject, Observation { severity: Severity::Note, ..noticed }));
            }
        }
    }
    observations
}

fn differs(stage: &PlannedStage) -> String {
    format!("Variants of stage {} differ in block size and in bytes in flight.", stage.name)
}

fn is_of(noticed: &Observation, stage: &PlannedStage) -> bool {
    noticed.message.as_deref() == Some(&differs(stage))
}

/// Every run begins with discarded devices and new layers: places that none of its stages wrote hold nothing.
fn reads_of_nothing(plan: &Plan, threshold: ThresholdTest) -> Vec<VariantObservation> {
    let mut observations: Vec<VariantObservation> = Vec::new();
    for (variant, stages) in plan.variants {
        for (at, stage) in stages.iter().enumerate().filter(|(_, stage)| stage.measured) {
            let Some(load) = stage.load.as_ref().filter(|load| reads_around(load)) else {
                continue;
            };
            let written = written_percent(load, stage, &stages[..at]);
            let Some(little) = written.and_then(|percent| threshold.passed(percent)) else {
                continue;
            };
            let message = format!("Stage {} reads places that nothing has written.", stage.name);
            if observations.iter().any(|(_, noticed)| noticed.message.as_deref() == Some(&message))
            {
                continue;
            }
            let (subject, noticed) = warned(&variant.name, message, String::new());
            let figures = vec![threshold.figure("written before, of the range", little)];
            observations.push((subject, Observation { figures, ..noticed }));
        }
    }
    observations
}

/// Tells whether a load reads over a range, not one block again and again.
fn reads_around(load: &PlannedLoad) -> bool {
    let around =
        |op: &PlannedOperation| op.does == OperationKind::Reads && op.order != Order::OneBlock;
    load.operations.iter().any(around)
}

/// Returns the largest share of a load's range that the stages `before` it can have written on the same target, percent; `None` where that
/// is not known.
fn written_percent(
    load: &PlannedLoad,
    stage: &PlannedStage,
    before: &[PlannedStage],
) -> Option<f64> {
    let range = load.range_bytes.filter(|bytes| *bytes > 0)?;
    let mut written = 0.0;
    for earlier in
        before.iter().filter(|earlier| earlier.targets.iter().any(|t| stage.targets.contains(t)))
    {
        match earlier.data {
            // An allocation writes zeros to only one of many blocks.
            StageData::Nothing | StageData::Allocation => {}
            StageData::Load => {
                let load = earlier.load.as_ref()?;
                if load.does(OperationKind::Writes) {
                    written += load.written_blocks? as f64 * 4096.0;
                }
            }
            // It is not known how much they wrote, and where.
            StageData::Rounds | StageData::State | StageData::Foreign | StageData::Unknown => {
                return None;
            }
        }
    }
    Some((100.0 * written / range as f64).min(100.0))
}

fn window_below_a_pass(plan: &Plan, threshold: ThresholdTest) -> Vec<VariantObservation> {
    let share = |stage: &PlannedStage| {
        let load = stage.load.as_ref()?;
        threshold.passed(load.window_percent(load.most_written_per_s?)?)
    };
    let found = measured(plan, |stage| share(stage).is_some());
    let observations = found.into_iter().filter_map(|(variant, stage)| {
        let message =
            format!("Stage {} cannot write its range once in the window of 'steady'.", stage.name);
        let (subject, noticed) = warned(variant, message, String::new());
        let figures =
            vec![threshold.figure("written in a window at most, of the range", share(stage)?)];
        Some((subject, Observation { figures, ..noticed }))
    });
    observations.collect()
}

fn content_doubtful(plan: &Plan, _: ThresholdTest) -> Vec<VariantObservation> {
    let doubts =
        |stage: &PlannedStage| stage.load.as_ref().map_or_else(Vec::new, |l| l.doubts.clone());
    let found = measured(plan, |stage| !doubts(stage).is_empty());
    let observations = found.into_iter().map(|(variant, stage)| {
        let message = format!("Content of stage {} will not do what one expects.", stage.name);
        warned(variant, message, format!("{}.", doubts(stage).join("; ")))
    });
    observations.collect()
}
