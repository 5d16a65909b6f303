//! The summary of a load: notices and figures.

use std::time::Duration;

use reduce::{Achieved, Census};
use results::model::{
    AchievedContent, AskedContent, ClockFacts, CpuFigures, DepthFigures, EngineFacts, IoLogFacts,
    LoadSummary, NOTHING_MEASURED, SteadyFacts, TargetSummary, WorstIo,
};

use units::show;

use crate::asked_rate;
use crate::by_job::JobTallies;
use crate::choice::Choice;
use crate::error::EngineError;
use crate::load::Load;
use crate::load_status::StopReason;
use crate::record::SlowIo;
use crate::resolved_load::ResolvedLoad;
use crate::sample::Counts;

/// The way in which the load was driven.
#[derive(Debug, Clone)]
pub(crate) struct Driven {
    pub choice: Choice,
    pub direct: bool,
    pub registered: bool,
    /// Check of the clock that latencies are measured with; `None` in virtual time.
    pub clock: Option<sys::stamps::StampCheck>,
    /// I/Os in flight per job.
    pub in_flight: Option<DepthFigures>,
    pub submitted_per_call: Option<f64>,
    pub reaped_per_call: Option<f64>,
    /// CPUs that workers were pinned to.
    pub cpus: Option<String>,
}

/// Everything that goes into a summary.
pub(crate) struct Outcome {
    pub total: JobTallies,
    /// The time that each job was at work, nanoseconds.
    pub worked_ns: Vec<u64>,
    /// Names of the load's targets, in their order.
    pub targets: Vec<String>,
    /// Tells for each target whether it is a file; empty where the targets are not real.
    pub are_files: Vec<bool>,
    pub worst: Vec<SlowIo>,
    pub io_log: Option<IoLogFacts>,
    pub steady: Option<SteadyFacts>,
    /// Duration of the load, nanoseconds: from its start, or the end of its ramp, to its end. Every rate refers to it.
    pub duration_ns: u64,
    pub halt: StopReason,
    pub by_time: bool,
    pub counts: Counts,
    pub census: Census,
    pub cpu: Option<CpuFigures>,
    pub driven: Driven,
    pub notices: Vec<String>,
}

impl Outcome {
    pub(crate) fn summary(
        mut self,
        load: &Load,
        resolved: &ResolvedLoad,
    ) -> Result<LoadSummary, EngineError> {
        let (duration_ns, nothing) = (self.duration_ns, self.why_nothing_measured(load, resolved));
        let targets = self.targets_apart(resolved, duration_ns)?;
        let worst = self.worst.iter().map(|long| self.worst(long, resolved)).collect();
        let achieved = resolved.blocks_are_whole().then(|| achieved(self.census, self.counts));
        let writes = resolved.writes;
        let missing = self.io_log.as_ref().and_then(missing);
        // A log that dropped records because the disk was slow still counts as the log that was asked for, and says how many it dropped; a log that
        // broke off does not.
        let cut_off =
            missing.clone().filter(|_| self.io_log.as_ref().is_some_and(|log| log.error.is_some()));
        self.notices.extend(missing);
        self.notices.extend(nothing);
        self.notices.extend(resolved.tails.iter().cloned());
        let operations = self.total.all.summaries(&resolved.names, duration_ns)?;
        let jobs = self.total.summaries(&resolved.names, &self.worked_ns)?;
        let rate = asked_rate::facts(&load.spec, operations.values(), duration_ns, self.by_time);
        self.notices.extend(rate.and_then(|rate| asked_rate::notice(&load.spec, &rate)));
        let mut summary = LoadSummary {
            duration_ns,
            ended_by: ended_by(self.halt, self.by_time, load).to_owned(),
            operations,
            rate,
            asked: writes.then(|| asked_content(&load.spec.content)),
            achieved: achieved.filter(|_| writes),
            cpu: self.cpu,
            engine: facts(&self.driven, resolved),
            targets,
            jobs,
            worst,
            io_log: self.io_log,
            steady: self.steady,
            notices: self.notices,
            incomplete: cut_off.into_iter().collect(),
            ..LoadSummary::empty(load.seed)
        };
        share_cpu(&mut summary);
        Ok(summary)
    }

