//! Loads as people write them, and what their jobs then do.

use std::collections::HashMap;

use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest};
use units::{Bytes, Nanos, Percent, Seed};
use workload::{
    Amount, Arrival, DepthUnit, Hot, LoadSpec, OpName, Ops, Pattern, Rate, Share, Stream,
};

use crate::support::{block, spec, stream};

const TARGET: u64 = Bytes::GIB;

#[test]
fn a_stage_of_an_experiment_is_read_as_it_is_written() {
    let read: LoadSpec = toml::from_str(
        r#"
        ops = { write = 100 }
        pattern = "random"
        block_size = "4k"
        jobs = 4
        depth = 32
        duration = "60s"
        content = { dedupe = "25%", compress = "2.5x" }
        "#,
    )
    .unwrap();
    read.validate().unwrap();
    assert_eq!(read.ops, Ops::only(OpName::Write));
    assert_eq!(read.pattern, Some(Pattern::Uniform));
    assert_eq!((read.jobs, read.depth, read.block_size.clone()), (4, 32, Bytes(4096).into()));
    assert_eq!(read.duration, Some(Nanos::from_secs(60)));
    assert_eq!(read.content.expected().lz4_size_mean_bytes.round(), 1638.0);
    let stored = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<LoadSpec>(&stored).unwrap(), read);
}

#[test]
fn every_key_of_a_load_is_explained_with_the_experiments() {
    let page = include_str!("../../../../docs/experiments.md");
    let mut spec = spec("read=100");
    spec.each = "read.block_size=8k".parse().unwrap();
    let keys = serde_json::to_value(&spec).unwrap();
    let keys = keys.as_object().unwrap().keys();
    let missing: Vec<_> = keys.filter(|key| !page.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "docs/experiments.md does not mention {missing:?}");
}

#[test]
fn unknown_keys_are_refused_with_those_there_are() {
    for text in ["opps = { write = 100 }", "content = { dedup = 5 }"] {
        let error = toml::from_str::<LoadSpec>(text).unwrap_err().to_string();
        assert!(error.contains("ops") || error.contains("dedupe"), "{error}");
    }
}

type Change = fn(&mut LoadSpec);

