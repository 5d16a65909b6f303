//! The floor: the calls of a backend and nothing else. No engine that makes the same calls can cost less.
//!
//! No clock is read and nothing is recorded. Each written block has new content, generated as a load generates it, since no load can avoid that. The
//! next address costs one multiplication (random) or one addition (sequential); a flag that is only read ends the run. Plain calls come from threads
//! ([`calls`]); queues are kept at their depth by one thread ([`queue`]).

mod calls;
mod queue;
mod shared;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use units::Bytes;

use crate::backend::{Aio, Files, Ring, TargetFile};
use crate::choice::Driver;
use crate::error::{EngineError, ErrorKind};
use crate::load::TargetSpec;
use crate::target::{Access, Target};
use crate::workers::lost;
use shared::{BLOCK, FloorRun};

/// The reads or writes of a floor run, and the way they are made.
#[derive(Debug, Clone)]
pub struct Floor {
    /// A block device or file.
    pub target: TargetSpec,
    /// Bytes of it that are used, from its start.
    pub size: Bytes,
    /// The way in which the calls are made: plain calls, a ring, or libaio's queue.
    pub driver: Driver,
    /// I/Os in flight: threads with one plain call each, or the depth of a queue.
    pub depth: u32,
    /// Goes through the blocks in order, all threads together, instead of at random.
    pub sequential: bool,
    /// Writes instead of reading, and overwrites what is there: the caller has to own the target. The bytes of each block are random and new.
    pub writes: bool,
    /// Bypasses the page cache, if possible.
    pub direct: bool,
    /// Time that it runs; `None` submits once.
    pub duration: Option<Duration>,
}

/// The result of a floor run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Floored {
    /// The calls that were made: `sync`, `io_uring` or `libaio`.
    pub backend: &'static str,
    /// Number of I/Os, of a whole block each.
    pub ios: u64,
    /// From the start of the threads' work to the end of the last one, nanoseconds.
    pub duration_ns: u64,
}

/// Reads or writes until the time is up; fails when the target cannot be opened or an I/O does not move a whole block.
pub fn floor(floor: &Floor) -> Result<Floored, EngineError> {
    let (writes, direct) = (floor.writes, floor.direct);
    let access = Access { reads: !writes, writes, direct, create: None };
    let target = Target::of_spec(&floor.target, access)?.ok_or_else(crate::real::mixed)?;
    let Target { file, block, made, size, .. } = target;
    let blocks = floor.size.0 / BLOCK as u64;
    if blocks == 0 || floor.size > size || floor.depth == 0 {
        let what = format!("{} of {size} cannot be used in blocks of 4 KiB", floor.size);
        let help = "give a size within the target, and a depth";
        return Err(EngineError::new(ErrorKind::Usage, what, help));
    }
    let files = Files::new(vec![TargetFile { file, block, made }]);
    let threads = if floor.driver == Driver::Sync { floor.depth } else { 1 };
    let run = FloorRun {
        blocks,
        sequential: floor.sequential,
        writes,
        cursor: AtomicU64::new(0),
        over: AtomicBool::new(floor.duration.is_none()),
        start: Barrier::new(threads as usize + 1),
    };
    let work = |number| {
        let depth = floor.depth as usize;
        let files = files.for_this_thread();
        match floor.driver {
            Driver::IoUring => queue::work(files.and_then(|f| Ring::new(f, depth, BLOCK)), &run),
            Driver::Libaio => queue::work(files.and_then(|f| Aio::new(f, depth, BLOCK)), &run),
            _ => calls::work(files, &run, number, threads == 1),
        }
    };
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> =
            (0..threads).map(|number| scope.spawn(move || work(number))).collect();
        run.start.wait();
        let start = Instant::now();
        if let Some(duration) = floor.duration {
            std::thread::sleep(duration);
        }
        run.over.store(true, Ordering::Relaxed);
        let mut ios = 0;
        for thread in threads {
            ios += thread.join().map_err(|_| lost())??;
        }
        files.mark_made();
        let duration_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(Floored { backend: floor.driver.name(), ios, duration_ns })
    })
}

#[cfg(test)]
mod tests {
    use super::shared::short;
    use super::*;

    const WAYS: [Driver; 3] = [Driver::Sync, Driver::IoUring, Driver::Libaio];

    fn file(bytes: u64) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; bytes as usize]).unwrap();
        file
    }

    fn of(file: &tempfile::NamedTempFile, size: u64) -> Floor {
        let (target, duration) =
            (TargetSpec::Path(file.path().to_owned()), Some(Duration::from_millis(20)));
        let (driver, depth) = (Driver::Sync, 1);
        let (sequential, writes, direct) = (false, false, true);
        Floor { target, size: Bytes(size), driver, depth, sequential, writes, direct, duration }
    }

    #[test]
    fn it_goes_on_until_the_time_is_up_and_submits_at_least_once() {
        let file = file(1 << 20);
        for driver in WAYS {
            for (depth, sequential) in [(1, false), (1, true), (3, false), (3, true), (32, false)] {
                let plain = Floor { driver, depth, sequential, ..of(&file, 1 << 20) };
                let done = floor(&plain).unwrap();
                assert!(done.ios >= u64::from(depth) && done.duration_ns >= 20_000_000, "{done:?}");
                assert_eq!(done.backend, driver.name());
                let once = floor(&Floor { duration: None, ..plain }).unwrap();
                // A queue submits no more at once than the engine's own worker would.
                let first = if driver == Driver::Sync { depth } else { (depth / 2).clamp(1, 4) };
                assert_eq!(once.ios, u64::from(first), "{driver:?} {depth}");
            }
        }
        assert_eq!(std::fs::read(file.path()).unwrap(), [7; 1 << 20], "it only reads");
    }

    #[test]
    fn writes_change_the_range_that_was_named_and_nothing_behind_it() {
        for driver in WAYS {
            let file = file(1 << 20);
            let depth = 4;
            let written =
                Floor { driver, depth, writes: true, sequential: true, ..of(&file, 64 << 10) };
            assert!(floor(&written).unwrap().ios >= 4);
            let after = std::fs::read(file.path()).unwrap();
            assert_eq!(after.len(), 1 << 20);
            assert!(after[..4096].iter().any(|&byte| byte != 7), "{driver:?} wrote nothing");
            let blocks: std::collections::BTreeSet<_> = after[..64 << 10].chunks(BLOCK).collect();
            assert!(blocks.len() >= depth as usize, "{driver:?}: each is new");
            assert!(after[64 << 10..].iter().all(|&byte| byte == 7), "{driver:?} wrote too far");
        }
    }

    #[test]
    fn what_cannot_be_read_whole_is_an_error_and_no_figure() {
        let file = file(1 << 20);
        let beyond = floor(&of(&file, 2 << 20)).unwrap_err();
        assert!(beyond.to_string().contains("cannot be used"), "{beyond}");
        assert!(floor(&Floor { depth: 0, ..of(&file, 1 << 20) }).is_err());
        let missing =
            Floor { target: TargetSpec::Path("/does/not/exist".into()), ..of(&file, 1 << 20) };
        assert!(floor(&missing).is_err());
        let part = short(4096, 512);
        let cause = std::error::Error::source(&part).unwrap().to_string();
        assert!(cause.contains("512 bytes"), "{cause}");
    }
}
