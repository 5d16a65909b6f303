//! Conclusions from a trace: the cache that pays, and what VDO would need.

use std::ops::Range;

use reduce::space::{block_map_cache_mib, leaf_pages};
use serde::Serialize;

use crate::analysis::{Analysis, BLOCK, LEAF};
use crate::curve::Curve;
use crate::shards::Shards;

/// Percentage points: a cache whose hits are at most this much below those of one of any size counts as equally good.
pub const NEAR_POINTS: f64 = 2.0;
/// Hits below which no cache pays, percent: with one I/O in five it makes the average I/O at most a quarter faster.
const LEAST_PERCENT: f64 = 20.0;
/// Share of all touched data from which on a cache holds nearly everything.
const NEARLY_ALL: f64 = 0.8;
/// A cache pays in any size if half of the possible hits need at most the share `SMALL` of all touched data, and larger caches bring more hits
/// up to at least the share `LARGE`.
const SMALL: f64 = 0.25;
const LARGE: f64 = 0.5;
/// The smallest cache that is shown, bytes.
const SMALLEST: f64 = (1u64 << 20) as f64;
/// Steps of a doubling in which the curve is drawn.
const FINE: u32 = 16;
/// lvm's default for the block map cache and the least that it takes, MiB.
const LVM_CACHE_MIB: u64 = 128;
const MIB: u64 = 1 << 20;

/// The answer to whether a cache pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There is a size from which on no doubling brings two points more.
    Pays,
    /// A small cache hits much, and each doubling brings two points or more, up to a cache that holds a large part of the data.
    EachDoubling,
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
    /// Data that it copies in if each miss brings in its chunk, except for writes of a whole chunk, bytes.
    pub copied_bytes: f64,
}

/// Advice on a cache in front of the device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheAdvice {
    /// A chunk, bytes.
    pub chunk_bytes: u64,
    /// The share of all chunks that was followed, 1 for all.
    pub sample_rate: f64,
    /// The curve: each size twice the one before, the last one holds all.
    pub points: Vec<Point>,
    /// The same in small steps, to be drawn.
    #[serde(skip)]
    pub fine: Vec<Point>,
    /// The touches that decide the verdict: `reads`, or `writes` where hardly anything is read.
    pub decided_by: &'static str,
    /// The most that a cache of any size hits of them, percent: all but the first touch of each chunk.
    pub most_percent: f64,
    /// The size from which on no doubling brings two points more.
    pub stops_paying_bytes: f64,
    /// Hits of that size, percent.
    pub hits_there_percent: f64,
    /// The size that hits half of what one of any size hits.
    pub half_bytes: f64,
    /// Tells whether one pays.
    pub verdict: Verdict,
    /// The same size with other chunks.
    pub chunks: Vec<ChunkPoint>,
    /// The chunk size that copies least among those whose hits are within two points of the best.
    pub best_chunk_bytes: u64,
}

/// Advice on VDO.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlockMapAdvice {
    /// The least logical size: the last byte that was touched.
    pub logical_bytes: u64,
    /// Leaf pages of the block map that the trace touches; each maps 812 blocks.
    pub touched_pages: f64,
    /// The smallest block map cache with which at most two I/Os in a hundred more miss than with one of any size, in MiB as lvm takes it.
    pub cache_mib: u64,
    /// The cache that holds the leaf pages of the whole logical size, MiB.
    pub whole_cache_mib: u64,
    /// Lookups in the block map, one for each block of 4 KiB, that miss lvm's default cache of 128 MiB, percent; each costs a read, and a write of
    /// a page.
    pub default_misses_percent: f64,
    /// Lookups that miss any cache, percent: the first one in each page.
    pub least_misses_percent: f64,
    /// Written data, each block once: the space that it takes where nothing is saved, bytes.
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
    /// Draws conclusions, for the first chunk size of the analysis; the others are compared with it.
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
    let least = least(*chunk_bytes, shards);
    let size = |chunks: f64| (chunks * *chunk_bytes as f64).max(least);
    let stop = size(curves[which].stops_at(NEAR_POINTS));
    let half_bytes = size(curves[which].chunks_for(most_percent / 2.0).unwrap_or(1.0));
    let hits_there_percent = hits(&curves[which], stop, *chunk_bytes).unwrap_or(0.0);
    let verdict = match () {
        () if most_percent < LEAST_PERCENT => Verdict::DoesNotPay,
        () if half_bytes <= SMALL * touched && stop > LARGE * touched => Verdict::EachDoubling,
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
        points: points(&curves, *chunk_bytes, least..touched, 1),
        fine: points(&curves, *chunk_bytes, least..touched, FINE),
        decided_by: ["reads", "writes"][which],
        most_percent,
        stops_paying_bytes: stop,
        hits_there_percent,
        half_bytes,
        verdict,
        best_chunk_bytes: best_chunk.map_or(*chunk_bytes, |chunk| chunk.chunk_bytes),
        chunks,
    })
}

/// Returns the smallest cache that is shown: for a cache of fewer chunks than one chunk of the sample stands for, the hits are mere chance.
fn least(chunk: u64, shards: &Shards) -> f64 {
    SMALLEST.max(chunk as f64 / shards.rate())
}

fn hits(curve: &Curve, bytes: f64, chunk: u64) -> Option<f64> {
    curve.hits_percent((bytes / chunk as f64).floor())
}

/// Returns the curve at sizes that double in `steps` steps, up to a size that holds everything.
fn points(curves: &[Curve; 2], chunk: u64, sizes: Range<f64>, steps: u32) -> Vec<Point> {
    let first = sizes.start;
    let doublings = (sizes.end / first).log2().ceil().max(0.0) as u32;
    let size = |step: u32| first * (f64::from(step) / f64::from(steps)).exp2();
    let sizes: Vec<_> = (0..=doublings * steps).map(size).collect();
    let point = |bytes| {
        let [reads_percent, writes_percent] =
            [0, 1].map(|at: usize| hits(&curves[at], bytes, chunk));
        Point { bytes, reads_percent, writes_percent }
    };
    sizes.into_iter().map(point).collect()
}

fn chunk_point((chunk, shards): &(u64, Shards), which: usize, bytes: f64) -> Option<ChunkPoint> {
    // It could not hold a single chunk of this size.
    if *chunk as f64 > bytes {
        return None;
    }
    let curves = shards.curves();
    Some(ChunkPoint {
        chunk_bytes: *chunk,
        percent: hits(&curves[which], bytes, *chunk)?,
        copied_bytes: shards.copying().misses((bytes / *chunk as f64).floor()) * *chunk as f64,
    })
}

fn vdo(analysis: &Analysis) -> BlockMapAdvice {
    let leaves = analysis.leaves();
    let [reads, writes] = leaves.curves();
    let looks = reads.with(&writes);
    let most = looks.most_percent().unwrap_or(0.0);
    let misses = |pages: f64| 100.0 - looks.hits_percent(pages).unwrap_or(0.0);
    // Two I/Os in a hundred, converted to lookups: an I/O looks up each of its blocks, but misses a page at most once.
    let near =
        NEAR_POINTS * analysis.leaf_visits() as f64 / leaves.touches().iter().sum::<u64>() as f64;
    let wanted = looks.chunks_for(most - near).unwrap_or(1.0);
    let end = analysis.pattern().end();
    let written = analysis.pattern().counts_of(disk::Op::Write);
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
