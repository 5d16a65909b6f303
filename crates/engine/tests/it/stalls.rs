//! Targets that stall, for a while or for ever.

use std::time::{Duration, Instant};

use engine::Event;
use faulty::{Fault, Faulty, On, What, When};
use sys::clock::Clock;
use sys::interrupt::Level;

use crate::faults::{BACKENDS, mount};
use crate::support::{agree, on, run, run_with};

/// Runs a load on a target that stalls for ever, asks for `level` soon after its start, and looks at what it gives.
fn interrupted_in_a_stall(target: &Faulty, backend: &str, level: Level) {
    let spec = "ops = { randread = 100 }\nduration = \"600s\"\ndepth = 2\ninterval = \"50ms\"";
    let load = on(target.path(), &format!("{spec}\nbackend = \"{backend}\""));
    let start = Instant::now();
    let reported = run_with(&load, &Clock::real(), |event, interrupt| {
        if matches!(event, Event::Started(_)) {
            let interrupt = interrupt.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(700));
                interrupt.request(level);
            });
        }
    });
    let summary = reported.summary();
    let what = format!("{backend} {level:?}");
    assert_eq!(summary.ended_by, "interrupted", "{what}");
    let read = &summary.operations["randread"];
    assert!(read.ios <= 102, "{what}: {}", read.ios);
    let given_up = |n: &String| n.contains("given up") || n.contains("did not come back");
    assert!(summary.notices.iter().any(given_up), "{what}: {:?}", summary.notices);
    let is_given_up = |e: &Event| matches!(e, Event::Notice(text) if given_up(text));
    assert!(reported.events.iter().any(is_given_up), "{what}: told while it ran");
    // The time that was waited in vain belongs to the load.
    assert!(summary.duration_ns >= 700_000_000, "{what}: {}", summary.duration_ns);
    assert!(start.elapsed() < Duration::from_secs(60), "{what}: {:?}", start.elapsed());
}

#[test]
fn a_stalled_target_never_hangs_the_exit() {
    let name = "a_stalled_target_never_hangs_the_exit";
    let stall = What::Stall(Duration::from_secs(600));
    let faults = || vec![Fault::new(On::Read, When::after(100), stall.clone())];
    let cases = BACKENDS.iter().flat_map(|b| [(*b, Level::Finish), (*b, Level::Now)]);
    let Some(targets) =
        cases.map(|c| Some((mount(name, faults())?, c))).collect::<Option<Vec<_>>>()
    else {
        return;
    };
    // All at once: each takes seconds of waiting.
    std::thread::scope(|scope| {
        let all: Vec<_> = targets
            .iter()
            .map(|(target, (backend, level))| {
                scope.spawn(move || interrupted_in_a_stall(target, backend, *level))
            })
            .collect();
        let ended: Vec<_> = all.into_iter().map(|thread| thread.join().is_ok()).collect();
        targets.iter().for_each(|(target, _)| target.release());
        assert!(ended.iter().all(|&ok| ok), "{ended:?}");
    });
}

#[test]
fn a_stall_that_ends_is_in_the_latencies_and_nothing_is_lost() {
    let name = "a_stall_that_ends_is_in_the_latencies_and_nothing_is_lost";
    for backend in BACKENDS {
        let stall = What::Stall(Duration::from_millis(1200));
        let faults = vec![Fault::new(On::Read, When::after(100).at_most(4), stall)];
        let Some(target) = mount(name, faults) else { return };
        let spec = "ops = { randread = 100 }\nios = 300\ndepth = 4\ninterval = \"100ms\"";
        let reported = run(&on(target.path(), &format!("{spec}\nbackend = \"{backend}\"")));
        let read = &reported.summary().operations["randread"];
        agree(&reported);
        assert_eq!((read.ios, read.errors.len()), (300, 0), "{backend}");
        let latency = read.latency.as_ref().unwrap();
        assert!(latency.max_ns >= 1_200_000_000, "{backend}: {latency:?}");
        assert!(reported.rows.iter().any(|row| row.ios == 0), "{backend}: an interval of silence");
    }
}

#[test]
fn while_all_threads_stall_it_is_told_that_nothing_ends_and_the_rows_come_afterwards_once_each() {
    let name = "while_all_threads_stall_it_is_told_that_nothing_ends";
    let stall = What::Stall(Duration::from_millis(2500));
    let faults = vec![Fault::new(On::Read, When::after(100).at_most(4), stall)];
    let Some(target) = mount(name, faults) else { return };
    let spec =
        "ops = { randread = 100 }\nios = 300\ndepth = 4\ninterval = \"100ms\"\nbackend = \"sync\"";
    let reported = run(&on(target.path(), spec));
    agree(&reported);
    let waiting = reported.events.iter().filter_map(|event| match event {
        Event::Waiting(waiting) => Some(*waiting),
        _ => None,
    });
    let waiting: Vec<_> = waiting.collect();
    let still = |w: &&engine::Waiting| (w.ios, w.bytes, w.in_flight) == (0, 0, 4);
    assert!(waiting.iter().filter(still).count() >= 2, "{waiting:#?}");
    assert!(waiting.is_sorted_by(|a, b| a.end_ns <= b.start_ns), "{waiting:#?}");
    assert!(waiting.is_sorted_by(|a, b| a.silent_ns < b.silent_ns || b.ios > 0), "{waiting:#?}");
    // Every interval has its row all the same, in order.
    assert!(reported.rows.is_sorted_by(|a, b| a.end_ns == b.start_ns), "{:#?}", reported.rows);
    let silent = reported.rows.iter().filter(|row| row.ios == 0).count();
    assert!(silent >= 20, "{silent} of {}", reported.rows.len());
}
