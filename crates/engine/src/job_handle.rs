//! Access of workers to their job: one worker owns it, or several threads share it under a lock.

use std::sync::{Arc, Mutex, PoisonError};

use crate::job::{Job, Next, NextIo};

/// I/Os that a thread claims at a time, where their order does not matter.
const CLAIM: usize = 16;

/// A worker's access to its job.
pub(crate) trait JobHandle: Send {
    /// Calls `work` with the job; nobody else uses the job during the call.
    fn with<R>(&mut self, work: impl FnOnce(&mut Job) -> R) -> R;

    /// The next of the I/Os that this worker has claimed; `None` when the job has to be asked.
    #[inline(always)]
    fn claimed(&mut self) -> Option<Next> {
        None
    }
}

impl JobHandle for Job {
    #[inline]
    fn with<R>(&mut self, work: impl FnOnce(&mut Job) -> R) -> R {
        work(self)
    }
}

/// A job that several threads share. They take its I/Os one by one in its order, under a lock; random reads are taken several at a time, so that the
/// lock is not paid for each.
pub(crate) struct SharedJob {
    job: Arc<Mutex<Job>>,
    /// Threads that share it.
    threads: usize,
    /// The I/Os that this thread has claimed, the last one first.
    claimed: Vec<Next>,
}

impl SharedJob {
    /// The handles of `threads` threads on one job.
    pub(crate) fn among(threads: usize, job: Job) -> impl Iterator<Item = Self> {
        let job = Arc::new(Mutex::new(job));
        let handle =
            move |_| Self { job: job.clone(), threads, claimed: Vec::with_capacity(CLAIM) };
        (0..threads).map(handle)
    }

    #[inline(never)]
    fn claim(&mut self) {
        let Self { job, threads, claimed } = self;
        let mut job = job.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..job.claimable(*threads, CLAIM) {
            let NextIo::Io(next) = job.next(0) else { break };
            claimed.push(next);
        }
        claimed.reverse();
    }
}

impl JobHandle for SharedJob {
    #[inline]
    fn with<R>(&mut self, work: impl FnOnce(&mut Job) -> R) -> R {
        work(&mut self.job.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[inline]
    fn claimed(&mut self) -> Option<Next> {
        if self.claimed.is_empty() {
            self.claim();
        }
        self.claimed.pop()
    }
}
