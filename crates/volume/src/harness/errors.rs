//! Operations that the device fails, clean stops, and damaged records.

use units::Seed;

use crate::block::{Block, Data};
use crate::check::Problem;
use crate::core::{Failure, Policy, Reply, Request, Settings, Verb, Volume};
use crate::format::State;
use crate::harness::content;
use crate::harness::device::Disk;
use crate::harness::run::{geometry, medium};
use crate::rebuild::rebuild;
use crate::start::{create, start};

fn started(policy: Policy) -> (Disk, Volume) {
    let random = &mut Seed(3).generator();
    let geometry = geometry(random);
    let mut disk = Disk::new(medium(geometry.sizes.device, random));
    create(&mut disk, geometry, [1; 16]).unwrap();
    let settings = Settings { policy, ..Settings::default() };
    let (volume, _) = start(&mut disk, &settings).unwrap();
    (disk, volume)
}

/// Submits a request and lets everything end.
fn submit(disk: &mut Disk, volume: &mut Volume, verb: Verb) -> Vec<Reply> {
    volume.submit(Request { id: 1, verb });
    let random = &mut Seed(9).generator();
    let mut replies = Vec::new();
    loop {
        while let Some(operation) = volume.next_operation() {
            disk.begin(operation);
        }
        replies.extend(std::iter::from_fn(|| volume.next_reply()));
        if disk.under_way() == 0 {
            return replies;
        }
        let (id, result) = disk.end(random);
        volume.complete(id, result);
    }
}

fn write(lbn: u64, value: u64, fua: bool) -> Verb {
    let data: Data = Data::new(Block::clone(&content::block(value)));
    Verb::Write { lbn, data, fua }
}

#[test]
fn a_failed_flush_makes_the_volume_read_only_and_is_never_asked_for_again() {
    let (mut disk, mut volume) = started(Policy::Async);
    let replies = submit(&mut disk, &mut volume, write(5, 7, true));
    assert!(replies[0].result.is_ok());
    disk.failing_flushes = 1;
    let replies = submit(&mut disk, &mut volume, write(5, 9, true));
    assert_eq!(replies[0].result, Err(Failure::ReadOnly));
    assert!(volume.stats().read_only);
    let flushes = volume.stats().device.total().flushes;
    for verb in [write(5, 11, false), Verb::Flush, Verb::Discard { lbn: 5, blocks: 1 }, Verb::Stop]
    {
        let replies = submit(&mut disk, &mut volume, verb);
        assert_eq!(replies[0].result, Err(Failure::ReadOnly));
    }
    assert_eq!(volume.stats().device.total().flushes, flushes);
    let replies = submit(&mut disk, &mut volume, Verb::Read { lbn: 5 });
    let data = replies[0].result.clone().unwrap().unwrap();
    assert_eq!(content::value(&data), 7);
}

#[test]
fn a_volume_that_became_read_only_is_so_until_it_is_rebuilt_and_gives_what_was_flushed() {
    for policy in [Policy::Sync, Policy::Async, Policy::AsyncUnsafe] {
        let (mut disk, mut volume) = started(policy);
        for lbn in 0..20 {
            submit(&mut disk, &mut volume, write(lbn * 812, 7 + lbn, false));
        }
        assert!(submit(&mut disk, &mut volume, Verb::Flush)[0].result.is_ok());
        // Zeros need no block: the only write is the journal's.
        (disk.failing_writes, disk.failing_flushes) =
            if policy == Policy::Async { (0, 1) } else { (1, 0) };
        submit(&mut disk, &mut volume, write(5, 0, true));
        assert!(volume.stats().read_only, "{policy:?}");
        (disk.failing_writes, disk.failing_flushes) = (0, 0);
        drop(volume);
        disk.cut(&mut Seed(2).generator());
        for _ in 0..2 {
            assert_eq!(crate::check::check(&mut disk).unwrap().state, State::ReadOnly);
            let (mut volume, _) = start(&mut disk, &Settings::default()).unwrap();
            for (verb, what) in
                [(write(5, 11, false), "write"), (Verb::Flush, "flush"), (Verb::Stop, "stop")]
            {
                let replies = submit(&mut disk, &mut volume, verb);
                assert_eq!(replies[0].result, Err(Failure::ReadOnly), "{policy:?} {what}");
            }
            for lbn in 0..20 {
                let replies = submit(&mut disk, &mut volume, Verb::Read { lbn: lbn * 812 });
                let data = replies[0].result.clone().unwrap().unwrap();
                assert_eq!(content::value(&data), 7 + lbn, "{policy:?}");
            }
        }
        rebuild(&mut disk).unwrap();
        assert_eq!(crate::check::check(&mut disk).unwrap().state, State::Clean);
        let (mut volume, _) = start(&mut disk, &Settings::default()).unwrap();
        let replies = submit(&mut disk, &mut volume, write(5, 11, true));
        assert!(replies[0].result.is_ok(), "{policy:?}: it takes writes again");
        for lbn in 1..20 {
            let replies = submit(&mut disk, &mut volume, Verb::Read { lbn: lbn * 812 });
            assert_eq!(content::value(&replies[0].result.clone().unwrap().unwrap()), 7 + lbn);
        }
    }
}

