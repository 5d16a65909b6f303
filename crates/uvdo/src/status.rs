//! The state of a running volume in a few facts, as `vdostats` has them.

use serde_json::{Value, json};
use volume::{Geometry, Stats};

/// The status as JSON. Sizes are in bytes; unknown values are null. `backing` is its path and its first failure.
pub fn status(
    stats: &Stats,
    geometry: &Geometry,
    policy: &str,
    recovery: Option<u64>,
    (backing, fault): (&str, Option<&str>),
) -> Value {
    let blocks = |blocks: u64| blocks * 4096;
    let (data, logical) = (stats.space.data_blocks, stats.journal.logical_blocks);
    let room = geometry.data_total() - stats.space.map_blocks;
    let share = |part: u64, whole: u64| (whole > 0).then(|| 100.0 * part as f64 / whole as f64);
    json!({
        "schema": 1,
        "backing": backing,
        "mode": if stats.read_only { "read-only" } else { "normal" },
        "fault": fault,
        "policy": policy,
        "logical_bytes": blocks(geometry.sizes.logical),
        "logical_used_bytes": blocks(logical),
        "physical_bytes": blocks(geometry.sizes.device),
        "data_bytes": blocks(data),
        "map_bytes": blocks(stats.space.map_blocks),
        "free_bytes": blocks(room - data),
        "used_percent": share(data, room),
        "saving_percent": share(logical.saturating_sub(data), logical),
        "slabs": geometry.slabs,
        "recovered_entries": recovery,
        "requests_in_flight": stats.in_flight,
    })
}
