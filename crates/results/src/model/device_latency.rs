//! Latency of the block devices of a stack while a load ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Latency of one block device, from when an I/O was handed to it until it was completed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceLatency {
    /// Its name in the experiment (`data`, `vdo`, `vdo-pool`), or the kernel's.
    pub name: String,
    /// Names of the devices of the same stack directly below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// The source of its figures; `None` where it has none.
    pub by: Option<LatencySource>,
    /// Number of completed reads.
    pub reads: u64,
    /// Number of completed writes and discards; empty flushes are not counted.
    pub writes: u64,
    /// HDR histograms in nanoseconds (V2 with deflate, base64): `read` and `write`, or `both` where the source does not distinguish them.
    /// The source's histogram steps are 9 % wide: each I/O is placed in the middle of its step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<String, String>,
    /// Number of events that the kernel's buffer had no room for; if it is not 0 the figures are incomplete.
    pub lost: u64,
    /// The reason why there are no figures, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

/// The source of the latencies of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencySource {
    /// Statistics that the device mapper keeps of a node.
    DmStats,
    /// Events of the block layer, from the start of a bio to the end of the request that it became a part of.
    Requests,
    /// Events of the block layer, from the start of a bio to its end.
    Bios,
}

impl LatencySource {
    /// Every source.
    pub const ALL: [Self; 3] = [Self::DmStats, Self::Requests, Self::Bios];

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::DmStats => "dm-stats",
            Self::Requests => "requests",
            Self::Bios => "bios",
        }
    }
}
