//! Targets that fail, fill up, vanish or move less than asked.

use std::time::{Duration, Instant};

use engine::Event;
use faulty::{Fault, Faulty, On, What, When};
use sys::clock::Clock;
use sys::interrupt::Level;

use crate::support::{Loop, Tmpfs, Zram, agree, on, run, run_with, skip};

const MIB: u64 = 1 << 20;
pub const BACKENDS: [&str; 3] = ["io_uring", "libaio", "sync"];

/// A file of 1 MiB with these faults; without FUSE `None`, and the reason is printed.
pub fn mount(test: &str, faults: Vec<Fault>) -> Option<Faulty> {
    let mounted = Faulty::mount(MIB as usize, faults);
    mounted.map_err(|e| skip(test, &format!("no faulty target: {e}"))).ok()
}

#[test]
fn a_share_of_ios_that_fail_is_counted_by_kind_and_the_load_goes_on() {
    let name = "a_share_of_ios_that_fail_is_counted_by_kind_and_the_load_goes_on";
    for backend in BACKENDS {
        let faults = vec![Fault::new(On::Read, When::share(0.2), What::Errno(libc::EIO))];
        let Some(target) = mount(name, faults) else { return };
        let spec = "ops = { randread = 100 }\nios = 1000\ndepth = 4";
        let reported = run(&on(target.path(), &format!("{spec}\nbackend = \"{backend}\"")));
        let summary = reported.summary();
        agree(&reported);
        let read = &summary.operations["randread"];
        let errors = read.errors["EIO"];
        assert_eq!((read.ios + errors, summary.ended_by.as_str()), (1000, "ios"), "{backend}");
        assert!((100..300).contains(&errors), "{backend}: {errors}");
    }
}

#[test]
fn a_device_whose_sparse_backing_is_full_gives_errors_and_a_valid_result() {
    let name = "a_device_whose_sparse_backing_is_full_gives_errors_and_a_valid_result";
    let Some(small) = Tmpfs::new(name, 4 * MIB) else { return };
    let Some(device) = Loop::inside(name, small.path(), 16 * MIB, &[]) else { return };
    for backend in BACKENDS {
        let spec = "ops = { write = 100 }\npasses = 1\ndepth = 8";
        let reported = run(&on(&device.path, &format!("{spec}\nbackend = \"{backend}\"")));
        let summary = reported.summary();
        agree(&reported);
        let write = &summary.operations["write"];
        let errors: u64 = write.errors.values().sum();
        assert!(write.ios > 0 && errors >= 1000, "{backend}: {} and {:?}", write.ios, write.errors);
        assert!(write.errors.keys().all(|kind| kind == "EIO" || kind == "ENOSPC"), "{write:?}");
    }
}

/// Runs one pass of writes; returns the bytes that the target then holds, and the figures of the pass.
///
/// io_uring goes on with a short write itself, at a position that FUSE's direct I/O does not move (Linux 6.18): the rest would be written over the
/// start. So there it goes without O_DIRECT.
fn written(target: &Faulty, backend: &str) -> (Vec<u8>, crate::support::Reported) {
    let direct = backend != "io_uring";
    let spec = format!(
        "ops = {{ write = 100 }}\npasses = 1\ndepth = 4\ndirect = {direct}\nbackend = \"{backend}\""
    );
    let reported = run(&on(target.path(), &spec));
    (target.store().bytes().to_vec(), reported)
}

#[test]
fn short_writes_are_continued_where_a_sector_begins_and_every_byte_arrives() {
    let name = "short_writes_are_continued_where_a_sector_begins_and_every_byte_arrives";
    for backend in BACKENDS {
        let Some(whole) = mount(name, Vec::new()) else { return };
        let (expected, _) = written(&whole, backend);
        // 700 bytes end inside a sector, where direct I/O cannot go on: that sector is written again.
        for short in [1024, 700, 3584] {
            let faults = vec![Fault::new(On::Write, When::share(0.3), What::Short(short))];
            let Ok(target) = Faulty::mount_synchronous(MIB as usize, faults) else { return };
            let (found, reported) = written(&target, backend);
            let write = &reported.summary().operations["write"];
            assert_eq!((write.ios, write.errors.len()), (256, 0), "{backend} {short}: {write:?}");
            agree(&reported);
            assert!(found == expected, "{backend} {short}: other bytes than without faults");
            let injected = target.injected().len();
            let notice = format!("{injected} transfers moved less than asked");
            let notices = &reported.summary().notices;
            assert!(injected > 60, "{backend} {short}: {injected}");
            let message = notices.iter().any(|n| n.starts_with(&notice));
            assert!(message || backend == "io_uring", "{backend} {notice}: {notices:?}");
        }
    }
}

