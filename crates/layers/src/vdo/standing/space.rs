//! Rules about the space of a volume: failed writes, a nearly full pool, little saving, more promised than there is, few slabs; and about its mode.

use results::model::Severity;
use units::Unit;

use super::figures::{saving_percent, used_percent};
use crate::rule::{Observation, StandingRule, Threshold, figure};

pub(super) const MODE: StandingRule = StandingRule {
    id: "vdo_not_normal",
    text: "The volume is not in its normal state: it is read-only or recovering, or its index does not answer.",
    reads: "mode, recovery and index in the status line of the volume (dmsetup status)",
    threshold: None,
    remedy: "Read-only: save the data, see the kernel's log, then vdo's rebuild (vdoforcerebuild) with the volume down. An index that is offline or in error: lvchange --deduplication n, then y; blocks written until then are not deduplicated.",
    source: "kvdo issues 14, 22, 43 and 88; the kernel's vdo.rst",
    check: |facts, _| {
        let [mode, recovery, index] =
            ["mode", "recovery", "index"].map(|key| facts.node.setting(key).unwrap_or("-"));
        let dedupes = facts.node.setting("dedupe") != Some("off");
        let lost = dedupes && ["error", "closed", "offline", "unknown"].contains(&index);
        let severity = match mode {
            "read-only" => Severity::Error,
            _ if mode == "recovering" || recovery == "recovering" || lost => Severity::Warning,
            _ => return None,
        };
        let evidence = format!("mode {mode}, recovery {recovery}, index {index}");
        Some(Observation { severity, evidence, ..Observation::default() })
    },
};

pub(super) const LOW: StandingRule = StandingRule {
    id: "vdo_space_low",
    text: "The pool is nearly full: when it is full, writes fail, whatever free space the file system above shows.",
    reads: "dataBlocksUsed as a share of physicalBlocks without overheadBlocksUsed (dmsetup message NODE 0 stats); else used blocks as a share of total blocks in the status line, or vdostats",
    threshold: Threshold::above(75.0, Unit::Percent),
    remedy: "Grow it (lvextend -L +10G VG/POOL), or give blocks back: delete, then fstrim. Let dmeventd grow it: activation/vdo_pool_autoextend_threshold in lvm.conf.",
    source: "slides on VDO: 75, 80 and 90 %; lvm2 warns from 80 % on; kvdo issues on ENOSPC below XFS",
    check: |facts, threshold| {
        let used = threshold.passed(used_percent(facts.node)?)?;
        let severity = match used {
            _ if used > 90.0 => Severity::Error,
            _ if used > 80.0 => Severity::Warning,
            _ => Severity::Note,
        };
        let mut figures = vec![threshold.figure("physical space used", used)];
        let saving = saving_percent(facts.node);
        figures.extend(saving.map(|saving| figure("saving", saving, Unit::Percent)));
        Some(Observation { severity, figures, ..Observation::default() })
    },
};

pub(super) const NO_SPACE: StandingRule = StandingRule {
    id: "vdo_no_space",
    text: "Writes failed for lack of space since the volume was started.",
    reads: "errors.noSpaceErrorCount (dmsetup message NODE 0 stats)",
    threshold: Threshold::above(0.0, Unit::Count),
    remedy: "Grow the pool first; then check what stands on it (xfs_repair -n, e2fsck -n): a write without room fails, and the volume stays normal.",
    source: "dm-vdo: a write without room fails, and no line in the kernel's log says so",
    check: |facts, threshold| {
        let failed = threshold.passed(facts.node.number("errors.noSpaceErrorCount")?)?;
        let figures = vec![threshold.figure("writes that failed", failed)];
        Some(Observation { severity: Severity::Error, figures, ..Observation::default() })
    },
};

/// Blocks that must be stored before a saving means something: 1 GiB.
const LEAST_BLOCKS: f64 = 262_144.0;

pub(super) const SAVES_LITTLE: StandingRule = StandingRule {
    id: "vdo_saves_little",
    text: "The volume saves next to nothing: it costs CPU, memory and latency without saving space.",
    reads: "logicalBlocksUsed, compared with dataBlocksUsed (dmsetup message NODE 0 stats), from 1 GiB on; else saving of vdostats",
    threshold: Threshold::below(10.0, Unit::Percent),
    remedy: "Find out with fathom estimate how much the data could save. Data that are compressed or encrypted above save nothing; lvchange --compression n --deduplication n avoids the cost, and stored data stay as they are.",
    source: "kvdo issues 20 and 41; slides on VDO",
    check: |facts, threshold| {
        let stored = facts.node.number("logicalBlocksUsed");
        let saving = threshold.passed(saving_percent(facts.node)?)?;
        let enough = stored.is_none_or(|blocks| blocks >= LEAST_BLOCKS);
        let mut figures = vec![threshold.figure("saving", saving)];
        figures.extend(stored.map(|blocks| figure("stored", blocks * 4096.0, Unit::Bytes)));
        let severity = Severity::Warning;
        enough.then(|| Observation { severity, figures, ..Observation::default() })
    },
};

pub(super) const PROMISED: StandingRule = StandingRule {
    id: "vdo_promises",
    text: "The volume promises much more than its pool can hold with the present saving: the pool is full long before the file system above.",
    reads: "logical_size and physical_size in the table line, and the saving",
    threshold: Threshold::above(150.0, Unit::Percent),
    remedy: "Watch the pool (lvs -o+vdo_saving_percent,data_percent), not df; keep the file system's size near physical size / (1 - saving).",
    source: "vendor's planning advice; kvdo issues on ENOSPC below a file system with room",
    check: |facts, threshold| {
        let (logical, physical) =
            (facts.node.size("logical_size")? as f64, facts.node.size("physical_size")? as f64);
        let stored = facts.node.number("logicalBlocksUsed")? >= LEAST_BLOCKS;
        let saving = saving_percent(facts.node).filter(|_| stored)?.clamp(0.0, 99.0);
        let holds = physical / (1.0 - saving / 100.0);
        let promised = threshold.passed(100.0 * logical / holds)?;
        let figures = vec![
            threshold.figure("promised, as a share of what the pool can hold", promised),
            figure("logical size", logical, Unit::Bytes),
            figure("physical size", physical, Unit::Bytes),
            figure("saving", saving, Unit::Percent),
        ];
        Some(Observation { figures, ..Observation::default() })
    },
};

pub(super) const FEW_SLABS: StandingRule = StandingRule {
    id: "vdo_few_slabs",
    text: "The volume has few slabs: speed changes when it moves from one slab to the next, and it can have no more physical threads than slabs.",
    reads: "allocator.slabCount (dmsetup message NODE 0 stats)",
    threshold: Threshold::below(4.0, Unit::Count),
    remedy: "Smaller slabs for small pools: --vdosettings 'slab_size_mb=128' when it is made; the size is fixed then.",
    source: "thesis 5.1: one slab and four slabs behave differently",
    check: |facts, threshold| {
        let slabs = facts.node.number("allocator.slabCount").filter(|slabs| *slabs > 0.0)?;
        let figures = vec![threshold.figure("slabs", threshold.passed(slabs)?)];
        Some(Observation { figures, ..Observation::default() })
    },
};
