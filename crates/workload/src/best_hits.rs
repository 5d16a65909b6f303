//! The best hit rate that a cache of chunks can reach on a skewed load: that of a cache which holds the most-read chunks from the start and keeps
//! them.

use crate::distribution::Distribution;
use crate::grid::Grid;
use crate::{Hot, LoadSpec, OpKind, OpName, Pattern, Range, Share};
use units::{Permutation, Seed};

/// Number of places whose chunks are looked up one by one; the reads of the remaining places are spread evenly over all chunks.
const LOOKED_UP: u64 = 1 << 20;
/// Most chunks that are counted individually.
const MOST_CHUNKS: u64 = 1 << 22;
/// A cache counts as warm when its hit rate is within this many percentage points of the best.
const WARM_MARGIN: f64 = 2.0;

/// The best hit rate of a cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestHits {
    /// Share of the reads, percent.
    pub percent: f64,
    /// Smallest number of chunks with which it comes within 2 points of that hit rate: so many have to come in before it is warm.
    pub chunks: u64,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
}

impl LoadSpec {
    /// Returns the best hit rate, for the reads of this load, of a cache in front of a target of `target` bytes that holds `cache` bytes in chunks of
    /// `chunk` bytes; `None` if the reads do not all have one distribution and size, or if there are too many chunks to count.
    pub fn best_hits(&self, target: u64, cache: u64, chunk: u64) -> Option<BestHits> {
        let mut reads = self.ops.names().filter(|op| op.kind() == OpKind::Read);
        let (op, None) = (reads.next()?, reads.next()) else { return None };
        let (offset, size) = self.range_in(target);
        let bytes = size.unwrap_or_else(|| target.saturating_sub(offset));
        let jobs = u64::from(self.jobs.max(1));
        // All parts are equally likely and have their hot places at the same positions, so that one part stands for all.
        let parts = if self.share == Share::Parts { jobs } else { 1 };
        let grid = Grid::of(self, op, &Range { start: offset, bytes }, (0, jobs))?;
        let block = self.block_size_of(op).fixed()?.0;
        let chunk = chunk.max(1);
        // Number of chunks that one I/O takes, and number of I/O places in one chunk.
        let (taken, shared) = if grid.align.is_multiple_of(chunk) && block <= grid.align {
            (block.div_ceil(chunk), 1)
        } else if chunk.is_multiple_of(grid.align) && block <= grid.align {
            (1, chunk / grid.align)
        } else {
            return None;
        };
        let shares_of = ReadShares::of(self, op, &grid)?;
        let mut shares = shares_of.chunks(grid.places, shared)?;
        shares.sort_unstable_by(|one, other| other.total_cmp(one));
        let held = (cache / chunk / taken / parts).min(shares.len() as u64) as usize;
        let percent = (100.0 * shares[..held].iter().sum::<f64>()).min(100.0);
        let mut hit = 0.0;
        let enough = shares[..held].iter().position(|share| {
            hit += 100.0 * share;
            hit >= percent - WARM_MARGIN
        });
        let chunks = enough.map_or(held, |last| last + 1) as u64 * taken * parts;
        Some(BestHits { percent, chunks, chunk_bytes: chunk })
    }
}

/// The distribution of the reads over places, and how they are scattered.
struct ReadShares {
    pattern: Pattern,
    distribution: Distribution,
    places: u64,
    scattered: Option<Permutation>,
    /// For a zipf law: sums of k^-theta over the first 0, 1, 2, ... ranks k.
    sums: Vec<f64>,
}

impl ReadShares {
    fn of(spec: &LoadSpec, op: OpName, grid: &Grid) -> Option<Self> {
        let pattern = spec.pattern_of(op);
        let known = matches!(pattern, Pattern::Zipf { .. } | Pattern::Pareto { .. })
            || matches!(pattern, Pattern::Uniform | Pattern::Permutation | Pattern::Zones(_));
        let scattered = spec.hot_of(op) == Hot::Scattered && pattern.own_hot().is_some();
        let seed = spec.hot_seed.unwrap_or(Seed(0)).derive("hot");
        let sums = match pattern {
            Pattern::Zipf { theta } => first_sums(grid.places, theta),
            _ => Vec::new(),
        };
        known.then(|| Self {
            sums,
            distribution: Distribution::new(&pattern, grid.places, grid.align),
            scattered: scattered.then(|| Permutation::new(grid.places, seed)),
            places: grid.places,
            pattern,
        })
    }

