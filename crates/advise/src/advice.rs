//! Conclusions from a trace: the cache that pays, and what VDO would need.

use reduce::space::{block_map_cache_mib, leaf_pages};
use serde::Serialize;

use crate::analysis::{Analysis, BLOCK, LEAF};
use crate::curve::Curve;
use crate::shards::Shards;

/// Points of percent below the most at which a cache is as good as one of any size.
pub const NEAR_POINTS: f64 = 2.0;
/// Hits below which no cache pays, percent: with one I/O in five it makes the average I/O at most a quarter faster.
const LEAST_PERCENT: f64 = 20.0;
/// The part of all that is touched from which on a cache holds nearly everything.
const NEARLY_ALL: f64 = 0.8;
/// The smallest cache that is told of, bytes.
const SMALLEST: f64 = (1u64 << 20) as f64;
/// lvm's default for the block map cache and the least that it takes, MiB.
const LVM_CACHE_MIB: u64 = 128;
const MIB: u64 = 1 << 20;

/// Tells whether a cache pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It hits most of what a larger one would.
    Pays,
    /// It hits in proportion to its size, or nothing until it holds nearly all: there is no size at which it stops paying.
    OnlyWhole,
    /// A cache of any size hits too little.
    DoesNotPay,
}

/// One size of a cache and what it hits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Its size.
    pub bytes: f64,
    /// The share of the reads that it hits, percent; `null` without reads.
    pub reads_percent: Option<f64>,
    /// The share of the writes to what it holds already, percent; `null` without writes.
    pub writes_percent: Option<f64>,
}

/// One chunk size of a cache of the advised size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ChunkPoint {
    /// A chunk.
    pub chunk_bytes: u64,
    /// Hits of the cache with such chunks, percent.
    pub percent: f64,
    /// Data that it copies in when each miss brings in its chunk, bytes.
    pub copied_bytes: f64,
}

/// Advice on a cache before the device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheAdvice {
    /// A chunk, bytes.
    pub chunk_bytes: u64,
    /// The share of all chunks that was followed, 1 for all.
    pub sample_rate: f64,
    /// The curve: each size twice the one before, the last one holds all.
    pub points: Vec<Point>,
    /// The touches that the verdict is of: `reads`, or `writes` where hardly anything is read.
    pub decided_by: &'static str,
    /// The most that a cache of any size hits of them, percent: all but the first touch of each chunk.
    pub most_percent: f64,
    /// The size from which on a larger one brings less than two points more.
    pub stops_paying_bytes: f64,
    /// Hits of that size, percent.
    pub hits_there_percent: f64,
    /// Tells whether one pays.
    pub verdict: Verdict,
    /// The same size with other chunks.
    pub chunks: Vec<ChunkPoint>,
    /// The one with the least to copy among those that hit as much but for two points.
    pub best_chunk_bytes: u64,
}

/// Advice on VDO.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlockMapAdvice {
    /// The least logical size: the last byte that was touched.
    pub logical_bytes: u64,
    /// Leaf pages of the block map that the trace touches; each maps 812 blocks.
    pub touched_pages: f64,
    /// The block map cache that misses as little as one of any size, but for two points, in MiB as lvm takes it.
    pub cache_mib: u64,
    /// The cache that holds the leaf pages of the whole logical size, MiB.
    pub whole_cache_mib: u64,
    /// Looks into the block map that lvm's default of 128 MiB misses, percent; each costs a read, and a write of a page.
    pub default_misses_percent: f64,
    /// Looks that any cache misses, percent: the first one at each page.
    pub least_misses_percent: f64,
    /// Written data, each block once: the space that they take where nothing is saved, bytes.
    pub written_bytes: f64,
    /// The share of the writes that are not whole blocks of 4 KiB, percent: VDO reads before each; `null` without writes.
    pub unaligned_writes_percent: Option<f64>,
}

/// All that follows from a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// For a cache; `null` where no chunk size was asked for.
    pub cache: Option<CacheAdvice>,
    /// For VDO.
    pub vdo: BlockMapAdvice,
}

impl Advice {
    /// Draws conclusions, for the first chunk size of the analysis and beside it the others.
    pub fn of(analysis: &Analysis) -> Self {
        Self { cache: cache(analysis), vdo: vdo(analysis) }
    }
}