#[test]
fn on_fuse_direct_writes_do_not_go_through_io_uring_unless_it_is_asked_for_which_is_then_told() {
    let name = "on_fuse_direct_writes_do_not_go_through_io_uring_unless_it_is_asked_for_which_is_then_told";
    let Some(whole) = mount(name, Vec::new()) else { return };
    let load = |target: &Faulty, more: &str| {
        run(&on(target.path(), &format!("passes = 1\ndepth = 4\n{more}")))
    };
    let write = "ops = { write = 100 }";
    load(&whole, write);
    let faults = vec![Fault::new(On::Write, When::share(0.3), What::Short(1024))];
    let Ok(target) = Faulty::mount_synchronous(MIB as usize, faults) else { return };
    let reported = load(&target, write);
    assert!(*target.store().bytes() == *whole.store().bytes(), "other bytes than without faults");
    let engine = &reported.summary().engine;
    assert_ne!(engine.backend, "io_uring");
    assert!(engine.chosen.contains("not io_uring"), "{}", engine.chosen);
    assert!(engine.probe.iter().all(|figure| figure.backend != "io_uring"), "{:?}", engine.probe);
    // Reads are continued here, and may take any way; so may writes through the page cache.
    let warned = |more: &str| {
        let reported = load(&whole, &format!("backend = \"io_uring\"\n{more}"));
        let is_fuse_notice = |n: &String| n.contains("is on FUSE") && n.contains("libaio");
        reported.summary().notices.iter().any(is_fuse_notice)
    };
    assert!(warned(write));
    assert!(!warned("ops = { read = 100 }"));
    assert!(!warned(&format!("{write}\ndirect = false")));
}

#[test]
fn short_reads_are_continued_and_what_was_read_is_right() {
    let name = "short_reads_are_continued_and_what_was_read_is_right";
    for backend in BACKENDS {
        for short in [1024, 700] {
            let faults = vec![Fault::new(On::Read, When::share(0.3), What::Short(short))];
            let Some(target) = mount(name, faults) else { return };
            let spec = "ops = { write = 100 }\npasses = 1\ndepth = 4\nverify = \"after\"";
            let reported = run(&on(target.path(), &format!("{spec}\nbackend = \"{backend}\"")));
            let verify = reported.summary().verify.as_ref().unwrap();
            assert_eq!((verify.checked, verify.wrong_blocks()), (256, 0), "{backend} {short}");
            let notices = &reported.summary().notices;
            let is_short = |n: &String| n.contains("transfers moved less than asked");
            assert!(notices.iter().any(is_short), "{backend} {short}: {notices:?}");
        }
    }
}

#[test]
fn a_transfer_that_moves_less_than_a_sector_is_an_error_of_its_own_kind() {
    let name = "a_transfer_that_moves_less_than_a_sector_is_an_error_of_its_own_kind";
    // io_uring goes on by itself, from wherever it stopped.
    for backend in ["libaio", "sync"] {
        for (on_, op) in [(On::Write, "write"), (On::Read, "read")] {
            let faults = vec![Fault::new(on_, When::within(0..8192), What::Short(100))];
            let Ok(target) = Faulty::mount_synchronous(MIB as usize, faults) else {
                return skip(name, "no faulty target");
            };
            let spec = format!("ops = {{ {op} = 100 }}\npasses = 1\nbackend = \"{backend}\"");
            let reported = run(&on(target.path(), &spec));
            let figures = &reported.summary().operations[op];
            agree(&reported);
            assert_eq!((figures.ios, figures.errors["short"]), (254, 2), "{backend} {op}");
        }
    }
}

#[test]
fn what_the_kernel_turns_away_is_asked_again_and_counted_when_that_does_not_help() {
    let name = "what_the_kernel_turns_away_is_asked_again_and_counted_when_that_does_not_help";
    for backend in BACKENDS {
        for (errno, kind) in [(libc::EAGAIN, "EAGAIN"), (libc::EINTR, "EINTR")] {
            for at in [On::Read, On::Write] {
                let mut faults = vec![Fault::new(at, When::share(0.2), What::Errno(errno))];
                // io_uring asks again itself after EAGAIN, for as long as that lasts.
                let hidden = (backend, errno) == ("io_uring", libc::EAGAIN);
                // One that is turned away each time; it takes a thousand tries.
                let always = !hidden;
                if always {
                    faults.push(Fault::new(at, When::within(0..4096), What::Errno(errno)));
                }
                let Some(target) = mount(name, faults) else { return };
                let op = if at == On::Read { "read" } else { "write" };
                let spec = format!("ops = {{ {op} = 100 }}\npasses = 1\nbackend = \"{backend}\"");
                let reported = run(&on(target.path(), &spec));
                let summary = reported.summary();
                agree(&reported);
                let figures = &summary.operations[op];
                let what = format!("{backend} {kind} {op}: {figures:?}");
                let errors: u64 = figures.errors.values().sum();
                assert_eq!(
                    (figures.ios, errors),
                    (256 - u64::from(always), always.into()),
                    "{what}"
                );
                assert_eq!(figures.errors.contains_key(kind), always, "{what}");
                let message = summary.notices.iter().any(|n| n.contains("turned an I/O away"));
                assert!(message || hidden, "{what}: {:?}", summary.notices);
            }
        }
    }
}