    /// The share of the reads that goes to the first `places` places of the distribution, before they are scattered.
    fn below(&self, places: u64) -> f64 {
        let part = places as f64 / self.places as f64;
        match (&self.pattern, &self.distribution) {
            (Pattern::Zipf { theta }, _) => {
                let sum = |n| sum(&self.sums, n, *theta);
                sum(places) / sum(self.places)
            }
            (_, Distribution::Pareto { power, .. }) => part.powf(1.0 / power),
            (_, Distribution::Zones { bounds, zones }) => {
                let ends = bounds.iter().map(|bound| *bound as f64 / 2f64.powi(64)).chain([1.0]);
                let mut before = 0.0;
                let shares = ends.map(|end| end - std::mem::replace(&mut before, end));
                let within = |(first, length): (u64, u64)| {
                    places.saturating_sub(first).min(length) as f64 / length.max(1) as f64
                };
                shares.zip(zones).map(|(share, zone)| share * within(*zone)).sum()
            }
            _ => part,
        }
    }

    /// The share of the reads that each chunk of `shared` places gets.
    fn chunks(&self, places: u64, shared: u64) -> Option<Vec<f64>> {
        let count = Some(places.div_ceil(shared)).filter(|count| *count <= MOST_CHUNKS)?;
        let from_to = |first: u64, end: u64| self.below(end) - self.below(first);
        // Places that are not scattered lie side by side; and with one place per chunk it does not matter where each place lies.
        let Some(scattered) = self.scattered.filter(|_| shared > 1) else {
            let chunk = |at: u64| from_to(at * shared, ((at + 1) * shared).min(places));
            return Some((0..count).map(chunk).collect());
        };
        let looked_up = places.min(LOOKED_UP);
        let mut shares = vec![(1.0 - self.below(looked_up)) / count as f64; count as usize];
        let mut before = 0.0;
        for place in 0..looked_up {
            let end = self.below(place + 1);
            shares[(scattered.at(place) / shared) as usize] += end - before;
            before = end;
        }
        Some(shares)
    }
}

/// Sums of k^-theta over k from 1 on, added one by one for the first thousand ranks.
fn first_sums(n: u64, theta: f64) -> Vec<f64> {
    const ONE_BY_ONE: u64 = 1024;
    let mut sum = 0.0;
    let added = (1..=n.min(ONE_BY_ONE)).map(|k| {
        sum += (k as f64).powf(-theta);
        sum
    });
    [0.0].into_iter().chain(added).collect()
}

