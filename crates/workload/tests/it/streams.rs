//! Single jobs: mixes, sizes, cadences, seeking.

use std::collections::HashMap;

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use units::{Bytes, Seed};
use workload::{Io, LoadSpec, OpKind, OpName, Stream};

use crate::support::{PATTERNS, spec, stream};

#[test]
fn shares_of_operations_and_sizes_are_exact_in_every_deck() {
    let mut spec = spec("randread=50,randwrite=25,randdiscard=15,writezeroes=5,flush=5");
    spec.block_size = "4k=50,16k=30,64k=20".parse().unwrap();
    spec.each = "randwrite.block_size=8k..32k;randwrite.pattern=zipf:1.2".parse().unwrap();
    spec.validate().unwrap();
    let deck = spec.deck_len() as usize;
    let mut stream = stream(&spec, 100_000, 1, 0);
    for _ in 0..20 {
        let mut counts: HashMap<(OpKind, u32), usize> = HashMap::new();
        let mut sizes: HashMap<u32, usize> = HashMap::new();
        for io in stream.by_ref().take(deck) {
            *counts.entry((io.op.kind(), io.length)).or_default() += 1;
            if !matches!(io.op, OpName::Randwrite | OpName::Flush) {
                assert!(io.offset.is_multiple_of(4096));
                *sizes.entry(io.length).or_default() += 1;
            }
        }
        let of = |kind| {
            counts.iter().filter(|((k, _), _)| *k == kind).map(|(_, n)| n).sum::<usize>() * 100
        };
        assert_eq!(of(OpKind::Read), 50 * deck);
        assert_eq!(of(OpKind::Discard), 15 * deck);
        assert_eq!(of(OpKind::Flush), 5 * deck);
        // Sizes of operations that go over the range together, one stream of offsets for each pattern.
        assert_eq!(
            (sizes[&4096] * 10, sizes[&16_384] * 10, sizes[&65_536] * 10),
            (deck * 7 / 2, deck * 21 / 10, deck * 14 / 10)
        );
        for n in [2, 4, 6, 8] {
            assert_eq!(
                counts[&(OpKind::Write, n * 4096)] * 16,
                deck,
                "sizes of the range, equally often"
            );
        }
    }
}

#[test]
fn sizes_that_differ_follow_each_other_without_gaps_and_end_at_the_end() {
    let mut spec = spec("write=100");
    spec.block_size = "4k..32k".parse().unwrap();
    spec.jobs = 2;
    let mut between = 0;
    for job in 0..2 {
        let ios: Vec<_> = stream(&spec, 1001, 1, job).take(2000).collect();
        assert!(ios.last().unwrap().pass > 5);
        for pass in ios.chunk_by(|a, b| a.pass == b.pass) {
            for pair in pass.windows(2) {
                assert_eq!(pair[1].offset, pair[0].offset + u64::from(pair[0].length));
            }
        }
        let first = ios.iter().take_while(|io| io.pass == 0);
        let (from, to) = first.fold((u64::MAX, 0), |(from, to), io| {
            (from.min(io.offset), to.max(io.offset + u64::from(io.length)))
        });
        // Where the first job ends the second begins.
        assert_eq!(from, between);
        between = to;
    }
    assert_eq!(between, 1001 * 4096);
}

#[test]
fn alignment_is_kept_when_it_is_finer_or_coarser_than_the_block() {
    for (align, size) in [(512, "4k"), (65_536, "4k"), (8192, "4k=50,12k=50"), (4096, "64k")] {
        for pattern in PATTERNS {
            let mut spec = spec("randread=100");
            (spec.align, spec.block_size) = (Some(Bytes(align)), size.parse().unwrap());
            spec.pattern = Some(pattern.parse().unwrap());
            spec.offset = Some(Bytes(512).into());
            spec.validate().unwrap();
            let range = spec.check_target(1_000_007, 512).unwrap();
            for io in Stream::new(&spec, &range, Seed(1), 0, 1).take(2000) {
                assert!((io.offset - 512).is_multiple_of(align), "{pattern} {align} {io:?}");
                assert!(io.offset + u64::from(io.length) <= range.end());
            }
        }
    }
}

#[test]
fn a_flush_follows_every_so_many_changes_and_counts_in_no_amount() {
    let mut spec = spec("randwrite=40,randread=40,randdiscard=20");
    spec.sync = Some("fdatasync:8".parse().unwrap());
    spec.ios = Some(1000);
    let mut stream = stream(&spec, 1000, 1, 0);
    assert_eq!(spec.operations().last(), Some(OpName::Flush));
    let (mut changes, mut flushes, mut left) = (0, 0, 1000);
    while let Some(io) = stream.next() {
        assert_eq!(io.added, io.op == OpName::Flush);
        if io.added {
            assert_eq!(changes, 8);
            (changes, flushes) = (0, flushes + 1);
        } else {
            assert!(changes < 8);
            changes += u32::from(io.op.changes());
            left -= 1;
        }
        assert_eq!(stream.left(), Some(left));
    }
    assert_eq!((flushes, left), (600 / 8, 0));
}