static SIGNALS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

extern "C" fn count_signal(_: libc::c_int) {
    SIGNALS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
}

/// Sends every worker of this process a signal, again and again, that interrupts the call it is in.
fn signal_workers(stop: &std::sync::atomic::AtomicBool) {
    // SAFETY: the handler touches one atomic number; no SA_RESTART, so that calls end with EINTR.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count_signal as *const () as libc::sighandler_t;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()), 0);
    }
    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
        for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
            let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            if !name.starts_with("job ") {
                continue;
            }
            let number: libc::c_long = task.file_name().to_string_lossy().parse().unwrap();
            // SAFETY: a call without pointers; a thread that is gone is an error without consequence.
            unsafe {
                libc::syscall(libc::SYS_tgkill, libc::getpid(), number, libc::SIGUSR2);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn signals_under_load_cost_no_io() {
    let name = "signals_under_load_cost_no_io";
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| signal_workers(&stop));
        for backend in BACKENDS {
            let faults = [On::Read, On::Write]
                .map(|at| Fault::new(at, When::default(), What::Stall(Duration::from_millis(3))));
            let Some(target) = mount(name, faults.to_vec()) else { break };
            let spec =
                "ops = { randread = 50, randwrite = 50 }\nios = 600\ndepth = 4\nverify = \"read\"";
            let before = SIGNALS.load(std::sync::atomic::Ordering::Relaxed);
            let reported = run(&on(target.path(), &format!("{spec}\nbackend = \"{backend}\"")));
            let signals = SIGNALS.load(std::sync::atomic::Ordering::Relaxed) - before;
            agree(&reported);
            let operations = &reported.summary().operations;
            let ios: u64 = operations.values().map(|o| o.ios).sum();
            assert!(operations.values().all(|o| o.errors.is_empty()), "{backend}: {operations:?}");
            assert_eq!((ios, reported.summary().ended_by.as_str()), (600, "ios"), "{backend}");
            assert!(signals >= 20, "{backend}: only {signals} signals came");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        sender.join().unwrap();
    });
}

#[test]
fn a_target_that_vanishes_under_load_ends_it_with_what_was_measured() {
    let name = "a_target_that_vanishes_under_load_ends_it_with_what_was_measured";
    for backend in BACKENDS {
        let Some(target) = mount(name, Vec::new()) else { return };
        let spec = "ops = { randread = 50, randwrite = 50 }\nduration = \"600s\"\ndepth = 4\ninterval = \"50ms\"";
        let gone = std::cell::Cell::new(false);
        let start = Instant::now();
        let load = on(target.path(), &format!("{spec}\nbackend = \"{backend}\""));
        let reported = run_with(&load, &Clock::real(), |event, interrupt| {
            if matches!(event, Event::Intervals { .. })
                && !gone.replace(true)
                && let Err(error) = target.vanish()
            {
                skip(name, &format!("{error}"));
                interrupt.request(Level::Now);
            }
        });
        let summary = reported.summary();
        if summary.ended_by == "interrupted" {
            return;
        }
        agree(&reported);
        assert_eq!(summary.ended_by, "errors", "{backend}");
        let read = &summary.operations["randread"];
        assert!(read.ios > 0 && !read.errors.is_empty(), "{backend}: {read:?}");
        assert!(
            summary.notices.iter().any(|n| n.contains("nothing else")),
            "{:?}",
            summary.notices
        );
        assert!(start.elapsed() < Duration::from_secs(30), "{backend}: {:?}", start.elapsed());
    }
}

