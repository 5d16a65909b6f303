//! The first half of a turn: free slots get the next I/Os, and I/Os that were pushed get their stamps.

use std::time::Duration;

use super::{Remaining, Slot, Worker};
use crate::backend::{Backend, Wait};
use crate::error::EngineError;
use crate::job::{self, NextIo};
use crate::job_handle::JobHandle;

impl<B: Backend, J: JobHandle> Worker<B, J> {
    /// Number of completions to wait for before a batch can be submitted.
    pub(super) fn wanted(&self) -> usize {
        let missing = self.setting.batch.saturating_sub(self.free.len());
        missing.clamp(1, self.backend.in_flight().max(1))
    }

    /// Fills free slots with the next I/Os, as many as may start at `now_ns`.
    pub(super) fn refill(&mut self, now_ns: u64) -> Remaining {
        if self.free.len() < self.setting.batch && self.backend.in_flight() > 0 {
            return Remaining::More;
        }
        if let Some(next) = self.reserved.filter(|next| next.intended_ns > now_ns) {
            return Remaining::NotBefore(next.intended_ns);
        }
        let portion = if self.whole { usize::MAX } else { self.backend.portion() };
        while let Some(&slot) = self.free.last()
            && self.fresh.len() < portion
            && let Some(next) = self.job.claimed()
        {
            if let Some(worker_verifier) = &mut self.worker_verifier {
                job::announce(worker_verifier, slot as usize, &next.transfer);
            }
            self.free.pop();
            self.slots[slot as usize] = Slot::of(&next);
            self.backend.push(slot as usize, &next.transfer);
            self.fresh.push(slot);
        }
        let Self { backend, job, worker_verifier, slots, free, fresh, reserved, .. } = self;
        if free.is_empty() {
            return Remaining::More;
        }
        job.with(|job| {
            while let Some(&slot) = free.last() {
                if fresh.len() >= portion {
                    return Remaining::Portion;
                }
                let answer = match *reserved {
                    Some(next) => {
                        *reserved = None;
                        NextIo::Io(next)
                    }
                    None => job.next(now_ns),
                };
                let next = match answer {
                    NextIo::Io(next) if next.intended_ns > now_ns => {
                        *reserved = Some(next);
                        return Remaining::NotBefore(next.intended_ns);
                    }
                    NextIo::Io(next) => next,
                    NextIo::NotBefore(at_ns) => return Remaining::NotBefore(at_ns),
                    NextIo::Over => return Remaining::Nothing,
                };
                let at = slot as usize;
                job.prepare(at, &next.transfer, backend.slot(at), worker_verifier.as_mut());
                free.pop();
                slots[at] = Slot::of(&next);
                backend.push(at, &next.transfer);
                fresh.push(slot);
            }
            Remaining::More
        })
    }

    /// Stamps every I/O that was filled since the last turn: one clock reading, just before they are submitted.
    #[inline]
    pub(super) fn stamp(&mut self) {
        let now_ns = self.setting.stamps.now_ns();
        self.depth.submitting(now_ns, self.fresh.len(), self.backend.in_flight());
        if self.fresh.is_empty() {
            return;
        }
        for &slot in &self.fresh {
            let slot = &mut self.slots[slot as usize];
            slot.stamp_ns = now_ns;
            if slot.intended_ns == 0 {
                slot.intended_ns = now_ns;
            }
        }
        if self.outcome.span_ns.is_none() {
            self.outcome.span_ns = Some((now_ns.max(self.measured_from_ns), now_ns));
        }
    }

    /// Submits without waiting, and stamps the submitted I/Os after the call.
    #[inline(always)]
    pub(super) fn submit(&mut self) -> Result<(), EngineError> {
        self.backend.turn(Wait { completions: 0, patience: Duration::ZERO })?;
        let now_ns = self.setting.stamps.now_ns();
        for &slot in &self.fresh {
            self.slots[slot as usize].submitted_ns = now_ns;
        }
        Ok(())
    }
}
