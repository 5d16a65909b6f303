//! Backends: the ways in which I/O reaches a target, one file each, behind one narrow interface.
//!
//! A worker fills the memory of a free slot, pushes the transfer for it, takes a turn (submits what was pushed and waits), and reaps the I/Os that
//! have ended. Workers are compiled for each backend, so that no I/O goes through a table of functions. A slot's memory belongs to the backend from
//! `push` until the I/O is reaped.

mod aio;
mod buffers;
pub(crate) mod calls;
mod files;
mod kernel;
mod null;
mod sync;
mod transfer;
mod uring;

use std::time::Duration;

pub(crate) use aio::Aio;
pub(crate) use buffers::Buffers;
pub(crate) use files::{Files, TargetFile};
pub(crate) use null::Null;
pub(crate) use sync::Inline;
pub(crate) use transfer::{Transfer, Verb};
pub(crate) use uring::Ring;

use crate::error::EngineError;

/// Returns how many I/Os are submitted at a time to a target that works in parallel with the worker; `in_flight` I/Os are at the target.
///
/// At most half the depth, so that the target always has work left. Large enough that the cost of a system call is small compared with that of the
/// I/Os: a worker that returns too often cannot keep a large depth. And not more than are in flight, so that an idle target gets a few at once, then
/// twice as many each time.
fn portion(depth: usize, in_flight: usize) -> usize {
    const MIN_PORTION: usize = 4;
    in_flight.max(MIN_PORTION).min((depth / 2).clamp(1, 64))
}

/// The completion of one I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reaped {
    pub slot: u32,
    /// Bytes moved, or a negative error number. An I/O that moves no bytes reports its length on success.
    pub result: i32,
}

/// The end of a turn's wait: a number of completions, or a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    /// Completions to wait for; 0 only submits.
    pub completions: usize,
    /// The longest wait.
    pub patience: Duration,
}

/// A way to drive a target with up to `depth` I/Os in flight.
pub(crate) trait Backend: Sized {
    /// Number of slots.
    fn depth(&self) -> usize;

    /// Most I/Os that the next call submits. A target that works in parallel with the worker (a device, a kernel thread) should begin with the first
    /// I/Os before the last are prepared: a worker that found all its I/Os complete would otherwise submit them all at once again, and the two would
    /// take turns waiting for each other.
    fn portion(&self) -> usize {
        usize::MAX
    }

    /// I/Os that were pushed and not reaped.
    fn in_flight(&self) -> usize;

    /// The memory of a slot that is not in flight.
    fn slot(&mut self, slot: usize) -> &mut [u8];

    /// Queues `transfer` from or to the memory of `slot`; nothing reaches the kernel before the next turn.
    fn push(&mut self, slot: usize, transfer: &Transfer);

    /// Submits what was pushed and waits, in as few system calls as possible. At least one I/O must be in flight.
    ///
    /// Signals, a timeout and a kernel short of resources end the wait early. A failed I/O is not an error of the call; the call fails only if the
    /// backend cannot work at all.
    ///
    /// Implementations must always be inlined: a return after a system call is expensive ([`kernel`]).
    fn turn(&mut self, wait: Wait) -> Result<(), EngineError>;

    /// Adds every I/O that has ended to `into`; the memory of its slot is the caller's again.
    fn reap(&mut self, into: &mut Vec<Reaped>);

    /// Announces that nobody will wait for the I/Os in flight any more: dropping the backend then leaves their memory to the kernel at once.
    fn give_up(&mut self) {}

    /// Completions that the kernel had to drop because their queue was full.
    fn overflowed(&mut self) -> u32 {
        0
    }

    /// Tells whether both buffers and files are registered with the kernel.
    fn is_registered(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::portion;

    #[test]
    fn a_target_that_stands_still_gets_a_few_and_then_twice_as_many() {
        let (mut in_flight, mut calls) = (0, Vec::new());
        while in_flight < 128 {
            calls.push(portion(128, in_flight).min(128 - in_flight));
            in_flight += calls[calls.len() - 1];
        }
        assert_eq!(calls, [4, 4, 8, 16, 32, 64]);
    }

    #[test]
    fn a_portion_is_at_most_half_of_the_depth_and_never_empty() {
        for (depth, most) in [(1, 1), (2, 1), (3, 1), (8, 4), (32, 16), (128, 64), (1024, 64)] {
            let portions = (0..depth).map(|in_flight| portion(depth, in_flight));
            assert!(portions.clone().all(|portion| (1..=most).contains(&portion)), "depth {depth}");
            assert_eq!(portions.max(), Some(most), "depth {depth}");
        }
    }
}
