//! Targets that fail, fill up, move less than asked, or stall.

use std::time::{Duration, Instant};

use engine::Event;
use faulty::{Fault, Faulty, On, What, When};
use sys::clock::Clock;
use sys::interrupt::Level;

use crate::support::{Loop, Tmpfs, agree, on, run, run_with, skip};

const MIB: u64 = 1 << 20;
const BACKENDS: [&str; 3] = ["io_uring", "libaio", "sync"];

fn mount(test: &str, faults: Vec<Fault>) -> Option<Faulty> {
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
        let told = run(&on(target.path(), &format!("{spec}\nbackend = \"{backend}\"")));
        let summary = told.summary();
        agree(&told);
        let read = &summary.operations["randread"];
        let errors = read.errors["EIO"];
        assert_eq!((read.ios + errors, summary.ended_by.as_str()), (1000, "ios"), "{backend}");
        assert!((100..300).contains(&errors), "{backend}: {errors}");
    }
}

#[test]
fn a_stalled_target_never_hangs_the_exit() {
    let name = "a_stalled_target_never_hangs_the_exit";
    for backend in BACKENDS {
        let stall = What::Stall(Duration::from_secs(600));
        let faults = vec![Fault::new(On::Read, When::after(100), stall)];
        let Some(target) = mount(name, faults) else { return };
        let spec = "ops = { randread = 100 }\nduration = \"600s\"\ndepth = 2\ninterval = \"50ms\"";
        let load = on(target.path(), &format!("{spec}\nbackend = \"{backend}\""));
        let start = Instant::now();
        let told = run_with(&load, &Clock::real(), |event, interrupt| {
            if matches!(event, Event::Started(_)) {
                let (interrupt, begun) = (interrupt.clone(), Instant::now());
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(700).saturating_sub(begun.elapsed()));
                    interrupt.request(Level::Now);
                });
            }
        });
        let summary = told.summary();
        assert_eq!(summary.ended_by, "interrupted", "{backend}");
        let read = &summary.operations["randread"];
        assert!(read.ios <= 102, "{backend}: {}", read.ios);
        let given_up = |n: &String| n.contains("given up") || n.contains("did not come back");
        assert!(summary.notices.iter().any(given_up), "{backend}: {:?}", summary.notices);
        assert!(start.elapsed() < Duration::from_secs(120), "{backend}: {:?}", start.elapsed());
        target.release();
    }
}

#[test]
fn a_device_whose_sparse_backing_is_full_gives_errors_and_a_valid_result() {
    let name = "a_device_whose_sparse_backing_is_full_gives_errors_and_a_valid_result";
    let Some(small) = Tmpfs::new(name, 4 * MIB) else { return };
    let Some(device) = Loop::inside(name, small.path(), 16 * MIB, &[]) else { return };
    for backend in BACKENDS {
        let spec = "ops = { write = 100 }\npasses = 1\ndepth = 8";
        let told = run(&on(&device.path, &format!("{spec}\nbackend = \"{backend}\"")));
        let summary = told.summary();
        agree(&told);
        let write = &summary.operations["write"];
        let errors: u64 = write.errors.values().sum();
        assert!(write.ios > 0 && errors >= 1000, "{backend}: {} and {:?}", write.ios, write.errors);
        assert!(write.errors.keys().all(|kind| kind == "EIO" || kind == "ENOSPC"), "{write:?}");
    }
}
