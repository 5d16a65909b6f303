//! The figures of a VDO volume, described. All are growth from the end of allocation to the settled stack.

use units::{Basis, Better, Metric, Test, Unit};

const fn metric(
    id: &'static str,
    name: &'static str,
    unit: Unit,
    better: Better,
    help: &'static str,
) -> Metric {
    Metric { id, name, unit, better, basis: Basis::Counter, test: Test::Paired, help }
}

/// Makes it a figure of all that was written since the end of allocation.
const fn since_allocation(metric: Metric) -> Metric {
    Metric { basis: Basis::Cell, ..metric }
}

/// Makes it the value at the end of a stage.
const fn level(metric: Metric) -> Metric {
    Metric { basis: Basis::Level, ..metric }
}

/// Makes it the growth from the start of the load until the stack has come to rest.
const fn work(metric: Metric) -> Metric {
    Metric { basis: Basis::Work, ..metric }
}

/// CPU time of a thread while the load ran, as a share of one CPU.
const fn thread(id: &'static str, name: &'static str, help: &'static str) -> Metric {
    Metric { basis: Basis::Load, ..metric(id, name, Unit::Percent, Better::Lower, help) }
}

use Better::{Higher, Lower, Neither};
use Unit::{Blocks, Count, Micros, Percent, Ratio, Seconds};

