//! A queue that is kept at its depth: the engine's own backend, which submits in the same portions as under a worker.
//!
//! A free slot is pushed again at once, in portions as the worker does, and one completion is waited for when none is free. The backend's
//! own bookkeeping of slot ownership is included: some nanoseconds.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::shared::{BLOCK, BlockFiller, FloorRun, at_random, in_order, short};
use crate::backend::{Backend, Transfer, Verb, Wait};
use crate::error::EngineError;

/// Longest wait for an I/O before the flag that ends the run is looked at again.
const PATIENCE: Duration = Duration::from_millis(100);

/// The one thread: gets ready, waits for the start, keeps the queue full.
pub(super) fn work<B: Backend>(
    backend: Result<B, EngineError>,
    run: &FloorRun,
) -> Result<u64, EngineError> {
    run.start.wait();
    let mut backend = backend?;
    if run.sequential {
        keep(&mut backend, run, in_order(run.blocks))
    } else {
        keep(&mut backend, run, at_random(run.blocks, 0))
    }
}

/// The loop itself. At least one portion is submitted; what is in flight at the end is waited for.
#[inline(always)]
fn keep<B: Backend>(
    backend: &mut B,
    run: &FloorRun,
    mut next: impl FnMut() -> u64,
) -> Result<u64, EngineError> {
    let mut filler = BlockFiller::new(0);
    let verb = if run.writes { Verb::Write } else { Verb::Read };
    let depth = backend.depth();
    let mut free: Vec<u32> = (0..depth as u32).rev().collect();
    let mut places = vec![0; depth].into_boxed_slice();
    let mut reaped = Vec::with_capacity(2 * depth);
    let (mut ios, mut ending) = (0, false);
    while !ending || backend.in_flight() > 0 {
        let (mut fresh, portion) = (0, backend.portion());
        while !ending
            && fresh < portion
            && let Some(slot) = free.pop()
        {
            let offset = next() * BLOCK as u64;
            places[slot as usize] = offset;
            if run.writes {
                filler.make(backend.slot(slot as usize));
            }
            let transfer = Transfer { verb, length: BLOCK as u32, offset, ..Transfer::default() };
            backend.push(slot as usize, &transfer);
            fresh += 1;
        }
        let completions = usize::from(ending || free.is_empty());
        backend.turn(Wait { completions, patience: PATIENCE })?;
        backend.reap(&mut reaped);
        for done in reaped.drain(..) {
            free.push(done.slot);
            match done.result {
                result if result == BLOCK as i32 => ios += 1,
                // The kernel turned this I/O away for the moment: another one goes instead.
                result if [-libc::EAGAIN, -libc::EINTR].contains(&result) => {}
                result => return Err(short(places[done.slot as usize], result as isize)),
            }
        }
        ending = run.over.load(Ordering::Relaxed);
    }
    Ok(ios)
}
