//! Counters, kept by the zones and summed when they are read.

/// Of the hash zone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HashStats {
    /// Advice of the index that was refused or compared unequal.
    pub advice_stale: u64,
    /// Writes that met another of the same block under way.
    pub concurrent: u64,
    /// Different blocks with one fingerprint.
    pub collisions: u64,
}

/// Of the block map.
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

/// Of the physical zone.
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

/// Of the journal.
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

/// Of the operations asked of the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// Reads.
    pub reads: u64,
    /// Writes, those with FUA too.
    pub writes: u64,
    /// Writes with FUA.
    pub fua: u64,
    /// Flushes.
    pub flushes: u64,
}

/// All counters of a volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Of the hash zone.
    pub hash: HashStats,
    /// Of the block map.
    pub map: MapStats,
    /// Of the physical zone.
    pub space: SpaceStats,
    /// Of the journal.
    pub journal: JournalStats,
    /// Of the device.
    pub device: DeviceStats,
    /// Fragments that wait in the packer.
    pub parked: u64,
    /// Requests under way.
    pub in_flight: u64,
    /// Something that the volume relies on failed.
    pub read_only: bool,
}
