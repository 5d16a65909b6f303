//! The summary of a load: figures per operation, the content it wrote, the CPU it cost, how it was driven.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::latency::LatencySummary;
use super::{AchievedContent, AskedContent, TreeFacts, VerifyFigures};

use units::show;

use super::EngineFacts;

/// The figures of one operation over a whole load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OperationSummary {
    /// I/Os that completed without error.
    pub ios: u64,
    /// Bytes that these I/Os moved.
    pub bytes: u64,
    /// Failed I/Os by kind (`ENOSPC`, `EIO`, `short`, ...).
    pub errors: BTreeMap<String, u64>,
    /// I/Os per second over the load's duration; `None` when nothing was measured.
    pub iops: Option<f64>,
    /// Bytes per second over the load's duration.
    pub throughput_bytes_per_s: Option<f64>,
    /// Latency of the completed I/Os, from the intended start (open loop) or the submission (closed loop).
    pub latency: Option<LatencySummary>,
    /// The whole HDR histogram in nanoseconds: V2 with deflate, base64.
    pub histogram: Option<String>,
    /// The length that every I/O had, bytes; `None` where they differ, and in results from before 2026-11-26.
    #[serde(default)]
    pub io_bytes: Option<u64>,
    /// The HDR histogram of the bandwidth of each I/O (its length over its latency) in bytes per second; `None` where lengths are equal.
    #[serde(default)]
    pub bandwidths: Option<String>,
    /// Time that the submitting call took; `None` unless it was asked for.
    #[serde(default)]
    pub submission: Option<LatencySummary>,
    /// Time from the return of the submitting call to the completion; `None` unless it was asked for.
    #[serde(default)]
    pub completion: Option<LatencySummary>,
    /// Delay of the submission of I/Os against their intended times; `None` in a closed loop.
    #[serde(default)]
    pub lateness: Option<LatencySummary>,
    /// Number of operations on a tree that were attempted, successful or not; `None` for other loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempted: Option<u64>,
    /// The attempted operations that failed as expected, by kind (`ENOENT`, `EEXIST`, `ENOSPC`); `None` for other loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_errors: Option<BTreeMap<String, u64>>,
    /// Number of operations on a tree that were skipped; `None` for other loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<u64>,
}

/// CPU time of the load: all threads of the process that drove it, including the kernel's io_uring workers,
/// but not the threads that take samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CpuFigures {
    /// Seconds in user mode.
    pub user_s: f64,
    /// Seconds in the kernel.
    pub system_s: f64,
    /// Microseconds per I/O, including I/Os within the ramp; `None` when there was no I/O.
    pub per_io_us: Option<f64>,
    /// Number of I/Os that ended within the ramp: only the CPU figures include them. 0 in results from before 2026-11-26.
    #[serde(default)]
    pub ramp_ios: u64,
}

/// The operations that make written data durable: they move no bytes, and are not counted in amounts of work.
const DURABLE: [&str; 3] = ["flush", "fsync", "fdatasync"];

/// Returns the operations that count as the work of a load, over which its cost per I/O is computed: all but those that only make others durable;
/// these too where there is nothing else.
pub fn counted_operations<'a>(
    operations: impl Iterator<Item = &'a String> + Clone,
) -> impl Iterator<Item = &'a String> {
    let is_work = |name: &String| !DURABLE.contains(&name.as_str());
    let others = operations.clone().any(is_work);
    operations.filter(move |name| !others || is_work(name))
}

/// The figures of a whole load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSummary {
    /// The seed it ran from.
    pub seed: units::Seed,
    /// The time from the load's start, or the end of its ramp, to its end, nanoseconds. Before 2026-11-25 it began with the first submission
    /// and ended with the last completion.
    pub duration_ns: u64,
    /// The reason why it ended: `duration`, `bytes`, `ios`, `passes`, `steady`, `interrupted`, `errors`, `max_errors`; for a load of a tree also
    /// `equilibrium`, or `unsettled` where that was not reached in time.
    pub ended_by: String,
    /// The figures of each operation over all targets, by its name as given.
    pub operations: BTreeMap<String, OperationSummary>,
    /// The rate that it was asked for; `None` in a closed loop, and in results from before 2026-11-26.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateFacts>,
    /// The figures of each target, when there are several.
    #[serde(default)]
    pub targets: Vec<TargetSummary>,
    /// The work of each job, when there are several; empty in results from before 2026-11-26.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobSummary>,
    /// Content that was asked for; `None` when nothing was to be written.
    pub asked: Option<AskedContent>,
    /// Content that was achieved, measured from the bytes handed to the kernel.
    pub achieved: Option<AchievedContent>,
    /// CPU time it cost; `None` where that cannot be known (virtual time).
    pub cpu: Option<CpuFigures>,
    /// The backend, depth and clock that drove it.
    pub engine: EngineFacts,
    /// The I/Os that took longest, longest first.
    #[serde(default)]
    pub worst: Vec<WorstIo>,
    /// The log of every I/O, when one was asked for.
    #[serde(default)]
    pub io_log: Option<IoLogFacts>,
    /// Tells whether the figures settled; `None` when that was not asked for.
    #[serde(default)]
    pub steady: Option<SteadyFacts>,
    /// The counts and wrong blocks of verification; `None` when it was not asked for.
    #[serde(default)]
    pub verify: Option<VerifyFigures>,
    /// The file tree at the end; `None` for other loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeFacts>,
    /// The durations of pauses of a second or more in which Fathom itself did not run during the load, nanoseconds; empty in results from before
    /// 2026-11-27, where only a notice reports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stood_still_ns: Vec<u64>,
    /// Notices for the reader, in sentences.
    pub notices: Vec<String>,
    /// Things that were asked for and are missing or incomplete: a log, a state, a pass. Each sentence is a notice as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
}

