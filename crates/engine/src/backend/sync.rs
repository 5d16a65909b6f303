//! Plain system calls, one I/O at a time, in the worker's own thread.
//!
//! A load of depth n runs n such threads, which take their I/Os from one job in its order: where a target does its work inside
//! the call (zram, tmpfs, dm-vdo's reads of its cache), this costs less than any queue.

use crate::backend::{Backend, Buffers, Files, Reaped, Transfer, Wait, calls};
use crate::error::EngineError;

pub(crate) struct Inline {
    files: Files,
    buffers: Buffers,
    pushed: Option<Transfer>,
    result: Option<i32>,
}

impl Inline {
    /// A backend for one I/O of up to `length` bytes at a time.
    pub(crate) fn new(files: Files, length: usize) -> Result<Self, EngineError> {
        Ok(Self { files, buffers: Buffers::new(1, length)?, pushed: None, result: None })
    }
}

impl Backend for Inline {
    fn depth(&self) -> usize {
        1
    }

    #[inline]
    fn in_flight(&self) -> usize {
        usize::from(self.pushed.is_some() || self.result.is_some())
    }

    #[inline]
    fn slot(&mut self, slot: usize) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    #[inline]
    fn push(&mut self, _: usize, transfer: &Transfer) {
        self.pushed = Some(*transfer);
    }

    #[inline(always)]
    fn turn(&mut self, _: Wait) -> Result<(), EngineError> {
        if let Some(transfer) = self.pushed.take() {
            // SAFETY: the slot holds the largest length that is asked for, and this thread alone uses it.
            let result = unsafe { calls::perform(&self.files, &transfer, self.buffers.address(0)) };
            self.result = Some(result);
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, into: &mut Vec<Reaped>) {
        into.extend(self.result.take().map(|result| Reaped { slot: 0, result }));
    }
}
