//! Sizing of a volume: its physical and logical size, its set-up, and the memory that it takes.

use reduce::BLOCK;
use reduce::index::{Geometry, IndexMemory};
use reduce::space::{self, SlabBits};
use serde::{Deserialize, Serialize};
use units::{Bytes, Percent};

use crate::Error;

/// The block map cache that lvm gives a volume by default.
const CACHE: u64 = 128 << 20;
/// Largest logical and physical size that VDO supports, bytes.
const MAX_LOGICAL: u64 = 4 << 50;
const MAX_PHYSICAL: u64 = 256 << 40;
/// Room for the headers that lvm puts before and behind the volume in a pool (512 KiB each), with as much to spare, bytes.
const HEADERS: u64 = 2 << 20;
/// Fewest slabs that a volume should have, so that threads can share them and little space is left over.
const MIN_SLABS: u64 = 8;
/// Number of slabs above which a larger slab size is chosen: half of the maximum, so that the volume can grow.
const MANY_SLABS: u64 = space::MOST_SLABS / 2;

/// Options of a sizing.
#[derive(Debug, Clone, PartialEq)]
pub struct SizingOptions {
    /// Share of the blocks for data that is to stay free.
    pub headroom: Percent,
}

impl Default for SizingOptions {
    fn default() -> Self {
        Self { headroom: Percent(20.0) }
    }
}

/// The data and the options that a volume is to be sized for.
#[derive(Debug, Clone, PartialEq)]
pub struct SizingRequest {
    /// Data to be written.
    pub data: Bytes,
    /// Data that is left after deduplication and compression.
    pub stored: Bytes,
    /// Files, when a file system is to be on the volume; `None` for a bare volume.
    pub files: Option<u64>,
    /// The index to use; `None` takes the smallest one that remembers all data.
    pub index: Option<Geometry>,
    /// Options of the sizing.
    pub options: SizingOptions,
}

/// A volume for given data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sizing {
    /// Data to be written.
    pub data_bytes: u64,
    /// Data that is left after deduplication and compression, bytes.
    pub stored_bytes: u64,
    /// Space that an XFS takes besides data, bytes: its log, inodes, directories. `null` for a bare volume.
    pub file_system_bytes: Option<u64>,
    /// The logical size: data and file system.
    pub logical_bytes: u64,
    /// Pages of the block map.
    pub block_map_bytes: u64,
    /// Other space that the volume takes, bytes: index, journals, reference counts, the unused rest of the last slab.
    pub overhead_bytes: u64,
    /// Share of the blocks for data that stays free.
    pub headroom_percent: f64,
    /// The physical size to buy.
    pub physical_bytes: u64,
    /// Memory of the index.
    pub index_memory_bytes: u64,
    /// Tells whether the index is sparse.
    pub index_sparse: bool,
    /// Space that the index takes on the device, bytes.
    pub index_disk_bytes: u64,
    /// Data that the index remembers, bytes.
    pub index_window_bytes: u64,
    /// Size of a slab, bytes.
    pub slab_bytes: u64,
    /// Number of slabs.
    pub slabs: u64,
    /// Memory of the running volume, with its index and caches, bytes.
    pub memory_bytes: u64,
    /// The lvm command that makes the volume.
    pub command: String,
}

impl Sizing {
    /// Returns the size of a volume without VDO for the same data and the same share free.
    pub fn plain_bytes(&self) -> u64 {
        let used = (100.0 - self.headroom_percent).max(1.0) / 100.0;
        (self.logical_bytes as f64 / used).ceil() as u64
    }

    /// Tells whether VDO needs less space than a plain volume; with little data its own overhead outweighs the saving.
    pub fn saves_space(&self) -> bool {
        self.physical_bytes < self.plain_bytes()
    }

    /// Returns a sentence that says whether VDO pays.
    pub fn verdict(&self) -> String {
        let pays = if self.saves_space() { "pays" } else { "does not pay" };
        let [needed, plain] = [self.physical_bytes, self.plain_bytes()].map(Bytes);
        format!("VDO {pays} here: it needs {needed}, a plain volume {plain}")
    }

    /// Returns a sentence with the sizes for the part of the data that was read, which decides nothing about all of it.
    pub fn verdict_of_part(&self) -> String {
        let [needed, plain] = [self.physical_bytes, self.plain_bytes()].map(Bytes);
        format!(
            "Not everything was read, so whether VDO pays is open: for what was read it needs {needed}, a plain volume {plain}"
        )
    }
}

