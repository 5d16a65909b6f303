//! What a load did: per operation, the content it wrote, the CPU it cost, how it was driven.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Latency of a set of I/Os, all in nanoseconds, from an HDR histogram with three digits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Smallest.
    pub min_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

/// What one operation did over a whole load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationSummary {
    /// I/Os that completed without error.
    pub ios: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Failed I/Os by kind (`ENOSPC`, `EIO`, `short`, ...).
    pub errors: BTreeMap<String, u64>,
    /// I/Os per second over the load's duration; `None` when nothing was measured.
    pub iops: Option<f64>,
    /// Bytes per second over the load's duration.
    pub throughput_bytes_per_s: Option<f64>,
    /// Latency of the completed I/Os.
    pub latency: Option<LatencySummary>,
    /// The whole HDR histogram in nanoseconds: V2 with deflate, base64.
    pub histogram: Option<String>,
}

/// How far content dedupes and compresses: what was asked, or what was achieved.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ContentFigures {
    /// Share of duplicates among all written blocks, percent.
    pub duplicate_percent: Option<f64>,
    /// What LZ4 saves on distinct blocks that are not zero, percent.
    pub lz4_saving_percent: Option<f64>,
    /// Share of zero blocks among all written blocks, percent.
    pub zero_percent: Option<f64>,
    /// Blocks of 4 KiB that were written (achieved only).
    pub blocks: Option<u64>,
    /// Of these, blocks in the sample that the figures rest on (achieved only).
    pub blocks_sampled: Option<u64>,
    /// Standard error of `duplicate_percent`, points (achieved only; 0 when every block was seen).
    pub duplicate_error_points: Option<f64>,
    /// Mean LZ4 size of a distinct block, bytes.
    pub lz4_size_mean_bytes: Option<f64>,
}

/// CPU time of the load: all threads of the process that drove it, the kernel's io_uring workers included,
/// those that sample not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CpuFigures {
    /// Seconds in user mode.
    pub user_s: f64,
    /// Seconds in the kernel.
    pub system_s: f64,
    /// Microseconds per completed I/O; `None` when there was none.
    pub per_io_us: Option<f64>,
}

/// How the load was driven.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// `io_uring`, `sim`, ...
    pub backend: String,
    /// Workers.
    pub jobs: u32,
    /// I/Os in flight per worker.
    pub depth: u32,
    /// Whether the page cache was passed by (O_DIRECT).
    pub direct: bool,
    /// Whether buffers and files were registered with the ring.
    pub registered: bool,
    /// The clock behind the latencies.
    pub clock: String,
}

/// What a whole load did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSummary {
    /// The seed it ran from.
    pub seed: units::Seed,
    /// First submission to last completion, nanoseconds.
    pub duration_ns: u64,
    /// Why it ended: `duration`, `bytes`, `passes`, `interrupted`, `errors`.
    pub ended_by: String,
    /// Per operation, by its name as given.
    pub operations: BTreeMap<String, OperationSummary>,
    /// Content that was asked for; `None` when nothing was to be written.
    pub asked: Option<ContentFigures>,
    /// Content that was achieved, measured from the bytes handed to the kernel.
    pub achieved: Option<ContentFigures>,
    /// CPU it cost; `None` where it cannot be known (virtual time).
    pub cpu: Option<CpuFigures>,
    /// How it was driven.
    pub engine: EngineFacts,
    /// What a person should know about it, in sentences.
    pub notices: Vec<String>,
}
