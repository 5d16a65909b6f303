//! Jobs on their way from the walk to the workers.
//!
//! The walk is ahead of the workers most of the time, and its work for one job takes next to no time. Waking it for every job that is
//! taken would cost two context switches each, so it is woken when half of the jobs are gone.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::source::Job;

/// A bounded queue with one thread that hands out jobs and several that take them.
pub struct Queue {
    state: Mutex<State>,
    /// There is a job, or there will be none.
    filled: Condvar,
    /// Half of the jobs are gone, or nobody takes them any more.
    emptied: Condvar,
    most: usize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    takers: usize,
    /// Blocks of all jobs that were handed out.
    blocks: u64,
    over: bool,
}

/// The handle of a thread that takes jobs; the walk ends when there is no taker left.
pub struct Taker<'a>(&'a Queue);

impl Queue {
    /// Creates an empty queue for at most `most` jobs.
    pub fn new(most: usize) -> Self {
        let most = most.max(2);
        Self { state: Mutex::default(), filled: Condvar::new(), emptied: Condvar::new(), most }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates one more taker.
    pub fn taker(&self) -> Taker<'_> {
        self.state().takers += 1;
        Taker(self)
    }

    /// Hands out a job, when there is room; false when nobody takes jobs any more.
    pub fn send(&self, job: Job) -> bool {
        let mut state = self.state();
        if state.jobs.len() >= self.most {
            let full = |state: &mut State| state.takers > 0 && state.jobs.len() > self.most / 2;
            state = self.emptied.wait_while(state, full).unwrap_or_else(PoisonError::into_inner);
        }
        if state.takers == 0 {
            return false;
        }
        state.blocks = job.position + job.blocks();
        state.jobs.push_back(job);
        drop(state);
        self.filled.notify_one();
        true
    }

    /// Says that there will be no more jobs.
    pub fn end(&self) {
        self.state().over = true;
        self.filled.notify_all();
    }
}

impl Taker<'_> {
    /// The next job; `None` when all were taken.
    pub fn take(&self) -> Option<Job> {
        let Queue { filled, emptied, most, .. } = self.0;
        let none = |state: &mut State| state.jobs.is_empty() && !state.over;
        let state = self.0.state();
        let mut state = filled.wait_while(state, none).unwrap_or_else(PoisonError::into_inner);
        let job = state.jobs.pop_front();
        let half = state.jobs.len() == most / 2;
        drop(state);
        if half {
            emptied.notify_one();
        }
        job
    }

    /// Returns the blocks of all jobs that were handed out; every taker gets the same number once there is no job left.
    pub fn blocks(&self) -> u64 {
        self.0.state().blocks
    }
}

impl Drop for Taker<'_> {
    fn drop(&mut self) {
        self.0.state().takers -= 1;
        self.0.emptied.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_taken_once_and_in_order_by_one() {
        let queue = Queue::new(4);
        std::thread::scope(|scope| {
            let taker = queue.taker();
            scope.spawn(|| {
                (0..1000).for_each(|number| {
                    assert!(queue.send(Job { number, ..Job::default() }));
                });
                queue.end();
            });
            let taken: Vec<u64> =
                std::iter::from_fn(|| taker.take().map(|job| job.number)).collect();
            assert_eq!(taken, (0..1000).collect::<Vec<_>>());
            assert!(taker.take().is_none());
        });
    }

    #[test]
    fn several_share_what_there_is() {
        let queue = Queue::new(3);
        let takers = [queue.taker(), queue.taker(), queue.taker()];
        let taken: u64 = std::thread::scope(|scope| {
            let threads = takers.map(|taker| {
                scope.spawn(move || std::iter::from_fn(|| taker.take()).map(|job| job.number).sum())
            });
            (0..500).for_each(|number| assert!(queue.send(Job { number, ..Job::default() })));
            queue.end();
            threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum()
        });
        assert_eq!(taken, 499 * 250);
    }

    #[test]
    fn handing_out_ends_when_nobody_takes_any_more() {
        let queue = Queue::new(2);
        let taker = queue.taker();
        std::thread::scope(|scope| {
            let walk = scope.spawn(|| (0..).find(|_| !queue.send(Job::default())));
            assert!(taker.take().is_some());
            drop(taker);
            assert!(walk.join().is_ok_and(|at| at.is_some()));
        });
    }
}
