//! The records of a load beyond counts: the worst I/Os, the log of every I/O, the clock.

use std::io::BufReader;
use std::time::Duration;

use engine::{Event, SimModel, TargetSpec};
use results::iolog::{IoRecord, Reader};
use sys::clock::Clock;
use units::Bytes;

use crate::support::{Loop, agree, load, on, run, run_with};

fn log_of(path: &std::path::Path, operations: &[&str]) -> Vec<IoRecord> {
    let file = std::fs::File::open(path).unwrap();
    let mut reader = Reader::new(BufReader::new(file)).unwrap();
    assert_eq!(reader.header().operations, operations);
    let records: Vec<_> = reader.by_ref().collect::<Result<_, _>>().unwrap();
    assert_eq!(reader.closing().unwrap().recorded, records.len() as u64);
    records
}

#[test]
fn the_longest_ios_of_a_load_on_a_file_name_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![1; 1 << 20]).unwrap();
    let mut load =
        on(&path, "ops = { randread = 100 }\nbackend = \"sync\"\ndirect = false\nios = 64");
    load.recording.worst = 2;
    let worst = run(&load).summary().worst.clone();
    assert_eq!(worst.len(), 2);
    for long in worst {
        assert_eq!((long.file, long.target.as_deref()), (Some(true), path.to_str()));
    }
}

#[test]
fn nobody_knows_of_a_simulated_target_whether_it_is_a_file() {
    let target = TargetSpec::Simulated(SimModel::default());
    let mut load = load(target, "ops = { randread = 100 }\nios = 64");
    load.recording.worst = 1;
    let reported = run_with(&load, &Clock::simulated(None), |_, _| {});
    let worst = &reported.summary().worst[0];
    assert_eq!((worst.file, worst.place().starts_with("byte ")), (None, true));
}

#[test]
fn the_log_holds_every_io_and_the_worst_of_them_are_in_the_summary() {
    let Some(device) = Loop::new("the_log_holds_every_io", 16 << 20, &[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let spec = "ops = { randread = 50, randwrite = 50 }\ndepth = 8\njobs = 2\nbytes = \"8M\"";
    let mut load = on(&device.path, spec);
    load.recording.io_log = Some(engine::IoLogTarget::File(path.clone()));
    load.recording.worst = 5;
    let reported = run(&load);
    agree(&reported);
    let summary = reported.summary();
    let facts = summary.io_log.as_ref().unwrap();
    assert_eq!((facts.recorded, facts.dropped, &facts.error), (2048, 0, &None));
    let records = log_of(&path, &["randread", "randwrite"]);
    for (n, name) in ["randread", "randwrite"].into_iter().enumerate() {
        let of: Vec<_> = records.iter().filter(|r| usize::from(r.operation) == n).collect();
        assert_eq!(of.len() as u64, summary.operations[name].ios);
        let longest = of.iter().map(|r| r.latency_ns).max().unwrap();
        let reported = summary.operations[name].latency.unwrap().max_ns;
        assert!(reported >= longest && reported <= longest + longest / 500, "{reported} {longest}");
    }
    assert!(records.iter().all(|r| r.length == 4096 && r.offset % 4096 == 0 && r.error == 0));
    assert!(records.iter().any(|r| r.job == 0) && records.iter().any(|r| r.job == 1));
    let mut latencies: Vec<u64> = records.iter().map(|r| r.latency_ns).collect();
    latencies.sort_by_key(|&l| std::cmp::Reverse(l));
    let worst: Vec<u64> = summary.worst.iter().map(|w| w.latency_ns).collect();
    assert_eq!(worst, latencies[..5]);
    for long in &summary.worst {
        let same = |r: &&IoRecord| (r.start_ns, r.offset) == (long.at_ns, long.offset);
        assert_eq!(records.iter().find(same).unwrap().latency_ns, long.latency_ns);
    }
}

#[test]
fn threads_that_claim_random_reads_ahead_do_each_exactly_once_and_sequential_ones_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let (file, log) = (folder.path().join("file"), folder.path().join("log"));
    std::fs::write(&file, vec![1u8; 8 << 20]).unwrap();
    let reads = |op: &str, more: &str| {
        let spec = format!("ops = {{ {op} = 100 }}\ndepth = 8\n{more}");
        let mut load = on(&file, &spec);
        load.recording.io_log = Some(engine::IoLogTarget::File(log.clone()));
        let reported = run(&load);
        agree(&reported);
        log_of(&log, &[op])
    };
    let count = |records: &[IoRecord]| {
        let mut counts = vec![0; 2048];
        records.iter().for_each(|r| counts[(r.offset / 4096) as usize] += 1);
        counts
    };
    let passes = reads("randread", "pattern = 'permutation'\npasses = 3\nbackend = 'sync'");
    assert_eq!(count(&passes), [3; 2048]);
    // What comes before the end is the same as from one thread.
    let drawn = reads("randread", "pattern = 'zipf:1.1'\nios = 5000\nbackend = 'sync'");
    let alone = reads("randread", "pattern = 'zipf:1.1'\nios = 5000\nbackend = 'io_uring'");
    assert_eq!((drawn.len(), count(&drawn)), (5000, count(&alone)));

    let mut sequential = reads("read", "passes = 1\nbackend = 'sync'");
    sequential.sort_by_key(|r| r.start_ns);
    // Eight threads take their turns: none is ahead of its place by more than they are.
    let ahead = |(n, r): (usize, &IoRecord)| (r.offset / 4096) as usize <= n + 8;
    assert_eq!(count(&sequential), [1; 2048]);
    assert!(sequential.iter().enumerate().all(ahead));
}

#[test]
fn the_clock_behind_the_latencies_is_told_with_how_far_it_can_be_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let mut load = on(&folder.path().join("x"), "ops = { randread = 100 }\nduration = \"200ms\"");
    load.may_create = Some(units::Bytes(1 << 20));
    let reported = run(&load);
    let engine = &reported.summary().engine;
    let check = engine.clock_check.as_ref().unwrap();
    assert!(!check.reason.is_empty());
    match engine.clock.as_str() {
        "TSC" => {
            assert!(check.tsc_hz.unwrap() > 1e8 && check.cpus.unwrap() >= 1);
            assert!(check.drift_ppm.unwrap().abs() < 1_000.0, "{check:?}");
        }
        other => assert_eq!(other, "CLOCK_MONOTONIC"),
    }
}

#[test]
fn time_that_a_listener_takes_over_the_start_is_not_the_loads() {
    let spec = "ops = { randread = 100 }\nduration = '300ms'\ninterval = '100ms'\nlimit = '1000'";
    let load = load(TargetSpec::Null { bytes: Bytes(1 << 30) }, spec);
    let slow = |event: &Event, _: &_| {
        if matches!(event, Event::Started(_)) {
            std::thread::sleep(Duration::from_millis(250));
        }
    };
    let reported = run_with(&load, &Clock::real(), slow);
    assert!(reported.rows[0].ios > 0, "{:?}", reported.rows);
    let iops = reported.summary().operations["randread"].iops;
    assert!(iops.is_some_and(|iops| iops > 900.0), "1000 a second were asked for: {iops:?}");
}
