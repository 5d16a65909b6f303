//! Counters, kept by the zones and summed when they are read.

/// Counters of the hash zone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HashStats {
    /// Advice of the index that was refused or compared unequal.
    pub advice_stale: u64,
    /// Writes that met another of the same block under way.
    pub concurrent: u64,
    /// Different blocks with one fingerprint.
    pub collisions: u64,
}

/// Counters of the block map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MapStats {
    /// Leaves read from the device.
    pub pages_loaded: u64,
    /// Pages written to the device, new ones left out.
    pub pages_saved: u64,
    /// Pages allocated.
    pub pages_made: u64,
    /// Leaves in memory.
    pub pages_cached: u64,
}

/// Counters of the physical zone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpaceStats {
    /// Blocks with data that something refers to.
    pub data_blocks: u64,
    /// Blocks of the map.
    pub map_blocks: u64,
    /// Slabs that were opened for the first time.
    pub slabs_opened: u64,
    /// Slabs that were opened again.
    pub slabs_reopened: u64,
    /// Duplicates found through the index and compared equal.
    pub advice_valid: u64,
    /// Writes that found no room.
    pub no_space: u64,
    /// Packed blocks written.
    pub packed_blocks: u64,
    /// Fragments in them.
    pub fragments: u64,
}

/// Counters of the journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalStats {
    /// Entries committed.
    pub entries: u64,
    /// Blocks written.
    pub blocks: u64,
    /// Commits.
    pub cycles: u64,
    /// Blocks of the volume that are mapped, zeros too.
    pub logical_blocks: u64,
}

/// Operations of the device for one purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Reads.
    pub reads: u64,
    /// Writes, those with FUA too.
    pub writes: u64,
    /// Writes with FUA.
    pub fua: u64,
    /// Flushes.
    pub flushes: u64,
}

impl std::ops::Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            fua: self.fua + other.fua,
            flushes: self.flushes + other.flushes,
        }
    }
}

/// Operations of the device by their purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// Data: whole and packed blocks, reads for clients and for comparison.
    pub data: Traffic,
    /// Pages of the block map.
    pub map: Traffic,
    /// Reference counts.
    pub counts: Traffic,
    /// The journal.
    pub journal: Traffic,
    /// Chapters of the index.
    pub index: Traffic,
    /// The superblock, and flushes that clients wait for.
    pub other: Traffic,
}

impl DeviceStats {
    /// Operations for all purposes.
    pub fn total(&self) -> Traffic {
        self.data + self.map + self.counts + self.journal + self.index + self.other
    }
}

/// Requests that came, refused ones too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestStats {
    /// Reads.
    pub reads: u64,
    /// Writes, those with FUA and those of parts too.
    pub writes: u64,
    /// Writes with FUA.
    pub fua: u64,
    /// Writes of parts of blocks.
    pub patches: u64,
    /// Discards.
    pub discards: u64,
    /// Flushes.
    pub flushes: u64,
    /// Writes and discards refused because the volume is read-only.
    pub refused: u64,
}

/// Counters of the index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexStats {
    /// Records that it holds.
    pub records: u64,
    /// Lookups that found a record.
    pub found: u64,
    /// Lookups that found none.
    pub not_found: u64,
    /// Records that got another place.
    pub updated: u64,
    /// Records that went since they were old.
    pub discarded: u64,
}

/// All counters of a volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Counters of the hash zone.
    pub hash: HashStats,
    /// Counters of the block map.
    pub map: MapStats,
    /// Counters of the physical zone.
    pub space: SpaceStats,
    /// Counters of the journal.
    pub journal: JournalStats,
    /// Operations asked of the device.
    pub device: DeviceStats,
    /// Operations that the device has ended.
    pub ended: DeviceStats,
    /// Requests that came.
    pub requests: RequestStats,
    /// Counters of the index.
    pub index: IndexStats,
    /// Fragments that wait in the packer.
    pub parked: u64,
    /// Requests under way.
    pub in_flight: u64,
    /// Most requests that ever were under way.
    pub most_in_flight: u64,
    /// Tells if the volume is read-only: something that it relies on failed.
    pub read_only: bool,
}
