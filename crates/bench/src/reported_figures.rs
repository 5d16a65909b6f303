//! Figures that a contestant reports of itself, in one form for all contestants.

use serde::{Deserialize, Serialize};

/// The figures of one run, by the contestant's own account.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReportedFigures {
    /// I/Os that completed without error.
    pub ios: u64,
    /// I/Os per second of the load's own running time.
    pub iops: f64,
    /// Mean latency, nanoseconds.
    pub latency_mean_ns: Option<f64>,
    /// Smallest latency, nanoseconds.
    pub latency_min_ns: Option<f64>,
    /// Median latency, nanoseconds. fio's percentiles are those of its completion latency, which begins when submission ends.
    pub latency_p50_ns: Option<f64>,
    /// 99th percentile of the latency, nanoseconds.
    pub latency_p99_ns: Option<f64>,
    /// 99.9th percentile of the latency, nanoseconds.
    pub latency_p999_ns: Option<f64>,
    /// Largest latency, nanoseconds.
    pub latency_max_ns: Option<f64>,
    /// The load's running time, nanoseconds.
    pub duration_ns: u64,
    /// I/Os or jobs that failed.
    pub errors: u64,
    /// CPU time per I/O by its own account, microseconds. fio counts the job's thread only.
    pub own_cpu_per_io_us: Option<f64>,
    /// Backend that drove the load (`io_uring`), where the contestant chooses it itself.
    pub backend: Option<String>,
    /// The share of I/Os at whose submission as many were in flight as were asked for, where the program reports it: fio does up to a depth of 63, in
    /// classes of powers of two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_full_depth: Option<f64>,
}