#[test]
fn a_device_whose_backing_is_cut_off_under_load_gives_errors_and_ends() {
    let name = "a_device_whose_backing_is_cut_off_under_load_gives_errors_and_ends";
    for backend in BACKENDS {
        let Some(device) = Loop::new(name, 8 * MIB, &[]) else { return };
        let file = std::fs::OpenOptions::new().write(true).open(&device.backing).unwrap();
        let spec = "ops = { randread = 100 }\nduration = \"600s\"\ndepth = 4\ninterval = \"50ms\"";
        let load = on(&device.path, &format!("{spec}\nbackend = \"{backend}\""));
        let reported = run_with(&load, &Clock::real(), |event, _| {
            if matches!(event, Event::Intervals { .. }) {
                file.set_len(0).unwrap();
            }
        });
        agree(&reported);
        let read = &reported.summary().operations["randread"];
        assert!(read.ios > 0 && read.errors.contains_key("EIO"), "{backend}: {read:?}");
        assert_eq!(reported.summary().ended_by, "errors", "{backend}");
    }
}

#[test]
fn a_zram_device_cannot_be_reset_under_a_load_and_can_be_right_after_it() {
    let name = "a_zram_device_cannot_be_reset_under_a_load_and_can_be_right_after_it";
    for backend in BACKENDS {
        let Some(zram) = Zram::new(name, 16 * MIB) else { return };
        let device = zram.path.file_name().unwrap().to_str().unwrap();
        let (reset, number) = (format!("/sys/block/{device}/reset"), &device["zram".len()..]);
        let ask = |file: &str, what: &str| std::fs::write(file, what).map_err(|e| e.raw_os_error());
        let answers = std::cell::RefCell::new(Vec::new());
        let spec = "ops = { randread = 50, randwrite = 50 }\nduration = \"400ms\"\ndepth = 4\ninterval = \"50ms\"\nverify = \"read\"";
        let load = on(&zram.path, &format!("{spec}\nbackend = \"{backend}\""));
        let reported = run_with(&load, &Clock::real(), |event, _| {
            if matches!(event, Event::Intervals { .. }) {
                let remove = ask("/sys/class/zram-control/hot_remove", number);
                answers.borrow_mut().extend([ask(&reset, "1"), remove]);
            }
        });
        agree(&reported);
        let operations = &reported.summary().operations;
        assert!(operations.values().all(|o| o.ios > 0 && o.errors.is_empty()), "{operations:?}");
        assert_eq!(reported.summary().verify.as_ref().unwrap().wrong_blocks(), 0, "{backend}");
        let answers = answers.into_inner();
        let busy = |answer: &Result<(), Option<i32>>| *answer == Err(Some(libc::EBUSY));
        assert!(answers.len() >= 4 && answers.iter().all(busy), "{backend}: {answers:?}");
        // A child that another test starts at this moment has it until it becomes another program.
        let freed = (0..100).any(|_| {
            let answer = ask(&reset, "1");
            answer.is_ok() || {
                std::thread::sleep(std::time::Duration::from_millis(10));
                false
            }
        });
        assert!(freed, "{backend} still holds it");
    }
}

#[test]
fn a_target_that_fills_up_counts_what_found_no_room() {
    let name = "a_target_that_fills_up_counts_what_found_no_room";
    for backend in BACKENDS {
        let faults = vec![Fault::new(On::Write, When::default(), What::Full(MIB / 2))];
        let Some(target) = mount(name, faults) else { return };
        let (_, reported) = written(&target, backend);
        agree(&reported);
        let write = &reported.summary().operations["write"];
        assert_eq!((write.ios, write.errors["ENOSPC"]), (128, 128), "{backend}: {write:?}");
        assert_eq!(reported.summary().ended_by, "passes", "{backend}");
    }
}

#[test]
fn errors_at_some_addresses_are_counted_exactly_and_max_errors_ends_the_load() {
    let name = "errors_at_some_addresses_are_counted_exactly_and_max_errors_ends_the_load";
    for backend in BACKENDS {
        for (op, at) in [("read", On::Read), ("write", On::Write)] {
            let bad = When::within(MIB / 4..MIB / 2);
            let faults = vec![Fault::new(at, bad, What::Errno(libc::EIO))];
            let Some(target) = mount(name, faults) else { return };
            let load = |more: &str| {
                let spec = format!("ops = {{ {op} = 100 }}\npasses = 1\ndepth = 4\n{more}");
                run(&on(target.path(), &format!("{spec}\nbackend = \"{backend}\"")))
            };
            let reported = load("");
            agree(&reported);
            let all = &reported.summary().operations[op];
            assert_eq!((all.ios, all.errors["EIO"]), (192, 64), "{backend} {op}");
            assert_eq!(reported.summary().ended_by, "passes");
            let reported = load("max_errors = 10");
            agree(&reported);
            let few = &reported.summary().operations[op];
            assert!((11..=11 + 4).contains(&few.errors["EIO"]), "{backend} {op}: {few:?}");
            assert_eq!(reported.summary().ended_by, "max_errors", "{backend} {op}");
        }
    }
}