/// A change of the load, and the parts of the error that answers it: the key, a part of the message and a part of the help.
type Case = (Change, &'static str, &'static str, &'static str);

const MISTAKES: &[Case] = &[
    (|s| s.ops = Ops::default(), "ops", "no operation", "randwrite = 100"),
    (|s| s.ops = "read=60,write=30".parse().unwrap(), "ops", "90", "sum to 100"),
    (|s| s.ops = "read=100,write=0".parse().unwrap(), "ops", "write = 0", "leave it out"),
    (|s| s.ops = "read=99.999,write=0.001".parse().unwrap(), "ops", "99.999", "0.01"),
    (|s| s.duration = None, "duration", "nothing ends", "passes"),
    (|s| s.duration = Some(Nanos(0)), "duration", "0", "above 0"),
    (|s| s.depth = 0, "depth", "depth is 0", "above 0"),
    (|s| s.depth = 100_000, "depth", "100000", "32768"),
    (|s| s.jobs = 0, "jobs", "jobs is 0", "above 0"),
    (|s| s.jobs = 5000, "jobs", "5000", "1024"),
    (|s| s.interval = Nanos(0), "interval", "0", "above 0"),
    (|s| s.block_size = Bytes(0).into(), "block_size", "0", "above 0"),
    (|s| s.block_size = Bytes(1000).into(), "block_size", "512", "512 bytes"),
    (|s| s.block_size = Bytes(Bytes::GIB).into(), "block_size", "1073741824", "67108864"),
    (|s| s.offset = Some(Bytes(100).into()), "offset", "512", "512 bytes"),
    (|s| s.size = Some(Bytes(0).into()), "size", "0", "above 0"),
    (|s| s.bytes = Some(Bytes(5000)), "bytes", "4 KiB", "4096 or 8192 bytes"),
    (|s| s.passes = Some(0), "passes", "0", "above 0"),
    (|s| s.ios = Some(0), "ios", "0", "above 0"),
    (|s| s.batch = 0, "batch", "0", "above 0"),
    (|s| s.batch = 33, "batch", "33", "the depth or less"),
    (|s| s.align = Some(Bytes(0)), "align", "0", "above 0"),
    (|s| s.align = Some(Bytes(1000)), "align", "512", "512 bytes"),
    (|s| s.rate = Some(Rate::Ios(0)), "rate", "0", "above 0"),
    (|s| s.rate = Some("200000000/s".parse().unwrap()), "rate", "200000000", "100000000"),
    (|s| s.limit = Some("0M/s".parse().unwrap()), "limit", "0", "above 0"),
    (|s| s.arrival = Arrival::Poisson, "arrival", "closed loop", "rate = "),
    (
        |s| {
            s.rate = Some(Rate::Ios(1000));
            s.limit = Some("5/s".parse().unwrap());
        },
        "limit",
        "5/s",
        "leave rate out",
    ),
    (
        |s| {
            s.rate = Some(Rate::Ios(1000));
            s.think = Some("1ms:8".parse().unwrap());
        },
        "think",
        "1ms:8",
        "leave rate out",
    ),
    (|s| s.ramp = s.duration, "ramp", "1s", "shorter than duration"),
    (|s| s.steady = Some("iops:0%:60s".parse().unwrap()), "steady", "iops:0%", "5%"),
    (|s| s.steady = Some("iops:5%:4s".parse().unwrap()), "steady", "4s", "longer"),
    (
        |s| s.steady = Some("iops:5%:60s".parse().unwrap()),
        "steady",
        "one window",
        "duration longer",
    ),
    (
        |s| {
            // What counts begins after the ramp.
            (s.duration, s.ramp) = (Some(Nanos::from_secs(60)), Some(Nanos(1)));
            s.steady = Some("iops:5%:60s".parse().unwrap());
        },
        "steady",
        "one window",
        "follows ramp",
    ),
    (|s| s.pattern = Some(Pattern::Zipf { theta: 0.0 }), "pattern", "zipf:0", "0.99"),
    (|s| s.pattern = Some(Pattern::Zipf { theta: 51.0 }), "pattern", "zipf:51", "0.99"),
    (|s| s.pattern = Some(Pattern::Zipf { theta: f64::NAN }), "pattern", "zipf:NaN", "0.99"),
    (|s| s.pattern = Some("pareto:0.5".parse().unwrap()), "pattern", "pareto:0.5", "0.2"),
    (|s| s.pattern = Some("normal:0%".parse().unwrap()), "pattern", "normal:0%", "normal:5%"),
    (|s| s.pattern = Some("normal:5%@101%".parse().unwrap()), "pattern", "@101%", "normal:5%"),
    (|s| s.pattern = Some("zones:50%/10%,40%/90%".parse().unwrap()), "pattern", "90", "100"),
    (|s| s.hot = Some(Hot::Scattered), "hot", "scattered", "zipf:1.2"),
    (|s| s.block_size = "4k=50,8k=40".parse().unwrap(), "block_size", "90", "sum to 100"),
    (|s| s.block_size = "4k=99.999,8k=0.001".parse().unwrap(), "block_size", "4k", "0.01"),
    (|s| s.block_size = "4k=50,1000=50".parse().unwrap(), "block_size", "1000 B", "512"),
    (|s| s.block_size = "512..64M".parse().unwrap(), "block_size", "65536", "larger align"),
    (
        |s| {
            s.block_size = "4k..64k".parse().unwrap();
            s.align = Some(Bytes(12_288));
        },
        "block_size",
        "12 KiB",
        "12k",
    ),
    (|s| s.each = "read.block_size=64k".parse().unwrap(), "each", "each.read", "share in ops"),
    (
        |s| {
            s.ops = "randwrite=90,flush=10".parse().unwrap();
            s.each = "flush.pattern=random".parse().unwrap();
        },
        "each",
        "each.flush",
        "leave each.flush out",
    ),
    (
        |s| {
            s.ops = "flush=100".parse().unwrap();
            s.pattern = Some(Pattern::Uniform);
        },
        "pattern",
        "flush has no place",
        "leave pattern out",
    ),
    (
        |s| {
            s.ops = "flush=100".parse().unwrap();
            s.bytes = Some(Bytes(4096));
        },
        "bytes",
        "flushes alone",
        "duration or ios",
    ),
    (
        |s| {
            (s.depth, s.depth_unit) = (8, DepthUnit::Blocks4k);
            s.block_size = "64k".parse().unwrap();
        },
        "depth",
        "less than one I/O",
        "larger depth",
    ),
    (|s| s.passes = Some(1), "passes", "random", "permutation"),
    (|s| s.last_block = true, "last_block", "strided", "strided:N"),
    (|s| s.content.dedupe = Percent(100.0), "dedupe", "100%", "99%"),
    (
        |s| {
            s.content.dedupe = Percent(10.0);
            s.block_size = Bytes(512).into();
        },
        "block_size",
        "512 B",
        "4k",
    ),
];

#[test]
fn every_mistake_names_its_key_its_value_and_the_remedy() {
    for (change, key, message, help) in MISTAKES {
        let mut spec = spec("randwrite=100");
        change(&mut spec);
        let error = spec.validate().expect_err(message);
        assert_eq!(error.key(), *key, "{error}");
        assert!(error.to_string().contains(message), "{error}");
        assert!(error.help().contains(help), "{error}: {}", error.help());
    }
}

#[test]
fn of_what_is_no_multiple_the_nearest_ones_are_named_on_both_sides() {
    let cases: &[(Change, &str)] = &[
        (|s| s.block_size = Bytes(1000).into(), "1024 or 512 bytes: write \"1k\" or \"512\""),
        (|s| s.block_size = Bytes(700).into(), "512 or 1024 bytes"),
        (|s| s.block_size = Bytes(100).into(), "512 bytes: write \"512\""),
        (|s| s.offset = Some(Bytes(1).into()), "0 or 512 bytes: write \"0\" or \"512\""),
        (|s| s.offset = Some(Bytes(1 << 20 | 511).into()), "1049088 or 1048576 bytes"),
        (|s| s.bytes = Some(Bytes(5000)), "4096 or 8192 bytes: write \"4k\" or \"8k\""),
    ];
    for (change, help) in cases {
        let mut spec = spec("randwrite=100");
        change(&mut spec);
        let error = spec.validate().expect_err(help);
        assert!(error.help().contains(help), "{error}: {}", error.help());
    }
    // On a device of larger sectors, the offset must be a multiple of its own sectors.
    let mut spec = spec("randwrite=100");
    spec.offset = Some(Bytes(512).into());
    let error = spec.check_target(TARGET, 4096).unwrap_err();
    assert!(error.help().contains("0 or 4096 bytes"), "{error}: {}", error.help());
}

#[test]
fn shares_that_do_not_sum_to_100_are_answered_in_the_form_they_were_written_in() {
    for (toml, help) in [
        ("ops = { read = 50 }", "randwrite = 70"),
        ("ops = { read = 100 }\nblock_size = \"4k=50,8k=40\"", "4k=70,64k=30"),
        ("ops = { read = 100 }\npattern = \"zones:50%/50%,40%/50%\"", "zones:90%/1G,10%/rest"),
    ] {
        let spec: LoadSpec = toml::from_str(&format!("{toml}\nios = 1")).unwrap();
        let error = spec.validate().expect_err(toml);
        assert!(error.help().contains(help), "{error}: {}", error.help());
    }
}

#[test]
fn ranges_that_do_not_fit_the_target_are_refused() {
    let cases: &[(Change, &str)] = &[
        (|s| s.offset = Some(Bytes(TARGET).into()), "offset"),
        (|s| s.size = Some(Bytes(TARGET + 4096).into()), "size"),
        (
            |s| {
                s.offset = Some(Bytes(4096).into());
                s.size = Some(Bytes(TARGET).into());
            },
            "size",
        ),
        (|s| s.size = Some(Bytes(2048).into()), "size"),
        (|s| s.block_size = Bytes(512).into(), "block_size"),
        (|s| s.offset = Some(Bytes(512).into()), "offset"),
        (
            |s| {
                s.jobs = 9;
                s.size = Some(Bytes(8 * 4096).into());
                s.pattern = Some(Pattern::Permutation);
            },
            "size",
        ),
        (|s| s.pattern = Some(Pattern::Single { block: TARGET / 4096 }), "pattern"),
        (|s| s.pattern = Some("zones:50%/1G,50%/1G".parse().unwrap()), "pattern"),
        (|s| s.pattern = Some("zones:50%/0%,50%/rest".parse().unwrap()), "pattern"),
        (|s| s.pattern = Some("zones:50%/40%,50%/50%".parse().unwrap()), "pattern"),
        (|s| s.align = Some(Bytes(512)), "align"),
        (|s| s.each = "randwrite.block_size=512".parse().unwrap(), "each"),
        (
            |s| {
                // The page cache takes writes of any size; what is given back is whole blocks.
                s.ops = "randdiscard=100".parse().unwrap();
                (s.direct, s.block_size) = (false, Bytes(512).into());
            },
            "block_size",
        ),
        (
            |s| {
                (s.jobs, s.share) = (3, Share::Parts);
                s.size = Some(Bytes(2 * 4096).into());
            },
            "size",
        ),
        (
            |s| {
                s.jobs = 9;
                s.pattern = Some(Pattern::Strided { blocks: TARGET / 4096 / 8, shift: false });
            },
            "size",
        ),
    ];
    for (change, key) in cases {
        let mut spec = spec("randwrite=100");
        change(&mut spec);
        let error = spec.check_target(TARGET, 4096).expect_err(key);
        assert_eq!(error.key(), *key, "{error}");
        assert!(!error.help().is_empty());
    }
    let mut small = spec("randwrite=100");
    small.block_size = Bytes(512).into();
    assert_eq!(small.check_target(TARGET, 512).unwrap().bytes, TARGET);
    small.direct = false;
    small.check_target(TARGET, 4096).unwrap();
}

#[test]
fn what_goes_through_the_page_cache_may_have_any_size_and_place() {
    let mut etcd = spec("write=100");
    (etcd.block_size, etcd.direct) = (Bytes(2300).into(), false);
    etcd.validate().unwrap();
    etcd.offset = Some(Bytes(7).into());
    etcd.validate().unwrap();
    let range = etcd.check_target(TARGET, 4096).unwrap();
    let ios: Vec<_> = Stream::new(&etcd, &range, Seed(1), 0, 1).take(3).collect();
    assert_eq!(
        ios.iter().map(|io| (io.offset, io.length)).collect::<Vec<_>>(),
        [(7, 2300), (2307, 2300), (4607, 2300)]
    );
    etcd.direct = true;
    assert!(etcd.validate().is_err(), "sectors past the page cache");
    // The kernel gives back whole blocks only.
    let mut discards = spec("discard=100");
    (discards.block_size, discards.direct) = (Bytes(2300).into(), false);
    assert!(discards.validate().is_err());
}

#[test]
fn a_range_may_be_a_share_of_whatever_target() {
    let mut spec = spec("randwrite=100");
    (spec.offset, spec.size) = (Some("25%".parse().unwrap()), Some("50%".parse().unwrap()));
    spec.block_size = "12k".parse().unwrap();
    spec.validate().unwrap();
    for target in [TARGET, 10 * TARGET, 1_000_003 * 4096] {
        let range = spec.check_target(target, 512).unwrap();
        assert!(range.start.is_multiple_of(12_288) && range.bytes.is_multiple_of(12_288));
        let near = |found: u64, wanted: u64| wanted - found < 12_288;
        assert!(near(range.start, target / 4) && near(range.bytes, target / 2), "{range:?}");
    }
    spec.size = Some("80%".parse().unwrap());
    assert!(spec.check_target(TARGET, 512).is_err(), "it reaches beyond the end");
    spec.size = Some("0%".parse().unwrap());
    assert!(spec.validate().is_err());
    let stored = serde_json::to_value(&spec).unwrap();
    assert_eq!(stored["offset"], "25%");
}

#[test]
fn a_range_holds_whole_blocks_from_its_offset_on() {
    let mut spec = spec("randwrite=100");
    spec.offset = Some(Bytes(8192).into());
    spec.block_size = Bytes(131_072).into();
    let range = spec.check_target(TARGET, 512).unwrap();
    assert_eq!((range.start, range.end()), (8192, TARGET));
    spec.pattern = Some(Pattern::Sequential);
    let ios: Vec<_> = Stream::new(&spec, &range, Seed(1), 0, 1).take(8192).collect();
    assert_eq!((ios[3].offset, ios[3].length), (8192 + 3 * 131_072, 131_072));
    // The rest at the end, smaller than a block, is not used: block 8191 is the first again.
    assert_eq!(ios.iter().map(|io| io.offset).max(), Some(8192 + 8190 * 131_072));
    assert_eq!((ios[8190].pass, ios[8191].pass, ios[8191].offset), (0, 1, 8192));
}

#[test]
fn the_end_of_a_range_that_no_io_reaches_is_counted_as_the_ios_leave_it() {
    for pattern in ["sequential", "random", "permutation", "strided:1", "interleaved:2", "single:3"]
    {
        for (block, align) in
            [("4k", None), ("64k", None), ("64k", Some(4096)), ("4k=50,64k=50", None)]
        {
            for more in [0, 512, 4096, 5120] {
                let mut spec = spec("randwrite=100");
                spec.pattern = Some(pattern.parse().unwrap());
                spec.block_size = block.parse().unwrap();
                spec.align = align.map(Bytes);
                if spec.pattern_of(OpName::Randwrite).has_passes() {
                    (spec.duration, spec.passes) = (None, Some(1));
                }
                let range = spec.check_target((1 << 20) + more, 512).unwrap();
                let case = format!("{pattern} {block} {align:?} {more}");
                let ios = Stream::new(&spec, &range, Seed(1), 0, 1).take(20_000);
                let end = ios.map(|io| io.offset + u64::from(io.length)).max().unwrap();
                let expected = if pattern == "single:3" { 0 } else { range.end() - end };
                assert_eq!(spec.unreached_tail(&range).0, expected, "{case}");
            }
        }
    }
}

#[test]
fn a_pass_is_counted_beforehand_as_it_is_run() {
    for (pattern, blocks) in [
        ("permutation", 262_144),
        ("sequential", 262_144),
        ("interleaved:5", 262_144),
        ("strided:812", 323 + 1),
    ] {
        let mut spec = spec("randwrite=100");
        (spec.pattern, spec.jobs) = (Some(pattern.parse().unwrap()), 3);
        (spec.duration, spec.passes) = (None, Some(2));
        spec.last_block = pattern.starts_with("strided");
        spec.validate().unwrap();
        let range = spec.check_target(TARGET, 512).unwrap();
        let amount = Amount { ios: 2 * blocks, bytes: 2 * blocks * 4096 };
        assert_eq!(spec.plan(TARGET), Some(amount), "{pattern}");
        let done: usize =
            Stream::for_jobs(&spec, &range, Seed(1)).into_iter().map(|s| s.count()).sum();
        assert_eq!(done as u64, amount.ios, "{pattern}");
    }
    assert_eq!(spec("randwrite=100").plan(TARGET), None);
}

#[test]
fn a_permutation_pass_over_all_jobs_writes_each_block_once() {
    for jobs in 1..=7 {
        let mut spec = spec("randwrite=50,randread=50");
        (spec.pattern, spec.passes, spec.jobs) = (Some(Pattern::Permutation), Some(1), jobs);
        let mut seen = vec![0u8; 244_140];
        for job in 0..jobs {
            stream(&spec, 244_140, 3, job).for_each(|io| seen[block(&io)] += 1);
        }
        assert!(seen.iter().all(|&n| n == 1), "{jobs} jobs");
    }
}

#[test]
fn bytes_end_a_load_over_all_jobs_together() {
    for (jobs, ios) in [(1, 1000), (3, 1000), (7, 5)] {
        let mut spec = spec("randwrite=100");
        (spec.jobs, spec.bytes) = (jobs, Some(Bytes(ios * 4096)));
        let done: usize = (0..jobs).map(|job| stream(&spec, 100, 1, job).count()).sum();
        assert_eq!(done as u64, ios);
        assert_eq!(
            (0..jobs).map(|job| stream(&spec, 100, 1, job).left().unwrap()).sum::<u64>(),
            ios
        );
    }
}

#[test]
fn as_many_bytes_as_the_range_has_are_one_pass() {
    for pattern in [Pattern::Sequential, Pattern::Permutation] {
        for (blocks, jobs) in [(10, 3), (1000, 7), (4096, 4)] {
            let mut spec = spec("randwrite=100");
            (spec.pattern, spec.jobs) = (Some(pattern.clone()), jobs);
            spec.bytes = Some(Bytes(blocks * 4096));
            let mut seen = vec![0; blocks as usize];
            for job in 0..jobs {
                stream(&spec, blocks, 1, job).for_each(|io| seen[block(&io)] += 1);
            }
            assert!(seen.iter().all(|&n| n == 1), "{pattern}: {seen:?}");
        }
    }
}

#[test]
fn time_alone_never_ends_a_stream() {
    let spec = spec("write=100");
    let mut stream = stream(&spec, 10, 1, 0);
    assert_eq!(stream.left(), None);
    let blocks: Vec<_> = stream.by_ref().take(25).map(|io| io.offset / 4096).collect();
    assert_eq!(blocks[..12], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
}

#[test]
fn operations_keep_their_names_and_have_their_own_patterns() {
    let spec = spec("read=50,randwrite=50");
    let ios: Vec<_> = stream(&spec, 1000, 1, 0).take(2000).collect();
    let reads: Vec<_> =
        ios.iter().filter(|io| io.op == OpName::Read).map(|io| io.offset / 4096).collect();
    assert_eq!(reads, (0..1000).collect::<Vec<_>>());
    let writes: Vec<_> =
        ios.iter().filter(|io| io.op.is_write()).map(|io| io.offset / 4096).collect();
    assert_eq!(writes.len(), 1000);
    assert!(writes.windows(2).filter(|w| w[1] == w[0] + 1).count() < 20);
}

#[test]
fn streams_follow_from_their_seed() {
    let spec = LoadSpec { jobs: 2, ..spec("randread=70,randwrite=30") };
    let ios = |seed, job| stream(&spec, 5000, seed, job).take(3000).collect::<Vec<_>>();
    assert_eq!(ios(1, 0), ios(1, 0));
    assert_ne!(ios(1, 0), ios(2, 0));
    assert_ne!(ios(1, 0), ios(1, 1));
}

fn any_pattern() -> impl Strategy<Value = Option<Pattern>> {
    prop_oneof![
        proptest::strategy::Just(None),
        proptest::strategy::Just(Some(Pattern::Sequential)),
        proptest::strategy::Just(Some(Pattern::Uniform)),
        proptest::strategy::Just(Some(Pattern::Permutation)),
        (1u64..2000).prop_map(|blocks| Some(Pattern::Strided { blocks, shift: false })),
    ]
}

proptest! {
    #[test]
    fn no_io_leaves_the_range_and_shares_are_exact(
        blocks in 1u64..5000, first in 1u32..100, pattern in any_pattern(), seed: u64, jobs in 1u32..5, decks in 1usize..5,
    ) {
        let mut spec = spec(&format!("write={first},randread={}", 100 - first));
        (spec.pattern, spec.jobs) = (pattern, jobs);
        if let Ok(range) = spec.check_target(blocks * 4096, 512) {
            for job in 0..jobs {
                let mut counts = HashMap::new();
                for io in Stream::new(&spec, &range, Seed(seed), job, jobs).take(100 * decks) {
                    prop_assert!(io.offset + 4096 <= blocks * 4096);
                    *counts.entry(io.op).or_insert(0) += 1;
                }
                prop_assert_eq!(counts[&OpName::Write], first as usize * decks);
            }
        }
    }

    #[test]
    fn a_pass_visits_what_it_should_once(
        blocks in 1u64..3000, pattern in any_pattern(), last_block: bool, seed: u64, jobs in 1u32..8,
    ) {
        let mut spec = spec("randwrite=100");
        (spec.pattern, spec.jobs, spec.passes) = (pattern.clone(), jobs, Some(1));
        spec.last_block = last_block && matches!(pattern, Some(Pattern::Strided { .. }));
        if spec.validate().is_ok() && let Ok(range) = spec.check_target(blocks * 4096, 512) {
            let mut seen = vec![0; blocks as usize];
            for job in 0..jobs {
                Stream::new(&spec, &range, Seed(seed), job, jobs).for_each(|io| seen[block(&io)] += 1);
            }
            let stride = match pattern { Some(Pattern::Strided { blocks, .. }) => blocks, _ => 1 };
            for (block, &n) in seen.iter().enumerate() {
                let block = block as u64;
                let wanted = block.is_multiple_of(stride) || (spec.last_block && block == blocks - 1);
                prop_assert_eq!(n, u32::from(wanted));
            }
        }
    }
}
