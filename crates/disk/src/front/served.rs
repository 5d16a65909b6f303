//! The figures that a front end reports when it ends.

use serde::{Deserialize, Serialize};

/// Figures of all requests that were served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingStats {
    /// Number of replies.
    pub requests: u64,
    /// Median lateness of replies (instant sent, minus instant computed), nanoseconds.
    pub late_p50_ns: u64,
    /// 99th percentile of the lateness, nanoseconds.
    pub late_p99_ns: u64,
    /// Largest lateness, nanoseconds.
    pub late_max_ns: u64,
    /// The median latency that the model computed.
    pub model_p50_ns: u64,
    /// The reason why the thread that keeps time had no real-time priority; `None` where it had it.
    #[serde(default)]
    pub priority: Option<String>,
    /// The reason why the trace is not complete.
    pub trace_error: Option<String>,
}