#[test]
fn every_so_manyth_write_is_forced_through_and_reads_never_are() {
    let mut spec = spec("randwrite=50,randread=50");
    spec.sync = Some("fua:4".parse().unwrap());
    let ios: Vec<_> = stream(&spec, 1000, 1, 0).take(4000).collect();
    assert!(ios.iter().all(|io| !io.added));
    let writes: Vec<_> = ios.iter().filter(|io| io.op.is_write()).map(|io| io.fua).collect();
    assert!(writes.iter().enumerate().all(|(n, &fua)| fua == (n % 4 == 3)));
    assert!(ios.iter().filter(|io| !io.op.is_write()).all(|io| !io.fua));
    spec.sync = Some("dsync".parse().unwrap());
    assert!(stream(&spec, 1000, 1, 0).take(1000).all(|io| !io.fua && !io.added));
}

fn any_load() -> impl proptest::strategy::Strategy<Value = LoadSpec> {
    use proptest::prelude::{Just, Strategy, any, prop_oneof};
    let pattern =
        prop_oneof![Just(None), proptest::sample::select(PATTERNS.to_vec()).prop_map(Some)];
    let ops = proptest::sample::select(vec![
        "write=100",
        "randread=70,randwrite=30",
        "read=65,write=20,randread=10,randwrite=5",
        "randread=33.33,randwrite=33.33,discard=33.34",
        "write=90,flush=10",
    ]);
    let size = proptest::sample::select(vec!["4k", "4k=50,12k=50", "4k..32k"]);
    let sync = proptest::sample::select(vec![None, Some("fsync:3"), Some("fua:2")]);
    (pattern, ops, size, sync, any::<bool>(), 1u32..4).prop_map(
        |(pattern, ops, size, sync, overridden, jobs)| {
            let mut spec = spec(ops);
            spec.pattern = pattern.map(|p| p.parse().unwrap());
            spec.block_size = size.parse().unwrap();
            spec.sync = sync.map(|s| s.parse().unwrap());
            spec.jobs = jobs;
            if overridden && spec.ops.names().any(|op| op == OpName::Randwrite) {
                spec.each = "randwrite.pattern=normal:10%;randwrite.block_size=8k".parse().unwrap();
            }
            spec
        },
    )
}

proptest! {
    #[test]
    fn streams_keep_to_the_range_and_follow_from_their_seed(spec in any_load(), blocks in 200u64..5000, seed: u64) {
        let range = spec.check_target(blocks * 4096, 512).unwrap();
        for job in 0..spec.jobs {
            let ios = || Stream::new(&spec, &range, Seed(seed), job, spec.jobs).take(500).collect::<Vec<_>>();
            let first = ios();
            prop_assert_eq!(&first, &ios());
            for io in &first {
                prop_assert!(io.offset + u64::from(io.length) <= blocks * 4096);
                prop_assert!(io.offset.is_multiple_of(4096));
            }
        }
    }

    #[test]
    fn seeking_comes_to_where_walking_comes(spec in any_load(), blocks in 200u64..5000, seed: u64, to in 0u64..30_000) {
        let range = spec.check_target(blocks * 4096, 512).unwrap();
        let mut walked = Stream::new(&spec, &range, Seed(seed), 0, spec.jobs);
        let mut sought = walked.clone();
        let mut passed = 0;
        while passed < to {
            passed += u64::from(!walked.next().unwrap().added);
        }
        sought.seek(to);
        // A flush that the cadence owes for what was before belongs to what was before.
        let ahead: Vec<_> = walked.skip_while(|io| io.added).take(200).collect();
        prop_assert_eq!(ahead, sought.take(200).collect::<Vec<_>>());
    }

    #[test]
    fn filling_slices_gives_what_next_gives(spec in any_load(), lengths in proptest::collection::vec(0usize..200, 1..12)) {
        let range = spec.check_target(1000 * 4096, 512).unwrap();
        let mut one = Stream::new(&spec, &range, Seed(1), 0, spec.jobs);
        let mut many = one.clone();
        for length in lengths {
            let mut ios = vec![Io::FLUSH; length];
            prop_assert_eq!(many.fill(&mut ios), length);
            prop_assert_eq!(ios, one.by_ref().take(length).collect::<Vec<_>>());
        }
    }
}
