//! Rules about any node of a stack that stands: caches and their origins, alignment, discards, mounts, and what the kernel has said.

use layers::standing::{Keeps, Node, StandingFacts, StandingStack};
use layers::{Observation, StandingRule, Threshold, ThresholdTest, figure};
use results::model::Severity;
use units::Unit;

pub(super) const RULES: &[StandingRule] = &[
    CACHE_UNMIRRORED,
    CACHE_ON_ORIGIN,
    CACHE_NOT_FASTER,
    MISALIGNED,
    DISCARDS_STOP,
    NO_BARRIERS,
    FILES_FULL,
    KERNEL_LINES,
];

/// Names of a cache's inputs: the faster device, and the one that it caches.
const CACHE: &str = "cache";
const ORIGIN: &str = "origin";

fn has_cache(node: &Node) -> bool {
    [CACHE, ORIGIN].iter().all(|wanted| node.on.iter().any(|(input, _)| input == wanted))
}

fn names(nodes: &[&Node]) -> String {
    nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn warned(evidence: String) -> Observation {
    Observation { severity: Severity::Warning, evidence, ..Observation::default() }
}

const CACHE_UNMIRRORED: StandingRule = StandingRule {
    id: "cache_unmirrored",
    text: "Writes that only the cache has lie on one device without a mirror: when it dies, they are lost, and mostly the file system with them.",
    reads: "the mode of the cache, and the devices below it",
    threshold: None,
    remedy: "Mirror the fast device (RAID 1), or write through: lvchange --cachemode writethrough VG/LV; echo writethrough > /sys/block/bcacheN/bcache/cache_mode. A dm-writecache has no such mode: mirror it.",
    source: "lvmcache(7); admin-guide/bcache",
    check: unmirrored,
};

fn unmirrored(facts: &StandingFacts, _: ThresholdTest) -> Option<Observation> {
    let node = facts.node;
    let forms = layers::kind(&node.kind)?.standing.iter();
    let keeps = |keeps: Keeps| match keeps {
        Keeps::Never => false,
        Keeps::Always => true,
        Keeps::While(key, value) => node.setting(key) == Some(value),
    };
    let held = has_cache(node) && forms.into_iter().any(|form| keeps(form.keeps_writes));
    let below = facts.stack.below(node, Some(CACHE));
    let mirrored = below.iter().any(|n| ["raid", "mirror"].contains(&n.kind.as_str()));
    let disks = facts.stack.disks(node, Some(CACHE));
    let one = held && !mirrored && disks.len() == 1;
    one.then(|| warned(format!("the cache lies on {} alone, and keeps writes back", names(&disks))))
}

const CACHE_ON_ORIGIN: StandingRule = StandingRule {
    id: "cache_on_origin",
    text: "The cache lies on the disk that it is to relieve: each hit and each promotion loads the same disk.",
    reads: "the disks below cache and origin",
    threshold: None,
    remedy: "Move the cache to another device (pvmove -n CACHE OLD NEW), or remove the cache (lvconvert --splitcache).",
    source: "lvmcache(7)",
    check: |facts, _| {
        if !has_cache(facts.node) {
            return None;
        }
        let fast = facts.stack.disks(facts.node, Some(CACHE));
        let slow = facts.stack.disks(facts.node, Some(ORIGIN));
        let both: Vec<&Node> =
            fast.into_iter().filter(|disk| slow.iter().any(|other| other.id == disk.id)).collect();
        (!both.is_empty()).then(|| warned(format!("both lie on {}", names(&both))))
    },
};

const CACHE_NOT_FASTER: StandingRule = StandingRule {
    id: "cache_not_faster",
    text: "The cache lies on a rotational disk, or its origin on one that is not: it cannot be much faster than what it caches.",
    reads: "queue/rotational of the disks below cache and origin",
    threshold: None,
    remedy: "Remove the cache, or check that the kernel has the right kind of disk (/sys/block/NAME/queue/rotational): \
             controllers and virtual machines hide it.",
    source: "lvmcache(7)",
    check: |facts, _| {
        let [fast, slow] = [CACHE, ORIGIN].map(|input| facts.turns(Some(input)));
        let (fast, slow) = (fast?, slow?);
        let equal = has_cache(facts.node) && (fast || !slow);
        let word = |turns: bool| u8::from(turns);
        let evidence = format!(
            "rotational is {} below the cache, {} below the origin",
            word(fast),
            word(slow)
        );
        equal.then(|| Observation { evidence, ..Observation::default() })
    },
};

/// Bytes of a sector, as the kernel counts where a partition starts.
const SECTOR: f64 = 512.0;

const MISALIGNED: StandingRule = StandingRule {
    id: "misaligned",
    text: "The device does not begin at a whole block of the disk below: each write of a block becomes two reads and two writes.",
    reads: "alignment_offset of the device; the start of a partition, by physical_block_size of its disk",
    threshold: Threshold::above(0.0, Unit::Bytes),
    remedy: "Make the partition anew at a whole MiB (parted -a optimal), or the physical volume (pvcreate --dataalignment 1M); it holds no data afterwards.",
    source: "the kernel's ABI/stable/sysfs-block",
    check: misaligned,
};

fn misaligned(facts: &StandingFacts, threshold: ThresholdTest) -> Option<Observation> {
    let node = facts.node;
    let block = |node: &Node| node.limit("physical_block_size").unwrap_or(4096.0).max(4096.0);
    let beyond = || {
        let disk = facts.stack.disks(node, None).first().map(|disk| block(disk))?;
        Some((node.limit("start")? * SECTOR) % disk)
    };
    let node_offset = node.limit("alignment_offset").filter(|offset| *offset > 0.0);
    let offset = threshold.passed(node_offset.or_else(beyond)?)?;
    let figures = vec![threshold.figure("beyond a whole block", offset)];
    Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
}

/// Tells whether a layer frees space that is discarded: it stores less than it shows.
fn gives_back(node: &Node) -> bool {
    layers::kind(&node.kind).is_some_and(|kind| kind.answers_for_holes)
        && node.target != "thin-pool"
}

const DISCARDS_STOP: StandingRule = StandingRule {
    id: "discards_stop",
    text: "Discards do not pass this device, and below it lies a layer that regains space only by them: what is deleted is never free again there.",
    reads: "queue/discard_max_bytes of the device and of what lies below",
    threshold: None,
    remedy: "Encryption: cryptsetup refresh --allow-discards NAME (--persistent for LUKS2). Others: see why discard_max_bytes is 0 there.",
    source: "kvdo issues: space that is not freed; cryptsetup(8)",
    check: |facts, _| {
        let stops = facts.node.limit("discard_max_bytes") == Some(0.0) && !gives_back(facts.node);
        let below = facts.stack.below(facts.node, None);
        let waits = below
            .iter()
            .find(|node| gives_back(node) && node.limit("discard_max_bytes") > Some(0.0))?;
        let evidence =
            format!("discard_max_bytes is 0 here, and {} ({}) lies below", waits.name, waits.kind);
        stops.then(|| warned(evidence))
    },
};

const NO_BARRIERS: StandingRule = StandingRule {
    id: "no_barriers",
    text: "The file system is mounted without flushes: a power cut may leave it in pieces, and VDO and caches below lose what was not flushed.",
    reads: "options of the mount: nobarrier, barrier=0",
    threshold: None,
    remedy: "Mount without that option, unless the power of every cache below is protected.",
    source: "the kernel's admin-guide/ext4; xfs(5)",
    check: |facts, _| {
        let set = |key: &str, value: &str| facts.node.setting(key) == Some(value);
        let off = facts.node.id.starts_with('/') && (set("nobarrier", "on") || set("barrier", "0"));
        let evidence = "the mount has nobarrier or barrier=0".to_owned();
        off.then(|| Observation { severity: Severity::Error, evidence, ..Observation::default() })
    },
};

const FILES_FULL: StandingRule = StandingRule {
    id: "files_full",
    text: "The file system is nearly full: what it writes is spread over what is left, and then refused.",
    reads: "size and free space of the mounted file system (statfs)",
    threshold: Threshold::above(90.0, Unit::Percent),
    remedy: "Delete, or grow the device and the file system.",
    source: "xfs(5); ext4(5)",
    check: |facts, threshold| {
        let size = facts.node.number("size_bytes").filter(|bytes| *bytes > 0.0)?;
        let free = facts.node.number("free_bytes")?;
        let figures = vec![
            threshold.figure("used", threshold.passed(100.0 * (1.0 - free / size))?),
            figure("free", free, Unit::Bytes),
        ];
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};

/// Words by which lines of the kernel's log show trouble.
const TROUBLE: [&str; 14] = [
    "I/O error",
    "critical medium error",
    "critical target error",
    "blocked for more than",
    "read-only mode",
    "Remounting filesystem read-only",
    "Corruption",
    "corrupted",
    "EXT4-fs error",
    "needs_check",
    "reached low water mark",
    "out-of-data-space",
    "switching pool to",
    "metadata operation",
];

/// The lines of the kernel's log that report trouble with the stack or its disks.
pub fn alarming(stack: &StandingStack) -> Vec<&str> {
    let lines = stack.machine.log.iter().flatten();
    let is_word = |line: &str, name: &str| {
        let apart = |c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c));
        line.split(apart).any(|word| word == name)
    };
    let ours = |line: &str| {
        let any = ["blocked for more than", "device-mapper"].iter().any(|word| line.contains(word));
        any || stack.nodes.iter().any(|node| {
            is_word(line, &node.id)
                || is_word(line, &node.name)
                || (line.contains("vdo") && node.kind == "vdo")
        })
    };
    let trouble = lines.filter(|line| TROUBLE.iter().any(|word| line.contains(word)) && ours(line));
    trouble.map(String::as_str).collect()
}

const KERNEL_LINES: StandingRule = StandingRule {
    id: "kernel_told",
    text: "The kernel has reported trouble with the stack or its disks.",
    reads: "lines of the kernel's log that name a node, or tasks that were blocked",
    threshold: Threshold::above(0.0, Unit::Count),
    remedy: "Read what came before the first of them (dmesg -T); errors of a disk come before all tuning: save the data.",
    source: "the kernel's log",
    check: |facts, threshold| {
        let first = facts.stack.nodes.first().is_some_and(|node| node.id == facts.node.id);
        let lines = alarming(facts.stack);
        let count = threshold.passed(lines.len() as f64).filter(|_| first)?;
        let figures = vec![threshold.figure("lines", count)];
        let evidence = format!("{count} lines, the last: {}", lines.last()?);
        Some(Observation { severity: Severity::Error, evidence, figures, ..Observation::default() })
    },
};
