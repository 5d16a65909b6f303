//! The sampled curve beside a least-recently-used cache that is followed whole.

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

/// A rank by Zipf's law, drawn by turning the integral of its density round.
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

/// Returns the shares of hits of a whole least-recently-used stack at these sizes, which rise: another way than the one tested, with a
/// tree of its own over all touches.
fn exact(stream: &[u64], sizes: &[f64]) -> Vec<f64> {
    let mut last: HashMap<u64, usize> = HashMap::new();
    let mut tree = Fenwick::new(stream.len(), 0);
    let mut counted = vec![0u64; sizes.len() + 1];
    for (at, chunk) in stream.iter().enumerate() {
        if let Some(before) = last.insert(*chunk, at + 1) {
            let distance = f64::from(tree.up_to(at) - tree.up_to(before));
            counted[sizes.partition_point(|size| *size <= distance)] += 1;
            tree.leave(before);
        }
        tree.take(at + 1);
    }
    let mut hits = 0;
    let share = |count: &u64| {
        hits += count;
        100.0 * hits as f64 / stream.len() as f64
    };
    counted[..sizes.len()].iter().map(share).collect()
}

/// The mean of the absolute differences to the whole stack, over 100 sizes in the middle of equal parts of all chunks, in points of percent.
fn error(shards: &Shards, stream: &[u64], chunks: u64) -> f64 {
    let sizes: Vec<f64> = (0..100).map(|part| (chunks * (2 * part + 1) / 200) as f64).collect();
    let [curve, _] = shards.curves();
    let whole = exact(stream, &sizes);
    let off = |(size, whole): (&f64, f64)| (curve.hits_percent(*size).unwrap() - whole).abs();
    sizes.iter().zip(whole).map(off).sum::<f64>() / 100.0
}

fn followed(halvings: u32, most: usize, stream: &[u64]) -> Shards {
    let mut shards = Shards::new(halvings, most);
    stream.iter().for_each(|chunk| shards.touch(*chunk, false));
    shards
}

/// So many chunks are followed as one in a hundred of some twenty million would be: ten minutes of I/O may well touch as many. The bench
/// `curve` follows one in 128 of so many.
#[test]
fn the_curve_of_a_sample_is_within_a_tenth_of_a_point_of_the_whole() {
    const CHUNKS: u64 = 1 << 20;
    for (theta, scan, halvings, most) in [(0.8, 0, 2, usize::MAX), (1.1, 400, 0, 1 << 18)] {
        let stream = stream(3_000_000, CHUNKS, theta, scan);
        let shards = followed(halvings, most, &stream);
        let (error, rate) = (error(&shards, &stream, CHUNKS), shards.rate());
        println!("zipf {theta}, {scan} of 1000 in a loop: {error:.4} points at {rate}");
        assert!(shards.followed() <= most && rate < 0.6, "{rate}");
        assert!(error <= 0.1, "zipf {theta}, {scan} of 1000 in a loop: {error} points");
    }
}

#[test]
fn what_is_followed_whole_is_exact() {
    let stream = stream(50_000, 3000, 0.9, 300);
    let shards = followed(0, usize::MAX, &stream);
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
    let mut shards = Shards::new(0, 100);
    // Read 1, write 1, write 2; later read 2 and 3, write 1.
    for (window, chunk, write) in
        [(0, 1, false), (0, 1, true), (0, 2, true), (2, 2, false), (2, 3, false), (2, 1, true)]
    {
        shards.begin_window(window);
        shards.touch(chunk, write);
    }
    assert_eq!((shards.touches(), shards.first_writes()), ([3, 3], 2.0));
    assert_eq!(shards.distinct(), [3.0, 3.0, 2.0]);
    assert_eq!(shards.windows().collect::<Vec<_>>(), [(2.0, 2.0), (0.0, 0.0), (3.0, 1.0)]);
    let [reads, writes] = shards.curves();
    // One of three reads finds its chunk as the last but none, two of three writes at distances 0 and 2.
    assert_eq!(reads.hits_percent(1.0), Some(100.0 / 3.0));
    assert_eq!(writes.hits_percent(1.0).map(f64::round), Some(33.0));
    assert_eq!(writes.hits_percent(3.0).map(f64::round), Some(67.0));
}
