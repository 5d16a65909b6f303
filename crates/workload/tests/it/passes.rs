//! The blocks that a pass visits, by one job or several, however they divide it.

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use units::{Bytes, Seed};
use workload::{LoadSpec, Share, Stream};

use crate::support::{block, range, spec, stream};

fn one_pass(pattern: &str, jobs: u32, share: Share) -> LoadSpec {
    LoadSpec {
        pattern: Some(pattern.parse().unwrap()),
        jobs,
        share,
        passes: Some(1),
        duration: None,
        ..spec("randwrite=100")
    }
}

/// Counts the visits to each block by all jobs together, which take turns.
fn visits(spec: &LoadSpec, blocks: u64) -> Vec<u8> {
    spec.validate().unwrap();
    let range = spec.check_target(blocks * 4096, 512).unwrap();
    let mut seen = vec![0u8; blocks as usize];
    let mut streams = Stream::for_jobs(spec, &range, Seed(9));
    let mut ios = vec![workload::Io::FLUSH; 100];
    loop {
        let mut idle = true;
        for stream in &mut streams {
            let count = stream.fill(&mut ios);
            ios[..count].iter().for_each(|io| seen[block(io)] += 1);
            idle &= count == 0;
        }
        if idle {
            return seen;
        }
    }
}

#[test]
fn a_pass_of_all_jobs_visits_every_block_once_however_they_share_it() {
    for pattern in ["sequential", "interleaved", "interleaved:100", "strided:1", "permutation"] {
        for share in [Share::Split, Share::Shared, Share::Parts] {
            for (blocks, jobs) in [(244_140, 1), (244_140, 3), (244_140, 7), (1000, 5), (7, 7)] {
                if pattern == "interleaved:100" && blocks < 1000 {
                    continue;
                }
                let seen = visits(&one_pass(pattern, jobs, share), blocks);
                assert!(
                    seen.iter().all(|&n| n == 1),
                    "{pattern} {share} {blocks} blocks, {jobs} jobs"
                );
            }
        }
    }
}

#[test]
fn every_block_of_a_prime_above_16_million_is_visited_once() {
    for (pattern, jobs, share) in [
        ("sequential", 3, Share::Split),
        ("interleaved:64", 3, Share::Split),
        ("permutation", 3, Share::Split),
        ("permutation", 2, Share::Shared),
        ("permutation", 2, Share::Parts),
    ] {
        let seen = visits(&one_pass(pattern, jobs, share), 16_777_259);
        assert!(seen.iter().all(|&n| n == 1), "{pattern} {share}");
    }
}

#[test]
fn jobs_of_their_own_each_do_the_whole_pass() {
    for pattern in ["sequential", "permutation"] {
        let seen = visits(&one_pass(pattern, 3, Share::OperationOverride), 10_007);
        assert!(seen.iter().all(|&n| n == 3), "{pattern}");
    }
    let spec = one_pass("permutation", 2, Share::OperationOverride);
    let first =
        |job| stream(&spec, 10_007, 1, job).take(20).map(|io| io.offset).collect::<Vec<_>>();
    assert_ne!(first(0), first(1), "each has an order of its own");
}

#[test]
fn every_block_is_reached_by_what_is_drawn() {
    // A block that is drawn with 0.29 of the mean chance is missed in 16 million draws once in 1000 runs at most.
    for pattern in
        ["random", "zipf:0.5", "zipf:0.7", "pareto:0.3", "normal:30%", "zones:50%/10%,50%/90%"]
    {
        let spec = LoadSpec { pattern: Some(pattern.parse().unwrap()), ..spec("randread=100") };
        let mut seen = vec![false; 244_140];
        let mut ios = [workload::Io::FLUSH; 64];
        let mut stream = stream(&spec, 244_140, 3, 0);
        for _ in 0..300_000 {
            stream.fill(&mut ios);
            ios.iter().for_each(|io| seen[block(io)] = true);
        }
        assert!(seen.iter().all(|&seen| seen), "{pattern}");
    }
}

#[test]
fn uniform_reaches_every_block_of_a_prime_above_16_million() {
    let spec = LoadSpec { pattern: Some("random".parse().unwrap()), ..spec("randread=100") };
    let blocks = 16_777_259;
    let mut seen = vec![0u64; blocks / 64 + 1];
    let mut ios = [workload::Io::FLUSH; 64];
    let mut stream = stream(&spec, blocks as u64, 3, 0);
    // 350 million draws: one block or more is missed once in 70 seeds.
    for _ in 0..5_500_000 {
        stream.fill(&mut ios);
        ios.iter().for_each(|io| seen[block(io) / 64] |= 1 << (block(io) % 64));
    }
    assert_eq!(seen.iter().map(|word| word.count_ones()).sum::<u32>(), blocks as u32);
}

#[test]
fn a_shifted_stride_visits_every_block_in_as_many_passes_as_it_is_long() {
    let mut spec = one_pass("strided:7:shift", 2, Share::Split);
    spec.passes = Some(7);
    let seen = visits(&spec, 10_003);
    assert!(seen.iter().all(|&n| n > 0));
    // 10,003 is 7 x 1429: nothing is visited twice.
    assert!(seen.iter().all(|&n| n == 1));
}

