//! Cases for each rule: a change to a healthy cell that makes it fire, and one that is just not enough.

use super::*;

pub(super) type Spoil = fn(&mut Case);

/// The rules, each with a change that makes it fire, and one that is just not enough.
pub(super) const CASES: &[(&str, Spoil, Spoil)] = &[
    ("not_whole_blocks", |c| c.load().operations[0].size_unit = 512, |c| c.load().offset = 8192),
    ("no_allocate", |c| drop(c.planned.remove(0)), |c| c.planned[1].data = StageData::Foreign),
    (
        "packs_nothing",
        |c| c.load().fragments_per_block = Some(1),
        |c| (c.load().fragments_per_block, c.load().compresses) = (Some(1), false),
    ),
    ("zero_prefill", |c| c.prefill().zero_percent = 100.0, |c| c.prefill().zero_percent = 50.0),
    (
        "prefill_differs",
        |c| c.prefill().dedupe_percent = 0.0,
        |c| {
            c.planned[1].data = StageData::Rounds;
            (c.prefill().dedupe_percent, c.prefill().lz4_bytes) = (0.0, Some(4096.0));
        },
    ),
    (
        "fill_saves",
        |c| (c.planned[1].data, c.prefill().dedupe_percent) = (StageData::State, 6.0),
        |c| {
            c.planned[1].data = StageData::State;
            (c.prefill().dedupe_percent, c.prefill().lz4_bytes) = (5.0, Some(4096.0));
        },
    ),
    (
        "cache_small",
        |c| c.load().range_bytes = Some(110 * GIB),
        |c| {
            c.load().range_bytes = Some(110 * GIB);
            c.load().operations[0].order = Order::InOrder;
        },
    ),
    (
        "depth_beyond_pool",
        |c| c.load().blocks_in_flight = 2049,
        |c| c.load().blocks_in_flight = 2048,
    ),
    (
        "discard_unwritten",
        |c| {
            c.planned.remove(1);
            c.load().operations[0].does = OperationKind::Discards;
        },
        |c| c.load().operations[0].does = OperationKind::Discards,
    ),
    (
        "short_for_steady",
        |c| {
            c.until_steady(2.6e6, 51e3, 1.0);
            c.load().written_blocks = Some(262_144);
        },
        |c| c.until_steady(2.6e6, 51e3, 1.0),
    ),
    (
        "one_hot_block",
        |c| c.load().operations[0].order = Order::OneBlock,
        |c| (c.load().operations[0].order, c.load().ios_in_flight) = (Order::OneBlock, 1),
    ),
    ("no_baseline", |c| c.variants[0].push("vdo"), |c| c.variants.truncate(1)),
    ("index_by_lvm", |c| c.index("512M", "0.5"), |c| c.index("256M", "0.25")),
    ("journal_on_disk", |c| c.like("hdd"), |c| c.like("ssd")),
    ("online_discard", |c| c.file_system("on"), |c| c.file_system("off")),
    (
        "map_unallocated",
        |c| c.stats("overheadBlocksUsed", 604.0),
        |c| c.stats("overheadBlocksUsed", 600.0),
    ),
    (
        "content_not_packable",
        |c| c.figure("compressed_fragments", Some(0.0)),
        |c| c.figure("compressed_fragments", None),
    ),
    (
        "index_not_as_asked",
        |c| {
            c.set("via", "table");
            c.set("index_memory", "512M");
        },
        |c| {
            c.set("via", "table");
            c.index("512M", "0.5");
        },
    ),
    ("table_not_as_asked", |c| c.table(2, 32_768), |c| c.table(1, 32_768)),
    ("sizes_not_as_computed", |c| c.sized(600e6, 1_049_638.0), |c| c.sized(410e6, 1_056_275.0)),
    (
        "saving_of_zeros",
        |c| c.figure("saving_without_zero_percent", Some(64.0)),
        |c| c.figure("saving_without_zero_percent", None),
    ),
    (
        "duplicates_in_flight",
        |c| c.stats("hashLock.concurrentDataMatches", 1000.0),
        |c| c.stats("hashLock.concurrentDataMatches", 800.0),
    ),
    (
        "matches_without_dedupe",
        |c| {
            c.set("dedupe", "off");
            c.stats("hashLock.concurrentDataMatches", 91.0);
        },
        |c| {
            c.set("dedupe", "off");
            c.stats("hashLock.concurrentDataMatches", 90.0);
        },
    ),
    (
        "out_of_space",
        |c| c.stats("errors.noSpaceErrorCount", 3.0),
        |c| c.stats("errors.noSpaceErrorCount", 0.0),
    ),
    ("less_found_than_written", |c| c.wrote_duplicates(15.1), |c| c.wrote_duplicates(15.0)),
    ("space_low", |c| c.used(75_301.0), |c| c.used(75_300.0)),
    (
        "few_slabs",
        |c| c.stats("allocator.slabsOpened", 1.0),
        |c| {
            c.stats("allocator.slabsOpened", 1.0);
            c.stats("allocator.slabCount", 4.0);
        },
    ),
    ("writes_wrapped", |c| c.stats("logicalBlocks", 8999.0), |c| c.stats("logicalBlocks", 9000.0)),
    ("not_steady", |c| c.until_steady(2.4e6, 51e3, 1.0), |c| c.until_steady(2.6e6, 51e3, 1.0)),
    ("steady_on_fresh", |c| c.until_steady(2.6e6, 49e3, 1.0), |c| c.until_steady(2.6e6, 51e3, 1.0)),
    ("discards_in_vain", |c| c.discards(9000, 4499.0, 9.0), |c| c.discards(9000, 4500.0, 9.0)),
    ("thread_busy", |c| c.end("vdo.threads", "cpuQ1", 5.1), |c| c.end("vdo.threads", "cpuQ1", 4.9)),
    (
        "single_thread_busy",
        |c| c.end("vdo.threads", "packerQ", 8.1),
        |c| c.end("vdo.threads", "packerQ", 7.9),
    ),
    (
        "journal_ceiling",
        |c| c.end("vdo.threads", "journalQ", 5.1),
        |c| c.end("vdo.threads", "journalQ", 4.9),
    ),
    (
        "threads_idle",
        |c| {
            c.set("hash_zone_threads", "2");
            c.end("vdo.threads", "hashQ0", 2.9);
        },
        |c| c.set("hash_zone_threads", "2"),
    ),
    (
        "block_map_misses",
        |c| c.stats("blockMap.pagesLoaded", 451.0),
        |c| c.stats("blockMap.pagesLoaded", 450.0),
    ),
    ("flush_rate", |c| c.stats("biosIn.flush", 91.0), |c| c.stats("biosIn.fua", 90.0)),
    (
        "flush_time",
        |c| c.end("machine.diskstats", "data.flush_ms", 3001.0),
        |c| c.end("machine.diskstats", "data.flush_ms", 3000.0),
    ),
    (
        "pool_full",
        |c| c.stats("currentVIOsInProgress", 1900.0),
        |c| c.stats("currentVIOsInProgress", 1800.0),
    ),
    ("pool_unused", |c| c.in_progress(204.0), |c| c.in_progress(205.0)),
    (
        "packer_idle",
        |c| {
            c.stats("biosIn.flush", 50.0);
            c.stats("biosOutCompleted.write", 2000.0);
        },
        |c| c.stats("biosOutCompleted.write", 2000.0),
    ),
    (
        "advice_late",
        |c| c.stats("dedupeAdviceTimeouts", 91.0),
        |c| c.stats("dedupeAdviceTimeouts", 90.0),
    ),
    (
        "device_saturated",
        |c| c.end("machine.diskstats", "data.busy_ms", 9001.0),
        |c| c.end("machine.diskstats", "data.busy_ms", 9000.0),
    ),
    (
        "journal_on_data",
        |c| c.journal_on_busy_device(5001.0, 205.0),
        |c| c.journal_on_busy_device(5001.0, 204.0),
    ),
    ("slabs_reopened", |c| c.slabs(1.0, 40.0, 1.0), |c| c.slabs(1.0, 40.0, 0.0)),
    (
        "partial_writes",
        |c| c.stats("biosInPartial.write", 1.0),
        |c| c.stats("biosInPartial.read", 1.0),
    ),
    ("discard_journal", |c| c.discards(9000, 9000.0, 901.0), |c| c.discards(9000, 9000.0, 900.0)),
];