/// The beginning of the notice of a load that measured nothing; the reason follows.
pub const NOTHING_MEASURED: &str = "Nothing was measured: ";

impl LoadSummary {
    /// Returns the summary of a load from `seed` that has done nothing yet.
    pub fn empty(seed: units::Seed) -> Self {
        Self {
            seed,
            duration_ns: 0,
            ended_by: String::new(),
            operations: BTreeMap::new(),
            rate: None,
            targets: Vec::new(),
            jobs: Vec::new(),
            asked: None,
            achieved: None,
            cpu: None,
            engine: EngineFacts::default(),
            worst: Vec::new(),
            io_log: None,
            steady: None,
            verify: None,
            tree: None,
            stood_still_ns: Vec::new(),
            notices: Vec::new(),
            incomplete: Vec::new(),
        }
    }

    /// Returns the number of I/Os by which the work of layers and CPUs is divided: those completed over the whole load, including the ramp. Flushes
    /// count only where there is nothing else ([`counted_operations`]). Operations are assumed to have the same shares within the ramp as after it.
    /// On a tree, attempted operations count: one that misses its file costs time, too.
    pub fn counted_ios(&self) -> u64 {
        let names = counted_operations(self.operations.keys());
        let counted = names.filter_map(|name| self.operations.get(name));
        let ios: u64 = counted.map(|one| one.attempted.unwrap_or(one.ios)).sum();
        (ios as f64 * self.ramp_factor()).round() as u64
    }

    /// Returns the ratio of all I/Os of the load to those in its figures, which leave out the ramp: 1 without a ramp.
    pub fn ramp_factor(&self) -> f64 {
        let measured = self.operations.values().map(|operation| operation.ios).sum::<u64>() as f64;
        let ramp = self.cpu.map_or(0.0, |cpu| cpu.ramp_ios as f64);
        if measured > 0.0 { (measured + ramp) / measured } else { 1.0 }
    }

    /// Returns the slowest and the fastest job by their I/Os per second; `None` if there is only one, or if one of them did not run.
    pub fn slowest_and_fastest(&self) -> Option<(&JobSummary, &JobSummary)> {
        let rates: Option<Vec<_>> = self.jobs.iter().map(|job| Some((job.iops()?, job))).collect();
        let rates = rates.filter(|rates| rates.len() > 1)?;
        let by_rate = |a: &&(f64, _), b: &&(f64, _)| a.0.total_cmp(&b.0);
        Some((rates.iter().min_by(by_rate)?.1, rates.iter().max_by(by_rate)?.1))
    }

    /// Returns the I/Os per second of the slowest job, percent of the fastest's: 100 if all did the same, 0 if one did nothing. `None` if
    /// there is only one job, if one of them did not run, and if none did anything.
    pub fn slowest_job_percent(&self) -> Option<f64> {
        let (slowest, fastest) = self.slowest_and_fastest()?;
        let fastest = fastest.iops().filter(|&iops| iops > 0.0)?;
        Some(100.0 * slowest.iops()? / fastest)
    }

    /// Records that something that was asked for is missing or incomplete.
    pub fn lacks(&mut self, what: String) {
        self.notices.push(what.clone());
        self.incomplete.push(what);
    }
}

/// The rate that an open loop was asked for, and how much of it was done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateFacts {
    /// I/Os per second; `None` where bytes were asked for.
    pub asked_iops: Option<f64>,
    /// Bytes per second; `None` where I/Os were asked for.
    pub asked_bytes_per_s: Option<f64>,
    /// The share of the I/Os due while the load lasted that were done or failed, percent; `None` where nothing was due.
    pub done_percent: Option<f64>,
    /// Tells whether the rate was kept: false where less than 95 % was done, and neither chance nor the wait for the last I/O explains it.
    pub kept: bool,
}

/// The figures of one of several targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetSummary {
    /// The target as it was given.
    pub target: String,
    /// The figures of each operation, by its name as given.
    pub operations: BTreeMap<String, OperationSummary>,
}

