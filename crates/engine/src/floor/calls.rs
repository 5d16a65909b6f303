//! Plain calls: `pread` or `pwrite`, from threads with one I/O at a time each.

use std::sync::atomic::Ordering;

use rustix::io::{pread, pwrite};

use super::shared::{BLOCK, BlockFiller, FloorRun, at_random, in_order, short};
use crate::backend::{Buffers, Files};
use crate::error::EngineError;

/// One thread: gets ready, waits for the others, makes its calls.
pub(super) fn work(
    files: Result<Files, EngineError>,
    run: &FloorRun,
    number: u32,
    alone: bool,
) -> Result<u64, EngineError> {
    let ready = files.and_then(|files| Ok((files, Buffers::new(1, BLOCK)?)));
    run.start.wait();
    let (files, mut buffers) = ready?;
    let (blocks, memory, filler) = (run.blocks, buffers.slot(0), BlockFiller::new(number));
    match (run.sequential, alone) {
        (false, _) => call(&files, run, memory, filler, at_random(blocks, number)),
        (true, true) => call(&files, run, memory, filler, in_order(blocks)),
        (true, false) => call(&files, run, memory, filler, || {
            run.cursor.fetch_add(1, Ordering::Relaxed) % blocks
        }),
    }
}

/// Reads or writes one block, as the floor asks.
#[inline(always)]
fn call(
    files: &Files,
    run: &FloorRun,
    memory: &mut [u8],
    mut filler: BlockFiller,
    next: impl FnMut() -> u64,
) -> Result<u64, EngineError> {
    let file = files.borrowed(0);
    if run.writes {
        repeat(run, next, |at| {
            filler.make(memory);
            pwrite(file, &*memory, at)
        })
    } else {
        repeat(run, next, |at| pread(file, &mut *memory, at))
    }
}

/// The loop itself. At least one call is made.
#[inline(always)]
fn repeat(
    run: &FloorRun,
    mut next: impl FnMut() -> u64,
    mut call: impl FnMut(u64) -> rustix::io::Result<usize>,
) -> Result<u64, EngineError> {
    let mut ios = 0;
    loop {
        let at = next() * BLOCK as u64;
        match call(at) {
            Ok(BLOCK) => ios += 1,
            Ok(bytes) => return Err(short(at, bytes as isize)),
            Err(errno) => return Err(short(at, -errno.raw_os_error() as isize)),
        }
        if run.over.load(Ordering::Relaxed) {
            return Ok(ios);
        }
    }
}
