//! Patterns that go over the range in order: computes the place of each I/O of a job from its number.

use crate::{Pattern, divided};

/// A pass over the places 0..`places` for one job; the first jobs take one place more if the pass cannot be divided evenly.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Walk {
    /// Every `stride`-th place, starting after `first` strides; each pass begins `shift` places later than the one before.
    Strided { stride: u64, first: u64, last: u64, shift: u64 },
    /// `chunk` places at a time, in turn with the other jobs.
    Interleaved { chunk: u64, job: u64, jobs: u64 },
}

/// Number of places in one pass, all jobs together.
pub(crate) fn pass(pattern: &Pattern, places: u64, last_block: bool) -> u64 {
    match *pattern {
        Pattern::Strided { blocks: stride, shift } => {
            let stride = stride.max(1);
            let off = places > 0 && !(places - 1).is_multiple_of(stride);
            places.div_ceil(stride) + u64::from(last_block && !shift && off)
        }
        _ => places,
    }
}

/// The share of job `job` of `jobs` in `all`, and where it begins.
pub(crate) fn portion(all: u64, (job, jobs): (u64, u64)) -> (u64, u64) {
    let begin = |job: u64| all / jobs * job + job.min(all % jobs);
    (begin(job), begin(job + 1) - begin(job))
}

impl Walk {
    /// The walk of job `job` of `jobs`, and the number of its I/Os in a pass.
    pub(crate) fn new(
        pattern: &Pattern,
        places: u64,
        last_block: bool,
        (job, jobs): (u64, u64),
    ) -> (Self, u64) {
        if let Pattern::Interleaved { chunk } = *pattern {
            // Whole rounds, then the remainder in the last one.
            let chunk = chunk.min(places).max(1);
            let round = chunk * jobs;
            let rest = (places % round).saturating_sub(job * chunk).min(chunk);
            return (Self::Interleaved { chunk, job, jobs }, places / round * chunk + rest);
        }
        let (stride, shift) = match *pattern {
            Pattern::Strided { blocks, shift } => (blocks.max(1), u64::from(shift)),
            _ => (1, 0),
        };
        let (first, share) = portion(pass(pattern, places, last_block), (job, jobs));
        (Self::Strided { stride, first, last: places.saturating_sub(1), shift }, share)
    }

    /// The place of I/O number `at` of pass number `pass`.
    #[inline]
    pub(crate) fn place(&self, pass: u64, at: u64) -> u64 {
        match *self {
            // The last block is the only position beyond the strides.
            Self::Strided { stride, first, last, shift } => {
                let begin = if shift == 0 { 0 } else { pass * shift % stride };
                (first + at).saturating_mul(stride).saturating_add(begin).min(last)
            }
            Self::Interleaved { chunk: 1, job, jobs } => at * jobs + job,
            Self::Interleaved { chunk, job, jobs } => {
                (at / chunk * jobs + job) * chunk + at % chunk
            }
        }
    }

    /// Returns the number of the job's I/O that goes to `place` in pass number `pass`; `None` if there is none.
    #[inline]
    pub(crate) fn index_of(&self, pass: u64, place: u64, share: u64) -> Option<u64> {
        let at = match *self {
            Self::Strided { stride, first, last, shift } => {
                let begin = if shift == 0 { 0 } else { pass * shift % stride };
                let strides = match divided(place.checked_sub(begin)?, stride) {
                    (strides, 0) => strides,
                    (strides, _) if place == last => strides + 1,
                    _ => return None,
                };
                strides.checked_sub(first)?
            }
            Self::Interleaved { chunk, job, jobs } => {
                let (turn, within) = divided(place, chunk);
                let (round, 0) = divided(turn.checked_sub(job)?, jobs) else { return None };
                round * chunk + within
            }
        };
        Some(at).filter(|&at| at < share)
    }
}