/// The work of one of several jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobSummary {
    /// The job, from 0.
    pub job: u32,
    /// The time that it was at work, nanoseconds: from the load's start, or the end of its ramp, until its time was over or its last I/O had
    /// ended. Its rates refer to this time, so that a job that finishes its part of an amount early does not seem slower.
    pub duration_ns: u64,
    /// Number of I/Os that completed without error.
    pub ios: u64,
    /// Bytes that these I/Os moved.
    pub bytes: u64,
    /// Number of I/Os that failed.
    pub errors: u64,
    /// Its figures per operation, where they were asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<String, OperationSummary>,
}

impl JobSummary {
    /// Returns its I/Os per second while it was at work; `None` where it did not run.
    pub fn iops(&self) -> Option<f64> {
        (self.duration_ns > 0).then(|| self.ios as f64 * 1e9 / self.duration_ns as f64)
    }
}

/// One I/O that took long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorstIo {
    /// Its latency, nanoseconds.
    pub latency_ns: u64,
    /// Time at which it was submitted, or should have been (open loop), nanoseconds since the run's epoch.
    pub at_ns: u64,
    /// Its offset on the target, bytes.
    pub offset: u64,
    /// Its length, bytes.
    pub length: u32,
    /// Its operation as given.
    pub operation: String,
    /// Its target as given, when there are several or it is a file.
    pub target: Option<String>,
    /// Tells whether its target is a file, not a block device; `None` in results of earlier versions.
    #[serde(default)]
    pub file: Option<bool>,
    /// The job that did it, from 0.
    pub job: u32,
}

impl WorstIo {
    /// Describes where it went: in a file the offset, on a device the sector; the offset, too, if it is not known which of the two the target
    /// is.
    pub fn place(&self) -> String {
        let on = |word: &str| {
            self.target.as_ref().map_or_else(String::new, |target| format!(" {word} {target}"))
        };
        match self.file {
            Some(false) => format!("LBA {}{}", self.offset / 512, on("on")),
            Some(true) | None => format!("byte {}{}", show::grouped(self.offset), on("of")),
        }
    }
}

/// The outcome of logging every I/O.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoLogFacts {
    /// Path of the log; in a result, relative to its directory.
    pub path: String,
    /// Number of I/Os in the log.
    pub recorded: u64,
    /// Number of I/Os that are not in it: the disk did not keep up, or the log had reached its size limit.
    pub dropped: u64,
    /// Number of dropped I/Os that came after it had reached its limit.
    #[serde(default)]
    pub beyond: u64,
    /// The reason why the log ended early; `None` when it did not.
    pub error: Option<String>,
}

/// The outcome of watching whether a load's figures settled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SteadyFacts {
    /// The watched figure: `iops`, `throughput` or `latency`.
    pub metric: String,
    /// End of the window in which it settled, nanoseconds since the load's start; `None` when it never settled.
    pub settled_ns: Option<u64>,
    /// Length of the window, nanoseconds.
    pub window_ns: u64,
    /// Drift over the last whole window by the straight line through it, percent of its mean; `None` before one was full.
    pub slope_percent: Option<f64>,
    /// Largest minus smallest value of that window, percent of its mean.
    pub spread_percent: Option<f64>,
    /// Drift that was allowed, percent.
    pub slope_limit_percent: f64,
    /// Spread that was allowed, percent.
    pub spread_limit_percent: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_on_a_tree_is_told_for_what_was_tried_and_not_for_what_makes_it_durable() {
        let mut load = LoadSummary::empty(units::Seed(1));
        let summary = |ios, attempted| OperationSummary { ios, attempted, ..Default::default() };
        let all = [("create", 60, Some(100)), ("fsync", 40, Some(40)), ("fdatasync", 5, Some(5))];
        load.operations =
            all.map(|(name, ios, tried)| (name.to_owned(), summary(ios, tried))).into();
        assert_eq!(load.counted_ios(), 100);
        load.operations.remove("create");
        assert_eq!(load.counted_ios(), 45, "where there is nothing else");
        load.operations = [("read".to_owned(), summary(7, None))].into();
        assert_eq!(load.counted_ios(), 7);
    }

    #[test]
    fn the_place_of_a_long_io_is_an_offset_in_a_file_and_a_sector_of_a_device() {
        let mut io = WorstIo {
            latency_ns: 1,
            at_ns: 0,
            offset: 1_048_576,
            length: 4096,
            operation: "randread".into(),
            target: Some("/mnt/a".into()),
            file: Some(true),
            job: 0,
        };
        assert_eq!(io.place(), "byte 1,048,576 of /mnt/a");
        (io.file, io.target) = (Some(false), None);
        assert_eq!(io.place(), "LBA 2048");
        let old = r#"{"latency_ns":1,"at_ns":0,"offset":4096,"length":512,"operation":"read","target":null,"job":0}"#;
        assert_eq!(serde_json::from_str::<WorstIo>(old).unwrap().place(), "byte 4,096");
    }
}
