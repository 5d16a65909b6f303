//! Files, on a disk and on tmpfs.

use std::time::{Duration, Instant};

use engine::Event;
use sys::clock::Clock;
use sys::interrupt::Level;
use units::Bytes;

use crate::support::{Frozen, Tmpfs, agree, on, run, run_with};

const MIB: u64 = 1 << 20;

#[test]
fn a_new_file_is_made_written_and_read() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("target");
    let mut load = on(
        &path,
        "ops = { write = 50, read = 50 }\nblock_size = \"64k\"\npasses = 2\njobs = 3\ndepth = 4",
    );
    load.may_create = Some(Bytes(8 * MIB));
    let reported = run(&load);
    let summary = reported.summary();
    agree(&reported);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 8 * MIB);
    let ios: u64 = summary.operations.values().map(|o| o.ios).sum();
    // Each job takes its part of each pass; 128 blocks are 42 or 43 for each of three.
    assert_eq!(ios, 256);
    assert!(summary.notices.iter().any(|n| n.contains("never written")), "{:?}", summary.notices);
}

#[test]
fn reads_of_room_that_was_only_reserved_are_told_and_those_of_what_was_written_are_not() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("target");
    let mut write = on(&path, "ops = { write = 100 }\nbytes = \"1M\"");
    write.may_create = Some(Bytes(16 * MIB));
    run(&write);
    let noted = |range: &str| {
        let reported = run(&on(&path, &format!("ops = {{ randread = 100 }}\nios = 10\n{range}")));
        reported.summary().notices.iter().any(|n| n.contains("never written"))
    };
    assert!(noted(""), "15 MiB of 16 are reserved and were never written");
    assert!(noted("offset = \"8M\"") && noted("size = \"1028k\""));
    assert!(!noted("size = \"1M\""), "all of that was written");
    // The room of a hole elsewhere is missing.
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(64 * MIB).unwrap();
    assert!(!noted("size = \"1M\""));
}

#[test]
fn bytes_end_a_load_exactly() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("target");
    let mut load = on(&path, "ops = { randwrite = 100 }\nbytes = \"1M\"\njobs = 3\ndepth = 64");
    load.may_create = Some(Bytes(4 * MIB));
    let reported = run(&load);
    assert_eq!(reported.summary().ended_by, "bytes");
    assert_eq!(reported.summary().operations["randwrite"].bytes, MIB);
    agree(&reported);
}

#[test]
fn tmpfs_is_used_with_a_notice_that_it_is_memory() {
    let Some(tmpfs) = Tmpfs::new("tmpfs_is_used_with_a_notice_that_it_is_memory", 16 * MIB) else {
        return;
    };
    let mut load = on(&tmpfs.path().join("f"), "ops = { randwrite = 100 }\nbytes = \"1M\"");
    load.may_create = Some(Bytes(4 * MIB));
    let reported = run(&load);
    assert!(!reported.summary().engine.direct);
    assert!(
        reported.summary().notices.iter().any(|n| n.contains("memory")),
        "{:?}",
        reported.events
    );
    assert_eq!(reported.summary().operations["randwrite"].ios, 256);
}

#[test]
fn a_full_file_system_gives_enospc_and_ends_the_load() {
    let Some(tmpfs) = Tmpfs::new("a_full_file_system_gives_enospc_and_ends_the_load", 4 * MIB)
    else {
        return;
    };
    let path = tmpfs.path().join("sparse");
    std::fs::File::create(&path).unwrap().set_len(64 * MIB).unwrap();
    let reported = run(&on(
        &path,
        "ops = { randwrite = 100 }\npattern = \"permutation\"\npasses = 1\ndepth = 8",
    ));
    let summary = reported.summary();
    agree(&reported);
    let operation = &summary.operations["randwrite"];
    assert!(operation.errors["ENOSPC"] >= 1000, "{operation:?}");
    assert!((500..=1024).contains(&operation.ios), "{operation:?}");
    assert_eq!(summary.ended_by, "errors");
    // What was handed to the kernel counts as written content, failed or not.
    let blocks = summary.achieved.as_ref().unwrap().blocks.unwrap();
    assert_eq!(blocks, operation.ios + operation.errors.values().sum::<u64>());
}

