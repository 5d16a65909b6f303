//! Drive modes and backends: rates, caps, pauses, batches, ramps, several targets, all operations.

use engine::{Aim, Choice, Driver, Event, SimModel, TargetSpec};
use sys::clock::Clock;
use units::{Bytes, Nanos, Percent};

use crate::support::{Loop, Reported, agree, load, on, run, run_with, seconds};

const MIB: u64 = 1 << 20;

fn simulated(spec: &str) -> Reported {
    let model = SimModel { jitter: 0.0, bytes: Bytes(64 * MIB), ..SimModel::default() };
    run_with(&load(TargetSpec::Simulated(model), spec), &Clock::simulated(None), |_, _| {})
}

fn null(spec: &str) -> Reported {
    run(&load(TargetSpec::Null { bytes: Bytes(1 << 34) }, spec))
}

#[test]
fn every_notice_of_the_summary_was_told_once() {
    let spec = "ops = { read = 100 }\nios = 100\nverify = 'read'";
    for reported in [null(spec), simulated(spec)] {
        let notice = |event: &Event| match event {
            Event::Notice(text) => Some(text.clone()),
            _ => None,
        };
        let seen: Vec<_> = reported.events.iter().filter_map(notice).collect();
        assert_eq!(seen, reported.summary().notices);
        assert!(seen.iter().any(|text| text.contains("keeps no data")), "{seen:?}");
    }
}

#[test]
fn a_fixed_rate_is_kept_and_a_slow_target_shows_as_lateness() {
    let fast = simulated("ops = { read = 100 }\nrate = \"5000/s\"\nduration = \"2s\"\ndepth = 4");
    let read = &fast.summary().operations["read"];
    assert!(read.ios.abs_diff(10_000) <= 1, "{}", read.ios);
    let latency = read.latency.unwrap();
    assert!(latency.max_ns.abs_diff(81_000) < 200, "{latency:?}");
    assert_eq!(read.lateness.unwrap().max_ns, 0);
    // 81 µs a read, one at a time: 12,345 a second. Twice as many were meant to start.
    let slow = simulated("ops = { read = 100 }\nrate = \"24690/s\"\nduration = \"1s\"\ndepth = 1");
    let read = &slow.summary().operations["read"];
    assert!(read.ios.abs_diff(12_345) <= 20, "{}", read.ios);
    let (latency, lateness) = (read.latency.unwrap(), read.lateness.unwrap());
    assert!((0.49..0.51).contains(&seconds(lateness.max_ns)), "{lateness:?}");
    assert!(latency.mean_ns > 0.2e9, "latency counts from the intended start: {latency:?}");
    agree(&slow);
}

#[test]
fn a_rate_that_is_not_kept_is_told_and_one_that_is_kept_up_to_chance_is_not() {
    let one = "ops = { read = 100 }\ndepth = 1";
    for (spec, kept) in [
        ("rate = '12000/s'\nduration = '1s'", true),
        ("rate = '24690/s'\nduration = '1s'", false),
        ("rate = '40M/s'\nduration = '1s'", true),
        ("rate = '100M/s'\nduration = '1s'", false),
        ("rate = '24690/s'\nios = 10000", false),
        // The last I/O takes longer than the time between two I/Os: that is not a backlog.
        ("rate = '24690/s'\nios = 1", true),
        ("rate = '9/s'\nduration = '1s'\narrival = 'poisson'", true),
        ("rate = '11900/s'\nduration = '1s'\narrival = 'poisson'", true),
        ("rate = '24690/s'\nduration = '1s'\narrival = 'poisson'", false),
    ] {
        let reported = simulated(&format!("{one}\n{spec}"));
        let summary = reported.summary();
        let rate = summary.rate.unwrap();
        assert_eq!(rate.kept, kept, "{spec}: {rate:?}");
        assert_eq!(rate.asked_iops.is_some(), !spec.contains("M/s"), "{spec}: {rate:?}");
        let message = summary.notices.iter().any(|text| text.contains("was not kept"));
        assert_eq!(message, !kept, "{spec}: {:?}", summary.notices);
    }
    let half = simulated(&format!("{one}\nrate = '24690/s'\nduration = '1s'"));
    let percent = half.summary().rate.unwrap().done_percent.unwrap();
    assert!((49.0..51.0).contains(&percent), "{percent}");
    assert!(simulated("ops = { read = 100 }\nios = 9").summary().rate.is_none());
}