#[test]
fn a_wrap_around_is_reported_and_passes_have_orders_of_their_own() {
    let spec = LoadSpec { pattern: Some("permutation".parse().unwrap()), ..spec("write=100") };
    let ios: Vec<_> = stream(&spec, 1000, 1, 0).take(3000).collect();
    for (pass, ios) in ios.chunks(1000).enumerate() {
        assert!(ios.iter().all(|io| io.pass as usize == pass));
        let mut blocks: Vec<_> = ios.iter().map(block).collect();
        blocks.sort_unstable();
        assert!(blocks.into_iter().eq(0..1000));
    }
    assert!(
        ios[..1000].iter().zip(&ios[1000..]).filter(|(a, b)| a.offset == b.offset).count() < 20
    );
}

#[test]
fn hot_blocks_are_the_same_for_all_jobs_and_however_long_the_run() {
    let hottest = |ops: &str, job, skip: usize| {
        let spec = LoadSpec { pattern: Some("zipf:1.2".parse().unwrap()), jobs: 2, ..spec(ops) };
        let mut counts = vec![0; 244_140];
        stream(&spec, 244_140, 5, job)
            .skip(skip)
            .take(100_000)
            .for_each(|io| counts[block(&io)] += 1);
        let mut ranks: Vec<_> = (0..counts.len()).collect();
        ranks.sort_by_key(|&block| std::cmp::Reverse(counts[block]));
        ranks.truncate(5);
        ranks
    };
    let first = hottest("randread=100", 0, 0);
    assert_eq!(first, hottest("randread=100", 1, 0));
    assert_eq!(first, hottest("randwrite=100", 0, 1_000_000));
    // Scattered: not side by side.
    assert!(first.windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 16), "{first:?}");
}

#[test]
fn the_whole_range_of_a_load_in_parts_is_divided_without_gaps() {
    let spec = LoadSpec {
        pattern: Some("random".parse().unwrap()),
        jobs: 3,
        share: Share::Parts,
        ..spec("randread=100")
    };
    let range = spec.check_target(100 * 4096, 512).unwrap();
    let bounds = |job| {
        let blocks: Vec<_> =
            Stream::new(&spec, &range, Seed(1), job, 3).take(20_000).map(|io| block(&io)).collect();
        (*blocks.iter().min().unwrap(), *blocks.iter().max().unwrap())
    };
    assert_eq!([0, 1, 2].map(bounds), [(0, 33), (34, 66), (67, 99)]);
}

#[test]
fn the_io_that_visits_a_block_is_found_from_the_block() {
    for (pattern, share) in [
        ("sequential", Share::Split),
        ("interleaved:3", Share::Split),
        ("strided:5", Share::Split),
        ("strided:5:shift", Share::OperationOverride),
        ("permutation", Share::Split),
        ("permutation", Share::OperationOverride),
        ("permutation", Share::Parts),
    ] {
        let mut spec = one_pass(pattern, 3, share);
        spec.passes = Some(3);
        spec.offset = Some(Bytes(8192).into());
        spec.last_block = pattern == "strided:5";
        let range = spec.check_target(8192 + 1009 * 4096, 512).unwrap();
        for job in 0..3 {
            let stream = Stream::new(&spec, &range, Seed(2), job, 3);
            let pass_ios = stream.pass_ios().unwrap();
            let mut found = 0;
            for (n, io) in stream.clone().enumerate() {
                let at = n as u64 % pass_ios;
                assert_eq!(u64::from(io.pass), n as u64 / pass_ios);
                let index = stream.index_in_pass(io.pass, io.offset + 4095);
                // A stride that is shifted beyond the end stays at the last block, which is visited twice then.
                if index != Some(at) {
                    assert!(
                        pattern == "strided:5:shift" && io.offset == range.end() - 4096,
                        "{pattern} {n} {index:?}"
                    );
                }
                found += 1;
            }
            assert_eq!(found, 3 * pass_ios);
        }
        let visited = |offset: u64| {
            let goes = |&job: &u32| {
                Stream::new(&spec, &range, Seed(2), job, 3).index_in_pass(1, offset).is_some()
            };
            (0..3).filter(goes).count()
        };
        let all = if share == Share::OperationOverride { 3 } else { 1 };
        let blocks = (0..1009).map(|n| visited(8192 + n * 4096));
        let wanted = |n: usize| match pattern {
            "strided:5" if !n.is_multiple_of(5) && n != 1008 => 0,
            "strided:5:shift" if n % 5 != 1 => 0,
            _ => all,
        };
        assert!(blocks.enumerate().all(|(n, jobs)| jobs == wanted(n)), "{pattern}");
        assert_eq!(visited(0) + visited(range.end()), 0);
    }
}