/// Returns the index with the least memory whose window covers `data` bytes; dense if a dense one of that memory suffices.
pub fn index_for(data: u64) -> Option<Geometry> {
    let mut memory = Some(IndexMemory::SMALLEST);
    while let Some(size) = memory {
        for sparse in [false, true] {
            let geometry = Geometry { memory: size, sparse };
            if geometry.window_bytes() >= data {
                return Some(geometry);
            }
        }
        memory = size.next();
    }
    None
}

/// Returns the slab size for `data_blocks`: lvm's 2 GiB, smaller if there would be too few slabs, larger if too many.
fn slab_for(data_blocks: u64) -> SlabBits {
    let mut slab = SlabBits::SMALLEST_OF_LVM;
    let count = |slab: SlabBits| data_blocks.div_ceil(slab.data_blocks());
    while let Some(next) = slab.next() {
        let enough = count(next) >= MIN_SLABS && slab < SlabBits::DEFAULT;
        if !enough && count(slab) <= MANY_SLABS {
            break;
        }
        slab = next;
    }
    slab
}

/// Returns the bytes that an XFS takes besides data, by the defaults of mkfs.xfs: a log of 1/2048 of its size, 64 MiB to 2 GiB; inodes of 512
/// bytes in chunks; about 100 bytes for a name and its place in a directory, and a block of extents for one file in 16.
fn xfs_bytes(data: u64, files: u64) -> u64 {
    let log = (data / 2048).clamp(64 << 20, 2 << 30);
    let records = files.saturating_mul(512 + 100 + BLOCK as u64 / 16);
    log + records.next_multiple_of(1 << 20)
}

/// Sizes a volume.
pub fn size(request: &SizingRequest) -> Result<Sizing, Error> {
    let block = BLOCK as u64;
    let too_large = |what: &str, bytes: u64| Error::Size {
        what: format!("{what} would be {}, more than VDO can have", Bytes(bytes)),
    };
    if request.data.0 == 0 {
        return Err(Error::Size { what: "a volume for 0 B of data has no size".into() });
    }
    if request.options.headroom.0 >= 100.0 {
        return Err(Error::Size { what: "a head-room of 100% leaves no room for data".into() });
    }
    let file_system = request.files.map(|files| xfs_bytes(request.data.0, files));
    let logical =
        (request.data.0.saturating_add(file_system.unwrap_or(0))).next_multiple_of(1 << 20);
    if logical > MAX_LOGICAL {
        return Err(too_large("the logical size", logical));
    }
    let block_map = space::block_map_blocks(logical / block);
    let used =
        request.stored.0.div_ceil(block) + file_system.unwrap_or(0).div_ceil(block) + block_map;
    let wanted = (used as f64 / (1.0 - request.options.headroom.fraction())).ceil() as u64;
    if wanted.saturating_mul(block) > MAX_PHYSICAL {
        return Err(too_large("the physical size", wanted.saturating_mul(block)));
    }
    let index = request.index.or_else(|| index_for(request.data.0));
    let index = index.ok_or_else(|| too_large("the index", request.data.0))?;
    let mut slab = slab_for(wanted);
    let layout = loop {
        match (space::device_for(wanted, index, slab), slab.next()) {
            (Some(layout), _) => break layout,
            (None, Some(larger)) => slab = larger,
            (None, None) => return Err(too_large("the physical size", wanted * block)),
        }
    };
    let physical = (layout.device_blocks * block + HEADERS).next_multiple_of(4 << 20);
    Ok(Sizing {
        data_bytes: request.data.0,
        stored_bytes: request.stored.0,
        file_system_bytes: file_system,
        logical_bytes: logical,
        block_map_bytes: block_map * block,
        overhead_bytes: physical - layout.data_blocks * block,
        headroom_percent: request.options.headroom.0,
        physical_bytes: physical,
        index_memory_bytes: index.memory.bytes(),
        index_sparse: index.sparse,
        index_disk_bytes: index.disk_blocks() * block,
        index_window_bytes: index.window_bytes(),
        slab_bytes: slab.bytes(),
        slabs: layout.slabs,
        memory_bytes: space::memory_bytes(logical, physical, index, CACHE),
        command: command(physical, logical, index, slab),
    })
}

