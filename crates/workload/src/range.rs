//! The part of the target that a load uses.

use serde::{Deserialize, Serialize};

use crate::Share;

/// A range of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// Its start, bytes.
    pub start: u64,
    /// Its length, bytes; a rest at the end that holds no whole block is not used.
    pub bytes: u64,
}

impl Range {
    /// Returns its end, bytes.
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }

    /// The part of job `job` of `jobs`, a multiple of `unit`; the whole range unless each job has a part.
    pub(crate) fn part(&self, share: Share, (job, jobs): (u64, u64), unit: u64) -> Self {
        if share != Share::Parts {
            return *self;
        }
        let (unit, jobs) = (unit.max(1), jobs.max(1));
        let units = self.bytes / unit;
        let begin = |job: u64| units / jobs * job + job.min(units % jobs);
        let first = begin(job.min(jobs - 1));
        let bytes = (begin(job.min(jobs - 1) + 1) - first) * unit;
        Self { start: self.start + first * unit, bytes }
    }
}
