//! Rules that compare settings of a volume with the machine and the volume's size: threads, caches, memory, discards.

use results::model::Severity;
use units::Unit;

use super::super::geometry::{self, BLOCK, leaves};
use super::figures::threads;
use crate::rule::{Observation, StandingRule, Threshold, ThresholdTest, figure};
use crate::standing::{Node, StandingFacts};

/// Kinds of threads whose number a table may give.
const KINDS: [&str; 6] = [
    "ack_threads",
    "bio_threads",
    "cpu_threads",
    "hash_zone_threads",
    "logical_threads",
    "physical_threads",
];
/// Number of processors from which on one thread for each part of the work leaves most of them idle.
const MANY_CPUS: u64 = 8;

pub(super) const ONE_THREAD: StandingRule = StandingRule {
    id: "vdo_one_thread",
    text: "The volume has one thread for each part of its work on a machine with many processors: one processor is fully used while the others idle.",
    reads: "logical, physical and hash zone threads in the table line, on a machine with 8 processors and more",
    threshold: Threshold::below(2.0, Unit::Count),
    remedy: "With the volume down: lvchange --vdosettings 'logical_threads=4 physical_threads=2 hash_zone_threads=2 cpu_threads=4 ack_threads=2' VG/POOL; physical threads need as many slabs. See which thread is busy first: top -H, threads vdoN:.",
    source: "thesis 5.2; kvdo issues 19 and 65: caps near 400 MB/s",
    check: |facts, threshold| {
        let cpus = facts.stack.machine.cpus.filter(|cpus| *cpus >= MANY_CPUS)?;
        let zones = ["logical_threads", "physical_threads", "hash_zone_threads"];
        let most = zones
            .iter()
            .map(|key| threads(facts.node, key))
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .fold(0.0, f64::max);
        let figures = vec![
            threshold.figure("most threads of one zone", threshold.passed(most)?),
            figure("processors", cpus as f64, Unit::Count),
        ];
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};

pub(super) const MANY_THREADS: StandingRule = StandingRule {
    id: "vdo_many_threads",
    text: "The volume has many more threads than the machine has processors: they hand I/Os over to each other and wait for their turn.",
    reads: "all threads in the table line, for each processor",
    threshold: Threshold::above(4.0, Unit::Ratio),
    remedy: "Fewer: lvchange --vdosettings 'bio_threads=1 cpu_threads=2 ...' VG/POOL with the volume down.",
    source: "thesis 5.2; vendor's tuning advice",
    check: |facts, threshold| {
        let all: f64 = KINDS.iter().map(|key| threads(facts.node, key)).sum::<Option<f64>>()?;
        let cpus = facts.stack.machine.cpus? as f64;
        let figures = vec![
            threshold.figure("threads for each processor", threshold.passed(all / cpus)?),
            figure("threads", all, Unit::Count),
        ];
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};

pub(super) const PHYSICAL_THREADS: StandingRule = StandingRule {
    id: "vdo_threads_beyond_slabs",
    text: "The volume's settings ask for more physical threads than it has slabs: it cannot be activated with them.",
    reads: "physical threads in the table line, compared with the slabs (dmsetup message NODE 0 stats)",
    threshold: Threshold::above(0.0, Unit::Count),
    remedy: "lvchange --vdosettings 'physical_threads=1' VG/POOL; lvm2 takes a number that the kernel refuses.",
    source: "dm-vdo: physical zones exceed slab count",
    check: |facts, threshold| {
        let slabs = facts.node.number("allocator.slabCount").filter(|slabs| *slabs > 0.0)?;
        let more = threshold.passed(threads(facts.node, "physical_threads")? - slabs)?;
        let figures = vec![threshold.figure("threads beyond slabs", more)];
        Some(Observation { severity: Severity::Error, figures, ..Observation::default() })
    },
};

pub(super) const SMALL_CACHE: StandingRule = StandingRule {
    id: "vdo_small_cache",
    text: "The block map cache holds a small part of the block map: random I/O over the whole volume waits for pages of it.",
    reads: "block_map_cache and logical_size in the table line: 1 - pages of cache / pages of the map",
    threshold: Threshold::above(50.0, Unit::Percent),
    remedy: "lvchange --vdosettings 'block_map_cache_size_mb=N' VG/POOL with the volume down: 1.3 MiB for each GiB that random I/O goes over.",
    source: "thesis 5.3: 67 MB/s became 1.1; the formula holds on dm-vdo to three digits",
    check: |facts, threshold| {
        let cache = facts.node.size("block_map_cache")? as f64;
        let logical = facts.node.size("logical_size")?;
        let map = leaves(logical) as f64 * BLOCK as f64;
        let misses = threshold.passed(100.0 * (1.0 - cache / map))?;
        let turns = facts.turns(None) == Some(true);
        let severity = if turns || misses > 90.0 { Severity::Warning } else { Severity::Note };
        let figures = vec![
            threshold.figure("expected misses of random I/O", misses),
            figure("block map cache", cache, Unit::Bytes),
            figure("block map", map, Unit::Bytes),
        ];
        Some(Observation { severity, figures, ..Observation::default() })
    },
};

pub(super) const MEMORY: StandingRule = StandingRule {
    id: "vdo_much_memory",
    text: "The volume takes much of the machine's memory, and the kernel cannot take it back.",
    reads: "memoryUsage.bytesUsed (dmsetup message NODE 0 stats) as a share of the machine's memory",
    threshold: Threshold::above(30.0, Unit::Percent),
    remedy: "A smaller block map cache (block_map_cache_size_mb), or a volume made with a smaller index (index_memory_size_mb, use_sparse_index).",
    source: "vendor's requirements; kvdo issues 53 and 54",
    check: |facts, threshold| {
        let used = facts.node.number("memoryUsage.bytesUsed")?;
        let memory = facts.stack.machine.memory_bytes? as f64;
        let figures = vec![
            threshold
                .figure("share of the machine's memory", threshold.passed(100.0 * used / memory)?),
            figure("taken", used, Unit::Bytes),
        ];
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};

pub(super) const INDEX: StandingRule = StandingRule {
    id: "vdo_small_index",
    text: "The index remembers less than the volume stores: duplicates of what it has forgotten are stored again.",
    reads: "index memory and sparseness (dmsetup message NODE 0 config), compared with dataBlocksUsed",
    threshold: Threshold::above(100.0, Unit::Percent),
    remedy: "The index is fixed when a volume is made: --vdosettings 'index_memory_size_mb=1024' remembers 1 TiB, 'use_sparse_index=1' ten times as much. Many versions of lvm2 lose both: read back what was made.",
    source: "dm-vdo: uds; lvm2 issue 196",
    check: small_index,
};

fn small_index(facts: &StandingFacts, threshold: ThresholdTest) -> Option<Observation> {
    let window = window(facts.node)?;
    let stored = facts.node.number("dataBlocksUsed")?;
    let figures = vec![
        threshold.figure(
            "stored, as a share of what the index remembers",
            threshold.passed(100.0 * stored / window)?,
        ),
        figure("the index remembers", window * BLOCK as f64, Unit::Bytes),
    ];
    Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
}

/// Blocks that the index of a volume remembers.
fn window(node: &Node) -> Option<f64> {
    let sparse = node.setting("index.isSparse")? == "1";
    let memory = node.count("index.memorySize")? * f64::from(1 << 30);
    Some(geometry::window(memory as u64, sparse) as f64)
}

pub(super) const MAX_DISCARD: StandingRule = StandingRule {
    id: "vdo_small_discards",
    text: "Discards reach the volume in the smallest possible pieces: fstrim or mkfs on a large volume takes very long, and other I/O waits until it is done.",
    reads: "max_discard in the table line, of volumes of 100 GiB and more",
    threshold: Threshold::below(65_536.0, Unit::Bytes),
    remedy: "lvchange --vdosettings 'max_discard=1500' VG/POOL with the volume down helps where most of what is discarded was never written; mkfs with -K (XFS) or -E nodiscard (ext4).",
    source: "thesis 5.4; kvdo issues 12, 16, 57, 64 and 74",
    check: |facts, threshold| {
        let large = facts.node.size("logical_size")? >= 100 << 30;
        let most = facts.node.size("max_discard").unwrap_or(BLOCK) as f64;
        let figures = vec![threshold.figure("largest discard", threshold.passed(most)?)];
        large.then(|| Observation { figures, ..Observation::default() })
    },
};
