//! Every number of the statistics of a volume (`vdostats --verbose`, the message `stats`) as a counter.

use units::Metric;

use crate::counter::counters;

/// I/Os of one kind, by what they do.
macro_rules! bios {
    ($of:literal, $basis:ident, $what:literal) => {
        counters! { "stats":
            concat!($of, ".read"), Count, $basis, concat!("Reads ", $what, ".");
            concat!($of, ".write"), Count, $basis, concat!("Writes ", $what, ".");
            concat!($of, ".emptyFlush"), Count, $basis, concat!("Flushes without data ", $what, ".");
            concat!($of, ".discard"), Count, $basis, concat!("Discards ", $what, ".");
            concat!($of, ".flush"), Count, $basis, concat!("Flushes, with and without data ", $what, ".");
            concat!($of, ".fua"), Count, $basis, concat!("Writes with FUA ", $what, ".");
        }
    };
}

/// Every number, in the order of the tool.
pub(super) const COUNTERS: &[&[Metric]] = &[
    counters! { "stats":
        "version", Count, Level, "Version of the statistics.";
        "dataBlocksUsed", Blocks, Level, "Blocks of 4 KiB that hold data.";
        "overheadBlocksUsed", Blocks, Level, "Blocks of 4 KiB that hold metadata.";
        "logicalBlocksUsed", Blocks, Level, "Logical blocks of 4 KiB that are mapped, zero blocks too.";
        "physicalBlocks", Blocks, Level, "Blocks of 4 KiB that the volume's device has.";
        "logicalBlocks", Blocks, Level, "Blocks of 4 KiB that the volume offers.";
        "blockMapCacheSize", Bytes, Level, "Size of the cache of the block map.";
        "blockSize", Bytes, Level, "Size of a block.";
        "completeRecoveries", Count, Level, "Recoveries from a crash so far.";
        "readOnlyRecoveries", Count, Level, "Recoveries from read-only mode so far.";
        "inRecoveryMode", Count, Level, "1 while the volume recovers, else 0.";
        "recoveryPercentage", Percent, Level, "How far the recovery has come.";
        "instance", Count, Level, "Number of the volume since its module was loaded: another one after each start.";
        "currentVIOsInProgress", Count, Level, "I/Os of 4 KiB that are under way in the volume.";
        "maxVIOs", Count, Level, "The most of them at once since the volume was started.";
        "dedupeAdviceTimeouts", Count, Counter, "Questions to the index that were given up for taking too long.";
        "flushOut", Count, Counter, "Flushes that the volume sent to its device.";
        "logicalBlockSize", Bytes, Level, "Size of the smallest I/O that the volume takes.";
    },
    counters! { "stats":
        "packer.compressedFragmentsWritten", Count, Counter, "Compressed blocks that were written, packed with others.";
        "packer.compressedBlocksWritten", Blocks, Counter, "Blocks that hold packed fragments and were written.";
        "packer.compressedFragmentsInPacker", Count, Level, "Compressed blocks that wait for others to be packed with.";
    },
    counters! { "stats":
        "allocator.slabCount", Count, Level, "Slabs that the volume has.";
        "allocator.slabsOpened", Count, Counter, "Slabs that were written to for the first time.";
        "allocator.slabsReopened", Count, Counter, "Slabs that were taken again because none was untouched or much emptier.";
    },
    counters! { "stats":
        "journal.diskFull", Count, Counter, "Times that the recovery journal was full.";
        "journal.slabJournalCommitsRequested", Count, Counter, "Times that it asked slab journals to be written so that it has room.";
        "journal.entries.started", Count, Counter, "Entries of the recovery journal that were begun.";
        "journal.entries.written", Count, Counter, "Entries of the recovery journal that were sent to the device.";
        "journal.entries.committed", Count, Counter, "Entries of the recovery journal that are durable.";
        "journal.blocks.started", Blocks, Counter, "Blocks of the recovery journal that were begun.";
        "journal.blocks.written", Blocks, Counter, "Blocks of the recovery journal that were sent to the device.";
        "journal.blocks.committed", Blocks, Counter, "Blocks of the recovery journal that are durable.";
    },
    counters! { "stats":
        "slabJournal.diskFullCount", Count, Counter, "Times that the journal of a slab was full.";
        "slabJournal.flushCount", Count, Counter, "Times that it had to write reference counts to have room.";
        "slabJournal.blockedCount", Count, Counter, "Times that an entry had to wait for it.";
        "slabJournal.blocksWritten", Blocks, Counter, "Blocks of slab journals that were written.";
        "slabJournal.tailBusyCount", Count, Counter, "Times that its last block was still being written when it was needed.";
        "slabSummary.blocksWritten", Blocks, Counter, "Blocks of the summary of slabs that were written.";
        "refCounts.blocksWritten", Blocks, Counter, "Blocks of reference counts that were written.";
    },
    counters! { "stats":
        "blockMap.dirtyPages", Blocks, Level, "Pages of the block map, 4 KiB each, that were changed in its cache and are not written.";
        "blockMap.cleanPages", Blocks, Level, "Pages of the block map, 4 KiB each, that its cache holds unchanged.";
        "blockMap.freePages", Blocks, Level, "Places of its cache that hold no page.";
        "blockMap.failedPages", Blocks, Level, "Places of its cache that hold a page which could not be read.";
        "blockMap.incomingPages", Blocks, Level, "Pages of the block map, 4 KiB each, that are being read.";
        "blockMap.outgoingPages", Blocks, Level, "Pages of the block map, 4 KiB each, that are being written.";
        "blockMap.cachePressure", Count, Counter, "Times that no place of the cache was free when one was needed.";
        "blockMap.readCount", Count, Counter, "Lookups of a page to read an entry.";
        "blockMap.writeCount", Count, Counter, "Lookups of a page to change an entry.";
        "blockMap.failedReads", Count, Counter, "Reads of a page that failed.";
        "blockMap.failedWrites", Count, Counter, "Writes of a page that failed.";
        "blockMap.reclaimed", Count, Counter, "Pages that were wanted again while they were being written.";
        "blockMap.readOutgoing", Count, Counter, "Pages that were read while they were being written.";
        "blockMap.foundInCache", Count, Counter, "Lookups that found their page in the cache.";
        "blockMap.discardRequired", Count, Counter, "Lookups that had to push a page out first.";
        "blockMap.waitForPage", Count, Counter, "Lookups that had to wait for a page under way.";
        "blockMap.fetchRequired", Count, Counter, "Lookups that had to read their page.";
        "blockMap.pagesLoaded", Blocks, Counter, "Pages of 4 KiB that were read into the cache.";
        "blockMap.pagesSaved", Blocks, Counter, "Pages of 4 KiB that were written.";
        "blockMap.flushCount", Count, Counter, "Flushes before pages were written.";
    },
    counters! { "stats":
        "hashLock.dedupeAdviceValid", Count, Counter, "Places that the index named and that did hold the same data.";
        "hashLock.dedupeAdviceStale", Count, Counter, "Places that the index named and that held something else by then.";
        "hashLock.concurrentDataMatches", Count, Counter, "Writes of the same data as another write under way.";
        "hashLock.concurrentHashCollisions", Count, Counter, "Writes of different data with the same hash as another write in flight.";
        "hashLock.currDedupeQueries", Count, Level, "Questions to the index that are under way.";
    },
    counters! { "stats":
        "errors.invalidAdvicePBNCount", Count, Counter, "Answers of the index that named no block of data.";
        "errors.noSpaceErrorCount", Count, Counter, "I/Os that failed because the volume was full.";
        "errors.readOnlyErrorCount", Count, Counter, "I/Os that failed because the volume was read-only.";
    },
    counters! { "stats":
        "memoryUsage.bytesUsed", Bytes, Level, "Memory that the module holds.";
        "memoryUsage.peakBytesUsed", Bytes, Level, "The most memory that it held.";
    },
    counters! { "stats":
        "index.entriesIndexed", Count, Level, "Blocks that the index remembers.";
        "index.postsFound", Count, Counter, "Blocks that the index knew already when they were posted to it.";
        "index.postsNotFound", Count, Counter, "Blocks that it did not know, and remembers now.";
        "index.queriesFound", Count, Counter, "Questions that it had an answer to.";
        "index.queriesNotFound", Count, Counter, "Questions that it had no answer to.";
        "index.updatesFound", Count, Counter, "Blocks it knew whose place was changed.";
        "index.updatesNotFound", Count, Counter, "Blocks it had forgotten whose place was to be changed.";
        "index.entriesDiscarded", Count, Counter, "Blocks that it forgot to have room for others.";
    },
    bios!("biosIn", Counter, "that came to the volume"),
    bios!("biosInPartial", Counter, "that came to the volume and did not cover whole blocks"),
    bios!("biosOut", Counter, "of data that the volume sent to its device"),
    bios!("biosMeta", Counter, "of metadata that it sent to its device"),
    bios!("biosJournal", Counter, "of the recovery journal that it sent to its device"),
    bios!("biosPageCache", Counter, "of the block map that it sent to its device"),
    bios!("biosOutCompleted", Counter, "of data that its device completed"),
    bios!("biosMetaCompleted", Counter, "of metadata that its device completed"),
    bios!("biosJournalCompleted", Counter, "of the recovery journal that its device completed"),
    bios!("biosPageCacheCompleted", Counter, "of the block map that its device completed"),
    bios!("biosAcknowledged", Counter, "that the volume acknowledged"),
    bios!(
        "biosAcknowledgedPartial",
        Counter,
        "that it acknowledged and that did not cover whole blocks"
    ),
    bios!("biosInProgress", Level, "that are under way in the volume"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::parsers::parse_stats;
    use super::*;
    use crate::place_of;

    #[test]
    fn every_number_of_real_statistics_is_a_counter_and_every_counter_is_there() {
        let fields = parse_stats(include_str!("stats-6.12.txt")).unwrap().numbers;
        let all = || COUNTERS.iter().copied().flatten();
        let known: BTreeSet<&str> = all().map(|counter| place_of(counter).1).collect();
        assert_eq!(fields.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
        assert_eq!(all().count(), known.len(), "each once");
        assert!(all().all(|counter| place_of(counter) == ("stats", counter.name)));
    }
}