    /// Returns the reason why nothing was measured, if that is so and no failed I/O explains it.
    fn why_nothing_measured(&self, load: &Load, resolved: &ResolvedLoad) -> Option<String> {
        if self.total.all.ios() > 0 || self.total.all.errors() > 0 {
            return None;
        }
        let spec = &load.spec;
        let paced = spec.limit.is_some() || spec.rate.is_some() || spec.think.is_some();
        let why = if resolved.ramp_ns > 0 && self.duration_ns == 0 {
            let ramp = units::Nanos(resolved.ramp_ns);
            format!(
                "the load was over within its ramp of {ramp}; give it more to do, or a shorter ramp"
            )
        } else if self.halt == StopReason::Interrupted {
            "the load was interrupted before an I/O ended".to_owned()
        } else if paced {
            "no I/O was due, or ended, while the load lasted; let it last longer, or allow a higher rate"
                .to_owned()
        } else {
            "no I/O ended while the load lasted; let it last longer".to_owned()
        };
        Some(format!("{NOTHING_MEASURED}{why}"))
    }

    /// The figures of each target, when there are several.
    fn targets_apart(
        &self,
        resolved: &ResolvedLoad,
        duration_ns: u64,
    ) -> Result<Vec<TargetSummary>, EngineError> {
        let several = self.targets.iter().enumerate().filter(|_| self.targets.len() > 1);
        let apart = several.map(|(place, name)| {
            let operations = self.total.all.summaries_of(place, &resolved.names, duration_ns)?;
            Ok(TargetSummary { target: name.clone(), operations })
        });
        apart.collect()
    }

    fn worst(&self, long: &SlowIo, resolved: &ResolvedLoad) -> WorstIo {
        let target = self.targets.get(usize::from(long.target));
        let file = self.are_files.get(usize::from(long.target)).copied();
        WorstIo {
            latency_ns: long.latency_ns,
            at_ns: long.at_ns,
            offset: long.offset,
            length: long.length,
            operation: resolved.names.get(usize::from(long.operation)).cloned().unwrap_or_default(),
            target: target.filter(|_| file == Some(true) || self.targets.len() > 1).cloned(),
            file,
            job: long.job.into(),
        }
    }
}

fn facts(driven: &Driven, resolved: &ResolvedLoad) -> EngineFacts {
    let clock = driven.clock.as_ref();
    EngineFacts {
        backend: driven.choice.driver.name().into(),
        chosen: driven.choice.reason.clone(),
        probe: driven.choice.figures.clone(),
        in_flight: driven.in_flight,
        submitted_per_call: driven.submitted_per_call,
        reaped_per_call: driven.reaped_per_call,
        cpus: driven.cpus.clone(),
        jobs: resolved.jobs as u32,
        depth: resolved.depth as u32,
        direct: driven.direct,
        registered: driven.registered,
        clock: clock.map_or("virtual", |check| check.source.name()).into(),
        clock_check: clock.map(clock_facts),
    }
}

/// Returns the facts about how far the clock can be trusted.
pub(crate) fn clock_facts(check: &sys::stamps::StampCheck) -> ClockFacts {
    ClockFacts {
        reason: check.reason.clone(),
        tsc_hz: check.tsc_hz,
        cpus_apart_ns: check.cpus_apart_ns,
        cpus: check.cpus,
        drift_ppm: check.drift_ppm,
    }
}

/// Returns the notice about a log that does not hold every I/O.
fn missing(log: &IoLogFacts) -> Option<String> {
    let why = match &log.error {
        Some(error) => error,
        None if log.beyond > 0 => {
            let (recorded, beyond) = (show::grouped(log.recorded), show::grouped(log.beyond));
            let slow = match log.dropped - log.beyond {
                0 => String::new(),
                n => {
                    format!("; {} more could not be written as fast as they came", show::grouped(n))
                }
            };
            return Some(format!(
                "The log {} holds the first {recorded} I/Os, the most that is kept for one stage; the {beyond} after them are not in it{slow}",
                log.path
            ));
        }
        None if log.dropped > 0 => "it could not be written as fast as they came",
        None => return None,
    };
    Some(format!("{} I/Os are missing from the log {}: {why}", log.dropped, log.path))
}

