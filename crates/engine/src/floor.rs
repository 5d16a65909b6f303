//! The floor: threads that call `pread` and do nothing else. What that costs, no engine that makes the same calls can go below.
//!
//! No clock is read, nothing is recorded, no buffer is made anew. The next place comes from a multiplication (random order) or
//! an addition (one after the other); a flag that the threads only read ends them.

use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use units::{Bytes, Seed};

use crate::backend::{Buffers, Files, TargetFile};
use crate::crew::lost;
use crate::error::{EngineError, Kind};
use crate::target::{Target, Wish};

/// Bytes of a call.
const BLOCK: usize = 4096;

/// Multiplier and increment of the random order, a linear congruence modulo 2^64 (D. E. Knuth, The Art of Computer Programming,
/// vol. 2, 3.3.4). Only its high bits are used.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
const INCREMENT: u64 = 1_442_695_040_888_963_407;

/// What is read, and how.
#[derive(Debug, Clone)]
pub struct Floor {
    /// A block device or file.
    pub path: PathBuf,
    /// Bytes of it that are used, from its start.
    pub size: Bytes,
    /// Threads, each with one call at a time.
    pub threads: u32,
    /// One block after the other, all threads together, in place of random ones.
    pub sequential: bool,
    /// Past the page cache, if possible.
    pub direct: bool,
    /// How long; `None` makes a single call.
    pub duration: Option<Duration>,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Floored {
    /// Calls that read a whole block.
    pub ios: u64,
    /// From the start of the threads' work to the end of the last one, nanoseconds.
    pub duration_ns: u64,
}

/// What the threads share.
struct Common {
    blocks: u64,
    sequential: bool,
    /// The next block, where several threads read in order.
    cursor: AtomicU64,
    over: AtomicBool,
    /// All threads and the one that counts the time.
    start: Barrier,
}

/// Reads until the time is up; fails when the target cannot be opened or a call does not read a whole block.
pub fn floor(floor: &Floor) -> Result<Floored, EngineError> {
    let wish = Wish { reads: true, writes: false, direct: floor.direct, create: None };
    let Target { file, block, size, .. } = Target::open(&floor.path, wish)?;
    let blocks = floor.size.0 / BLOCK as u64;
    if blocks == 0 || floor.size > size || floor.threads == 0 {
        let what = format!("{} of {size} cannot be read in blocks of 4 KiB", floor.size);
        return Err(EngineError::new(
            Kind::Usage,
            what,
            "give a size within the target, and threads",
        ));
    }
    let files = Files::new(vec![TargetFile { file, block }]);
    let common = Common {
        blocks,
        sequential: floor.sequential,
        cursor: AtomicU64::new(0),
        over: AtomicBool::new(floor.duration.is_none()),
        start: Barrier::new(floor.threads as usize + 1),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..floor.threads)
            .map(|number| {
                let (files, common) = (&files, &common);
                let alone = floor.threads == 1;
                scope.spawn(move || work(files, common, number, alone))
            })
            .collect();
        common.start.wait();
        let start = Instant::now();
        if let Some(duration) = floor.duration {
            std::thread::sleep(duration);
        }
        common.over.store(true, Ordering::Relaxed);
        let mut ios = 0;
        for thread in threads {
            ios += thread.join().map_err(|_| lost())??;
        }
        let duration_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(Floored { ios, duration_ns })
    })
}

/// One thread: gets ready, waits for the others, reads.
fn work(files: &Files, common: &Common, number: u32, alone: bool) -> Result<u64, EngineError> {
    let ready = files.for_this_thread().and_then(|files| Ok((files, Buffers::new(1, BLOCK)?)));
    common.start.wait();
    let (files, mut buffers) = ready?;
    let (blocks, memory) = (common.blocks, buffers.slot(0));
    if !common.sequential {
        let mut state = Seed(u64::from(number)).generator().next_u64();
        return read(&files, common, memory, || {
            state = state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
            ((u128::from(state) * u128::from(blocks)) >> 64) as u64
        });
    }
    if alone {
        let mut next = 0;
        return read(&files, common, memory, || {
            let block = next;
            next = if block + 1 == blocks { 0 } else { block + 1 };
            block
        });
    }
    read(&files, common, memory, || common.cursor.fetch_add(1, Ordering::Relaxed) % blocks)
}

/// The loop itself. At least one call is made.
#[inline(always)]
fn read(
    files: &Files,
    common: &Common,
    memory: &mut [u8],
    mut next: impl FnMut() -> u64,
) -> Result<u64, EngineError> {
    let file = files.borrowed(0);
    let mut ios = 0;
    loop {
        let at = next() * BLOCK as u64;
        match rustix::io::pread(file, &mut *memory, at) {
            Ok(BLOCK) => ios += 1,
            other => return Err(short(at, other)),
        }
        if common.over.load(Ordering::Relaxed) {
            return Ok(ios);
        }
    }
}

#[cold]
fn short(at: u64, read: rustix::io::Result<usize>) -> EngineError {
    let help = "read the target by other means first; it has to give all of its blocks";
    let what = format!("A block at offset {at} was not read whole");
    let error = EngineError::new(Kind::Target, what, help);
    match read {
        Ok(bytes) => error.because(format!("{bytes} bytes came")),
        Err(errno) => error.because(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: u64) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; bytes as usize]).unwrap();
        file
    }

    fn of(file: &tempfile::NamedTempFile, size: u64) -> Floor {
        let (path, duration) = (file.path().to_owned(), Some(Duration::from_millis(20)));
        Floor { path, size: Bytes(size), threads: 1, sequential: false, direct: true, duration }
    }

    #[test]
    fn threads_read_until_the_time_is_up_and_at_least_once_each() {
        let file = file(1 << 20);
        for (threads, sequential) in [(1, false), (1, true), (3, false), (3, true)] {
            let plain = Floor { threads, sequential, ..of(&file, 1 << 20) };
            let done = floor(&plain).unwrap();
            assert!(done.ios >= u64::from(threads) && done.duration_ns >= 20_000_000, "{done:?}");
            let once = floor(&Floor { duration: None, ..plain }).unwrap();
            assert_eq!(once.ios, u64::from(threads));
        }
    }

    #[test]
    fn what_cannot_be_read_whole_is_an_error_and_no_figure() {
        let file = file(1 << 20);
        let beyond = floor(&of(&file, 2 << 20)).unwrap_err();
        assert!(beyond.to_string().contains("cannot be read"), "{beyond}");
        assert!(floor(&Floor { threads: 0, ..of(&file, 1 << 20) }).is_err());
        let missing = Floor { path: "/does/not/exist".into(), ..of(&file, 1 << 20) };
        assert!(floor(&missing).is_err());
    }
}
