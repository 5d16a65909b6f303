//! Tests that compare the sampled curve with an exact simulation of a least-recently-used cache.

use std::collections::HashMap;

use super::*;

/// Numbers that look random (SplitMix64), from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        hash(self.0)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A rank drawn from Zipf's law: inverts the distribution function of the continuous density.
fn zipf(random: &mut Random, ranks: u64, theta: f64) -> u64 {
    let (q, u) = (1.0 - theta, random.unit());
    let end = ranks as f64 + 1.0;
    let x =
        if q.abs() < 1e-9 { end.powf(u) } else { (1.0 + u * (end.powf(q) - 1.0)).powf(1.0 / q) };
    (x as u64 - 1).min(ranks - 1)
}

/// Chunks touched: `scan` in a thousand touches belong to a loop over all chunks, the others to Zipf's law.
fn stream(touches: usize, chunks: u64, theta: f64, scan: u64) -> Vec<u64> {
    let (mut random, mut next) = (Random(7), 0);
    let one = |_| {
        if random.next() % 1000 < scan {
            next += 1;
            return next % chunks;
        }
        // Hot chunks lie anywhere.
        Random(zipf(&mut random, chunks, theta)).next() % chunks
    };
    (0..touches).map(one).collect()
}

/// Returns the hit rates, in percent, of an exact least-recently-used cache at these sizes, which are in ascending order. They are computed
/// independently of the code under test, with a tree over all touches.
fn exact(stream: &[u64], sizes: &[f64]) -> Vec<f64> {
    let mut last: HashMap<u64, usize> = HashMap::new();
    let mut tree = Fenwick::new(stream.len(), []);
    let mut counted = vec![0u64; sizes.len() + 1];
    for (at, chunk) in stream.iter().enumerate() {
        if let Some(before) = last.insert(*chunk, at + 1) {
            let distance = (tree.up_to(at) - tree.up_to(before)) as f64;
            counted[sizes.partition_point(|size| *size <= distance)] += 1;
            tree.leave(before, 1);
        }
        tree.take(at + 1, 1);
    }
    let mut hits = 0;
    let share = |count: &u64| {
        hits += count;
        100.0 * hits as f64 / stream.len() as f64
    };
    counted[..sizes.len()].iter().map(share).collect()
}

/// The mean absolute difference from the exact curve, in percentage points, over 100 evenly spaced cache sizes.
fn error(shards: &Shards, stream: &[u64], chunks: u64) -> f64 {
    let sizes: Vec<f64> = (0..100).map(|part| (chunks * (2 * part + 1) / 200) as f64).collect();
    let [curve, _] = shards.curves();
    let whole = exact(stream, &sizes);
    let off = |(size, whole): (&f64, f64)| (curve.hits_percent(*size).unwrap() - whole).abs();
    sizes.iter().zip(whole).map(off).sum::<f64>() / 100.0
}

fn followed(most: usize, stream: &[u64]) -> Shards {
    let mut shards = Shards::new(most);
    stream.iter().for_each(|chunk| shards.touch(*chunk, Touch::Read, 1));
    shards
}

/// Follows at most 65,536 of a million chunks, as many as one in a hundred of 6.5 million. `fathom-bench curve` tests one in a hundred itself.
#[test]
fn the_curve_of_a_sample_is_within_a_tenth_of_a_point_of_the_whole() {
    const CHUNKS: u64 = 1 << 20;
    let most = 1 << 16;
    for (theta, scan) in [(0.8, 0), (1.1, 0)] {
        let stream = stream(2_000_000, CHUNKS, theta, scan);
        let shards = followed(most, &stream);
        let error = error(&shards, &stream, CHUNKS);
        println!("zipf {theta}: {error:.4} points with {} followed", shards.followed());
        assert!(shards.followed() <= most && shards.rate() < 0.3, "{}", shards.rate());
        assert!(error <= 0.1, "zipf {theta}: {error} points");
    }
}

/// Half of the touches go to the first chunk, the others to any: if chance decided whether the hot one is in the sample, curves would be far off.
#[test]
fn the_hottest_chunk_is_not_left_to_chance_and_counts_as_one() {
    let mut random = Random(11);
    let any = |at: u64, random: &mut Random| {
        if at.is_multiple_of(2) { 0 } else { random.next() % 50_000 }
    };
    let stream: Vec<u64> = (0..200_000).map(|at| any(at, &mut random)).collect();
    let shards = followed(500, &stream);
    let sizes = [2.0, 16.0, 500.0, 5000.0];
    let [curve, _] = shards.curves();
    for (size, whole) in sizes.iter().zip(exact(&stream, &sizes)) {
        let sampled = curve.hits_percent(*size).unwrap();
        assert!((sampled - whole).abs() < 1.5, "{size}: {sampled}, whole {whole}");
    }
    assert!((shards.distinct()[0] / 49_000.0 - 1.0).abs() < 0.15, "{:?}", shards.distinct());
}

#[test]
fn what_is_followed_whole_is_exact() {
    let stream = stream(50_000, 3000, 0.9, 300);
    let shards = followed(usize::MAX, &stream);
    assert!(shards.last > 3000 && shards.places.places() < 20_000, "places were numbered anew");
    let sizes = [1.0, 2.0, 10.0, 100.0];
    let [curve, none] = shards.curves();
    for (size, whole) in sizes.iter().zip(exact(&stream, &sizes)) {
        assert!((curve.hits_percent(*size).unwrap() - whole).abs() < 1e-9, "{size}");
    }
    assert_eq!(none.hits_percent(1.0), None);
    let distinct = stream.iter().collect::<std::collections::HashSet<_>>().len() as f64;
    assert_eq!(shards.distinct(), [distinct, distinct, 0.0]);
}

#[test]
fn reads_and_writes_first_writes_and_windows_are_told_apart() {
    let mut shards = Shards::new(100);
    // Read 1, write 1, write 2; later read 2 and 3, write 1.
    for (window, chunk, write) in
        [(0, 1, false), (0, 1, true), (0, 2, true), (2, 2, false), (2, 3, false), (2, 1, true)]
    {
        shards.begin_window(window);
        shards.touch(chunk, if write { Touch::Whole } else { Touch::Read }, 1);
    }
    assert_eq!((shards.touches(), shards.first_writes()), ([3, 3], 2.0));
    assert_eq!(shards.distinct(), [3.0, 3.0, 2.0]);
    assert_eq!(shards.windows().collect::<Vec<_>>(), [(2.0, 2.0), (0.0, 0.0), (3.0, 1.0)]);
    let [reads, writes] = shards.curves();
    // One of three reads finds its chunk as the most recent one (distance 0); two of three writes find theirs, at distances 0 and 2.
    assert_eq!(reads.hits_percent(1.0), Some(100.0 / 3.0));
    assert_eq!(writes.hits_percent(1.0).map(f64::round), Some(33.0));
    assert_eq!(writes.hits_percent(3.0).map(f64::round), Some(67.0));
}
