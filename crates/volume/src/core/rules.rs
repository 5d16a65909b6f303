//! The ordering rules by name. The program keeps all of them; the crash harness leaves one out and must see it.

/// A rule of the order of operations, or of what may be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Data is flushed before the journal names it (async).
    DataBeforeJournal,
    /// Data is written durably before the journal names it (sync).
    DataDurable,
    /// A page is durably empty before it is linked.
    PageBeforeLink,
    /// A block is free only when the entry that frees it is committed.
    FreeAtCommit,
    /// The index's advice is taken only for a block with a reference.
    AdviceCounted,
    /// A block is pinned while it is compared.
    PinnedWhileCompared,
    /// An agent keeps its pin until its fingerprint is released.
    AgentPinned,
    /// Every fragment has a separate pin on its packed block.
    FragmentPinned,
    /// No request is parked in the packer while another waits for it.
    NotParkedWhileWaited,
    /// Duplicates are compared.
    Compared,
    /// Every start has a new epoch.
    NewEpoch,
    /// Written pages are flushed before the tail passes their entries (sync, async-unsafe).
    PagesBeforeTail,
    /// Entries are durable before a page has them (async-unsafe).
    EntriesBeforePages,
    /// A slot of the journal is used again only when a durable header says that it is not needed.
    TailBeforeReuse,
    /// An acknowledgement of durability under async-unsafe has a separate flush.
    FlushBeforeAck,
    /// A flush waits for the writes before it.
    FlushWaits,
    /// Nothing of the old journal is needed when new slabs take its place.
    RingBeforeSlabs,
    /// Counts of new slabs are durable before the superblock has the slabs.
    CountsBeforeGrowth,
    /// The superblock of a grown volume is durable before its new places are used.
    GrownBeforeUse,
    /// Recovery counts an entry only in sectors that do not have it.
    CountedOnce,
    /// Recovery flushes pages and counts before it starts an epoch.
    RecoveredBeforeEpoch,
    /// Recovery stops where a block of the journal is missing.
    StopAtGap,
}

/// The rules that hold.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {
    #[cfg(test)]
    pub(crate) without: Option<Rule>,
}

impl Rules {
    /// Tells if a rule holds: every one does, outside tests.
    #[cfg(not(test))]
    pub(crate) fn hold(self, _: Rule) -> bool {
        true
    }

    /// Tells if a rule holds: every one does, outside tests.
    #[cfg(test)]
    pub(crate) fn hold(self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
}