fn cache(analysis: &Analysis) -> Option<CacheAdvice> {
    let (chunk_bytes, shards) = analysis.chunks().first()?;
    let curves = shards.curves();
    let [reads, writes] = shards.touches();
    let which = usize::from(reads * 100 < writes);
    let touched = (shards.distinct()[0] * *chunk_bytes as f64).max(*chunk_bytes as f64);
    let most_percent = curves[which].most_percent()?;
    let stop = bytes_for(&curves[which], most_percent - NEAR_POINTS, *chunk_bytes);
    let hits_there_percent = hits(&curves[which], stop, *chunk_bytes).unwrap_or(0.0);
    let verdict = match () {
        () if most_percent < LEAST_PERCENT => Verdict::DoesNotPay,
        () if stop > NEARLY_ALL * touched => Verdict::OnlyWhole,
        () => Verdict::Pays,
    };
    let chunks: Vec<_> =
        analysis.chunks().iter().filter_map(|one| chunk_point(one, which, stop)).collect();
    let best = chunks.iter().map(|chunk| chunk.percent).fold(0.0, f64::max);
    let near = chunks.iter().filter(|chunk| chunk.percent >= best - NEAR_POINTS);
    let best_chunk = near.min_by(|one, other| one.copied_bytes.total_cmp(&other.copied_bytes));
    Some(CacheAdvice {
        chunk_bytes: *chunk_bytes,
        sample_rate: shards.rate(),
        points: points(&curves, *chunk_bytes, touched),
        decided_by: ["reads", "writes"][which],
        most_percent,
        stops_paying_bytes: stop,
        hits_there_percent,
        verdict,
        best_chunk_bytes: best_chunk.map_or(*chunk_bytes, |chunk| chunk.chunk_bytes),
        chunks,
    })
}

fn hits(curve: &Curve, bytes: f64, chunk: u64) -> Option<f64> {
    curve.hits_percent((bytes / chunk as f64).floor())
}

/// The smallest cache that hits `percent`, bytes: a chunk at least.
fn bytes_for(curve: &Curve, percent: f64, chunk: u64) -> f64 {
    curve.chunks_for(percent).unwrap_or(1.0).max(1.0) * chunk as f64
}

/// Sizes that double, up to one that holds all.
fn points(curves: &[Curve; 2], chunk: u64, touched: f64) -> Vec<Point> {
    let first = SMALLEST.max(chunk as f64);
    let mut sizes = vec![first];
    while let Some(last) = sizes.last().filter(|last| **last < touched) {
        sizes.push(2.0 * last);
    }
    let point = |bytes| {
        let [reads_percent, writes_percent] =
            [0, 1].map(|at: usize| hits(&curves[at], bytes, chunk));
        Point { bytes, reads_percent, writes_percent }
    };
    sizes.into_iter().map(point).collect()
}

fn chunk_point((chunk, shards): &(u64, Shards), which: usize, bytes: f64) -> Option<ChunkPoint> {
    let curves = shards.curves();
    let misses = |at: usize| {
        let percent = hits(&curves[at], bytes, *chunk).unwrap_or(100.0);
        shards.touches()[at] as f64 * (1.0 - percent / 100.0)
    };
    Some(ChunkPoint {
        chunk_bytes: *chunk,
        percent: hits(&curves[which], bytes, *chunk)?,
        copied_bytes: (misses(0) + misses(1)) * *chunk as f64,
    })
}

fn vdo(analysis: &Analysis) -> BlockMapAdvice {
    let leaves = analysis.leaves();
    let [reads, writes] = leaves.curves();
    let looks = reads.with(&writes);
    let most = looks.most_percent().unwrap_or(0.0);
    let misses = |pages: f64| 100.0 - looks.hits_percent(pages).unwrap_or(0.0);
    let wanted = looks.chunks_for(most - NEAR_POINTS).unwrap_or(1.0);
    let end = analysis.pattern().end();
    let written = analysis.pattern().of(disk::Op::Write);
    let unaligned = 100.0 * written.unaligned as f64 / written.ios as f64;
    BlockMapAdvice {
        logical_bytes: end.next_multiple_of(BLOCK),
        touched_pages: leaves.distinct()[0],
        cache_mib: block_map_cache_mib(wanted as u64).max(LVM_CACHE_MIB),
        whole_cache_mib: block_map_cache_mib(leaf_pages(end.div_ceil(BLOCK))).max(LVM_CACHE_MIB),
        default_misses_percent: misses((LVM_CACHE_MIB * MIB / BLOCK) as f64),
        least_misses_percent: 100.0 - most,
        written_bytes: analysis.touched().written_bytes,
        unaligned_writes_percent: (written.ios > 0).then_some(unaligned),
    }
}

impl BlockMapAdvice {
    /// Returns what one page of the block map maps, bytes.
    pub fn page_maps() -> u64 {
        LEAF
    }
}

#[cfg(test)]
mod tests;