fn command(physical: u64, logical: u64, index: Geometry, slab: SlabBits) -> String {
    format!(
        "lvcreate --type vdo --name data --size {}m --virtualsize {}m --vdosettings \
         'index_memory_size_mb={} use_sparse_index={} slab_size_mb={}' VG/vdopool",
        physical >> 20,
        logical.next_multiple_of(1 << 20) >> 20,
        index.memory.mebibytes(),
        u8::from(index.sparse),
        slab.bytes() >> 20,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(data: u64, saving: f64) -> SizingRequest {
        SizingRequest {
            data: Bytes(data),
            stored: Bytes((data as f64 * (1.0 - saving)) as u64),
            files: None,
            index: None,
            options: SizingOptions::default(),
        }
    }

    #[test]
    fn ten_tib_at_60_percent_fit_with_room_to_spare() {
        let sizing = size(&request(10 << 40, 0.6)).unwrap();
        let used = sizing.stored_bytes + sizing.block_map_bytes;
        let room = sizing.physical_bytes - sizing.overhead_bytes;
        assert!(used as f64 <= 0.8 * room as f64 + 4096.0);
        assert!(used as f64 >= 0.79 * room as f64, "more than a slab too many");
        assert!((4u64 << 40..6 << 40).contains(&sizing.physical_bytes), "{sizing:?}");
        assert_eq!((sizing.index_memory_bytes, sizing.index_sparse), (1 << 30, true));
        assert_eq!(sizing.slab_bytes, 2 << 30);
        assert!(sizing.command.contains("index_memory_size_mb=1024 use_sparse_index=1"));
    }

    #[test]
    fn whether_it_pays_is_held_against_a_plain_volume_with_the_same_share_free() {
        let of = |data: u64, stored: u64| {
            let (data, stored, options) = (Bytes(data), Bytes(stored), SizingOptions::default());
            size(&SizingRequest { data, stored, files: None, index: None, options }).unwrap()
        };
        let large = of(10 << 40, 4 << 40);
        assert!(large.saves_space() && large.verdict().contains("a plain volume 12.5 TiB"));
        let small = of(128 << 20, 1 << 20);
        assert!(
            !small.saves_space() && small.verdict().starts_with("VDO does not pay here: it needs ")
        );
    }

    #[test]
    fn the_index_is_the_smallest_that_remembers_all() {
        let of = |gib: u64| index_for(gib << 30).map(|g| (g.memory.mebibytes(), g.sparse));
        assert_eq!(of(1), Some((256, false)));
        assert_eq!(of(256), Some((256, false)));
        assert_eq!(of(257), Some((256, true)));
        assert_eq!(of(2561), Some((512, true)));
        assert_eq!(of(10 << 10), Some((1024, true)));
        assert_eq!(index_for(u64::MAX), None);
    }

    #[test]
    fn slabs_are_neither_too_few_nor_too_many() {
        for exponent in 20..46 {
            let Ok(sizing) = size(&request(1 << exponent, 0.0)) else { continue };
            assert!(sizing.slabs <= MANY_SLABS || sizing.slab_bytes == SlabBits::LARGEST.bytes());
            assert!((128 << 20..=32 << 30).contains(&sizing.slab_bytes));
            let needs = sizing.slabs >= MIN_SLABS || sizing.slab_bytes == 128 << 20;
            assert!(needs, "2^{exponent}: {} slabs of {}", sizing.slabs, sizing.slab_bytes);
        }
    }

    #[test]
    fn sizes_beyond_vdo_are_refused() {
        assert!(matches!(size(&request(5 << 50, 0.99)), Err(Error::Size { .. })));
        assert!(matches!(size(&request(300 << 40, 0.0)), Err(Error::Size { .. })));
        let mut all = request(1 << 40, 0.5);
        all.options.headroom = Percent(100.0);
        assert!(size(&all).is_err());
    }

    #[test]
    fn no_volume_is_made_for_no_data_and_none_of_no_size() {
        assert!(matches!(size(&request(0, 0.5)), Err(Error::Size { .. })));
        for data in [1, 4096, 1 << 20] {
            let command = size(&request(data, 1.0)).unwrap().command;
            assert!(!command.contains(" 0m"), "{command}");
        }
    }

    #[test]
    fn a_file_system_takes_room_of_its_own() {
        let bare = size(&request(1 << 40, 0.5)).unwrap();
        let filled =
            size(&SizingRequest { files: Some(20_000_000), ..request(1 << 40, 0.5) }).unwrap();
        assert!(filled.logical_bytes > bare.logical_bytes + (1 << 29));
        assert!(filled.physical_bytes > bare.physical_bytes);
    }
}
