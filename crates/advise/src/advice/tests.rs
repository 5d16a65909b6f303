//! Traces whose answers are known.

use disk::Op;

use super::*;
use crate::access::Access;

const GIB: u64 = 1 << 30;

fn advice(accesses: impl Iterator<Item = (Op, u64)>) -> Advice {
    let mut analysis = Analysis::new(&[64 << 10, 4 << 10, 1 << 20], (0, 1_000_000));
    for (at, (op, offset)) in accesses.enumerate() {
        analysis.take(&Access { at_ns: at as u64, op, offset, bytes: 4096 });
    }
    Advice::of(&analysis)
}

/// Numbers that look random (SplitMix64), the same every time.
fn random(at: u64) -> u64 {
    let mut bits = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[test]
fn a_hot_tenth_pays_and_the_size_of_it_is_where_it_stops() {
    // Nine reads of ten go to 16 MiB, one to any of 16 GiB.
    let place = |at: u64| {
        if at.is_multiple_of(10) { random(at) % (16 * GIB) } else { random(at) % (16 << 20) }
    };
    let cache = advice((0..200_000).map(|at| (Op::Read, place(at) / 4096 * 4096))).cache.unwrap();
    assert_eq!((cache.verdict, cache.decided_by, cache.sample_rate), (Verdict::Pays, "reads", 1.0));
    assert!(cache.stops_paying_bytes < (32 << 20) as f64, "{cache:?}");
    assert!((85.0..91.0).contains(&cache.most_percent), "{cache:?}");
    assert!(cache.hits_there_percent > 80.0, "{cache:?}");
    let last = cache.points.last().unwrap();
    assert!(
        last.reads_percent.unwrap() > cache.most_percent - 0.01 && last.writes_percent.is_none()
    );
    // Each miss of the cold part brings in a chunk: small ones copy least.
    assert_eq!(cache.best_chunk_bytes, 4096, "{cache:?}");
}

#[test]
fn a_loop_pays_only_whole_and_what_never_comes_again_never() {
    let around = advice((0..60_000).map(|at| (Op::Read, at % 20_000 * 65_536))).cache.unwrap();
    assert_eq!(around.verdict, Verdict::OnlyWhole, "{around:?}");
    assert!((around.stops_paying_bytes / (20_000.0 * 65_536.0) - 1.0).abs() < 0.02, "{around:?}");
    let middle = around.points[around.points.len() - 3];
    assert_eq!(middle.reads_percent.map(f64::round), Some(0.0), "{around:?}");
    let once = advice((0..20_000).map(|at| (Op::Read, at * 65_536))).cache.unwrap();
    assert_eq!((once.verdict, once.most_percent), (Verdict::DoesNotPay, 0.0));
}

#[test]
fn writes_alone_decide_where_nothing_is_read() {
    let all = advice((0..50_000).map(|at| (Op::Write, at % 100 * 4096)));
    let cache = all.cache.unwrap();
    assert_eq!((cache.decided_by, cache.verdict), ("writes", Verdict::OnlyWhole));
    assert!(cache.hits_there_percent > 97.0, "{cache:?}");
    assert_eq!(all.vdo.written_bytes, 100.0 * 4096.0);
    assert_eq!(all.vdo.unaligned_writes_percent, Some(0.0));
}

#[test]
fn what_a_stream_passes_once_is_no_hit_and_what_it_comes_back_to_is() {
    let scan = |times: u64| (0..times * 16_000).map(|at| (Op::Read, at % 16_000 * 4096));
    let once = advice(scan(1));
    let cache = once.cache.unwrap();
    assert_eq!((cache.verdict, cache.most_percent), (Verdict::DoesNotPay, 0.0), "{cache:?}");
    let thrice = advice(scan(3)).cache.unwrap();
    assert_eq!(thrice.verdict, Verdict::OnlyWhole);
    assert!((thrice.most_percent - 200.0 / 3.0).abs() < 0.1, "{thrice:?}");
    // VDO looks once for each block: 812 of them are in a page, and the first one misses.
    assert!((once.vdo.least_misses_percent - 100.0 / 812.0).abs() < 0.01, "{:?}", once.vdo);
}

#[test]
fn a_long_tail_is_not_paid_for() {
    // Three reads of five go to 8 MiB, the others to any of 16 GiB.
    let place = |at: u64| {
        if at % 5 < 3 { random(at) % (8 << 20) } else { random(at) % (16 * GIB) }
    };
    let cache = advice((0..100_000).map(|at| (Op::Read, place(at) / 4096 * 4096))).cache.unwrap();
    assert_eq!(cache.verdict, Verdict::Pays);
    assert!((16.0..48.0).contains(&(cache.stops_paying_bytes / MIB as f64)), "{cache:?}");
}

#[test]
fn where_each_doubling_brings_more_a_small_cache_pays_as_well() {
    // The place is 2 to the power of what is drawn evenly: each doubling of the cache hits as much more.
    let place = |at: u64| 2f64.powf((random(at) % 1_000_000) as f64 / 1e6 * 16.0) as u64 - 1;
    let cache = advice((0..200_000).map(|at| (Op::Read, place(at) * 65_536))).cache.unwrap();
    assert_eq!(cache.verdict, Verdict::EachDoubling, "{cache:?}");
    assert!(cache.half_bytes < cache.stops_paying_bytes / 40.0, "{cache:?}");
    let touched = cache.points.last().unwrap().bytes;
    assert!(cache.stops_paying_bytes > touched / 4.0, "{cache:?}");
}

#[test]
fn a_write_of_a_whole_chunk_copies_nothing_in() {
    let all = advice((0..5000).map(|at| (Op::Write, random(at) % 4096 * 4096))).cache.unwrap();
    let copied =
        |chunk| all.chunks.iter().find(|one| one.chunk_bytes == chunk).unwrap().copied_bytes;
    assert_eq!(copied(4096), 0.0);
    assert!(copied(64 << 10) >= 256.0 * 65_536.0, "{all:?}");
}

#[test]
fn the_block_map_cache_holds_the_leaves_that_are_touched_again() {
    // Of the leaves of 800 GiB 128 MiB hold 32,768.
    let size = 800 * GIB;
    let vdo = advice((0..600_000).map(|at| (Op::Write, random(at) % size / 4096 * 4096))).vdo;
    assert!((200_000.0..258_271.0).contains(&vdo.touched_pages), "{vdo:?}");
    // As measured on real volumes: misses are 1 - cache / leaves, here of looks at pages that were looked at before.
    let again = (100.0 - vdo.default_misses_percent) / (100.0 - vdo.least_misses_percent);
    assert!(again < 0.35 && vdo.cache_mib > 700, "{vdo:?}");
    // 800 GiB have 258,270 leaf pages.
    assert_eq!(vdo.whole_cache_mib, 258_270u64.div_ceil(256));
    let small = advice((0..1000).map(|at| (Op::Write, at * 4096))).vdo;
    assert_eq!((small.cache_mib, small.logical_bytes), (128, 4096 * 1000));
}
