//! The settings of one VDO volume, and the sizes that follow from them.

use super::geometry;
use super::names::{DATA, TAIL};
use crate::layer::Place;
use crate::lvm;

/// The way a volume is made: by lvm2, or by a table of device-mapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Via {
    /// lvm2, with its own limits.
    Lvm,
    /// `vdoformat` and a table of device-mapper: all that dm-vdo takes.
    Table,
}

impl Via {
    /// Returns the way that a word in an experiment stands for.
    pub(super) fn of(word: &str) -> Self {
        if word == "table" { Self::Table } else { Self::Lvm }
    }

    /// Returns the bytes that the target has beyond the volume.
    pub(super) fn beside_volume(self) -> u64 {
        match self {
            Self::Lvm => 1 << 20,
            Self::Table => 0,
        }
    }

    /// Rounds a size up to the unit in which it is made, bytes.
    pub(super) fn round_up(self, bytes: u64) -> u64 {
        match self {
            Self::Lvm => lvm::round_up(bytes),
            Self::Table => bytes.div_ceil(geometry::BLOCK).saturating_mul(geometry::BLOCK),
        }
    }
}

/// The settings of one VDO volume; sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) via: Via,
    pub(super) tail_size: Option<u64>,
    pub(super) logical_size: Option<u64>,
    pub(super) physical_size: Option<u64>,
    pub(super) block_map_cache: u64,
    pub(super) dedupe: bool,
    pub(super) compression: bool,
    pub(super) ack_threads: u32,
    pub(super) bio_threads: u32,
    pub(super) bio_rotation: u32,
    pub(super) cpu_threads: u32,
    pub(super) hash_zone_threads: u32,
    pub(super) logical_threads: u32,
    pub(super) physical_threads: u32,
    pub(super) max_discard: u64,
    pub(super) slab_size: u64,
    pub(super) index_memory: u64,
    pub(super) sparse_index: bool,
    pub(super) minimum_io_size: u32,
    pub(super) block_map_period: u32,
}

impl Setup {
    /// Returns what the devices at a place can give to a pool, bytes.
    pub(super) fn room(&self, at: &Place) -> u64 {
        let data = at.block(DATA).1;
        match self.via {
            Via::Lvm => lvm::usable(data),
            Via::Table => whole_blocks(data) + self.tail(at),
        }
    }

    /// Returns how much of the pool's end lies on another device, bytes.
    pub(super) fn tail(&self, at: &Place) -> u64 {
        let tail_size = self.tail_size.unwrap_or(geometry::TAIL);
        if at.inputs.contains_key(TAIL) { tail_size } else { 0 }
    }

    /// Size of the pool at a place.
    pub(super) fn pool_bytes(&self, at: &Place) -> u64 {
        self.physical_size.map_or_else(|| self.room(at), |size| self.via.round_up(size))
    }

    /// Size of the volume at a place.
    pub(super) fn volume_bytes(&self, at: &Place) -> u64 {
        self.via.round_up(self.logical_size.unwrap_or_else(|| self.pool_bytes(at)))
    }

    /// Size of the vdo target itself: lvm keeps half a MiB before the volume and another behind it.
    pub(super) fn target_bytes(&self, at: &Place) -> u64 {
        self.volume_bytes(at) + self.via.beside_volume()
    }

    /// Blocks for data and for pages of the block map at a place.
    pub(super) fn data_blocks(&self, at: &Place) -> u64 {
        (self.pool_bytes(at) / geometry::BLOCK).saturating_sub(self.empty_overhead(at))
    }

    /// Approximate kernel memory of the volume and its index, bytes.
    pub(super) fn memory(&self, at: &Place) -> u64 {
        let (logical, physical) = (self.volume_bytes(at), self.pool_bytes(at));
        geometry::memory(self.block_map_cache, self.index_memory, logical, physical)
    }

    /// Pages of the block map when all of it is allocated.
    pub(super) fn map_pages(&self, at: &Place) -> u64 {
        let logical = self.volume_bytes(at);
        geometry::leaves(logical) + geometry::interior(logical)
    }

    /// Metadata blocks of the empty volume at a place.
    pub(super) fn empty_overhead(&self, at: &Place) -> u64 {
        let pool = self.pool_bytes(at);
        let slabs = geometry::slabs(pool, self.slab_size, self.index_memory, self.sparse_index);
        let slabs = slabs.min(geometry::MOST_SLABS);
        geometry::empty_overhead(pool / geometry::BLOCK, slabs, self.slab_size)
    }
}

/// Rounds bytes down to whole blocks.
fn whole_blocks(bytes: u64) -> u64 {
    bytes / geometry::BLOCK * geometry::BLOCK
}
