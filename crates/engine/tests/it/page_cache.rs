//! Loads through the page cache: what their targets lost is not taken for what memory holds.

use faulty::{Fault, On, What, When};

use crate::faults::mount;
use crate::support::{Loop, Tmpfs, on, run};

const MIB: u64 = 1 << 20;
const WRITE: &str = "ops = { write = 100 }\npasses = 1\nblock_size = '64k'\ndirect = false\n";

/// The sentences on what is missing.
fn missing(target: &std::path::Path, spec: &str) -> Vec<String> {
    let reported = run(&on(target, spec));
    let summary = reported.summary();
    assert!(summary.incomplete.iter().all(|text| summary.notices.contains(text)));
    summary.incomplete.clone()
}

#[test]
fn a_device_that_lost_what_the_page_cache_held_is_never_verified() {
    let name = "a_device_that_lost_what_the_page_cache_held_is_never_verified";
    for more in ["", "verify = 'after'\n", "verify = 'after'\nsync = 'fdatasync:16'\n"] {
        let Some(small) = Tmpfs::new(name, 4 * MIB) else { return };
        let Some(device) = Loop::inside(name, small.path(), 16 * MIB, &[]) else { return };
        // As a claim does it: the kernel keeps the pages of a device that is open.
        let held = std::fs::File::open(&device.path).unwrap();
        let reported = run(&on(&device.path, &format!("{WRITE}{more}")));
        let summary = reported.summary();
        assert!(!summary.incomplete.is_empty(), "{more}: {:?}", summary.notices);
        let message = summary.incomplete.join("; ");
        assert!(message.contains("flush"), "{more}: {message}");
        let wrong = summary.verify.as_ref().map(|found| found.wrong_blocks());
        let (lost, all) = (9 * MIB / 4096, 16 * MIB / 4096);
        assert!(wrong.is_none_or(|wrong| wrong > lost && wrong < all), "{more}: {wrong:?}");
        assert_eq!(wrong.is_some(), !more.is_empty());
        // Another load that checks reads the device, too.
        drop(held);
    }
}

#[test]
fn a_flush_that_fails_makes_a_buffered_load_incomplete_and_a_verified_one_too() {
    let name = "a_flush_that_fails_makes_a_buffered_load_incomplete_and_a_verified_one_too";
    let fault = || vec![Fault::new(On::Flush, When::default(), What::Errno(libc::EIO))];
    let direct = "ops = { write = 100 }\npasses = 1\nbackend = 'sync'\n";
    for (spec, complete) in [
        (WRITE.to_owned(), false),
        (format!("{WRITE}verify = 'after'"), false),
        (format!("{direct}sync = 'fsync:64'\nverify = 'after'"), false),
        (
            "ops = { randread = 50, randwrite = 50 }\nios = 500\ndirect = false\nverify = 'read'"
                .into(),
            false,
        ),
        (direct.to_owned(), true),
        ("ops = { read = 100 }\npasses = 1\ndirect = false".to_owned(), true),
    ] {
        let Some(target) = mount(name, fault()) else { return };
        let message = missing(target.path(), &spec);
        assert_eq!(message.is_empty(), complete, "{spec}: {message:?}");
        let Some(whole) = mount(name, Vec::new()) else { return };
        let message = missing(whole.path(), &spec);
        assert!(
            message.is_empty() || message[0].starts_with("Nothing was verified"),
            "{spec}: {message:?}"
        );
    }
}