/// The sum of k^-theta over k from 1 to `n`; the part beyond `first` is approximated by an integral.
fn sum(first: &[f64], n: u64, theta: f64) -> f64 {
    if let Some(sum) = first.get(n as usize) {
        return *sum;
    }
    let (Some(known), last) = (first.last(), first.len() - 1) else { return 0.0 };
    let (from, to, q) = (last as f64 + 0.5, n as f64 + 0.5, 1.0 - theta);
    let rest = if q.abs() < 1e-9 { (to / from).ln() } else { (to.powf(q) - from.powf(q)) / q };
    known + rest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Stream;

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    /// A load whose hot places are where those of the simulation are.
    fn load(pattern: &str, more: &str) -> LoadSpec {
        let text = format!(
            "{{\"ops\": \"randread\", \"pattern\": \"{pattern}\", \"block_size\": \"4k\"{more}}}"
        );
        LoadSpec { hot_seed: Some(Seed(3)), ..serde_json::from_str(&text).unwrap() }
    }

    /// The share of 400,000 reads, percent, that go to the `cache / chunk` chunks which got most of the same number of reads before.
    fn simulated(load: &LoadSpec, target: u64, cache: u64, chunk: u64) -> f64 {
        let range = Range { start: 0, bytes: target };
        let mut streams = Stream::for_jobs(load, &range, Seed(7));
        let each = 400_000 / streams.len();
        let mut counted = || {
            let mut reads: BTreeMap<u64, u64> = BTreeMap::new();
            for io in streams.iter_mut().flat_map(|stream| stream.take(each)) {
                *reads.entry(io.offset / chunk).or_default() += 1;
            }
            reads
        };
        let mut hottest: Vec<_> = counted().into_iter().collect();
        hottest.sort_unstable_by_key(|(_, count)| std::cmp::Reverse(*count));
        hottest.truncate((cache / chunk) as usize);
        let reads = counted();
        let hits: u64 = hottest.iter().filter_map(|(chunk, _)| reads.get(chunk)).sum();
        100.0 * hits as f64 / reads.values().sum::<u64>() as f64
    }

    #[test]
    fn a_simulated_cache_that_holds_the_hottest_chunks_hits_as_much() {
        let parts = ", \"jobs\": 2, \"share\": \"parts\"";
        for (pattern, more, cache, chunk) in [
            ("zipf:1.2", "", 4 * MIB, 64 * KIB),
            ("zipf:1.2", parts, 4 * MIB, 64 * KIB),
            ("zipf:0.9", "", 16 * MIB, 4 * KIB),
            ("zipf:1", "", 8 * MIB, 256 * KIB),
            ("pareto:0.2", "", 8 * MIB, 32 * KIB),
            ("pareto:0.2", parts, 8 * MIB, 4 * KIB),
            ("zones:90%/10%,10%/90%", "", 6 * MIB, 32 * KIB),
            ("random", "", 16 * MIB, 64 * KIB),
        ] {
            let spec = load(pattern, more);
            let best = spec.best_hits(64 * MIB, cache, chunk).unwrap();
            let simulated = simulated(&spec, 64 * MIB, cache, chunk);
            assert!(
                (best.percent - simulated).abs() < 1.0,
                "{pattern}{more}: {best:?} {simulated}"
            );
        }
    }

    #[test]
    fn so_many_chunks_are_enough_and_fewer_are_not() {
        let spec = load("zipf:1.2", "");
        let best = spec.best_hits(64 * MIB, 8 * MIB, 64 * KIB).unwrap();
        let of = |chunks: u64| spec.best_hits(64 * MIB, chunks * 64 * KIB, 64 * KIB).unwrap();
        assert!(
            best.chunks < 128 && of(best.chunks).percent >= best.percent - WARM_MARGIN,
            "{best:?}"
        );
        assert!(of(best.chunks - 1).percent < best.percent - WARM_MARGIN, "{best:?}");
        assert_eq!(of(4096).percent, 100.0);
    }

    /// Figures of another program (shares of ranks, each in a randomly drawn chunk), for 4 GiB of cache.
    #[test]
    fn what_another_program_says_of_48_gib_is_said_here() {
        let spec = load("zipf:1.2", "");
        for (chunk, percent) in [(64, 94.1), (256, 91.2), (1024, 87.4)] {
            let best = spec.best_hits(48 * GIB, 4 * GIB, chunk * KIB).unwrap();
            assert!((best.percent - percent).abs() < 0.3, "{chunk} KiB: {best:?}");
        }
        assert_eq!(spec.best_hits(48 * GIB, 4 * GIB, 4 * KIB), None, "too many to count");
    }

    #[test]
    fn a_load_without_one_law_of_reads_has_no_bound() {
        let best = |spec: &LoadSpec| spec.best_hits(64 * MIB, 8 * MIB, 64 * KIB);
        for pattern in ["sequential", "normal:5%", "single"] {
            assert_eq!(best(&load(pattern, "")), None, "{pattern}");
        }
        let writes = LoadSpec { ops: "randwrite".parse().unwrap(), ..load("zipf:1.2", "") };
        assert_eq!(best(&writes), None);
        // An I/O of 4 KiB at any multiple of 512 bytes may lie in two chunks.
        assert_eq!(best(&load("zipf:1.2", ", \"align\": \"512\"")), None);
    }
}