/// Every figure.
pub(super) static METRICS: &[Metric] = &[
    metric(
        "data_blocks_used",
        "data blocks",
        Blocks,
        Lower,
        "Physical blocks of 4 KiB with data that the stage added (dataBlocksUsed).",
    ),
    metric(
        "logical_blocks_used",
        "logical blocks",
        Blocks,
        Neither,
        "Logical blocks of 4 KiB that the stage mapped, zero blocks included (logicalBlocksUsed). Blocks that allocation had mapped already do not count.",
    ),
    metric(
        "overhead_blocks_used",
        "metadata blocks added",
        Blocks,
        Lower,
        "Blocks taken by metadata (overheadBlocksUsed). It does not grow when the block map was allocated before.",
    ),
    since_allocation(metric(
        "saving_percent",
        "space saved",
        Percent,
        Higher,
        "100 x (1 - data blocks / logical blocks), for all that was written since allocation ended, in this stage and in those before it. Zero blocks count as saved.",
    )),
    since_allocation(metric(
        "saving_without_zero_percent",
        "space saved, zero blocks left out",
        Percent,
        Higher,
        "Like the space saved, but logical blocks that hold zeros do not count; their share is taken from the content that was written.",
    )),
    metric(
        "compressed_fragments",
        "blocks stored compressed (fragments)",
        Count,
        Neither,
        "Blocks that were written compressed, into a block shared with others.",
    ),
    metric(
        "compressed_blocks",
        "shared blocks (packed)",
        Blocks,
        Neither,
        "Physical blocks that hold compressed fragments.",
    ),
    since_allocation(metric(
        "fragments_per_block",
        "compressed blocks per shared block (fragments per packed block)",
        Ratio,
        Higher,
        "Compressed fragments divided by packed blocks: for blocks of one size min(14, floor(4060 / LZ4 size)).",
    )),
    metric(
        "duplicates_found",
        "duplicates found",
        Blocks,
        Neither,
        "Writes that were not stored because their data was there already: found by the index, or in another write in flight at the same time.",
    ),
    metric(
        "duplicates_found_percent",
        "share of duplicates found",
        Percent,
        Neither,
        "Duplicates found, as a share of all blocks written that are not zero.",
    ),
    metric(
        "dedupe_advice_valid",
        "duplicates confirmed by reading (valid advice)",
        Count,
        Neither,
        "The index named a block, and it held the same data (hashLock.dedupeAdviceValid).",
    ),
    metric(
        "dedupe_advice_stale",
        "guesses that were wrong (stale advice)",
        Count,
        Lower,
        "The index named a block, and it held something else by then (hashLock.dedupeAdviceStale).",
    ),
    metric(
        "concurrent_data_matches",
        "duplicates written together (concurrent matches)",
        Count,
        Neither,
        "Equal data in flight at the same time: found without the index (hashLock.concurrentDataMatches).",
    ),
    metric(
        "dedupe_timeouts",
        "late answers of the index (advice timeouts)",
        Count,
        Lower,
        "Queries that the index did not answer in time; such blocks are stored again (dedupeAdviceTimeouts).",
    ),
    metric(
        "bios_in_write",
        "writes in",
        Count,
        Neither,
        "Writes of at most 4 KiB that VDO received (biosIn.write).",
    ),
    metric(
        "bios_out_write",
        "data writes out",
        Count,
        Lower,
        "Data blocks that VDO wrote (biosOutCompleted.write).",
    ),
    metric(
        "bios_meta_write",
        "metadata writes out",
        Count,
        Lower,
        "Metadata blocks that VDO wrote, journal and block map pages among them (biosMetaCompleted.write).",
    ),
    metric(
        "bios_journal_write",
        "journal writes out",
        Count,
        Lower,
        "Blocks of the recovery journal that VDO wrote (biosJournalCompleted.write).",
    ),
    metric(
        "write_amplification",
        "write amplification",
        Ratio,
        Lower,
        "Data and metadata writes out for each write in. Computed from counters; what vdostats prints is rounded to a whole number.",
    ),
    metric(
        "metadata_writes_per_write",
        "metadata writes per write",
        Ratio,
        Lower,
        "Metadata writes out for each write in.",
    ),
    metric(
        "block_map_pages_loaded",
        "block map misses",
        Count,
        Lower,
        "Pages of the block map that had to be read (blockMap.pagesLoaded).",
    ),
    metric(
        "block_map_miss_percent",
        "block map misses per write",
        Percent,
        Lower,
        "Pages loaded, as a share of writes in. For random writes it is 1 - cache / leaf pages.",
    ),
    metric(
        "slabs_opened",
        "slabs opened",
        Count,
        Neither,
        "Slabs that were allocated from for the first time (allocator.slabsOpened).",
    ),
    metric(
        "slabs_reopened",
        "slabs reopened",
        Count,
        Lower,
        "Slabs that were allocated from again: from then on free space is in pieces (allocator.slabsReopened).",
    ),
    work(metric(
        "vdo_cpu_s",
        "CPU of VDO's threads",
        Seconds,
        Lower,
        "CPU time of all kernel threads of the volume, from the start of the load until the stack had come to rest.",
    )),
    work(metric(
        "vdo_cpu_per_io_us",
        "CPU of VDO's threads per I/O",
        Micros,
        Lower,
        "CPU time of all kernel threads of the volume per I/O that the loads completed; flushes are not counted as I/Os, but their time is included. It is a part of the CPU per I/O.",
    )),
    metric(
        "allocation_time_s",
        "time to allocate the block map",
        Seconds,
        Lower,
        "Time from the start of the stage until the metadata blocks (overheadBlocksUsed) have made 95 % of their growth in it: for so long writes paid for pages of the block map. Not known where they did not grow.",
    ),
    thread(
        "busiest_thread_percent",
        "busiest thread",
        "The busiest thread of the volume, of whatever kind. Percent of one CPU while the load ran: above 50 % another thread of its kind would help where the kind can have more, and near 100 % it limits throughput.",
    ),
    thread(
        "journal_thread_percent",
        "thread that keeps the journal",
        "Recovery journal (journalQ). There is only one. Percent of one CPU while the load ran: near 100 % it limits throughput.",
    ),
    thread(
        "packer_thread_percent",
        "thread that packs (packer)",
        "Packs compressed blocks (packerQ). There is only one. Percent of one CPU while the load ran: near 100 % it limits throughput.",
    ),
    thread(
        "dedupe_thread_percent",
        "thread that asks the index (dedupe)",
        "Hands requests to the index and its answers back (dedupeQ). There is only one; the lookups are done by the index's own threads. Percent of one CPU while the load ran: near 100 % it limits throughput.",
    ),
    thread(
        "index_thread_percent",
        "busiest thread of the index",
        "Looks up duplicates and stores what the index knows (indexW, callbackW, reader, writer). Percent of one CPU while the load ran; threads of one name are added up.",
    ),
    thread(
        "logical_thread_percent",
        "busiest thread that looks up where blocks lie (logical)",
        "Looks up the block map (logQ). Percent of one CPU while the load ran: above 50 % another thread of its kind would help, and near 100 % it limits throughput.",
    ),
    thread(
        "physical_thread_percent",
        "busiest thread that finds free blocks (physical)",
        "Allocates blocks and counts references (physQ). Percent of one CPU while the load ran: above 50 % another thread of its kind would help, and near 100 % it limits throughput.",
    ),
    thread(
        "hash_thread_percent",
        "busiest thread that looks for duplicates (hash zones)",
        "Looks for duplicates (hashQ). Percent of one CPU while the load ran: above 50 % another thread of its kind would help, and near 100 % it limits throughput.",
    ),
    thread(
        "cpu_thread_percent",
        "busiest thread that hashes and compresses (CPU)",
        "Hashes and compresses (cpuQ). Percent of one CPU while the load ran: above 50 % another thread of its kind would help, and near 100 % it limits throughput.",
    ),
    thread(
        "bio_thread_percent",
        "busiest thread that sends I/O to the disk (bio)",
        "Submits I/O (bioQ). Percent of one CPU while the load ran: above 50 % another thread of its kind would help, and near 100 % it limits throughput.",
    ),
    thread(
        "ack_thread_percent",
        "busiest thread that acknowledges writes (ack)",
        "Acknowledges writes (ackQ). Percent of one CPU while the load ran: above 50 % another thread of its kind would help, and near 100 % it limits throughput.",
    ),
    thread(
        "request_thread_percent",
        "thread that does the work of all zones (request)",
        "Does the work of journal, packer, logical, physical and hash threads where the last three are set to 0 (reqQ). Percent of one CPU while the load ran: above 50 % threads for the zones would help, and near 100 % it limits throughput.",
    ),
    metric(
        "bios_in_discard",
        "discards in",
        Count,
        Neither,
        "Discards that reached the volume, each of at most max_discard (biosIn.discard).",
    ),
    level(metric(
        "in_flight_max",
        "most I/Os in flight",
        Count,
        Neither,
        "The most blocks that VDO had in flight at once since it came up; it takes 2048 at most (maxVIOs).",
    )),
    level(metric(
        "memory_bytes",
        "memory",
        Unit::Bytes,
        Lower,
        "Kernel memory that the volume and its index take (memoryUsage.bytesUsed).",
    )),
    level(metric(
        "metadata_blocks",
        "metadata blocks",
        Blocks,
        Lower,
        "Blocks that hold metadata: index, journal, reference counts, and the pages of the block map that have been allocated (overheadBlocksUsed).",
    )),
    level(metric(
        "index_entries",
        "index entries",
        Count,
        Neither,
        "Blocks that the deduplication index has recorded since this start of the volume (index.entriesIndexed).",
    )),
    metric(
        "no_space_errors",
        "writes that found no space",
        Count,
        Lower,
        "Writes that failed because no physical block was free (errors.noSpaceErrorCount).",
    ),
    metric(
        "journal_entries",
        "journal entries",
        Count,
        Neither,
        "Changes of the block map that the recovery journal has committed (journal.entries.committed).",
    ),
    level(metric(
        "physical_used_percent",
        "physical space used",
        Percent,
        Neither,
        "Data blocks, as a share of the physical blocks that metadata leaves (vdostats counts metadata as used).",
    )),
    level(metric(
        "logical_used_percent",
        "logical space used",
        Percent,
        Neither,
        "Share of the volume's logical blocks that are mapped.",
    )),
];
