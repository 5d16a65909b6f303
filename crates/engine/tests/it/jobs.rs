//! Jobs of one load that run at the same time.

use std::time::Duration;

use engine::{IoLogKeeper, IoLogTarget, SimModel, TargetSpec};
use faulty::{Fault, Faulty, On, What, When};
use sys::clock::Clock;

use crate::support::{Reported, agree, load, on, run, run_with, skip};

/// A file of 8 MiB whose second half takes 10 ms for each read.
fn slow_half(test: &str) -> Option<Faulty> {
    let slow = When::within(4 << 20..8 << 20);
    let fault = Fault::new(On::Read, slow, What::Stall(Duration::from_millis(10)));
    let mounted = Faulty::mount(8 << 20, vec![fault]);
    mounted.map_err(|e| skip(test, &format!("no faulty target: {e}"))).ok()
}

fn simulated(spec: &str) -> Reported {
    let load = load(TargetSpec::Simulated(SimModel::default()), spec);
    run_with(&load, &Clock::simulated(None), |_, _| {})
}

#[test]
fn a_job_whose_part_of_the_target_is_slow_is_told_from_the_other() {
    let Some(disk) = slow_half("a_job_whose_part_of_the_target_is_slow") else { return };
    for backend in ["sync", "io_uring"] {
        let spec = format!(
            "ops = {{ read = 100 }}\nshare = 'parts'\njobs = 2\ndepth = 1\nduration = '1s'\ninterval = '200ms'\n\
             backend = '{backend}'\nper_job = true"
        );
        let reported = run(&on(disk.path(), &spec));
        agree(&reported);
        let summary = reported.summary();
        let (slowest, fastest) = summary.slowest_and_fastest().unwrap();
        assert_eq!((slowest.job, fastest.job), (1, 0), "{backend}: {:?}", summary.jobs);
        let percent = summary.slowest_job_percent().unwrap();
        assert!(percent < 50.0, "{backend}: {percent} %");
        let p50 = |job: usize| summary.jobs[job].operations["read"].latency.unwrap().p50_ns;
        assert!(p50(1) >= 9_000_000 && p50(0) < p50(1), "{backend}: {:?}", (p50(0), p50(1)));
    }
}

#[test]
fn rows_of_jobs_are_there_where_they_are_asked_for_and_change_nothing_else() {
    let spec = "ops = { randread = 60, randwrite = 40 }\njobs = 3\nduration = '500ms'\ninterval = '100ms'\nramp = '50ms'";
    let (plain, each) = (simulated(spec), simulated(&format!("{spec}\nper_job = true")));
    agree(&plain);
    agree(&each);
    assert!(plain.rows == each.rows && plain.jobs.is_empty() && !each.jobs.is_empty());
    let counts = |reported: &Reported| {
        reported.summary().jobs.iter().map(|job| (job.ios, job.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(counts(&plain), counts(&each));
    assert_eq!(plain.summary().operations, each.summary().operations);
    // Jobs that do the same on one device differ by chance alone.
    let percent = plain.summary().slowest_job_percent().unwrap();
    assert!(percent > 95.0, "{percent}");
    let one = simulated("ops = { randread = 100 }\nios = 1000\nper_job = true");
    assert_eq!((one.summary().slowest_job_percent(), one.jobs.len()), (None, 1));
}

#[test]
fn a_job_that_has_done_its_part_sooner_is_faster_although_all_parts_are_alike() {
    let Some(disk) = slow_half("a_job_that_has_done_its_part_sooner") else { return };
    let spec = "ops = { read = 100 }\nblock_size = '64k'\nshare = 'parts'\njobs = 2\ndepth = 1\npasses = 1\nbackend = 'sync'";
    let reported = run(&on(disk.path(), spec));
    agree(&reported);
    let summary = reported.summary();
    assert_eq!(summary.jobs[0].ios, summary.jobs[1].ios);
    assert!(summary.jobs[0].duration_ns < summary.jobs[1].duration_ns, "{:?}", summary.jobs);
    assert!(summary.slowest_job_percent().unwrap() < 50.0, "{:?}", summary.jobs);
}

#[test]
fn a_log_in_virtual_time_holds_every_io_up_to_its_bound() {
    let kept = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let into = kept.clone();
    let add = move |bytes: &[u8]| into.lock().unwrap().extend_from_slice(bytes);
    let spec = "ops = { randread = 100 }\njobs = 2\nios = 100000";
    let mut load = load(TargetSpec::Simulated(SimModel::default()), spec);
    let most = 40 * 60_000;
    let keeper = IoLogKeeper { name: "ios".into(), add: std::sync::Arc::new(add), most };
    load.recording.io_log = Some(IoLogTarget::Keeper(keeper));
    let reported = run_with(&load, &Clock::simulated(None), |_, _| {});
    let summary = reported.summary();
    let facts = summary.io_log.as_ref().unwrap();
    assert_eq!((facts.recorded, facts.dropped, facts.beyond), (60_000, 40_000, 40_000));
    let message = summary.notices.join(" ");
    assert!(
        message.contains("holds the first 60,000 I/Os") && message.contains("40,000"),
        "{message}"
    );
    assert!(summary.incomplete.is_empty(), "a bound is not a fault: {:?}", summary.incomplete);
    let bytes = kept.lock().unwrap().clone();
    let mut reader = results::iolog::Reader::new(&bytes[..]).unwrap();
    assert_eq!(reader.by_ref().filter(|record| record.is_ok()).count(), 60_000);
}
