//! Rules about the file system above a volume, the disks below it, and the I/O that reaches it.

use results::model::Severity;
use units::Unit;

use crate::rule::{Observation, StandingRule, Threshold};

pub(super) const ONLINE_DISCARD: StandingRule = StandingRule {
    id: "vdo_online_discard",
    text: "The file system on the volume discards freed blocks immediately: VDO journals each of these blocks while other I/O waits.",
    reads: "options of the mount over the volume",
    threshold: None,
    remedy: "Mount without discard, and enable fstrim.timer: discards then come at a time that you choose.",
    source: "slides on VDO: mount without discard; kvdo issues 12, 57 and 74",
    check: |facts, _| {
        let files = facts.files().filter(|files| files.settings.contains_key("discard"))?;
        let evidence = format!("{} is mounted with the option discard", files.name);
        Some(Observation { severity: Severity::Warning, evidence, ..Observation::default() })
    },
};

pub(super) const JOURNAL: StandingRule = StandingRule {
    id: "vdo_journal_on_disk",
    text: "The journal lies at the end of the rotational disk that holds the data: each of its writes moves the heads there and back.",
    reads: "queue/rotational of the disks below the volume",
    threshold: None,
    remedy: "Put the end of the pool on a fast device before it is converted (lvextend onto it, the journal is the last 128.25 MiB), or a write cache (dm-writecache) under the pool.",
    source: "thesis 5.6: 1.3 MB/s became 17 to 19",
    check: |facts, _| {
        let disks = facts.stack.disks(facts.node, None);
        let cached = facts.stack.below(facts.node, None);
        let cached = cached.iter().any(|node| node.on.iter().any(|(input, _)| input == "cache"));
        let turns = facts.turns(None) == Some(true) && !cached;
        let names: Vec<_> = disks.iter().map(|disk| disk.name.as_str()).collect();
        let evidence = format!("rotational is 1 for {}", names.join(", "));
        let severity = Severity::Warning;
        turns.then(|| Observation { severity, evidence, ..Observation::default() })
    },
};

pub(super) const FLUSHES: StandingRule = StandingRule {
    id: "vdo_many_flushes",
    text: "Writes are flushed so often that the journal and the packer cannot gather them: each flush costs a write of the journal that waits for the disk, and its blocks are not compressed.",
    reads: "biosIn.flush and biosIn.fua for each biosIn.write (dmsetup message NODE 0 stats), of at least 10,000 writes, or of at least 1,000 while it was watched",
    threshold: Threshold::above(5.0, Unit::Percent),
    remedy: "Find who syncs (databases, virtual machines with cache=directsync, copies with fsync for each file); a disk with a protected write cache makes flushes cheap.",
    source: "thesis 5.5; kvdo issue 62 and vdo issue 38: slow copies",
    check: |facts, threshold| {
        let writes =
            facts.node.number("biosIn.write").filter(|writes| *writes >= facts.least(10_000.0))?;
        let flushed = facts.node.number("biosIn.flush")? + facts.node.number("biosIn.fua")?;
        let percent = threshold.passed(100.0 * flushed / writes)?;
        let figures = vec![threshold.figure("flushes and FUA for each write", percent)];
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};

pub(super) const PARTIAL: StandingRule = StandingRule {
    id: "vdo_partial_writes",
    text: "Writes cover parts of blocks: each costs a read and a write, and finds no duplicate.",
    reads: "biosInPartial.write as a share of biosIn.write (dmsetup message NODE 0 stats), since the volume was started or while it was watched",
    threshold: Threshold::above(1.0, Unit::Percent),
    remedy: "Align partitions and file systems to 4 KiB, and let the volume refuse smaller I/O (--vdosettings 'minimum_io_size=4096' when it is made).",
    source: "thesis 4.2.3; dm-vdo emulates blocks of 512 bytes",
    check: |facts, threshold| {
        let percent = facts.node.percent("biosInPartial.write", "biosIn.write")?;
        let figures = vec![threshold.figure("partial writes", threshold.passed(percent)?)];
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};