#[test]
fn poisson_arrivals_come_at_their_rate() {
    let reported = simulated(
        "ops = { read = 100 }\nrate = \"20000/s\"\narrival = \"poisson\"\nduration = \"5s\"\njobs = 2",
    );
    let ios = reported.summary().operations["read"].ios as f64;
    assert!((ios / 100_000.0 - 1.0).abs() < 0.02, "{ios}");
}

#[test]
fn a_cap_holds_a_closed_loop_back_and_a_pause_follows_each_so_many_ios() {
    let capped = simulated("ops = { read = 100 }\nlimit = \"1000/s\"\nduration = \"2s\"");
    assert!(capped.summary().operations["read"].ios.abs_diff(2000) <= 32);
    let paused =
        simulated("ops = { read = 100 }\nthink = \"919us:1\"\ndepth = 1\nduration = \"1s\"");
    // 81 µs of service and 919 µs of thought.
    assert!(paused.summary().operations["read"].ios.abs_diff(1000) <= 1);
}

#[test]
fn pauses_are_as_many_at_any_depth() {
    for depth in [1, 8, 11, 32, 128] {
        let spec = format!(
            "ops = {{ randread = 100 }}\nthink = \"100ms:10\"\nduration = \"20s\"\ndepth = {depth}"
        );
        let ios = simulated(&spec).summary().operations["randread"].ios;
        assert!(ios.abs_diff(2_000) <= depth + 30, "depth {depth}: {ios}");
    }
}

#[test]
fn the_end_of_the_ramp_is_told_when_it_comes_not_with_the_first_interval() {
    let spec =
        "ops = { randread = 100 }\nramp = \"200ms\"\nduration = \"900ms\"\ninterval = \"2s\"";
    let model = TargetSpec::Simulated(SimModel { bytes: Bytes(64 * MIB), ..SimModel::default() });
    let null = TargetSpec::Null { bytes: Bytes(1 << 34) };
    for (target, clock, late) in [(model, Clock::simulated(None), 1), (null, Clock::real(), 1_500)]
    {
        let begun = std::cell::Cell::new(0);
        let over = std::cell::RefCell::new(Vec::new());
        run_with(&load(target.clone(), spec), &clock, |event, _| match event {
            Event::Started(_) => begun.set(clock.now().0),
            Event::RampOver => over.borrow_mut().push((clock.now().0 - begun.get()) / 1_000_000),
            _ => {}
        });
        let over = over.into_inner();
        assert!(matches!(over[..], [ms] if (200..200 + late).contains(&ms)), "{over:?}");
    }
    let without = run(&load(TargetSpec::Null { bytes: Bytes(1 << 34) }, "ios = 100"));
    assert!(!without.events.contains(&Event::RampOver));
}

#[test]
fn what_happens_in_the_ramp_counts_in_no_figure() {
    let reported = simulated("ops = { read = 100 }\nramp = \"1s\"\nduration = \"2s\"\ndepth = 1");
    let summary = reported.summary();
    let ios = summary.operations["read"].ios;
    assert!(ios.abs_diff(1_000_000 / 81) <= 2, "{ios}");
    assert_eq!(summary.duration_ns / 100_000_000, 10);
    // Depth 1 is full all the time, and no fuller with what was in flight within the ramp.
    let mean = summary.engine.in_flight.unwrap().mean;
    assert!((0.99..=1.001).contains(&mean), "{mean}");
    agree(&reported);
    let reported = null("ops = { randread = 100 }\nramp = \"200ms\"\nduration = \"400ms\"");
    assert!(
        (0.15..5.0).contains(&seconds(reported.summary().duration_ns)),
        "{:?}",
        reported.summary()
    );
    agree(&reported);
}

