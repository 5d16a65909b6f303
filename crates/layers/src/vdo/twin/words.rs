//! Texts that a VDO volume answers with, in dm-vdo's syntax.

use std::fmt::Write;

/// The statistics that dm-vdo prints (STATISTICS_VERSION 36), groups in braces, in its order; `#` is a group of
/// counts of I/O, which all have the fields [`BIOS`].
const TREE: &str = "version dataBlocksUsed overheadBlocksUsed logicalBlocksUsed physicalBlocks \
    logicalBlocks blockMapCacheSize blockSize completeRecoveries readOnlyRecoveries mode inRecoveryMode \
    recoveryPercentage packer{ compressedFragmentsWritten compressedBlocksWritten \
    compressedFragmentsInPacker } allocator{ slabCount slabsOpened slabsReopened } journal{ diskFull \
    slabJournalCommitsRequested entries{ started written committed } blocks{ started written committed } } \
    slabJournal{ diskFullCount flushCount blockedCount blocksWritten tailBusyCount } \
    slabSummary{ blocksWritten } refCounts{ blocksWritten } blockMap{ dirtyPages cleanPages freePages \
    failedPages incomingPages outgoingPages cachePressure readCount writeCount failedReads failedWrites \
    reclaimed readOutgoing foundInCache discardRequired waitForPage fetchRequired pagesLoaded pagesSaved \
    flushCount } hashLock{ dedupeAdviceValid dedupeAdviceStale concurrentDataMatches \
    concurrentHashCollisions currDedupeQueries } errors{ invalidAdvicePBNCount noSpaceErrorCount \
    readOnlyErrorCount } instance currentVIOsInProgress maxVIOs dedupeAdviceTimeouts flushOut \
    logicalBlockSize biosIn# biosInPartial# biosOut# biosMeta# biosJournal# biosPageCache# biosOutCompleted# \
    biosMetaCompleted# biosJournalCompleted# biosPageCacheCompleted# biosAcknowledged# \
    biosAcknowledgedPartial# biosInProgress# memoryUsage{ bytesUsed peakBytesUsed } index{ entriesIndexed postsFound postsNotFound queriesFound \
    queriesNotFound updatesFound updatesNotFound entriesDiscarded }";

/// Fields of a group of counts of I/O.
const BIOS: &str = "{ read write emptyFlush discard flush fua }";

/// Endings of the names of fields that a twin cannot know: it does not learn of reads and discards, and has no model of memory or of the cache of
/// the block map. They are left out, as an older dm-vdo leaves out what it does not count.
pub(super) const UNMODELLED: [&str; 9] = [
    ".read",
    ".discard",
    "memoryUsage.bytesUsed",
    "memoryUsage.peakBytesUsed",
    "allocator.slabsReopened",
    "blockMap.pagesLoaded",
    "journal.entries.started",
    "journal.entries.written",
    "journal.entries.committed",
];

/// Returns the statistics with the values that `value` gives for each field, named with its groups before it and dots between; a field without a
/// value is left out.
pub(super) fn stats(value: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::from("{ ");
    let mut path: Vec<&str> = Vec::new();
    let tree = TREE.replace('#', BIOS);
    for word in tree.split_whitespace() {
        // Writing to a string cannot fail.
        let _ = if let Some(group) = word.strip_suffix('{') {
            path.push(group);
            write!(text, "{group} : {{ ")
        } else if word == "}" {
            path.pop();
            write!(text, "}}, ")
        } else {
            let full = path.iter().copied().chain([word]).collect::<Vec<_>>().join(".");
            value(&full).map_or(Ok(()), |value| write!(text, "{word} : {value}, "))
        };
    }
    text + "}"
}
