//! Rules about any node of a stack that was watched.

use layers::watched::{FULL_CPU, ThreadUse};
use layers::{Observation, StandingRule, Threshold, figure};
use results::model::Severity;
use units::Unit;

pub(super) const RULES: &[StandingRule] = &[THREAD_FULL, DISK_BUSY];

const THREAD_FULL: StandingRule = StandingRule {
    id: "thread_full",
    text: "A thread of the layer had all of a CPU for much of the time: more load makes the layer no faster.",
    reads: "CPU time of kernel threads in /proc, at each look: the part of the time in which one had 90 % of a CPU and more",
    threshold: Threshold::above(20.0, Unit::Percent),
    remedy: "Give the layer more threads of that kind where it can have them (VDO: lvchange --vdosettings), or less to do; a faster core helps where there can be only one.",
    source: "thesis 5.2; docs/doctor.md",
    check: |facts, threshold| {
        let threads = &facts.node.watched.as_ref()?.threads;
        let most = |a: &&ThreadUse, b: &&ThreadUse| a.full_percent.total_cmp(&b.full_percent);
        let thread = threads.iter().max_by(most)?;
        let full = threshold.passed(thread.full_percent)?;
        let figures = vec![
            threshold
                .figure(format!("time with {:.0} % of a CPU and more", 100.0 * FULL_CPU), full),
            figure("CPU over all the time", thread.cpu_percent, Unit::Percent),
        ];
        let list = figures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let evidence = format!("{}: {list}", thread.name);
        Some(Observation {
            severity: Severity::Warning,
            evidence,
            figures,
            ..Observation::default()
        })
    },
};

const DISK_BUSY: StandingRule = StandingRule {
    id: "disk_busy",
    text: "The disk had I/O under way nearly all the time.",
    reads: "busy time of the disk in /sys/class/block/NAME/stat, as a share of the time that it was watched",
    threshold: Threshold::above(90.0, Unit::Percent),
    remedy: "A disk that turns is full then: a cache in front, fewer or larger I/Os, or more disks. One that does many I/Os at once may be busy and not full: see whether its latency rises with the load.",
    source: "the kernel's admin-guide/iostats; iostat(1)",
    check: |facts, threshold| {
        let watched = facts.node.watched.as_ref().filter(|_| facts.node.on.is_empty())?;
        let busy = threshold.passed(watched.io.busy_percent()?)?;
        let mut figures = vec![threshold.figure("busy", busy)];
        let in_flight = watched.io.in_flight();
        figures.extend(in_flight.map(|many| figure("I/Os under way", many, Unit::Ratio)));
        let turns = facts.node.limit("rotational") == Some(1.0);
        let severity = if turns { Severity::Warning } else { Severity::Note };
        Some(Observation { severity, figures, ..Observation::default() })
    },
};
