//! Loop devices.

use std::os::unix::fs::FileExt;

use engine::{Event, Load};
use sys::clock::Clock;
use sys::interrupt::Level;
use units::Seed;
use workload::Stream;

use crate::support::{Loop, agree, on, run, run_with, seconds};

const MIB: u64 = 1 << 20;

/// Returns the bytes that a device of `bytes` must hold after a pass: each job's contents in the order of its I/Os.
fn expected(load: &Load, bytes: u64) -> Vec<u8> {
    let spec = &load.spec;
    let range = spec.check_target(bytes, 512).unwrap();
    let mut device = vec![0; bytes as usize];
    for job in 0..spec.jobs {
        let mut source = content::Source::new(&spec.content, load.seed, job, spec.jobs);
        for io in Stream::new(spec, &range, load.seed, job, spec.jobs) {
            let at = io.offset as usize;
            source.fill_next(&mut device[at..at + io.length as usize]);
        }
    }
    device
}

#[test]
fn a_permutation_pass_leaves_every_block_as_its_content_id_says() {
    let Some(device) =
        Loop::new("a_permutation_pass_leaves_every_block_as_its_content_id_says", 16 * MIB, &[])
    else {
        return;
    };
    let load = on(
        &device.path,
        "ops = { randwrite = 100 }\npattern = \"permutation\"\npasses = 1\njobs = 2\ndepth = 16\n\
         content = { dedupe = 25, compress = \"2.5x\", zero = 5 }",
    );
    let reported = run(&load);
    let summary = reported.summary();
    assert_eq!(summary.ended_by, "passes");
    assert_eq!(summary.operations["randwrite"].ios, 4096);
    assert_eq!(summary.operations["randwrite"].bytes, 16 * MIB);
    agree(&reported);
    assert!(summary.engine.direct && summary.engine.registered);
    assert!(summary.cpu.is_some_and(|c| c.per_io_us > Some(0.0)));
    let latency = summary.operations["randwrite"].latency.unwrap();
    assert!(latency.min_ns > 500 && latency.max_ns >= latency.p999_ns, "{latency:?}");

    let file = std::fs::File::open(&device.path).unwrap();
    let mut found = vec![0; 16 * MIB as usize];
    file.read_exact_at(&mut found, 0).unwrap();
    let expected = expected(&load, 16 * MIB);
    let differ = found.chunks(4096).zip(expected.chunks(4096)).filter(|(a, b)| a != b).count();
    assert_eq!(differ, 0, "blocks that hold something else");

    // Every block was seen (4096 is less than the sample), so that the figures are exact.
    let achieved = summary.achieved.as_ref().unwrap();
    assert_eq!((achieved.blocks, achieved.duplicate_error_points), (Some(4096), Some(0.0)));
    assert!((achieved.duplicate_percent.unwrap() - 25.0).abs() < 0.1, "{achieved:?}");
    assert!((achieved.zero_percent.unwrap() - 5.0).abs() < 0.1, "{achieved:?}");
    assert!((achieved.lz4_saving_percent.unwrap() - 60.0).abs() < 0.1, "{achieved:?}");
}

#[test]
fn a_mix_ends_by_time_and_keeps_its_shares() {
    let Some(device) = Loop::new("a_mix_ends_by_time_and_keeps_its_shares", 64 * MIB, &[]) else {
        return;
    };
    let load = on(
        &device.path,
        "ops = { randread = 70, randwrite = 30 }\njobs = 2\ndepth = 8\nduration = \"1.05s\"\n\
         interval = \"100ms\"",
    );
    let reported = run(&load);
    let summary = reported.summary();
    assert_eq!(summary.ended_by, "duration");
    agree(&reported);
    let (reads, writes) =
        (summary.operations["randread"].ios as f64, summary.operations["randwrite"].ios as f64);
    assert!(reads + writes > 1000.0, "{reads} + {writes}");
    assert!((reads / (reads + writes) - 0.7).abs() < 0.01, "{reads} of {}", reads + writes);
    // 1.05 s are ten whole intervals and a half one; what drains after the end counts for that.
    assert_eq!(reported.rows.len(), 2 * 11);
    assert!(reported.rows.iter().all(|r| r.stage == 3));
    let last = reported.rows.last().unwrap();
    assert!((0.04..5.0).contains(&seconds(last.end_ns - last.start_ns)), "{last:?}");
    assert!((1.0..10.0).contains(&seconds(summary.duration_ns)));
    let fractions: Vec<_> = reported
        .events
        .iter()
        .filter_map(|e| match e {
            Event::Intervals { progress, .. } => progress.fraction,
            _ => None,
        })
        .collect();
    assert!(fractions.is_sorted() && fractions.last() == Some(&1.0), "{fractions:?}");
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let Some(device) = Loop::new("an_interrupt_keeps_what_was_measured", 16 * MIB, &[]) else {
        return;
    };
    let load =
        on(&device.path, "ops = { randwrite = 100 }\nduration = \"600s\"\ninterval = \"50ms\"");
    let reported = run_with(&load, &Clock::real(), |event, interrupt| {
        if matches!(event, Event::Intervals { .. }) {
            interrupt.request(Level::Finish);
        }
    });
    let summary = reported.summary();
    assert_eq!(summary.ended_by, "interrupted");
    assert!(summary.operations["randwrite"].ios > 0);
    assert!(seconds(summary.duration_ns) < 60.0);
    agree(&reported);
}