#[test]
fn a_short_write_is_counted_and_its_rest_submitted_again() {
    let Some(tmpfs) =
        Tmpfs::new("a_short_write_is_counted_and_its_rest_submitted_again", 4 * MIB + 4096)
    else {
        return;
    };
    let path = tmpfs.path().join("sparse");
    std::fs::File::create(&path).unwrap().set_len(8 * MIB).unwrap();
    // The last write that finds room finds less than it needs: what is left of it then fails.
    let reported =
        run(&on(&path, "ops = { write = 100 }\npasses = 1\ndepth = 1\nblock_size = \"1M\""));
    let operation = &reported.summary().operations["write"];
    assert_eq!((operation.ios, operation.errors["ENOSPC"]), (4, 4), "{:?}", reported.summary());
    let notices = &reported.summary().notices;
    assert!(notices.iter().any(|n| n.starts_with("1 transfers moved less")), "{notices:?}");
}

#[test]
fn a_target_that_shrinks_under_the_load_gives_short_reads_not_full_ones() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("target");
    let file = std::fs::File::create(&path).unwrap();
    std::io::Write::write_all(&mut &file, &vec![1; 4 << 20]).unwrap();
    let load = on(&path, "ops = { read = 100 }\npasses = 1\ndepth = 4");
    let reported = run_with(&load, &Clock::real(), |event, _| {
        if matches!(event, Event::Started(_)) {
            file.set_len(2 << 20).unwrap();
        }
    });
    let operation = &reported.summary().operations["read"];
    assert_eq!((operation.ios, operation.errors["short"]), (512, 512), "{operation:?}");
}

#[test]
fn a_target_that_stalls_is_given_up_when_the_user_wants_to_stop_at_once() {
    let name = "a_target_that_stalls_is_given_up_when_the_user_wants_to_stop_at_once";
    let Some(frozen) = Frozen::new(name) else { return };
    for (backend, told_of) in
        [("io_uring", "4 I/Os never completed"), ("sync", "did not come back")]
    {
        let mut load = on(
            &frozen.path().join("target"),
            &format!(
                "ops = {{ randwrite = 100 }}\nduration = \"600s\"\ndepth = 4\ninterval = \"100ms\"\nbackend = \"{backend}\""
            ),
        );
        load.may_create = Some(Bytes(MIB));
        let start = Instant::now();
        let reported = run_with(&load, &Clock::real(), |event, interrupt| {
            if matches!(event, Event::Started(_)) {
                frozen.freeze(true);
                // Not at an interval's event: no interval is reported while every worker is stuck in its call.
                let interrupt = interrupt.clone();
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(500));
                    interrupt.request(Level::Now);
                });
            }
        });
        frozen.freeze(false);
        let summary = reported.summary();
        assert!(start.elapsed().as_secs() < 60, "{backend}");
        assert_eq!(summary.ended_by, "interrupted");
        assert_eq!(summary.operations["randwrite"].ios, 0);
        let is_noticed = |text: &str| summary.notices.iter().any(|n| n.contains(text));
        assert!(is_noticed(told_of), "{backend}: {:?}", summary.notices);
    }
}

#[test]
fn a_file_that_ends_within_the_last_block_uses_whole_blocks_only() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("odd");
    std::fs::write(&path, vec![1; 10 * 4096 + 100]).unwrap();
    let reported = run(&on(&path, "ops = { read = 100 }\npasses = 1"));
    assert_eq!(reported.summary().operations["read"].ios, 10);
    assert!(reported.summary().achieved.is_none() && reported.summary().asked.is_none());
}

#[test]
fn a_directory_is_no_target() {
    let folder = tempfile::tempdir().unwrap();
    let error = run(&on(folder.path(), "ops = { read = 100 }\npasses = 1")).result.unwrap_err();
    assert!(error.to_string().contains("neither a block device nor a file"), "{error}");
}
