//! Statistics under dm-vdo's names. What has no counterpart in this volume is absent.

use serde_json::{Map, Value, json};
use volume::{DeviceStats, Geometry, Stats, Traffic};

/// Everything that statistics are made of.
pub struct Facts<'a> {
    /// Counters of the volume.
    pub stats: &'a Stats,
    /// Places on its device.
    pub geometry: &'a Geometry,
    /// Leaves of the block map that memory has room for.
    pub cache_pages: u64,
    /// Name of its write policy.
    pub policy: &'a str,
    /// Entries of the journal that its start replayed; nothing after a clean stop.
    pub replayed: Option<u64>,
}

/// All statistics, as dm-vdo nests them.
pub fn all(facts: &Facts) -> Value {
    let stats = facts.stats;
    let mut all = space(facts);
    all.append(&mut counters(stats));
    devices(&mut all, &stats.device, "");
    devices(&mut all, &stats.ended, "Completed");
    if let Some([used, peak]) = memory() {
        all.insert("memoryUsage".into(), json!({ "bytesUsed": used, "peakBytesUsed": peak }));
    }
    all.insert("policy".into(), facts.policy.into());
    if let Some(entries) = facts.replayed {
        all.insert("recovery".into(), json!({ "entries": entries }));
    }
    Value::Object(all)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Sizes, space and mode.
fn space(facts: &Facts) -> Map<String, Value> {
    let Facts { stats, geometry, cache_pages, .. } = facts;
    let device = geometry.sizes.device;
    object(json!({
        "version": 36,
        "dataBlocksUsed": stats.space.data_blocks,
        "overheadBlocksUsed": device - geometry.data_total() + stats.space.map_blocks,
        "logicalBlocksUsed": stats.journal.logical_blocks,
        "physicalBlocks": device,
        "logicalBlocks": geometry.sizes.logical,
        "blockMapCacheSize": cache_pages * 4096,
        "blockSize": 4096,
        "mode": if stats.read_only { "read-only" } else { "normal" },
        // A recovery ends before the first client is let in.
        "inRecoveryMode": 0,
        "recoveryPercentage": 100,
        "allocator": {
            "slabCount": geometry.slabs,
            "slabsOpened": stats.space.slabs_opened,
            "slabsReopened": stats.space.slabs_reopened,
        },
        "instance": 0,
        "logicalBlockSize": 512,
    }))
}

fn counters(stats: &Stats) -> Map<String, Value> {
    let requests = &stats.requests;
    object(json!({
        "packer": {
            "compressedFragmentsWritten": stats.space.fragments,
            "compressedBlocksWritten": stats.space.packed_blocks,
            "compressedFragmentsInPacker": stats.parked,
        },
        "journal": {
            "entries": { "committed": stats.journal.entries },
            "blocks": { "committed": stats.journal.blocks },
        },
        "refCounts": { "blocksWritten": stats.device.counts.writes },
        "blockMap": {
            "pagesLoaded": stats.map.pages_loaded,
            "pagesSaved": stats.map.pages_saved,
        },
        "hashLock": {
            "dedupeAdviceValid": stats.space.advice_valid,
            "dedupeAdviceStale": stats.hash.advice_stale,
            "concurrentDataMatches": stats.hash.concurrent,
            "concurrentHashCollisions": stats.hash.collisions,
        },
        "errors": {
            "noSpaceErrorCount": stats.space.no_space,
            "readOnlyErrorCount": requests.refused,
        },
        "currentVIOsInProgress": stats.in_flight,
        "maxVIOs": stats.most_in_flight,
        "flushOut": stats.device.other.flushes,
        "biosIn": {
            "read": requests.reads,
            "write": requests.writes,
            "discard": requests.discards,
            "flush": requests.flushes,
            "fua": requests.fua,
        },
        "biosInPartial": { "write": requests.patches },
        "index": {
            "entriesIndexed": stats.index.records,
            "postsFound": stats.index.found,
            "postsNotFound": stats.index.not_found,
            "updatesFound": stats.index.updated,
            "entriesDiscarded": stats.index.discarded,
        },
    }))
}

fn devices(all: &mut Map<String, Value>, of: &DeviceStats, end: &str) {
    let meta = of.map + of.counts + of.journal + of.other;
    let groups = [("Out", of.data), ("Meta", meta), ("Journal", of.journal), ("PageCache", of.map)];
    for (name, Traffic { reads, writes, fua, flushes }) in groups {
        let group = json!({ "read": reads, "write": writes, "emptyFlush": flushes, "fua": fua });
        all.insert(format!("bios{name}{end}"), group);
    }
}

/// Resident memory of this process, and its peak, in bytes.
fn memory() -> Option<[u64; 2]> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
    };
    Some([field("VmRSS:")?, field("VmHWM:")?])
}

/// The text of dm-vdo's `stats` message.
pub fn text(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name} : {}, ", text(value)));
            format!("{{ {}}}", fields.collect::<String>())
        }
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

/// Returns OpenMetrics text, with one gauge for each number.
pub fn metrics(value: &Value) -> String {
    let mut lines = String::new();
    gauges("uvdo", value, &mut lines);
    lines + "# EOF\n"
}

fn gauges(name: &str, value: &Value, lines: &mut String) {
    match value {
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(field, value)| gauges(&format!("{name}_{field}"), value, lines));
        }
        Value::Number(number) => {
            *lines += &format!("# TYPE {name} gauge\n{name} {number}\n");
        }
        _ => {}
    }
}
