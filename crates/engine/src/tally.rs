//! Tallies of operations on targets: counts, errors by kind, latencies.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use results::model::{IntervalRow, OperationSummary, Outcomes};

use crate::error::EngineError;
use crate::record::{Buckets, Completion, Errors, Worst};

/// The shape of a tally: the figures that are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Shape {
    /// Operations of the load.
    pub operations: usize,
    /// Targets of the load.
    pub targets: usize,
    /// Tells whether submission and completion latency are kept apart.
    pub split: bool,
    /// Tells whether the load is an open loop, so that I/Os can be late.
    pub open: bool,
    /// Tells whether I/Os differ in length, so that their bandwidth does not follow from their latency.
    pub mixed: bool,
    /// Number of the worst I/Os that are kept.
    pub worst: usize,
    /// Jobs of the load.
    pub jobs: usize,
    /// Tells whether figures of each job are kept.
    pub per_job: bool,
    /// Tells whether operations have outcomes other than done and failed, as those on a file tree do.
    pub outcomes: bool,
}

/// The outcome of an operation on a file tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It succeeded, after this many nanoseconds.
    Done(u64),
    /// It failed with this error number, as it had to.
    Expected(i32),
    /// It failed with this error number, although it should not have.
    Unexpected(i32),
    /// It was not tried.
    Skipped,
}

/// The tally of one operation on one target.
#[derive(Debug, Clone)]
pub(crate) struct OpTally {
    latency: Buckets,
    bytes: u64,
    errors: Errors,
    /// Failures that had to happen.
    expected: Errors,
    /// Operations that were not tried.
    skipped: u64,
    /// Latencies of submission and of completion, where they are kept apart.
    split: Option<(Buckets, Buckets)>,
    lateness: Option<Buckets>,
    /// The bandwidth of each I/O, bytes per second.
    bandwidth: Option<Buckets>,
}

impl OpTally {
    fn new(shape: Shape) -> Self {
        Self {
            latency: Buckets::new(),
            bytes: 0,
            errors: Errors::default(),
            expected: Errors::default(),
            skipped: 0,
            split: shape.split.then(|| (Buckets::new(), Buckets::new())),
            lateness: shape.open.then(Buckets::new),
            bandwidth: shape.mixed.then(Buckets::new),
        }
    }

    /// I/Os that completed without error.
    pub(crate) fn ios(&self) -> u64 {
        self.latency.total()
    }

    /// Operations on a tree that were tried, whatever the outcome.
    fn attempted(&self) -> u64 {
        self.ios() + self.errors.total() + self.expected.total()
    }

    fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.bytes += other.bytes;
        self.errors.merge(&other.errors);
        self.expected.merge(&other.expected);
        self.skipped += other.skipped;
        if let (Some((a, b)), Some((c, d))) = (&mut self.split, &other.split) {
            a.merge(c);
            b.merge(d);
        }
        if let (Some(into), Some(from)) = (&mut self.lateness, &other.lateness) {
            into.merge(from);
        }
        if let (Some(into), Some(from)) = (&mut self.bandwidth, &other.bandwidth) {
            into.merge(from);
        }
    }

    fn clear(&mut self) {
        self.latency.clear();
        self.bytes = 0;
        (self.errors, self.expected, self.skipped) = Default::default();
        if let Some((submission, completion)) = &mut self.split {
            submission.clear();
            completion.clear();
        }
        for buckets in [&mut self.lateness, &mut self.bandwidth].into_iter().flatten() {
            buckets.clear();
        }
    }

    fn summary(&self, duration_ns: u64, outcomes: bool) -> Result<OperationSummary, EngineError> {
        let per_second =
            |n: u64| (duration_ns > 0 && n > 0).then(|| n as f64 * 1e9 / duration_ns as f64);
        let latency = self.latency.histogram()?;
        let (ios, short) = (latency.len(), |buckets: Option<&Buckets>| {
            let histogram = buckets.map(Buckets::histogram).transpose()?;
            Ok::<_, EngineError>(histogram.as_ref().and_then(results::histogram::summary))
        });
        let bandwidths = self.bandwidth.as_ref().map(Buckets::histogram).transpose()?;
        let is_one =
            self.bandwidth.is_none() && !outcomes && ios > 0 && self.bytes.is_multiple_of(ios);
        Ok(OperationSummary {
            io_bytes: (is_one && self.bytes > 0).then(|| self.bytes / ios),
            bandwidths: bandwidths.as_ref().and_then(encoded),
            ios,
            bytes: self.bytes,
            errors: self.errors.by_name(),
            iops: per_second(ios),
            throughput_bytes_per_s: per_second(self.bytes),
            latency: results::histogram::summary(&latency),
            histogram: encoded(&latency),
            submission: short(self.split.as_ref().map(|s| &s.0))?,
            completion: short(self.split.as_ref().map(|s| &s.1))?,
            lateness: short(self.lateness.as_ref())?,
            attempted: outcomes.then(|| self.attempted()),
            expected_errors: outcomes.then(|| self.expected.by_name()),
            skipped: outcomes.then_some(self.skipped),
        })
    }
}

