//! Charts of a VDO volume over time, for reports.

use units::Unit;

use crate::kind::{Chart, Series};

const fn stats(field: &'static str, label: &'static str) -> Series {
    Series { probe: "stats", field, label }
}

/// Every chart.
pub(super) const CHARTS: &[Chart] = &[
    Chart {
        id: "space",
        title: "Blocks used",
        help: "Logical blocks are what was written, data blocks what it takes on disk.",
        series: &[stats("logicalBlocksUsed", "logical"), stats("dataBlocksUsed", "data")],
        unit: Unit::Blocks,
        rate: false,
    },
    Chart {
        id: "overhead",
        title: "Metadata blocks (overhead)",
        help: "Blocks that hold metadata: index, journals, block map. What grows during the load is a block map that was not allocated before.",
        series: &[stats("overheadBlocksUsed", "overhead")],
        unit: Unit::Blocks,
        rate: false,
    },
    Chart {
        id: "duplicates",
        title: "Duplicates found",
        help: "By the index (valid advice), or by a write of the same data under way at the same time. Stale advice costs a read and saves nothing.",
        series: &[
            stats("hashLock.dedupeAdviceValid", "duplicates confirmed by reading (valid advice)"),
            stats("hashLock.concurrentDataMatches", "written together (concurrent matches)"),
            stats("hashLock.dedupeAdviceStale", "guesses that were wrong (stale advice)"),
        ],
        unit: Unit::Count,
        rate: false,
    },
    Chart {
        id: "compression",
        title: "Compression",
        help: "Blocks stored compressed divided by the blocks that they share is what one shared block holds.",
        series: &[
            stats("packer.compressedFragmentsWritten", "blocks stored compressed (fragments)"),
            stats("packer.compressedBlocksWritten", "shared blocks (packed)"),
        ],
        unit: Unit::Count,
        rate: false,
    },
    Chart {
        id: "writes",
        title: "Writes in and out",
        help: "What VDO received, and what it wrote of data and of metadata, per second.",
        series: &[
            stats("biosIn.write", "in"),
            stats("biosOutCompleted.write", "data out"),
            stats("biosMetaCompleted.write", "metadata out"),
            stats("biosJournalCompleted.write", "of metadata: journal"),
        ],
        unit: Unit::PerSecond,
        rate: true,
    },
    Chart {
        id: "slabs",
        title: "Slabs opened",
        help: "Slabs that were written to for the first time, and again. Before the first is opened again, writes go to one place after another; from then on they fill gaps.",
        series: &[
            stats("allocator.slabsOpened", "slabs opened"),
            stats("allocator.slabsReopened", "slabs opened again"),
        ],
        unit: Unit::Count,
        rate: false,
    },
    Chart {
        id: "in-flight",
        title: "I/Os in flight",
        help: "Blocks that VDO has in flight. It takes 2048 at once: further I/Os wait outside. Fragments that the packer holds back count, too.",
        // Between samples there may be more; the doctor's findings consider that.
        series: &[
            stats("currentVIOsInProgress", "in flight"),
            stats("maxVIOs", "the most at once since VDO came up"),
        ],
        unit: Unit::Count,
        rate: false,
    },
    Chart {
        id: "threads",
        title: "CPU of VDO's threads",
        help: "Seconds of CPU per second: 1 is a thread that never rests. There is only one thread to keep the journal (journalQ), one to pack (packerQ) and one to ask the index (dedupeQ); where there are none for zones, one thread does the work of all (reqQ).",
        series: &[Series { probe: "threads", field: "*", label: "" }],
        unit: Unit::Ratio,
        rate: true,
    },
];