#[test]
fn ios_beyond_a_shrunken_backing_file_are_errors_by_kind() {
    let Some(device) =
        Loop::new("ios_beyond_a_shrunken_backing_file_are_errors_by_kind", 8 * MIB, &[])
    else {
        return;
    };
    std::fs::OpenOptions::new().write(true).open(&device.backing).unwrap().set_len(MIB).unwrap();
    let load = on(&device.path, "ops = { randread = 100 }\npattern = \"permutation\"\npasses = 1");
    let reported = run(&load);
    let summary = reported.summary();
    agree(&reported);
    let operation = &summary.operations["randread"];
    let errors: u64 = operation.errors.values().sum();
    assert!(operation.errors.contains_key("EIO"), "{operation:?}");
    assert_eq!(operation.ios + errors, 2048);
    assert!(errors >= 1024 && summary.ended_by == "passes", "{summary:?}");
    assert!(summary.notices.iter().any(|n| n.contains("failed")), "{:?}", summary.notices);
}

#[test]
fn a_target_that_gives_nothing_but_errors_ends_the_load() {
    let Some(device) =
        Loop::new("a_target_that_gives_nothing_but_errors_ends_the_load", 8 * MIB, &[])
    else {
        return;
    };
    std::fs::OpenOptions::new().write(true).open(&device.backing).unwrap().set_len(0).unwrap();
    let reported = run(&on(&device.path, "ops = { randread = 100 }\nduration = \"600s\""));
    let summary = reported.summary();
    assert_eq!((summary.ended_by.as_str(), summary.operations["randread"].ios), ("errors", 0));
    assert_eq!(summary.operations["randread"].iops, None);
    assert!(seconds(summary.duration_ns) < 60.0);
}

#[test]
fn a_read_only_device_is_refused_before_anything_is_written() {
    let Some(device) = Loop::new(
        "a_read_only_device_is_refused_before_anything_is_written",
        MIB,
        &["--read-only"],
    ) else {
        return;
    };
    let error = run(&on(&device.path, "ops = { write = 100 }\npasses = 1")).result.unwrap_err();
    assert!(
        error.to_string().contains("cannot be opened") || error.to_string().contains("read-only")
    );
    let reads = run(&on(&device.path, "ops = { read = 100 }\npasses = 1"));
    assert_eq!(reads.summary().operations["read"].ios, 256);
}

#[test]
fn a_block_size_below_the_logical_block_is_refused_with_the_size_to_use() {
    let name = "a_block_size_below_the_logical_block_is_refused_with_the_size_to_use";
    let Some(device) = Loop::new(name, MIB, &["--sector-size", "4096"]) else { return };
    let load = on(&device.path, "ops = { read = 100 }\npasses = 1\nblock_size = 512");
    let error = run(&load).result.unwrap_err();
    assert_eq!(error.kind(), engine::ErrorKind::Usage);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("4 KiB") || cause.contains("4096"), "{error}: {cause}");
}

#[test]
fn another_seed_writes_other_bytes_and_the_stage_alone_changes_nothing() {
    let load = on(std::path::Path::new("x"), "ops = { write = 100 }\npasses = 1");
    let (mut other_seed, mut other_stage) = (load.clone(), load.clone());
    other_seed.seed = Seed(43);
    other_stage.stage = 4;
    let bytes = expected(&load, MIB);
    assert!(expected(&other_seed, MIB) != bytes);
    assert!(expected(&other_stage, MIB) == bytes);
}