/// The tallies of every operation of a load on every target, and the worst I/Os.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    shape: Shape,
    /// The tallies, by target, then by operation.
    parts: Box<[OpTally]>,
    /// The slowest I/Os that this worker has seen since the load began, not only in this tally's time.
    pub worst: Worst,
}

impl Tally {
    pub(crate) fn new(shape: Shape) -> Self {
        let parts = (0..shape.operations * shape.targets).map(|_| OpTally::new(shape)).collect();
        Self { shape, parts, worst: Worst::new(shape.worst) }
    }

    /// Counts an I/O that completed without error.
    #[inline]
    pub(crate) fn completed(&mut self, io: &Completion) {
        let part = &mut self.parts[io.target * self.shape.operations + io.operation];
        part.latency.add(io.latency_ns());
        part.bytes += u64::from(io.length);
    }

    /// Counts the figures that are kept only when the load asks for them.
    #[inline]
    pub(crate) fn extras(&mut self, io: &Completion) {
        let part = &mut self.parts[io.target * self.shape.operations + io.operation];
        if let Some((submission, completion)) = &mut part.split {
            submission.add(io.submitted_ns.saturating_sub(io.submit_ns));
            completion.add(io.reaped_ns.saturating_sub(io.submitted_ns));
        }
        if let Some(lateness) = &mut part.lateness {
            lateness.add(io.submit_ns.saturating_sub(io.intended_ns));
        }
        if let Some(bandwidth) = part.bandwidth.as_mut().filter(|_| io.length > 0) {
            bandwidth.add(results::histogram::bandwidth(io.length.into(), io.latency_ns()));
        }
    }

    /// Counts an I/O that failed.
    pub(crate) fn failed(&mut self, io: &Completion) {
        self.parts[io.target * self.shape.operations + io.operation].errors.add(io.error, 1);
    }

    /// Counts an operation on a file tree with its outcome and the bytes that it moved.
    #[inline]
    pub(crate) fn ended(&mut self, operation: usize, outcome: Outcome, bytes: u64) {
        let part = &mut self.parts[operation];
        part.bytes += bytes;
        match outcome {
            Outcome::Done(latency_ns) => part.latency.add(latency_ns),
            Outcome::Expected(errno) => part.expected.add(errno, 1),
            Outcome::Unexpected(errno) => part.errors.add(errno, 1),
            Outcome::Skipped => part.skipped += 1,
        }
    }

    /// Adds what `other` counted; the worst I/Os stay as they are.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.parts.iter_mut().zip(&other.parts).for_each(|(into, from)| into.merge(from));
    }

    pub(crate) fn clear(&mut self) {
        self.parts.iter_mut().for_each(OpTally::clear);
    }

    /// I/Os that completed, of all operations.
    pub(crate) fn ios(&self) -> u64 {
        self.parts.iter().map(OpTally::ios).sum()
    }

    /// Bytes that were moved, by all operations.
    pub(crate) fn bytes(&self) -> u64 {
        self.parts.iter().map(|t| t.bytes).sum()
    }

    /// I/Os that failed, of all operations.
    pub(crate) fn errors(&self) -> u64 {
        self.parts.iter().map(|t| t.errors.total()).sum()
    }

    /// Returns the tally of one operation over all targets.
    fn over_targets(&self, operation: usize) -> OpTally {
        let mut sum = OpTally::new(self.shape);
        for target in 0..self.shape.targets {
            sum.merge(&self.parts[target * self.shape.operations + operation]);
        }
        sum
    }

    /// One row for each operation over the interval from `start_ns` to `end_ns`.
    pub(crate) fn rows(
        &self,
        stage: usize,
        names: &[String],
        start_ns: u64,
        end_ns: u64,
    ) -> Result<Vec<IntervalRow>, EngineError> {
        let row = |(operation, name): (usize, &String)| {
            let tally = self.over_targets(operation);
            let latency = tally.latency.histogram()?;
            Ok(IntervalRow {
                stage,
                operation: name.clone(),
                start_ns,
                end_ns,
                ios: latency.len(),
                bytes: tally.bytes,
                errors: tally.errors.total(),
                outcomes: self.shape.outcomes.then(|| Outcomes {
                    attempted: tally.attempted(),
                    expected: tally.expected.total(),
                    skipped: tally.skipped,
                }),
                latency: results::histogram::summary(&latency),
                histogram: encoded(&latency),
            })
        };
        names.iter().enumerate().map(row).collect()
    }

    /// The summary of each operation over `duration_ns`, all targets together.
    pub(crate) fn summaries(
        &self,
        names: &[String],
        duration_ns: u64,
    ) -> Result<BTreeMap<String, OperationSummary>, EngineError> {
        let summary = |(operation, name): (usize, &String)| {
            Ok((
                name.clone(),
                self.over_targets(operation).summary(duration_ns, self.shape.outcomes)?,
            ))
        };
        names.iter().enumerate().map(summary).collect()
    }

    /// The summary of each operation on the target at place `target`.
    pub(crate) fn summaries_of(
        &self,
        target: usize,
        names: &[String],
        duration_ns: u64,
    ) -> Result<BTreeMap<String, OperationSummary>, EngineError> {
        let parts = &self.parts[target * self.shape.operations..][..self.shape.operations];
        let summary = |(part, name): (&OpTally, &String)| {
            Ok((name.clone(), part.summary(duration_ns, self.shape.outcomes)?))
        };
        parts.iter().zip(names).map(summary).collect()
    }
}