fn ended_by(halt: StopReason, by_time: bool, load: &Load) -> &'static str {
    match halt {
        StopReason::Interrupted => "interrupted",
        StopReason::Errors => "errors",
        StopReason::MaxErrors => "max_errors",
        StopReason::Steady => "steady",
        StopReason::None if by_time => "duration",
        StopReason::None if load.spec.passes.is_some() => "passes",
        StopReason::None if load.spec.ios.is_some() => "ios",
        StopReason::None if load.spec.bytes.is_some() => "bytes",
        StopReason::None => "passes",
    }
}

/// Returns the figures of content that `spec` asks for.
pub fn asked_content(spec: &content::ContentSpec) -> AskedContent {
    let expected = spec.expected();
    let live = spec.scope == content::Scope::Live;
    AskedContent {
        // In the live scope the spec says what the addresses hold, not what is written.
        duplicate_percent: (!live).then_some(expected.duplicate_percent),
        lz4_saving_percent: Some(expected.lz4_saving_percent),
        zero_percent: Some(expected.zero_percent),
        // Where sizes differ, the mean of a sample is too uncertain to be compared with this one.
        lz4_size_mean_bytes: expected.alike.then_some(expected.lz4_size_mean_bytes),
        packer_saving_percent: expected.packer_saving_percent,
        live_duplicate_percent: live.then_some(expected.duplicate_percent),
    }
}

fn achieved(mut census: Census, counts: Counts) -> AchievedContent {
    census.written(counts.all);
    census.add_zero(counts.zero);
    let achieved: Achieved = census.finish();
    AchievedContent {
        duplicate_percent: achieved.duplicate_percent,
        lz4_saving_percent: achieved.lz4_saving_percent,
        lz4_saving_error_points: achieved.lz4_saving_error_points,
        zero_percent: achieved.zero_percent,
        blocks: Some(achieved.blocks_written),
        blocks_sampled: Some(achieved.blocks_sampled),
        duplicate_error_points: achieved.duplicate_error_points,
        lz4_size_mean_bytes: achieved.lz4_size_mean_bytes,
        lz4_size_min_bytes: achieved.lz4_size_min_bytes,
        lz4_size_max_bytes: achieved.lz4_size_max_bytes,
        packer_saving_percent: achieved.packer_saving_percent,
        packer_saving_error_points: achieved.packer_saving_error_points,
        distinct_blocks: Some(achieved.distinct_sampled),
        live_duplicate_percent: achieved.live_duplicate_percent,
        live_duplicate_error_points: achieved.live_duplicate_error_points,
        live_blocks: achieved.blocks_live,
    }
}

/// CPU time as (user, kernel).
type Cpu = (Duration, Duration);

/// The load's CPU time: what the process used, less what `others` of its threads did. The figure per I/O is set later, by [`share_cpu`].
pub(crate) fn cpu(process: Cpu, others: &[Cpu], ramp_ios: u64) -> CpuFigures {
    let mut left = process;
    for other in others {
        left = (left.0.saturating_sub(other.0), left.1.saturating_sub(other.1));
    }
    let (user_s, system_s) = (left.0.as_secs_f64(), left.1.as_secs_f64());
    CpuFigures { user_s, system_s, per_io_us: None, ramp_ios }
}

/// Divides the load's CPU time by the number of I/Os that count.
pub(crate) fn share_cpu(summary: &mut LoadSummary) {
    let ios = summary.counted_ios();
    if let Some(cpu) = summary.cpu.as_mut().filter(|_| ios > 0) {
        cpu.per_io_us = Some((cpu.user_s + cpu.system_s) * 1e6 / ios as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_others_is_left_out_and_never_makes_it_negative() {
        let ms = Duration::from_millis;
        let figures = cpu((ms(30), ms(20)), &[(ms(10), ms(5)), (ms(5), ms(50))], 10);
        let per_io_us = None;
        assert_eq!(figures, CpuFigures { user_s: 0.015, system_s: 0.0, per_io_us, ramp_ios: 10 });
    }
}
