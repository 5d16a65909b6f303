//! Jobs of one load, compared with each other.

use std::collections::BTreeMap;

use analysis::Analysis;
use results::histogram;
use results::model::{Finding, JobSummary, LoadSummary, Severity};
use results::read::ResultSet;
use units::show::{grouped, significant};

use super::load::loads;

/// Share of the I/Os per second of the fastest job, percent, below which the slowest job counts as different.
pub(crate) const EVEN_PERCENT: f64 = 50.0;
/// Number of standard errors that the slowest job must lag behind: latencies that vary much make the counts of few I/Os vary, too.
const STANDARD_ERRORS: f64 = 10.0;
/// Number of the longest latencies of the load that are put down to chance.
const CHANCE_LATENCIES: f64 = 2.0;
/// Least number of I/Os of the fastest job: with fewer, rare long I/Os may be in no latency of the load because they are still in flight.
const LEAST_IOS: u64 = 1000;
/// Least duration, nanoseconds: in a shorter one a scheduler may not have come round.
const LEAST_NS: u64 = 1_000_000_000;

/// Two jobs of a load that differ.
#[derive(Debug, Clone, Copy)]
struct Apart<'a> {
    slowest: &'a JobSummary,
    fastest: &'a JobSummary,
    /// The slowest's share of the fastest's I/Os per second.
    percent: f64,
}

/// The slowest and the fastest job of a load that is long enough to compare them.
fn compare_jobs(load: &LoadSummary) -> Option<Apart<'_>> {
    let (slowest, fastest) = load.slowest_and_fastest()?;
    let percent = load.slowest_job_percent().filter(|_| load.duration_ns >= LEAST_NS)?;
    Some(Apart { slowest, fastest, percent })
}

/// Returns the time that the slowest job lost against the fastest, as a multiple of its standard error, if each I/O of every job takes a time drawn
/// from all latencies of the load.
fn standard_errors(load: &LoadSummary, apart: Apart) -> Option<f64> {
    let all = load.operations.values().filter_map(|operation| operation.histogram.as_deref());
    let latencies = histogram::merge(all).ok().flatten()?;
    let worked_ns = f64::from(load.engine.depth.max(1)) * apart.slowest.duration_ns as f64;
    // The slowest may have one more I/O in flight that takes as long as the longest, while the fastest may have had none so long.
    let luck_ns = CHANCE_LATENCIES * latencies.max() as f64;
    let lost_ns = worked_ns * (1.0 - apart.percent / 100.0) - luck_ns;
    Some(lost_ns / (latencies.stdev().max(1.0) * (apart.slowest.ios as f64 + 1.0).sqrt()))
}

/// Tells whether jobs differ by more than chance explains.
fn is_uneven(load: &LoadSummary, apart: Apart) -> bool {
    apart.percent < EVEN_PERCENT
        && apart.fastest.ios >= LEAST_IOS
        && standard_errors(load, apart).is_some_and(|errors| errors > STANDARD_ERRORS)
}

/// The cells of one variant, and their findings about a stage.
#[derive(Default)]
struct Stage<'a> {
    cells: usize,
    uneven: usize,
    /// The worst repeat, and how the jobs differed there.
    worst: Option<(u32, Apart<'a>)>,
}

/// The slowest job of a measured load did less than half of what the fastest did. The cell in which it is worst is reported.
pub(crate) fn uneven(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut stages: BTreeMap<(&str, &str), Stage> = BTreeMap::new();
    for (variant, repeat, stage, load) in loads(result).filter(|(_, _, stage, _)| stage.measured) {
        let Some(found) = compare_jobs(load) else { continue };
        let tally = stages.entry((variant, &stage.name)).or_default();
        tally.cells += 1;
        if is_uneven(load, found) {
            tally.uneven += 1;
            if tally.worst.is_none_or(|(_, worst)| found.percent < worst.percent) {
                tally.worst = Some((repeat, found));
            }
        }
    }
    let finding = |((variant, stage), found): ((&str, &str), Stage)| {
        let (repeat, Apart { slowest, fastest, percent }) = found.worst?;
        Some(Finding {
            rule: "uneven_jobs".into(),
            severity: Severity::Warning,
            subject: Some(variant.to_owned()),
            message: format!("The jobs of stage {stage} of {variant} went at very different speeds."),
            evidence: format!(
                "In repeat {repeat} {}, {}: {} %. Jobs differ like this in {} of {} runs.",
                describe_job(fastest),
                describe_job(slowest),
                significant(percent, 2),
                found.uneven,
                found.cells
            ),
            remedy: "Figures of all jobs together are mostly those of the fastest; per_job = true in the stage shows each by itself, and since when they \
                     differ. Jobs with ranges of their own (share) may find one of them in a cache and the other not."
                .into(),
            ..Finding::default()
        })
    };
    stages.into_iter().filter_map(finding).collect()
}