#[test]
fn a_failed_data_write_under_sync_fails_its_request_alone() {
    let (mut disk, mut volume) = started(Policy::Sync);
    submit(&mut disk, &mut volume, write(5, 7, false));
    disk.failing_writes = 1;
    let replies = submit(&mut disk, &mut volume, write(5, 9, false));
    assert_eq!(replies[0].result, Err(Failure::Io));
    assert!(!volume.stats().read_only);
    let replies = submit(&mut disk, &mut volume, write(5, 9, false));
    assert!(replies[0].result.is_ok());
}

#[test]
fn a_failed_journal_write_makes_the_volume_read_only() {
    let (mut disk, mut volume) = started(Policy::Sync);
    submit(&mut disk, &mut volume, write(5, 7, false));
    disk.failing_writes = 1;
    // Zeros need no block: the only write is the journal's.
    let replies = submit(&mut disk, &mut volume, write(5, 0, false));
    assert_eq!(replies[0].result, Err(Failure::ReadOnly));
    assert!(volume.stats().read_only);
}

#[test]
fn a_stopped_volume_is_clean_and_starts_without_its_journal() {
    for policy in [Policy::Sync, Policy::Async, Policy::AsyncUnsafe] {
        let (mut disk, mut volume) = started(policy);
        for n in 0..300 {
            submit(&mut disk, &mut volume, write(n % 90 * 100, 1 + n % 40, false));
        }
        let replies = submit(&mut disk, &mut volume, Verb::Stop);
        assert!(replies.iter().all(|reply| reply.result.is_ok()));
        drop(volume);
        disk.cut(&mut Seed(1).generator());
        let report = crate::check::check(&mut disk).unwrap();
        assert_eq!((report.problems.len(), report.entries), (0, 0), "{policy:?}");
        assert_eq!(report.state, State::Clean);
        let (_, recovery) = start(&mut disk, &Settings::default()).unwrap();
        assert!(!recovery.needed);
    }
}

#[test]
fn counts_that_are_damaged_are_made_anew_from_the_map_and_a_damaged_map_is_refused() {
    let (mut disk, mut volume) = started(Policy::Sync);
    for n in 0..300 {
        submit(&mut disk, &mut volume, write(n % 90 * 100, 1 + n % 40, false));
    }
    let geometry = *volume.geometry();
    drop(volume);
    disk.cut(&mut Seed(1).generator());
    let sound = crate::check::check(&mut disk).unwrap();
    assert_eq!(sound.problems, []);
    for number in 0..geometry.count_total() {
        disk.medium[geometry.count_block(number) as usize].0[100..300].fill(3);
    }
    assert!(!crate::check::check(&mut disk).unwrap().problems.is_empty());
    assert!(start(&mut disk, &Settings::default()).is_err());
    assert!(rebuild(&mut disk).unwrap().counts > 0);
    let mended = crate::check::check(&mut disk).unwrap();
    assert_eq!((mended.problems, mended.mappings), (Vec::new(), sound.mappings));
    assert!(start(&mut disk, &Settings::default()).is_ok());
    disk.medium[geometry.roots as usize].0[50] ^= 1;
    let before = disk.medium.clone();
    assert!(rebuild(&mut disk).is_err());
    assert!(disk.medium == before, "nothing is written");
}

#[test]
fn a_damaged_root_is_reported_once_by_its_own_block() {
    let (mut disk, volume) = started(Policy::Sync);
    let damaged = volume.geometry().roots + 3;
    drop(volume);
    disk.cut(&mut Seed(1).generator());
    disk.medium[damaged as usize].0[50] ^= 1;
    assert_eq!(crate::check::check(&mut disk).unwrap().problems, [Problem::Damaged(damaged)]);
}