fn encoded(latency: &Histogram<u64>) -> Option<String> {
    if latency.is_empty() { None } else { results::histogram::encode(latency).ok() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::{LONGEST_NS, SHORT};

    /// The shape of `operations` operations on one target, without any extras.
    pub(crate) fn plain(operations: usize) -> Shape {
        Shape { operations, targets: 1, jobs: 1, ..Shape::default() }
    }

    /// An I/O that took `latency_ns`.
    pub(crate) fn io(operation: usize, latency_ns: u64, length: u32) -> Completion {
        Completion { operation, length, reaped_ns: latency_ns, ..Completion::default() }
    }

    fn failure(operation: usize, error: i32) -> Completion {
        Completion { operation, error, ..Completion::default() }
    }

    #[test]
    fn merged_tallies_are_the_tally_of_all_ios() {
        let (mut a, mut b) = (Tally::new(plain(2)), Tally::new(plain(2)));
        a.completed(&io(0, 1_000, 4096));
        b.completed(&io(0, 9_000_000, 4096));
        b.completed(&io(1, 5, 512));
        b.failed(&failure(1, libc::ENOSPC));
        b.failed(&failure(0, SHORT));
        a.merge(&b);
        assert_eq!((a.ios(), a.errors()), (3, 2));
        let names = ["read".to_owned(), "write".to_owned()];
        let summary = a.summaries(&names, 2_000_000_000).unwrap();
        assert_eq!(summary["read"].bytes, 8192);
        assert_eq!(summary["read"].iops, Some(1.0));
        assert_eq!(summary["read"].errors["short"], 1);
        assert_eq!(summary["write"].errors["ENOSPC"], 1);
        assert!(summary["read"].submission.is_none() && summary["read"].lateness.is_none());
        a.clear();
        let rows = a.rows(3, &names, 7, 8).unwrap();
        assert_eq!((rows.len(), rows[0].ios, rows[0].errors, rows[0].bytes), (2, 0, 0, 0));
        assert_eq!((rows[1].stage, rows[1].start_ns, rows[1].end_ns), (3, 7, 8));
        assert!(rows.iter().all(|r| r.latency.is_none() && r.histogram.is_none()));
    }

    #[test]
    fn every_target_has_its_own_figures_and_rows_are_their_sum() {
        let mut tally = Tally::new(Shape { targets: 2, ..plain(1) });
        tally.completed(&io(0, 100, 4096));
        tally.completed(&Completion { target: 1, ..io(0, 1_000, 512) });
        tally.completed(&Completion { target: 1, ..io(0, 2_000, 512) });
        let names = ["read".to_owned()];
        let of = |target| tally.summaries_of(target, &names, 1).unwrap()["read"].clone();
        assert_eq!((of(0).ios, of(0).bytes, of(1).ios, of(1).bytes), (1, 4096, 2, 1024));
        assert_eq!(of(1).latency.unwrap().min_ns, 1_000);
        let sum = &tally.summaries(&names, 1).unwrap()["read"];
        assert_eq!((sum.ios, sum.bytes, sum.latency.unwrap().min_ns), (3, 5120, 100));
        assert_eq!(tally.rows(0, &names, 0, 1).unwrap()[0].ios, 3);
    }

    #[test]
    fn lateness_and_the_parts_of_a_latency_are_told_apart_when_they_are_asked_for() {
        let mut tally = Tally::new(Shape { split: true, open: true, ..plain(1) });
        let io = Completion {
            intended_ns: 100,
            submit_ns: 130,
            submitted_ns: 137,
            reaped_ns: 1_137,
            ..Completion::default()
        };
        tally.completed(&io);
        tally.extras(&io);
        let summary = &tally.summaries(&["read".to_owned()], 1).unwrap()["read"];
        let max = |l: Option<results::model::LatencySummary>| l.unwrap().max_ns;
        assert_eq!(max(summary.latency), 1_037);
        assert_eq!((max(summary.lateness), max(summary.submission)), (30, 7));
        assert_eq!(max(summary.completion), 1_000);
    }

    #[test]
    fn a_latency_beyond_an_hour_counts_as_an_hour() {
        let mut tally = Tally::new(plain(1));
        tally.completed(&io(0, u64::MAX, 1));
        let rows = tally.rows(0, &["read".to_owned()], 0, 1).unwrap();
        let longest = rows[0].latency.unwrap().max_ns;
        assert!((LONGEST_NS..LONGEST_NS + LONGEST_NS / 500).contains(&longest), "{longest}");
    }
}