/// Describes the work of a job.
fn describe_job(job: &JobSummary) -> String {
    let rate = job.iops().map_or_else(String::new, |iops| significant(iops, 3));
    format!("job {} did {rate} I/Os per second ({} in all)", job.job, grouped(job.ios))
}

#[cfg(test)]
mod tests {
    use results::model::OperationSummary;
    use units::{Seed, SplitMix64};

    use super::*;

    /// A load of jobs whose I/Os take times that `draw` gives, one after the other, until the fastest has done `most` in 2 s and more.
    fn load(jobs: u32, most: usize, draw: &mut dyn FnMut(u32) -> f64) -> LoadSummary {
        let mut sums = |job| {
            let ends = (0..most).scan(0.0, |at, _| {
                *at += draw(job);
                Some(*at)
            });
            ends.collect::<Vec<f64>>()
        };
        let all: Vec<Vec<f64>> = (0..jobs).map(&mut sums).collect();
        let end =
            all.iter().map(|job_ends| job_ends[job_ends.len() - 1]).fold(f64::INFINITY, f64::min);
        let unit = 2e9 / end;
        let mut latencies = histogram::empty().unwrap();
        let mut load = LoadSummary::empty(Seed(1));
        (load.duration_ns, load.engine.depth) = (2_000_000_000, 1);
        for (job, job_ends) in all.iter().enumerate() {
            let done = job_ends.partition_point(|at| *at <= end);
            let starts = std::iter::once(&0.0).chain(job_ends);
            for (from, to) in starts.zip(&job_ends[..done]) {
                latencies.record(((to - from) * unit) as u64 + 1).unwrap();
            }
            load.jobs.push(JobSummary {
                job: job as u32,
                duration_ns: load.duration_ns,
                ios: done as u64,
                bytes: 0,
                errors: 0,
                operations: BTreeMap::new(),
            });
        }
        let histogram = histogram::encode(&latencies).ok();
        let operation = OperationSummary { histogram, ..OperationSummary::default() };
        load.operations.insert("read".into(), operation);
        load
    }

    fn uneven(load: &LoadSummary) -> bool {
        compare_jobs(load).is_some_and(|apart| is_uneven(load, apart))
    }

    /// An exponential time.
    fn time(dice: &mut SplitMix64) -> f64 {
        -(1.0 - dice.unit()).ln()
    }

    #[test]
    fn chance_alone_never_makes_jobs_uneven() {
        let dice = &mut Seed(7).generator();
        let mut halves = 0;
        for jobs in [2, 8, 64] {
            for most in [10, 50, 200, 1000] {
                for _ in 0..60 {
                    let alike = load(jobs, most, &mut |_| time(dice));
                    // One I/O in fifty misses a cache, and takes a thousand times as long.
                    let cached = load(jobs, most, &mut |_| {
                        time(dice) * if dice.below(50) == 0 { 1000.0 } else { 1.0 }
                    });
                    for load in [&alike, &cached] {
                        halves += usize::from(load.slowest_job_percent() < Some(50.0));
                        assert!(!uneven(load), "{jobs} jobs, {most} I/Os: {:?}", load.jobs);
                    }
                }
            }
        }
        assert!(halves > 100, "half of the fastest is nothing rare by itself: {halves}");
    }

    #[test]
    fn a_job_that_is_held_back_is_seen_whatever_its_latencies() {
        let dice = &mut Seed(9).generator();
        let slower = |factor: f64| move |job| if job == 1 { factor } else { 1.0 };
        for (factor, most) in [(3.0, 2_000), (47.0, 2_000), (1_000.0, 20_000)] {
            let pace = slower(factor);
            assert!(uneven(&load(2, most, &mut |job| pace(job) * time(dice))), "{factor}");
        }
        // Too little time for a finding.
        let mut short = load(2, 2_000, &mut |job| slower(47.0)(job) * time(dice));
        short.duration_ns = LEAST_NS - 1;
        assert!(!uneven(&short));
    }
}
