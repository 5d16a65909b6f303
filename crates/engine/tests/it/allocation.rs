//! The loop of a worker allocates nothing once it runs.
//!
//! All allocations of threads called `job ...` are counted, by an allocator that asks the kernel for the thread's name.
//! As other tests have such threads too, the test runs itself alone in a second process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::{Loop, on, run};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// 0: not known yet, 1: a worker, 2: another thread.
    static WORKER: Cell<u8> = const { Cell::new(0) };
}

fn count() {
    let mut kind = WORKER.get();
    if kind == 0 {
        let mut name = [0u8; 16];
        // SAFETY: PR_GET_NAME writes at most 16 bytes.
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
        kind = if name.starts_with(b"job ") { 1 } else { 2 };
        // A worker is not called so from its first moment on.
        if kind == 1 {
            WORKER.set(kind);
        }
    }
    if kind == 1 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: hands everything on to the system's allocator; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations that may depend on who comes first. One for a hundredth of the I/Os would be more.
const RACES: u64 = 4;
const ALONE: &str = "FATHOM_TEST_ALONE";

#[test]
fn a_worker_that_runs_allocates_nothing() {
    if std::env::var_os(ALONE).is_none() {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "allocation::a_worker_that_runs_allocates_nothing", "--nocapture"])
            .env(ALONE, "1")
            .status()
            .unwrap();
        return assert!(status.success());
    }
    let Some(device) = Loop::new("a_worker_that_runs_allocates_nothing", 16 << 20, &[]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let allocations_and_ios = |mode: &str, ios: u64| {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let mut load = on(
            &device.path,
            &format!(
                "ops = {{ randread = 50, randwrite = 50 }}\ndepth = 16\ninterval = \"50ms\"\n\
                 ios = {ios}\ncontent = {{ dedupe = 30, zero = 5 }}\n{mode}"
            ),
        );
        // Everything that recording can do.
        load.recording = engine::Recording {
            io_log: Some(engine::IoLogTarget::File(folder.path().join("log"))),
            split_latency: true,
            worst: 100,
        };
        let reported = run(&load);
        let ios: u64 = reported.summary().operations.values().map(|o| o.ios).sum();
        (ALLOCATIONS.load(Ordering::Relaxed) - before, ios)
    };
    for mode in [
        "backend = \"io_uring\"",
        "backend = \"libaio\"",
        "backend = \"sync\"",
        "backend = \"io_uring\"\nrate = \"20000/s\"\narrival = \"poisson\"",
        "backend = \"sync\"\nlimit = \"20000/s\"\nthink = \"1us:64\"",
        "backend = \"libaio\"\nbatch = 8\nsync = \"fdatasync:32\"",
        "backend = \"io_uring\"\nverify = \"read\"",
        "backend = \"libaio\"\nverify = \"both\"",
        "backend = \"sync\"\nverify = \"read\"",
    ] {
        allocations_and_ios(mode, 500);
        let (short, few) = allocations_and_ios(mode, 1_000);
        let (long, many) = allocations_and_ios(mode, 4_000);
        assert!(short > 0, "workers are not recognised by their name");
        assert!(many >= few + 3_000, "{mode}: {few}, {many}");
        // Threads that begin and end at once may race for a block of their channel: one more or less, whatever they do.
        let (more, ios) = (long.abs_diff(short), many - few);
        assert!(more <= RACES, "{mode}: {ios} I/Os more cost {more} allocations");
    }
}
