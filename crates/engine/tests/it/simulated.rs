//! Loads in virtual time.

use std::time::Instant;

use engine::{Event, SimModel, TargetSpec};
use sys::clock::Clock;
use sys::interrupt::Level;
use units::{Bytes, Nanos};

use crate::support::{Reported, agree, load, run_with, seconds};

fn simulated(model: SimModel, spec: &str) -> Reported {
    run_with(&load(TargetSpec::Simulated(model), spec), &Clock::simulated(None), |_, _| {})
}

#[test]
fn a_quarter_of_a_million_ios_take_less_than_a_second_and_are_what_was_asked() {
    let start = Instant::now();
    let reported = simulated(
        SimModel::default(),
        "ops = { randwrite = 100 }\npattern = \"permutation\"\npasses = 1\n\
         content = { dedupe = 50, compress = \"2.5x\" }",
    );
    let took = start.elapsed();
    let summary = reported.summary();
    agree(&reported);
    assert_eq!(summary.operations["randwrite"].ios, 262_144);
    let achieved = summary.achieved.as_ref().unwrap();
    assert!((achieved.duplicate_percent.unwrap() - 50.0).abs() < 1.0, "{achieved:?}");
    assert!((achieved.lz4_saving_percent.unwrap() - 60.0).abs() < 0.1, "{achieved:?}");
    assert_eq!(achieved.blocks, Some(262_144));
    assert!((4_000..=40_000).contains(&achieved.blocks_sampled.unwrap()), "{achieved:?}");
    // 32 in flight on 8 servers of 101 µs: all servers are busy, and an I/O waits for three others.
    let operation = &summary.operations["randwrite"];
    assert!((operation.iops.unwrap() / (8.0 / 101e-6) - 1.0).abs() < 0.01, "{operation:?}");
    assert!((operation.latency.unwrap().mean_ns / 404e3 - 1.0).abs() < 0.01, "{operation:?}");
    assert!(summary.cpu.is_none() && summary.engine.backend == "sim");
    println!("took {took:?}");
    assert!(took.as_secs_f64() < 10.0, "{took:?}");
}

#[test]
fn what_was_achieved_is_counted_in_the_block_that_content_is_asked_in() {
    for (io, block, blocks) in [("4k", 512, 262_144), ("64k", 65_536, 2048), ("64k", 4096, 32_768)]
    {
        let reported = simulated(
            SimModel { bytes: Bytes(128 << 20), ..SimModel::default() },
            &format!(
                "ops = {{ randwrite = 100 }}\nblock_size = \"{io}\"\npattern = \"permutation\"\npasses = 1\n\
                 content = {{ dedupe = 40, zero = 20, compress = \"3x\", block = {block} }}"
            ),
        );
        let achieved = reported.summary().achieved.as_ref().unwrap();
        assert_eq!(achieved.blocks, Some(blocks), "{block}");
        let near = |figure: Option<f64>, wanted: f64, points: f64| {
            assert!((figure.unwrap() - wanted).abs() < points, "{block}, {wanted}: {achieved:?}");
        };
        near(achieved.duplicate_percent, 40.0, 1.0);
        near(achieved.zero_percent, 20.0, 0.1);
        near(achieved.lz4_saving_percent, 66.7, 1.0);
        assert_eq!(achieved.packer_saving_percent.is_some(), block == 4096);
    }
}

#[test]
fn the_same_seed_gives_the_same_events() {
    let spec = "ops = { randread = 60, randwrite = 40 }\njobs = 3\nduration = \"500ms\"\n\
                interval = \"100ms\"\ncontent = { dedupe = 10 }";
    let (a, b) = (simulated(SimModel::default(), spec), simulated(SimModel::default(), spec));
    assert!(a.events == b.events);
    assert_eq!(a.summary(), b.summary());
    assert_eq!(a.summary().ended_by, "duration");
    assert_eq!(a.rows.len(), 2 * 5);
    agree(&a);
}

#[test]
fn one_io_in_flight_takes_just_its_service_time() {
    let model = SimModel { jitter: 0.0, bytes: Bytes(1 << 20), ..SimModel::default() };
    let reported = simulated(model, "ops = { read = 100 }\npasses = 1\ndepth = 1");
    let latency = reported.summary().operations["read"].latency.unwrap();
    assert!(latency.min_ns.abs_diff(81_000) < 100 && latency.max_ns.abs_diff(81_000) < 100);
    assert_eq!(reported.summary().duration_ns, 256 * 81_000);
}

#[test]
fn virtual_time_moves_for_all_and_goes_on_from_where_it_was() {
    let clock = Clock::simulated(None);
    clock.advance(Nanos::from_secs(7));
    let spec = "ops = { randread = 100 }\nduration = \"2.5s\"";
    let load = load(TargetSpec::Simulated(SimModel::default()), spec);
    let reported = run_with(&load, &clock, |event, _| {
        if let Event::Intervals { rows, .. } = event {
            assert_eq!(clock.now().0, rows[0].end_ns, "a row comes when its interval is over");
        }
    });
    let starts: Vec<_> = reported.rows.iter().map(|r| seconds(r.start_ns)).collect();
    assert_eq!(starts, [7.0, 8.0, 9.0]);
    assert!((9.5..9.6).contains(&clock.now().as_secs_f64()));
}

