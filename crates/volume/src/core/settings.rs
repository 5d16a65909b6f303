//! Settings of a volume at work.

use crate::block::BLOCK;
use crate::core::rules::Rules;
use crate::format::Geometry;

/// Write policy: the moment when data is durable, and the one when a write is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Acknowledged when durable.
    Sync,
    /// Acknowledged once there is room for it; a flush makes it durable.
    Async,
    /// As async, but the volume's own records are not ordered behind the data: after a power cut, a block written since the last
    /// flush may hold anything.
    AsyncUnsafe,
}

impl Policy {
    /// The policy `auto`: sync on a device whose writes are durable at once, async on one with a volatile cache.
    pub fn auto(volatile_cache: bool) -> Self {
        if volatile_cache { Self::Async } else { Self::Sync }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
            Self::AsyncUnsafe => "async-unsafe",
        }
    }

    /// The policy of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Sync, Self::Async, Self::AsyncUnsafe]
            .into_iter()
            .find(|policy| policy.name() == name)
    }
}

/// The way in which the blocks of a discard go through the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discards {
    /// One after the other, as VDO's.
    Serial,
    /// Together.
    Batch,
}

/// The order in which zones get to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One after the other, each what it has by then.
    InTurn,
    /// Any zone with a message, drawn from this seed; now and then one sleeps while the device ends operations. For tests.
    Drawn(u64),
}

/// Settings of a volume at work.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Write policy.
    pub policy: Policy,
    /// Duplicates are stored once.
    pub deduplication: bool,
    /// Blocks are compressed and packed.
    pub compression: bool,
    /// Leaves of the block map in memory.
    pub cache_pages: usize,
    /// Blocks that the index remembers.
    pub index_records: usize,
    /// References to one block, at most 254.
    pub reference_limit: u8,
    /// Entries of a journal block, at most 217.
    pub journal_entries: usize,
    /// Percent of the journal in use from which on pages are written out.
    pub checkpoint_percent: u64,
    /// Pages that are written between two flushes when pages are written out.
    pub page_batch: usize,
    /// The way in which the blocks of a discard go through the journal.
    pub discards: Discards,
    /// Requests in the volume at a time; others wait at the door.
    pub permits: usize,
    /// The order of zones.
    pub order: Order,
    /// The rules of the order of operations.
    #[cfg(test)]
    pub(crate) rules: Rules,
}

/// Bytes that a request takes while it is under way: its block, its fragment, and its place in the zones.
const REQUEST: u64 = 9 << 10;

impl Settings {
    /// The most memory that a volume takes, in bytes.
    pub fn memory_bytes(&self, geometry: &Geometry) -> u64 {
        let block = BLOCK as u64;
        let pages = self.cache_pages as u64 + reduce::space::interior_pages(geometry.sizes.logical);
        // Besides the records, chapters that are open or on their way to the device.
        let records = self.index_records as u64;
        let index = records.saturating_mul(8).saturating_add(records / 16);
        let rest = geometry.data_total() + self.permits as u64 * REQUEST;
        pages.saturating_mul(block).saturating_add(index).saturating_add(rest)
    }

    /// The rules of the order of operations: all of them, but in tests.
    #[cfg(not(test))]
    pub(crate) fn rules(&self) -> Rules {
        Rules::default()
    }

    /// The rules of the order of operations: all of them, but in tests.
    #[cfg(test)]
    pub(crate) fn rules(&self) -> Rules {
        self.rules
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: Policy::Async,
            deduplication: true,
            compression: true,
            cache_pages: 32_768,
            index_records: 1 << 20,
            reference_limit: 254,
            journal_entries: crate::format::MOST_ENTRIES,
            checkpoint_percent: 50,
            page_batch: 64,
            discards: Discards::Serial,
            permits: 2048,
            order: Order::InTurn,
            #[cfg(test)]
            rules: Rules::default(),
        }
    }
}
