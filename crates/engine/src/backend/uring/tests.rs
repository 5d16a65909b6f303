//! The ring against real files, and against errors of its use.

use std::os::unix::fs::FileExt;

use super::*;
use crate::backend::TargetFile;

fn files(bytes: u64) -> Files {
    let file = tempfile::tempfile().unwrap();
    file.set_len(bytes).unwrap();
    Files::new(vec![TargetFile { file, block: false, made: false }])
}

fn ring(bytes: u64, depth: usize) -> Ring {
    Ring::new(files(bytes), depth, 4096).unwrap()
}

fn transfer(write: bool, offset: u64) -> Transfer {
    let verb = if write { Verb::Write } else { Verb::Read };
    Transfer { verb, offset, length: 4096, ..Transfer::default() }
}

const WAIT: Wait = Wait { completions: 1, patience: Duration::from_secs(10) };

fn wait(ring: &mut Ring) -> Vec<(u32, i32)> {
    let mut seen = Vec::new();
    while ring.in_flight() > 0 {
        ring.turn(WAIT).unwrap();
        ring.reap(&mut seen);
    }
    seen.sort_unstable_by_key(|r| r.slot);
    seen.iter().map(|r| (r.slot, r.result)).collect()
}

#[test]
fn what_is_written_is_read_back_with_and_without_registration() {
    for registered in [true, false] {
        let mut ring = ring(1 << 20, 3);
        assert!(ring.is_registered());
        (ring.registered_buffers, ring.registered_files) = (registered, registered);
        for slot in 0..3 {
            ring.slot(slot).fill(slot as u8 + 1);
            ring.push(slot, &transfer(true, slot as u64 * 8192));
        }
        assert_eq!(wait(&mut ring), [(0, 4096), (1, 4096), (2, 4096)]);
        for slot in 0..3 {
            ring.push(slot, &transfer(false, (2 - slot as u64) * 8192));
        }
        wait(&mut ring);
        assert!((0..3).all(|s| ring.slot(s).iter().all(|&b| b == 3 - s as u8)));
    }
}

#[test]
fn the_rest_of_a_short_transfer_goes_to_the_right_place() {
    let mut ring = ring(8192, 1);
    for (i, byte) in ring.slot(0).iter_mut().enumerate() {
        *byte = (i / 512) as u8;
    }
    ring.push(0, &Transfer { done: 1024, ..transfer(true, 4096) });
    assert_eq!(wait(&mut ring), [(0, 3072)]);
    let mut bytes = [9; 4096];
    let file = ring.files.file(0);
    file.read_exact_at(&mut bytes, 4096).unwrap();
    assert!(bytes[..1024].iter().all(|&b| b == 0));
    assert!(bytes[1024..].iter().enumerate().all(|(i, &b)| b == (i / 512) as u8 + 2));
}

#[test]
#[should_panic(expected = "belongs to the kernel")]
fn memory_that_is_in_flight_cannot_be_had() {
    let mut ring = ring(8192, 1);
    ring.push(0, &transfer(false, 0));
    ring.slot(0);
}

#[test]
fn dropping_a_ring_waits_for_what_is_in_flight() {
    let files = files(1 << 20);
    let mut ring = Ring::new(files.try_clone().unwrap(), 64, 4096).unwrap();
    for slot in 0..64 {
        ring.slot(slot).fill(7);
        ring.push(slot, &transfer(true, slot as u64 * 4096));
    }
    ring.turn(Wait { completions: 1, patience: Duration::ZERO }).unwrap();
    drop(ring);
    let mut bytes = vec![0; 64 * 4096];
    files.file(0).read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes.iter().all(|&b| b == 7));
}

#[test]
fn completions_that_find_their_queue_full_are_kept_by_the_kernel_and_none_is_lost() {
    let (files, depth) = (files(1 << 20), 64);
    // Four places for completions and 64 I/Os: a load's own ring has two places for each.
    let mut deferred = IoUring::builder();
    deferred.setup_single_issuer().setup_defer_taskrun();
    for builder in [IoUring::builder(), deferred] {
        let small = builder.build(2).unwrap();
        assert!(small.params().is_feature_nodrop() && small.params().cq_entries() == 4);
        let mut ring = Ring::over(small, files.try_clone().unwrap(), depth, 4096).unwrap();
        for slots in 0..depth as u32 / 2 {
            for slot in [2 * slots as usize, 2 * slots as usize + 1] {
                ring.slot(slot).fill(slot as u8 + 1);
                ring.push(slot, &transfer(true, slot as u64 * 4096));
            }
            // Submitted, and not reaped. Old kernels take no more once completions wait.
            ring.turn(Wait { completions: 0, patience: Duration::ZERO }).unwrap();
            if !ring.ring.submission().is_empty() {
                break;
            }
        }
        let pushed = ring.in_flight();
        assert!(pushed > 4, "only {pushed} were taken");
        let ended = wait(&mut ring);
        assert!(ended.iter().all(|&(_, result)| result == 4096), "{ended:?}");
        let slots: Vec<u32> = ended.iter().map(|e| e.0).collect();
        assert_eq!(slots, (0..pushed as u32).collect::<Vec<_>>());
        assert_eq!(ring.overflowed(), 0);
    }
}

#[test]
fn a_wait_without_anything_to_wait_for_ends_in_time() {
    let mut ring = ring(8192, 1);
    let start = Instant::now();
    ring.turn(Wait { completions: 1, patience: Duration::from_millis(20) }).unwrap();
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(ring.overflowed(), 0);
}