#[test]
fn an_interrupt_ends_it_with_what_was_done() {
    let spec = "ops = { randwrite = 100 }\nduration = \"3600s\"";
    let load = load(TargetSpec::Simulated(SimModel::default()), spec);
    let clock = Clock::simulated(None);
    let reported = run_with(&load, &clock, |event, interrupt| {
        if matches!(event, Event::Intervals { progress, .. } if progress.elapsed_ns > 2_500_000_000)
        {
            interrupt.request(Level::Finish);
        }
    });
    assert_eq!(reported.summary().ended_by, "interrupted");
    agree(&reported);
    assert!((3.0..4.0).contains(&seconds(reported.summary().duration_ns)));
    assert_eq!(clock.now().0, reported.rows.last().unwrap().end_ns);
}

/// Checks that rows follow each other from the load's start to its end, and that none is shorter than it says.
fn rows_cover(reported: &Reported, of: &str) {
    let rows = &reported.rows;
    assert!(rows.iter().all(|row| row.end_ns - row.start_ns > 1_000), "{of}: {rows:?}");
    assert!(rows.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns), "{of}: {rows:?}");
    let covered = rows.last().unwrap().end_ns - rows[0].start_ns;
    assert_eq!(covered, reported.summary().duration_ns, "{of}");
}

/// Loads that wait most of the time, with how long each lasts and how many I/Os it does: a cap, pauses, arrivals.
const WAITING: [(&str, u64); 4] = [
    ("limit = \"50B/s\"\ndepth = 1", 1),
    ("limit = \"2/s\"\ndepth = 1", 6),
    ("think = \"2s:100\"\ndepth = 1", 200),
    ("think = \"5s:4\"\ndepth = 1\ninterval = \"700ms\"", 4),
];

#[test]
fn a_load_that_waits_lasts_its_duration_in_virtual_time_and_in_real_time() {
    for (waits, ios) in WAITING {
        let spec = format!("ops = {{ randread = 100 }}\nduration = \"3s\"\n{waits}");
        let virtual_time = simulated(SimModel::default(), &spec);
        let null = load(TargetSpec::Null { bytes: Bytes(1 << 30) }, &spec);
        let real_time = run_with(&null, &Clock::real(), |_, _| {});
        for (reported, of) in [(virtual_time, "virtual"), (real_time, "real")] {
            let of = format!("{of}: {waits}");
            let summary = reported.summary();
            let lasted = summary.duration_ns as f64 / 1e9;
            assert!(
                (3.0..3.2).contains(&lasted) && summary.ended_by == "duration",
                "{of}: {lasted}"
            );
            rows_cover(&reported, &of);
            let operation = &summary.operations["randread"];
            assert!(operation.ios.abs_diff(ios) <= 1 + ios / 50, "{of}: {operation:?}");
            let rate = operation.iops.unwrap() * lasted / operation.ios as f64;
            assert!((rate - 1.0).abs() < 1e-9, "{of}: {operation:?}");
        }
    }
}

#[test]
fn a_load_that_its_ios_end_waits_for_nothing_after_the_last_one() {
    for ends in
        ["ios = 4", "bytes = \"16K\"", "passes = 1\nsize = \"16K\"\npattern = \"permutation\""]
    {
        for waits in ["think = \"60s:4\"", "limit = \"4/s\""] {
            let spec = format!(
                "ops = {{ randwrite = 100 }}\n{ends}\n{waits}\ndepth = 1\nsync = \"fsync:4\""
            );
            let virtual_time = simulated(SimModel::default(), &spec);
            let null = load(TargetSpec::Null { bytes: Bytes(1 << 30) }, &spec);
            let real_time = run_with(&null, &Clock::real(), |_, _| {});
            for reported in [virtual_time, real_time] {
                let (summary, of) = (reported.summary(), format!("{ends}, {waits}"));
                assert_eq!(summary.operations["randwrite"].ios, 4, "{of}");
                let all: u64 = summary.operations.values().map(|operation| operation.ios).sum();
                assert_eq!(all, 5, "{of}: {:?}", summary.operations.keys());
                let lasted = summary.duration_ns as f64 / 1e9;
                assert!(lasted < 0.95, "{of}: {lasted}");
            }
        }
    }
}

#[test]
fn a_load_that_is_stopped_in_a_pause_lasts_until_then() {
    let spec = "ops = { randread = 100 }\nduration = \"600s\"\nthink = \"60s:4\"\ndepth = 1";
    for target in
        [TargetSpec::Simulated(SimModel::default()), TargetSpec::Null { bytes: Bytes(1 << 30) }]
    {
        let (load, of) = (load(target, spec), "stopped");
        let clock = match load.targets[0].target {
            TargetSpec::Simulated(_) => Clock::simulated(None),
            _ => Clock::real(),
        };
        let reported = run_with(&load, &clock, |event, interrupt| {
            if matches!(event, Event::Intervals { .. }) {
                interrupt.request(Level::Finish);
            }
        });
        let summary = reported.summary();
        assert_eq!(
            (summary.ended_by.as_str(), summary.operations["randread"].ios),
            ("interrupted", 4)
        );
        let lasted = summary.duration_ns as f64 / 1e9;
        assert!((0.9..4.0).contains(&lasted), "{lasted}");
        rows_cover(&reported, of);
    }
}
