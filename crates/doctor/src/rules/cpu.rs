//! Rule about the sources of CPU time: do they agree?

use analysis::Analysis;
use layers::machine::{BUSY, TICKS};
use results::model::{Finding, Severity, StageRecord};
use results::read::ResultSet;
use units::show::significant;

/// Share of the CPU time that one source may miss, percent.
pub(crate) const MISSED_PERCENT: f64 = 10.0;

/// Seconds by which sources may always differ: a clock ticks every 10 ms, and each of several threads can be off by one tick.
const TICKS_OFF_S: f64 = 0.1;

/// The CPU seconds of a stage by their sources.
struct Sources {
    stage: String,
    busy: f64,
    ticks: f64,
    /// The load's threads and those of all layers, where they are known.
    parts: Option<f64>,
}

/// Clock ticks account for less than was used, or single threads for more than the machine.
pub(crate) fn sources(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut all: Vec<Sources> = Vec::new();
    for cell in &result.cells {
        let stages = cell.record.iter().flat_map(|record| &record.stages);
        let name = |stage: &StageRecord| {
            let entry = &cell.entry;
            format!("{} repeat {}, {}", entry.variant, entry.repeat, stage.name)
        };
        all.extend(stages.filter_map(|stage| of_stage(stage, name(stage))));
    }
    let percent = |part: f64, whole: f64| 100.0 * (part / whole - 1.0);
    let far = |part: f64, whole: f64| (part - whole).abs() > TICKS_OFF_S;
    let missed = all.iter().filter(|s| {
        s.busy > 0.0 && percent(s.ticks, s.busy) < -MISSED_PERCENT && far(s.ticks, s.busy)
    });
    let worst = missed.min_by(|a, b| (a.ticks / a.busy).total_cmp(&(b.ticks / b.busy)));
    let charged = worst.map(|s| Finding {
        severity: Severity::Note,
        message: "The kernel charged less CPU time than was used; CPU per I/O counts all of it."
            .into(),
        evidence: format!(
            "{}: CPUs were busy for {} s, and clock ticks charged {} s of it to somebody; an emulated or busy CPU misses ticks.",
            s.stage,
            significant(s.busy, 3),
            significant(s.ticks, 3)
        ),
        remedy: "Leave /proc/stat's user and system time aside on this machine; time that is not idle is right."
            .into(),
        ..finding()
    });
    let more = all.iter().filter_map(|s| Some((s, s.parts.filter(|_| s.busy > 0.0)?)));
    let more = more.filter(|(s, parts)| far(*parts, s.busy));
    let most = more.max_by(|(a, x), (b, y)| (x / a.busy).total_cmp(&(y / b.busy)));
    let beyond = most.filter(|(s, parts)| percent(*parts, s.busy) > MISSED_PERCENT);
    let beyond = beyond.map(|(s, parts)| Finding {
        severity: Severity::Warning,
        message: "Threads are reported to have taken more CPU time than the machine was busy."
            .into(),
        evidence: format!(
            "{}: the load and the layers' threads took {} s, and CPUs were busy for {} s.",
            s.stage,
            significant(parts, 3),
            significant(s.busy, 3)
        ),
        remedy: "Take neither CPU figure of these stages for more than an order of magnitude."
            .into(),
        ..finding()
    });
    charged.into_iter().chain(beyond).collect()
}

fn finding() -> Finding {
    Finding { rule: "cpu_sources".into(), ..Finding::default() }
}

fn of_stage(stage: &StageRecord, name: String) -> Option<Sources> {
    let figure = |id: &str| stage.machine.get(id).copied().flatten();
    let layers = stage.layers.values().flatten().filter(|(id, _)| id.ends_with("_cpu_s"));
    let layers: Option<f64> = layers.map(|(_, seconds)| *seconds).sum();
    let load = stage.load.as_ref().and_then(|load| load.cpu);
    let parts = load.zip(layers).map(|(cpu, layers)| cpu.user_s + cpu.system_s + layers);
    Some(Sources { stage: name, busy: figure(BUSY)?, ticks: figure(TICKS)?, parts })
}
