//! What a VDO volume says, in dm-vdo's syntax.

use std::fmt::Write;

use crate::vdo::setup::Setup;

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

/// Ends of the fields that follow from what nobody tells a twin (reads, discards) or from what it has no model of: they are left out,
/// as an older dm-vdo leaves out what it does not count.
pub(super) const UNMODELLED: [&str; 8] = [
    ".read",
    ".discard",
    "memoryUsage.bytesUsed",
    "memoryUsage.peakBytesUsed",
    "allocator.slabsReopened",
    "journal.entries.started",
    "journal.entries.written",
    "journal.entries.committed",
];

/// Families of threads with their share of a volume's CPU time; without threads of zones one, `reqQ`, does the work of five families.
const THREADS: [(&str, f64); 14] = [
    ("reqQ", 0.52),
    ("journalQ", 0.15),
    ("packerQ", 0.03),
    ("bioQ", 0.1),
    ("ackQ", 0.08),
    ("cpuQ", 0.13),
    ("physQ", 0.13),
    ("logQ", 0.14),
    ("callbackW", 0.04),
    ("dedupeQ", 0.07),
    ("hashQ", 0.07),
    ("reader", 0.01),
    ("indexW", 0.04),
    ("writer", 0.01),
];

/// The statistics with the values that `value` gives for each field, its groups before it with dots; one without a value is left
/// out.
pub(super) fn stats(value: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::from("{ ");
    let mut path: Vec<&str> = Vec::new();
    let tree = TREE.replace('#', BIOS);
    for word in tree.split_whitespace() {
        // A string takes whatever is written to it.
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

/// Lines `tid comm utime stime` of the volume's threads, which share `ticks` of CPU time.
pub(super) fn threads(setup: &Setup, prefix: &str, ticks: f64) -> String {
    let mut text = String::new();
    for (id, (family, share)) in THREADS.iter().enumerate() {
        let names = names(setup, family);
        for name in &names {
            let each = (ticks * share / names.len() as f64).round();
            // A string takes whatever is written to it.
            let _ = writeln!(text, "{} {prefix}{name} 0 {each}", 100 + id);
        }
    }
    text
}

/// Names of the threads of one family as dm-vdo numbers them: some families always, some only from two on.
fn names(setup: &Setup, family: &str) -> Vec<String> {
    let (count, numbered) = match family {
        "bioQ" => (setup.bio_threads, true),
        "physQ" => (setup.physical_threads, true),
        "logQ" => (setup.logical_threads, true),
        "hashQ" => (setup.hash_zone_threads, true),
        "ackQ" => (setup.ack_threads, setup.ack_threads > 1),
        "cpuQ" => (setup.cpu_threads, setup.cpu_threads > 1),
        "reader" => return vec![family.to_owned(); 2],
        "reqQ" => (u32::from(setup.logical_threads == 0), false),
        "journalQ" | "packerQ" => (setup.logical_threads.min(1), false),
        _ => (1, false),
    };
    let name = |i: u32| if numbered { format!("{family}{i}") } else { family.to_owned() };
    (0..count).map(name).collect()
}