#[test]
fn cpu_time_per_io_is_of_all_ios_whose_cpu_time_it_is() {
    let reported =
        null("ops = { randread = 100 }\nrate = \"5000/s\"\nramp = \"400ms\"\nduration = \"500ms\"");
    let summary = reported.summary();
    let cpu = summary.cpu.expect("a real load knows its CPU time");
    let measured = summary.operations["randread"].ios;
    // Four fifths of them ended within the ramp.
    let all = measured + cpu.ramp_ios;
    assert!(cpu.ramp_ios > measured && all.abs_diff(2_500) < 250, "{measured}, {cpu:?}");
    let per_io = (cpu.user_s + cpu.system_s) * 1e6 / all as f64;
    assert!((cpu.per_io_us.unwrap() - per_io).abs() < 1e-6, "{measured}, {cpu:?}");
}

#[test]
fn cpu_time_per_io_counts_flushes_only_where_there_is_nothing_else() {
    for (text, operation) in [
        ("ops = { randwrite = 100 }\nsync = \"fsync:1\"\nios = 500", "randwrite"),
        ("ops = { flush = 100 }\nios = 500", "flush"),
    ] {
        let reported = null(text);
        let summary = reported.summary();
        assert!(summary.operations["flush"].ios >= 500);
        let cpu = summary.cpu.expect("a real load knows its CPU time");
        let ios = summary.operations[operation].ios as f64;
        let per_io = (cpu.user_s + cpu.system_s) * 1e6 / ios;
        assert!((cpu.per_io_us.unwrap() - per_io).abs() < 1e-6, "{ios}, {cpu:?}");
    }
}

#[test]
fn a_load_that_only_flushes_needs_no_buffers() {
    let reported = null("ops = { flush = 100 }\nios = 5");
    assert_eq!(reported.summary().operations["flush"].ios, 5);
}

#[test]
fn a_real_rate_is_kept_by_every_backend() {
    let name = "a_real_rate_is_kept_by_every_backend";
    let Some(device) = Loop::new(name, 16 * MIB, &[]) else { return };
    for backend in ["io_uring", "libaio", "sync"] {
        let reported = run(&on(
            &device.path,
            &format!(
                "ops = {{ randread = 100 }}\nrate = \"2000/s\"\nduration = \"1s\"\ndepth = 4\nbackend = \"{backend}\""
            ),
        ));
        let summary = reported.summary();
        assert_eq!(summary.engine.backend, backend);
        // A machine that is busy elsewhere is late, and says so; it never does more than it was asked.
        let ios = summary.operations["randread"].ios;
        assert!((200..=2001).contains(&ios), "{backend}: {ios}");
        assert!(summary.operations["randread"].lateness.is_some());
        agree(&reported);
    }
}

#[test]
fn a_closed_loop_keeps_its_exact_depth_with_every_backend() {
    let name = "a_closed_loop_keeps_its_exact_depth_with_every_backend";
    let Some(device) = Loop::new(name, 16 * MIB, &[]) else { return };
    for (backend, batch) in [("io_uring", 1), ("libaio", 1), ("sync", 1), ("io_uring", 8)] {
        let reported = run(&on(
            &device.path,
            &format!(
                "ops = {{ randread = 60, randwrite = 40 }}\ndepth = 16\nbatch = {batch}\nios = 20000\nbackend = \"{backend}\""
            ),
        ));
        let summary = reported.summary();
        agree(&reported);
        let ios: u64 = summary.operations.values().map(|op| op.ios).sum();
        assert_eq!((ios, summary.ended_by.as_str()), (20_000, "ios"), "{backend}");
        let depth = summary.engine.in_flight.unwrap();
        assert!(depth.max <= 16 && depth.mean > 1.0, "{backend}: {depth:?}");
        if backend == "io_uring" {
            assert_eq!(depth.max, 16);
            assert!(summary.engine.submitted_per_call.unwrap() >= f64::from(batch) * 0.9);
        }
    }
}