proptest! {
    #[test]
    fn every_pass_touches_every_byte_once_whatever_the_sizes(
        sectors in 2000u64..20_000, jobs in 1u32..5, passes in 1u32..4, seed: u64, offset in 0u64..3,
        share in proptest::sample::select(vec![Share::Split, Share::Shared, Share::Parts, Share::OperationOverride]),
        pattern in proptest::sample::select(vec!["sequential", "interleaved", "interleaved:7", "permutation", "strided:1"]),
        sizes in proptest::sample::select(vec!["4k=50,64k=50", "4k..64k", "512=90,1536=5,128k=5", "8k=99,20k=1", "4k"]),
        ops in proptest::sample::select(vec!["write=100", "randwrite=60,randread=40"]),
    ) {
        let spec = LoadSpec {
            ops: ops.parse().unwrap(),
            block_size: sizes.parse().unwrap(),
            passes: Some(passes),
            offset: Some(Bytes(offset * 4096).into()),
            ..one_pass(pattern, jobs, share)
        };
        spec.validate().unwrap();
        let Ok(range) = spec.check_target(sectors * 512, 512) else { return Ok(()) };
        let unit = spec.block_size.common();
        let mut seen = vec![0u32; (range.bytes / unit) as usize];
        let mut done = workload::Amount { ios: 0, bytes: 0 };
        for io in Stream::for_jobs(&spec, &range, Seed(seed)).into_iter().flatten() {
            let first = (io.offset - range.start) / unit;
            for block in first..first + u64::from(io.length) / unit {
                seen[block as usize] += 1;
            }
            prop_assert!(io.pass < passes && u64::from(io.length).is_multiple_of(unit));
            (done.ios, done.bytes) = (done.ios + 1, done.bytes + u64::from(io.length));
        }
        let wanted = if share == Share::OperationOverride { passes * jobs } else { passes };
        prop_assert!(seen.iter().all(|&n| n == wanted), "{pattern} {share} {sizes}: {seen:?}");
        prop_assert_eq!(Some(done), spec.amount(&range));
    }

    #[test]
    fn amounts_are_known_beforehand(
        blocks in 20u64..2000, jobs in 1u32..5, share in proptest::sample::select(Share::ALL.to_vec()),
        ios in 1u64..5000, sizes in proptest::sample::select(vec!["4k", "4k=50,12k=50", "4k..16k", "8k"]),
        pattern in proptest::sample::select(vec![None, Some("permutation"), Some("interleaved:3"), Some("random")]),
        ops in proptest::sample::select(vec!["write=100", "write=70,randread=30", "read=33.33,randwrite=66.66,flush=0.01"]),
        by_bytes: bool,
    ) {
        let mut spec = spec(ops);
        (spec.jobs, spec.share, spec.block_size) = (jobs, share, sizes.parse().unwrap());
        spec.pattern = pattern.map(|pattern| pattern.parse().unwrap());
        if by_bytes {
            spec.bytes = Some(Bytes(ios * 8192));
        } else {
            spec.ios = Some(ios);
        }
        spec.validate().unwrap();
        let range = spec.check_target(blocks * 4096 * u64::from(jobs), 512).unwrap();
        let amount = spec.amount(&range).unwrap();
        let mut done = (0, 0);
        for mut stream in Stream::for_jobs(&spec, &range, Seed(4)) {
            for io in stream.by_ref() {
                done = (done.0 + 1, done.1 + u64::from(io.length));
            }
            prop_assert_eq!(stream.left(), Some(0));
        }
        if by_bytes {
            // Each job ends with the I/O that reaches its part.
            assert!(done.1 >= ios * 8192 && done.1 < ios * 8192 + u64::from(jobs) * (16_384 + 4096));
        } else {
            prop_assert_eq!((done.0, amount.ios), (ios, ios));
        }
        if sizes.len() == 2 && !ops.contains("flush") {
            prop_assert_eq!(done.0, amount.ios);
        }
    }
}

#[test]
fn jobs_that_share_do_together_what_one_job_does_alone() {
    for pattern in crate::support::PATTERNS {
        let mut spec = spec("write=65,randread=20,read=10,flush=5");
        (spec.pattern, spec.share, spec.jobs) = (Some(pattern.parse().unwrap()), Share::Shared, 1);
        (spec.ios, spec.block_size) = (Some(5003), "4k=75,8k=25".parse().unwrap());
        let whole = range(5000);
        let mut alone: Vec<_> = Stream::new(&spec, &whole, Seed(1), 0, 1).collect();
        spec.jobs = 3;
        let mut together = Vec::new();
        let mut streams = Stream::for_jobs(&spec, &whole, Seed(1));
        let mut idle = 0;
        for turn in 0.. {
            match streams[turn * 7 / 5 % 3].next() {
                Some(io) => (together.push(io), idle = 0).0,
                None => idle += 1,
            }
            if idle > 10 {
                break;
            }
        }
        assert_eq!(streams[0].left(), Some(0));
        let key = |io: &workload::Io| (io.op, io.offset, io.length, io.pass);
        alone.sort_by_key(key);
        together.sort_by_key(key);
        assert!(alone == together, "{pattern}");
    }
}
