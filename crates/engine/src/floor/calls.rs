//! Plain calls: `pread` or `pwrite`, from threads that have one I/O at a time.

use std::sync::atomic::Ordering;

use rustix::io::{pread, pwrite};

use super::{BLOCK, Common, Maker, at_random, in_order, short};
use crate::backend::{Buffers, Files};
use crate::error::EngineError;

/// One thread: gets ready, waits for the others, makes its calls.
pub(super) fn work(
    files: Result<Files, EngineError>,
    common: &Common,
    number: u32,
    alone: bool,
) -> Result<u64, EngineError> {
    let ready = files.and_then(|files| Ok((files, Buffers::new(1, BLOCK)?)));
    common.start.wait();
    let (files, mut buffers) = ready?;
    let (blocks, memory, maker) = (common.blocks, buffers.slot(0), Maker::new(number));
    match (common.sequential, alone) {
        (false, _) => call(&files, common, memory, maker, at_random(blocks, number)),
        (true, true) => call(&files, common, memory, maker, in_order(blocks)),
        (true, false) => call(&files, common, memory, maker, || {
            common.cursor.fetch_add(1, Ordering::Relaxed) % blocks
        }),
    }
}

/// Reads or writes, as it was asked for.
#[inline(always)]
fn call(
    files: &Files,
    common: &Common,
    memory: &mut [u8],
    mut maker: Maker,
    next: impl FnMut() -> u64,
) -> Result<u64, EngineError> {
    let file = files.borrowed(0);
    if common.writes {
        repeat(common, next, |at| {
            maker.make(memory);
            pwrite(file, &*memory, at)
        })
    } else {
        repeat(common, next, |at| pread(file, &mut *memory, at))
    }
}

/// The loop itself. At least one call is made.
#[inline(always)]
fn repeat(
    common: &Common,
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
        if common.over.load(Ordering::Relaxed) {
            return Ok(ios);
        }
    }
}