#[test]
fn every_operation_works_on_devices_and_files_with_every_backend() {
    let name = "every_operation_works_on_devices_and_files_with_every_backend";
    let Some(device) = Loop::new(name, 16 * MIB, &[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, vec![1u8; 16 * MIB as usize]).unwrap();
    let spec = "ops = { randread = 20, randwrite = 30, randdiscard = 20, randwritezeroes = 20, flush = 10 }\n\
                depth = 8\nios = 2000\nsync = \"fua:4\"";
    for path in [&device.path, &file] {
        for backend in ["io_uring", "libaio", "sync"] {
            let reported = run(&on(path, &format!("{spec}\nbackend = \"{backend}\"")));
            let summary = reported.summary();
            agree(&reported);
            for (operation, figures) in &summary.operations {
                assert_eq!(figures.errors.len(), 0, "{backend} {operation}: {figures:?}");
                assert!(figures.ios >= 100, "{backend} {operation}: {}", figures.ios);
            }
        }
    }
}

#[test]
fn discarded_and_zeroed_blocks_of_a_file_read_as_zeros() {
    let folder = tempfile::tempdir().unwrap();
    for (number, operation) in ["discard", "writezeroes"].into_iter().enumerate() {
        for backend in ["io_uring", "libaio", "sync"] {
            let path = folder.path().join(format!("{number} {backend}"));
            std::fs::write(&path, vec![1u8; MIB as usize]).unwrap();
            let spec = format!(
                "ops = {{ {operation} = 100 }}\nsize = \"512KiB\"\npasses = 1\nbackend = \"{backend}\""
            );
            let reported = run(&on(&path, &spec));
            assert_eq!(reported.summary().operations[operation].ios, 128);
            let bytes = std::fs::read(&path).unwrap();
            let (zeros, rest) = bytes.split_at(512 << 10);
            assert!(zeros.iter().all(|&b| b == 0) && rest.iter().all(|&b| b == 1), "{backend}");
        }
    }
}

/// A call that a queue does not know takes its time in the worker, which belongs to the I/O's latency.
#[test]
fn zeroing_takes_as_long_by_a_queue_as_by_the_call_that_does_it() {
    let folder = tempfile::tempdir().unwrap();
    let median = |backend: &str| {
        let path = folder.path().join(backend);
        std::fs::write(&path, vec![1u8; 16 * MIB as usize]).unwrap();
        let spec = format!(
            "ops = {{ writezeroes = 100 }}\nblock_size = \"64KiB\"\ndepth = 1\npasses = 1\nbackend = \"{backend}\""
        );
        let reported = run(&on(&path, &spec));
        reported.summary().operations["writezeroes"].latency.unwrap().p50_ns as f64
    };
    let (call, queue) = (median("sync"), median("libaio"));
    assert!(queue > 0.3 * call, "{queue} ns by libaio, {call} ns by the call");
}

#[test]
fn targets_share_a_load_as_told_and_have_figures_of_their_own() {
    let model =
        |read: u64| SimModel { read: Nanos(read), bytes: Bytes(64 * MIB), ..SimModel::default() };
    let mut load =
        load(TargetSpec::Simulated(model(10_000)), "ops = { randread = 100 }\nduration = \"1s\"");
    let second = TargetSpec::Simulated(model(500_000));
    load.targets[0].share = Percent(75.0);
    load.targets.push(Aim { target: second, share: Percent(25.0) });
    let reported = run_with(&load, &Clock::simulated(None), |_, _| {});
    agree(&reported);
    let summary = reported.summary();
    assert_eq!(summary.targets.len(), 2);
    let of = |target: usize| &summary.targets[target].operations["randread"];
    let total = &summary.operations["randread"];
    assert_eq!(of(0).ios + of(1).ios, total.ios);
    assert!(
        (of(0).ios as f64 / total.ios as f64 - 0.75).abs() < 0.01,
        "{} {}",
        of(0).ios,
        total.ios
    );
    assert!(of(1).latency.unwrap().p50_ns > 10 * of(0).latency.unwrap().p50_ns);
}

#[test]
fn real_targets_share_a_load_and_hold_different_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [folder.path().join("a"), folder.path().join("b")];
    for path in &paths {
        std::fs::write(path, vec![0u8; MIB as usize]).unwrap();
    }
    for backend in ["io_uring", "libaio", "sync"] {
        let spec =
            format!("ops = {{ write = 100 }}\npasses = 1\nbackend = \"{backend}\"\ndepth = 4");
        let mut load = on(&paths[0], &spec);
        load.targets
            .push(Aim { target: TargetSpec::Path(paths[1].clone()), share: Percent(100.0) });
        let reported = run(&load);
        assert_eq!(reported.summary().operations["write"].ios, 512, "{backend}");
        let [a, b] = paths.each_ref().map(|path| std::fs::read(path).unwrap());
        assert!(a.chunks(4096).zip(b.chunks(4096)).all(|(a, b)| a != b), "{backend}");
    }
}

