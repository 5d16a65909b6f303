//! The figures that a front end reports when it ends.

use serde::{Deserialize, Serialize};

/// Figures of all requests that were served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingStats {
    /// Replies.
    pub requests: u64,
    /// By how much half of them were late at most: sent, minus computed.
    pub late_p50_ns: u64,
    /// By how much 99 of 100 were late at most.
    pub late_p99_ns: u64,
    /// The latest.
    pub late_max_ns: u64,
    /// The median latency that the model computed.
    pub model_p50_ns: u64,
    /// Tells whether the thread that keeps time ran before all usual ones, or why not.
    #[serde(default)]
    pub priority: Option<String>,
    /// Why the trace is not whole.
    pub trace_error: Option<String>,
}
