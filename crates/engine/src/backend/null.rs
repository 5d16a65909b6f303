//! A target that does not exist: every I/O ends as soon as it is submitted, inside the process.
//!
//! This leaves only the cost of the engine itself. A read gives whatever was last in the slot's memory.

use crate::backend::{Backend, Buffers, Reaped, Transfer, Wait};
use crate::error::EngineError;

pub(crate) struct Null {
    buffers: Buffers,
    depth: usize,
    pushed: Vec<Reaped>,
    /// Number of pushed I/Os that were submitted.
    submitted: usize,
}

impl Null {
    pub(crate) fn new(depth: usize, length: usize) -> Result<Self, EngineError> {
        let buffers = Buffers::new(depth, length)?;
        Ok(Self { buffers, depth, pushed: Vec::with_capacity(depth), submitted: 0 })
    }
}

impl Backend for Null {
    fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.pushed.len()
    }

    #[inline]
    fn slot(&mut self, slot: usize) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    #[inline]
    fn push(&mut self, slot: usize, transfer: &Transfer) {
        self.pushed.push(Reaped { slot: slot as u32, result: transfer.left() as i32 });
    }

    #[inline(always)]
    fn turn(&mut self, _: Wait) -> Result<(), EngineError> {
        self.submitted = self.pushed.len();
        Ok(())
    }

    #[inline]
    fn reap(&mut self, into: &mut Vec<Reaped>) {
        if self.submitted == self.pushed.len() && into.is_empty() {
            std::mem::swap(into, &mut self.pushed);
        } else {
            into.extend(self.pushed.drain(..self.submitted));
        }
        self.submitted = 0;
    }
}