#[test]
fn a_target_that_blocks_is_not_driven_by_io_uring_and_others_are() {
    let name = "a_target_that_blocks_is_not_driven_by_io_uring_and_others_are";
    let Some(device) = Loop::new(name, 16 * MIB, &[]) else { return };
    // The choice rests on bursts of 60 ms, which others may disturb: not five times in a row.
    let chosen = |path: &std::path::Path, depth: u32, ways: usize, meant: &[&str]| {
        let spec = format!("ops = {{ randread = 100 }}\nduration = \"100ms\"\ndepth = {depth}");
        (0..5).any(|_| {
            let reported = run(&on(path, &spec));
            let engine = &reported.summary().engine;
            assert_eq!((engine.probe.len(), engine.depth), (ways, depth), "{engine:?}");
            assert!(engine.chosen.starts_with("auto"), "{engine:?}");
            let blocks = engine.chosen.contains("RWF_NOWAIT is refused");
            assert_eq!(blocks, !meant.contains(&"io_uring"), "{engine:?}");
            meant.contains(&engine.backend.as_str())
        })
    };
    assert!(chosen(&device.path, 32, 2, &["io_uring"]));
    let Some(zram) = crate::support::Zram::new(name, 16 * MIB) else { return };
    assert!(chosen(&zram.path, 1, 2, &["sync"]));
    assert!(chosen(&zram.path, 32, 3, &["sync", "libaio"]));
}

#[test]
fn what_reads_would_not_show_is_not_probed_and_the_choice_says_why() {
    let name = "what_reads_would_not_show_is_not_probed_and_the_choice_says_why";
    let engine = |path: &std::path::Path, spec: &str| {
        let mut load = on(path, &format!("{spec}\nios = 200"));
        load.may_create = Some(units::Bytes(4 * MIB));
        run(&load).summary().engine.clone()
    };
    let unprobed = |path: &std::path::Path, spec: &str, driver: &str, why: &str| {
        let engine = engine(path, spec);
        assert!(engine.probe.is_empty() && engine.backend == driver, "{spec}: {engine:?}");
        assert!(engine.chosen.starts_with(&format!("auto: {driver}, not probed")), "{engine:?}");
        assert!(engine.chosen.contains(why), "{spec}: {engine:?}");
    };
    // A loop device takes I/O without blocking.
    if let Some(device) = Loop::new(name, 16 * MIB, &[]) {
        unprobed(&device.path, "ops = { randwrite = 100 }\ndepth = 32", "io_uring", "writes");
        unprobed(
            &device.path,
            "ops = { randread = 99, randwrite = 1 }\ndepth = 8",
            "io_uring",
            "writes",
        );
        assert_eq!(engine(&device.path, "ops = { randread = 100 }\ndepth = 32").probe.len(), 2);
    }
    if let Some(zram) = crate::support::Zram::new(name, 16 * MIB) {
        unprobed(&zram.path, "ops = { randwrite = 100 }\ndepth = 32", "libaio", "writes");
    }
    // Files: a hole, room that is only reserved, and the same file written. Only the range of the load counts.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![1u8; MIB as usize]).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4 * MIB).unwrap();
    let read = |more: &str| format!("ops = {{ randread = 100 }}\ndepth = 32\n{more}");
    let never = |path: &std::path::Path| {
        let engine = engine(path, &read(""));
        assert!(engine.probe.is_empty() && engine.chosen.contains("never written"), "{engine:?}");
    };
    never(&path);
    never(&folder.path().join("new"));
    assert!(!engine(&path, &read("size = \"1M\"")).probe.is_empty(), "all of that was written");
    std::fs::write(&path, vec![1u8; 4 * MIB as usize]).unwrap();
    assert!(!engine(&path, &read("")).probe.is_empty());
}

