//! Figures of all jobs of a load together, and of each job.

use std::collections::BTreeMap;

use results::model::{JobRow, JobSummary};

use crate::error::EngineError;
use crate::record::Completion;
use crate::tally::{Shape, Tally};

/// The counts of one job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct JobCount {
    ios: u64,
    bytes: u64,
    errors: u64,
}

/// The tally of all jobs together, the counts of each job, and each job's whole tally if figures per job are kept. Workers do not use it: each has a
/// separate tally, and these are merged here.
#[derive(Debug, Clone)]
pub(crate) struct JobTallies {
    /// All jobs together.
    pub all: Tally,
    counts: Box<[JobCount]>,
    /// One for each job, or none.
    tallies: Box<[Tally]>,
}

impl JobTallies {
    pub(crate) fn new(shape: Shape) -> Self {
        let kept = if shape.per_job { shape.jobs } else { 0 };
        Self {
            all: Tally::new(shape),
            counts: vec![JobCount::default(); shape.jobs].into(),
            tallies: (0..kept).map(|_| Tally::new(shape)).collect(),
        }
    }

    /// Adds what a worker of `job` counted.
    pub(crate) fn add(&mut self, job: usize, tally: &Tally) {
        self.all.merge(tally);
        if let Some(count) = self.counts.get_mut(job) {
            count.ios += tally.ios();
            count.bytes += tally.bytes();
            count.errors += tally.errors();
        }
        if let Some(of_job) = self.tallies.get_mut(job) {
            of_job.merge(tally);
        }
    }

    /// Counts one I/O of `job` that completed without error.
    pub(crate) fn completed(&mut self, job: usize, io: &Completion) {
        if let Some(count) = self.counts.get_mut(job) {
            count.ios += 1;
            count.bytes += u64::from(io.length);
        }
        for tally in std::iter::once(&mut self.all).chain(self.tallies.get_mut(job)) {
            tally.completed(io);
            tally.extras(io);
        }
    }

    /// Adds what `other` counted; the worst I/Os stay as they are.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all);
        for (into, from) in self.counts.iter_mut().zip(&other.counts) {
            into.ios += from.ios;
            into.bytes += from.bytes;
            into.errors += from.errors;
        }
        self.tallies.iter_mut().zip(&other.tallies).for_each(|(into, from)| into.merge(from));
    }

    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.counts.fill(JobCount::default());
        self.tallies.iter_mut().for_each(Tally::clear);
    }

    /// One row for each operation of each job; empty where figures per job are not kept.
    pub(crate) fn job_rows(
        &self,
        stage: usize,
        names: &[String],
        (start_ns, end_ns): (u64, u64),
    ) -> Result<Vec<JobRow>, EngineError> {
        let mut rows = Vec::new();
        for (job, tally) in self.tallies.iter().enumerate() {
            let job_rows = tally.rows(stage, names, start_ns, end_ns)?;
            rows.extend(job_rows.into_iter().map(|part| JobRow { job: job as u32, part }));
        }
        Ok(rows)
    }

    /// The figures of each job, if there are several; `worked_ns` says how long each was at work.
    pub(crate) fn summaries(
        &self,
        names: &[String],
        worked_ns: &[u64],
    ) -> Result<Vec<JobSummary>, EngineError> {
        let several = self.counts.iter().zip(worked_ns).enumerate();
        let several = several.filter(|_| self.counts.len() > 1);
        let summary = |(job, (count, &duration_ns)): (usize, (&JobCount, &u64))| {
            let operations =
                self.tallies.get(job).map(|of_job| of_job.summaries(names, duration_ns));
            Ok(JobSummary {
                job: job as u32,
                duration_ns,
                ios: count.ios,
                bytes: count.bytes,
                errors: count.errors,
                operations: operations.transpose()?.unwrap_or_else(BTreeMap::new),
            })
        };
        several.map(summary).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::{io, plain};

    fn names() -> [String; 1] {
        ["read".to_owned()]
    }

    fn done(shape: Shape) -> JobTallies {
        let mut jobs = JobTallies::new(shape);
        let mut worker = Tally::new(shape);
        worker.completed(&io(0, 100, 4096));
        worker.completed(&io(0, 300, 4096));
        jobs.add(1, &worker);
        jobs.completed(0, &io(0, 900, 512));
        jobs
    }

    #[test]
    fn jobs_are_counted_always_and_told_apart_where_it_is_asked() {
        let shape = Shape { jobs: 2, ..plain(1) };
        let jobs = done(shape);
        assert_eq!(jobs.all.ios(), 3);
        assert_eq!(jobs.job_rows(0, &names(), (0, 1)).unwrap(), []);
        let counted = jobs.summaries(&names(), &[1_000_000_000, 2_000_000_000]).unwrap();
        assert_eq!((counted[0].ios, counted[0].bytes, counted[0].iops()), (1, 512, Some(1.0)));
        assert_eq!((counted[1].ios, counted[1].bytes, counted[1].iops()), (2, 8192, Some(1.0)));
        assert!(counted.iter().all(|job| job.operations.is_empty()));

        let jobs = done(Shape { per_job: true, ..shape });
        let rows = jobs.job_rows(3, &names(), (5, 9)).unwrap();
        let figures = |row: &JobRow| (row.job, row.part.stage, row.part.ios, row.part.start_ns);
        assert_eq!(rows.iter().map(figures).collect::<Vec<_>>(), [(0, 3, 1, 5), (1, 3, 2, 5)]);
        let reads = &jobs.summaries(&names(), &[1, 1]).unwrap()[1].operations["read"];
        assert_eq!((reads.ios, reads.latency.unwrap().max_ns), (2, 300));
    }

    #[test]
    fn intervals_of_jobs_add_up_and_one_job_has_none_beside_it() {
        let shape = Shape { jobs: 2, per_job: true, ..plain(1) };
        let mut total = JobTallies::new(shape);
        let mut interval = done(shape);
        total.merge(&interval);
        interval.clear();
        total.merge(&interval);
        assert_eq!(total.summaries(&names(), &[1, 1]).unwrap()[1].ios, 2);
        assert!(interval.job_rows(0, &names(), (0, 1)).unwrap().iter().all(|r| r.part.ios == 0));
        assert_eq!(JobTallies::new(plain(1)).summaries(&names(), &[1]).unwrap(), []);
    }
}
