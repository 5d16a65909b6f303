//! The second half of a turn: I/Os that have completed are recorded, and those that moved too little are continued.

use std::time::Duration;

use super::{Slot, Worker};
use crate::backend::{Backend, Reaped};
use crate::job_handle::JobHandle;
use crate::record::{Completion, SHORT};

/// Number of times that one I/O which the kernel turns away (EAGAIN, EINTR) is submitted again.
const RETRIES: u32 = 1_000;

impl<B: Backend, J: JobHandle> Worker<B, J> {
    /// Takes all available completions, with the same stamp `now_ns`; tells whether there was any.
    pub(super) fn take(&mut self, now_ns: u64) -> bool {
        let before = self.backend.in_flight();
        self.backend.reap(&mut self.reaped);
        self.depth.reaped(now_ns, self.reaped.len(), before);
        if self.reaped.is_empty() {
            return false;
        }
        let before = self.ended;
        for at in 0..self.reaped.len() {
            let Reaped { slot, result } = self.reaped[at];
            self.complete(slot as usize, result, now_ns);
        }
        self.reaped.clear();
        if let Some((_, last)) = &mut self.outcome.span_ns {
            *last = now_ns;
        }
        if self.ended == before {
            // The kernel turned everything away: it is short of some resource, and an immediate retry would not help.
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    #[inline]
    fn complete(&mut self, slot: usize, result: i32, now_ns: u64) {
        let length = self.slots[slot].transfer.length;
        if result == self.slots[slot].transfer.left() as i32 {
            self.record(slot, now_ns, 0);
            self.failures = 0;
            self.succeeded_ns = now_ns;
        } else {
            let Some(error) = self.submit_rest(slot, result) else { return };
            self.record(slot, now_ns, error);
            self.failures += 1;
            self.setting.status.failed();
        }
        self.ended += 1;
        self.bytes += u64::from(length);
        self.free.push(slot as u32);
    }

    /// Submits the rest of an I/O that did not move everything; returns its error if it is not to be submitted again.
    #[cold]
    fn submit_rest(&mut self, slot: usize, result: i32) -> Option<i32> {
        let Slot { mut transfer, attempts, .. } = self.slots[slot];
        let moved = u32::try_from(result).unwrap_or(0);
        let alignment = self.setting.alignments[usize::from(transfer.target)];
        // Direct I/O cannot start in the middle of a sector: a sector that was moved only in part is moved again as a whole.
        let moved = moved - (u64::from(moved) % alignment) as u32;
        if moved > 0 && moved < transfer.left() {
            self.outcome.short += 1;
            transfer.done += moved;
            self.slots[slot].transfer = transfer;
        } else if [-libc::EAGAIN, -libc::EINTR].contains(&result) && attempts < RETRIES {
            self.outcome.retried += 1;
            self.slots[slot].attempts += 1;
        } else {
            return Some(if result < 0 { -result } else { SHORT });
        }
        self.backend.push(slot, &transfer);
        None
    }

    #[inline]
    fn record(&mut self, slot: usize, reaped_ns: u64, error: i32) {
        let Slot { transfer, operation, intended_ns, stamp_ns, submitted_ns, .. } =
            self.slots[slot];
        if let Some(worker_verifier) = &mut self.worker_verifier {
            let read = self.backend.slot(slot).get(..transfer.length as usize);
            worker_verifier.ended(slot, error == 0, read.unwrap_or_default(), reaped_ns);
        }
        if self.pauses {
            self.job.with(|job| job.gate.ended(reaped_ns));
        }
        if reaped_ns < self.measured_from_ns {
            return;
        }
        self.recorder.record(&Completion {
            operation: operation as usize,
            target: transfer.target.into(),
            offset: transfer.offset,
            length: transfer.length,
            intended_ns,
            submit_ns: stamp_ns,
            submitted_ns,
            reaped_ns,
            error,
        });
    }
}