#[test]
fn a_choice_that_was_made_before_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![0u8; MIB as usize]).unwrap();
    let mut load = on(&path, "ops = { randread = 100 }\nios = 1000");
    load.choice = Some(Choice::given(Driver::Libaio, "chosen for the first variant"));
    let reported = run(&load);
    let engine = &reported.summary().engine;
    assert_eq!(
        (engine.backend.as_str(), engine.chosen.as_str()),
        ("libaio", "chosen for the first variant")
    );
    assert!(engine.probe.is_empty());
}

#[test]
fn more_errors_than_allowed_end_a_load_with_every_backend() {
    let name = "more_errors_than_allowed_end_a_load_with_every_backend";
    let Some(device) = Loop::new(name, 8 * MIB, &[]) else { return };
    std::fs::OpenOptions::new()
        .write(true)
        .open(&device.backing)
        .unwrap()
        .set_len(4 * MIB)
        .unwrap();
    for backend in ["io_uring", "libaio", "sync"] {
        let spec = "ops = { randread = 100 }\nduration = \"600s\"\ndepth = 4\nmax_errors = 50";
        let reported = run(&on(&device.path, &format!("{spec}\nbackend = \"{backend}\"")));
        let summary = reported.summary();
        assert_eq!(summary.ended_by, "max_errors", "{backend}");
        let errors: u64 = summary.operations["randread"].errors.values().sum();
        assert!((51..=51 + 4).contains(&errors), "{backend}: {errors}");
        agree(&reported);
    }
}

/// As etcd writes its log: records of an arbitrary size, each made durable.
#[test]
fn through_the_page_cache_any_size_goes_and_libaio_says_that_depth_does_nothing_there() {
    let folder = tempfile::tempdir().unwrap();
    for (backend, depth) in [("libaio", 8), ("libaio", 1), ("io_uring", 8), ("sync", 8)] {
        let path = folder.path().join("log");
        std::fs::write(&path, vec![0; 1 << 20]).unwrap();
        let spec = format!(
            "ops = {{ write = 100 }}\nblock_size = 2300\ndirect = false\nsync = 'fdatasync:1'\n\
             ios = 200\ndepth = {depth}\nbackend = '{backend}'\noffset = 7"
        );
        let reported = run(&load(TargetSpec::Path(path.clone()), &spec));
        let summary = reported.summary();
        assert_eq!(summary.operations["write"].ios, 200, "{backend}");
        assert!(summary.operations["flush"].ios >= 199, "{backend}");
        let bytes = std::fs::read(&path).unwrap();
        let (written, rest) = bytes[7..].split_at(200 * 2300);
        assert!(written.chunks(100).all(|part| part.iter().any(|byte| *byte != 0)), "{backend}");
        assert!(bytes[..7].iter().chain(rest).all(|byte| *byte == 0), "{backend}");
        let message =
            summary.notices.iter().any(|text| text.contains("a depth of 8 has no effect"));
        assert_eq!(message, backend == "libaio" && depth > 1, "{:?}", summary.notices);
    }
}
