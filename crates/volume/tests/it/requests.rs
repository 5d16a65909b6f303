//! Requests for parts of blocks, and for very many blocks.

use units::Seed;
use volume::{Device, Discards, Policy, Request, Settings, Verb, turn};

use crate::load::{Client, block, write};

const LEAF: u64 = 812;

#[test]
fn parts_of_blocks_leave_the_rest_of_them_as_it_was() {
    for policy in [Policy::Sync, Policy::Async, Policy::AsyncUnsafe] {
        let settings = Settings { policy, cache_pages: 2, ..Settings::default() };
        let mut client = Client::new(2, 1 << 13, 1 << 20, &settings);
        let random = &mut Seed(8).generator();
        let blocks = 40;
        // Blocks far apart, so that leaves have to be read, too.
        let place = |n: u64| n * 7 * LEAF;
        let mut expected = vec![[0u8; 4096]; blocks as usize];
        for round in 0..1500 {
            let n = random.below(blocks);
            let held = &mut expected[n as usize];
            let verb = match random.below(10) {
                0 => {
                    *held = [0; 4096];
                    Verb::Discard { lbn: place(n), blocks: 1 }
                }
                1 | 2 => {
                    let data = block(round, [16, 1200, 4096][random.below(3) as usize]);
                    *held = data.0;
                    Verb::Write { lbn: place(n), data, fua: false }
                }
                _ => {
                    let at = random.below(4096) as usize;
                    let length = 1 + random.below(4096 - at as u64) as usize;
                    let byte = random.below(3) as u8;
                    held[at..at + length].fill(byte);
                    let fua = random.below(20) == 0;
                    Verb::Patch { lbn: place(n), at, bytes: vec![byte; length], fua }
                }
            };
            client.submit(verb);
            if random.below(6) == 0 {
                client.turn();
            }
        }
        client.turn();
        for (n, held) in expected.iter().enumerate() {
            assert!(client.read(place(n as u64)).0 == *held, "{policy:?}, block {n}");
        }
        let requests = client.stats().requests;
        assert!(requests.patches > 500 && requests.patches < requests.writes, "{requests:?}");
    }
}

#[test]
fn a_part_beyond_the_end_of_a_block_is_refused() {
    let mut client = Client::new(2, 1 << 13, 1 << 20, &Settings::default());
    let bytes = vec![1; 100];
    let failure = client.refused(Verb::Patch { lbn: 4, at: 4000, bytes, fua: false });
    assert_eq!(failure, volume::Failure::Beyond);
}

#[test]
fn a_discard_of_very_many_blocks_ends_and_leaves_zeros() {
    let leaves = 400;
    for discards in [Discards::Serial, Discards::Batch] {
        let settings = Settings { discards, ..Settings::default() };
        let mut client = Client::new(2, 1 << 13, leaves * LEAF, &settings);
        client.run(64, (0..leaves).map(|leaf| write(leaf * LEAF + 5, leaf + 1, 4096)));
        client.run(1, std::iter::once(Verb::Discard { lbn: 0, blocks: leaves * LEAF }));
        let stats = client.stats();
        assert_eq!((stats.space.data_blocks, stats.journal.logical_blocks), (0, 0), "{discards:?}");
        assert!(client.read(5).0 == [0; 4096]);
    }
}

#[test]
fn blocks_of_a_discard_commit_one_after_the_other_or_together() {
    let cycles = |discards| {
        let settings = Settings { discards, ..Settings::default() };
        let mut client = Client::new(2, 1 << 13, 1 << 20, &settings);
        client.run(32, (0..400).map(|lbn| write(lbn, lbn + 1, 4096)));
        client.run(1, std::iter::once(Verb::Flush));
        let before = client.stats().journal.cycles;
        client.run(1, std::iter::once(Verb::Discard { lbn: 0, blocks: 400 }));
        assert_eq!(client.stats().space.data_blocks, 0, "{discards:?}");
        client.stats().journal.cycles - before
    };
    assert_eq!(cycles(Discards::Serial), 400);
    assert!(cycles(Discards::Batch) <= 3);
}

#[test]
fn a_read_is_answered_in_the_middle_of_a_very_long_discard() {
    for discards in [Discards::Serial, Discards::Batch] {
        let settings = Settings { discards, ..Settings::default() };
        let mut client = Client::new(2, 1 << 13, 1 << 20, &settings);
        // Leaves that a discard has to go through entry by entry.
        client.run(50, (0..100).map(|n| write(n * LEAF, n, 4096)));
        client.submit(Verb::Discard { lbn: 0, blocks: 100 * LEAF });
        let (volume, device) = (&mut client.volume, &mut client.device);
        let mut answered = Vec::new();
        let mut some = |volume: &mut volume::Volume, answered: &mut Vec<u64>| {
            let mut operations = Vec::new();
            let more =
                turn(volume, 64, &mut |operation| operations.push(operation), &mut |reply| {
                    answered.push(reply.id);
                });
            for operation in &operations {
                volume.complete(operation.id, device.perform(&operation.task));
            }
            more || !operations.is_empty()
        };
        (0..10).for_each(|_| assert!(some(volume, &mut answered)));
        volume.submit(Request { id: u64::MAX, verb: Verb::Read { lbn: 99 * LEAF } });
        (0..10).for_each(|_| assert!(some(volume, &mut answered)));
        assert_eq!(answered, [u64::MAX], "{discards:?}");
        while some(volume, &mut answered) {}
        assert_eq!(answered.len(), 2);
    }
}
