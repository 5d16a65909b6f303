//! The size of an index: in memory, on disk, and in the number of blocks that it remembers.

use crate::BLOCK;

/// Number of records on one 32 KiB page of a chapter, 32 bytes each.
const RECORDS_PER_PAGE: u64 = 1024;
/// Number of chapters of a dense index with at most 1 GiB of memory (UDS, `config.c`).
const CHAPTERS: u64 = 1024;
/// Blocks that vdoformat 8.3.1.1 reserves for an index, by its memory in quarters of a GiB: (memory, dense, sparse).
const ON_DISK: [(u64, u64, u64); 6] = [
    (1, 679_127, 5_822_251),
    (2, 1_366_399, 11_726_359),
    (3, 2_053_669, 17_630_467),
    (4, 2_732_747, 23_452_645),
    (8, 5_496_229, 46_928_887),
    (16, 11_058_007, 93_909_179),
];

/// Memory of an index, in the sizes that VDO accepts: 0.25, 0.5, 0.75 or 1 to 1024 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexMemory {
    quarters: u64,
}

impl IndexMemory {
    /// The smallest, VDO's default: 0.25 GiB.
    pub const SMALLEST: Self = Self { quarters: 1 };

    /// The smallest size that VDO accepts and that is at least `bytes`; `None` above 1 TiB.
    pub fn at_least(bytes: u64) -> Option<Self> {
        let quarters = bytes.div_ceil(1 << 28).max(1);
        let quarters = if quarters <= 4 { quarters } else { quarters.next_multiple_of(4) };
        (quarters <= 4096).then_some(Self { quarters })
    }

    /// The next larger size; `None` above 1 TiB.
    pub fn next(self) -> Option<Self> {
        Self::at_least(self.bytes() + 1)
    }

    /// The memory in bytes.
    pub fn bytes(self) -> u64 {
        self.quarters << 28
    }

    /// The memory in MiB, as lvm's `vdo_index_memory_size_mb` takes it.
    pub fn mebibytes(self) -> u64 {
        self.bytes() >> 20
    }
}

/// The shape of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Its memory.
    pub memory: IndexMemory,
    /// Tells whether it is sparse: ten times the window, with only one name in 32 of its older part in memory.
    pub sparse: bool,
}

impl Geometry {
    /// VDO's default: 0.25 GiB, dense.
    pub const DEFAULT: Self = Self { memory: IndexMemory::SMALLEST, sparse: false };

    /// Number of records in a chapter: 64 pages of them for each quarter GiB, 256 pages from 1 GiB on.
    pub fn records_per_chapter(self) -> u64 {
        64 * self.memory.quarters.min(4) * RECORDS_PER_PAGE
    }

    fn dense_base(self) -> u64 {
        CHAPTERS * (self.memory.quarters / 4).max(1)
    }

    /// Number of chapters that are remembered, the open one included.
    pub fn chapters(self) -> u64 {
        self.dense_base() * if self.sparse { 10 } else { 1 }
    }

    /// Number of newest chapters whose names are all in memory.
    pub fn dense_chapters(self) -> u64 {
        if self.sparse { self.dense_base() / 2 } else { self.chapters() }
    }

    /// Number of blocks that the index remembers: 256 GiB of them for 0.25 GiB dense, ten times as many if sparse.
    pub fn window_blocks(self) -> u64 {
        self.records_per_chapter() * self.chapters()
    }

    /// The window in bytes of data.
    pub fn window_bytes(self) -> u64 {
        self.window_blocks().saturating_mul(BLOCK as u64)
    }

    /// Blocks of 4096 bytes that the index takes on the device, as vdoformat reserves them: known for 0.25 to 4 GiB,
    /// in proportion between and beyond.
    pub fn disk_blocks(self) -> u64 {
        let blocks = |row: &(u64, u64, u64)| if self.sparse { row.2 } else { row.1 };
        let quarters = self.memory.quarters;
        let above = ON_DISK.iter().position(|row| row.0 >= quarters).unwrap_or(ON_DISK.len() - 1);
        let (high, low) = (&ON_DISK[above], &ON_DISK[above.saturating_sub(1)]);
        if high.0 == quarters || above == 0 {
            return blocks(high);
        }
        let per_quarter = (blocks(high) - blocks(low)) as f64 / (high.0 - low.0) as f64;
        (blocks(low) as f64 + per_quarter * (quarters - low.0) as f64).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn of(gib: f64, sparse: bool) -> Geometry {
        let memory = IndexMemory::at_least((gib * GIB as f64) as u64).unwrap();
        Geometry { memory, sparse }
    }

    #[test]
    fn a_quarter_gib_remembers_256_gib_and_ten_times_as_much_when_sparse() {
        assert_eq!(Geometry::DEFAULT.records_per_chapter(), 65_536);
        assert_eq!(Geometry::DEFAULT.window_bytes(), 256 * GIB);
        assert_eq!(of(0.25, true).window_bytes(), 2560 * GIB);
        assert_eq!(of(0.5, false).window_bytes(), 512 * GIB);
        assert_eq!(of(0.75, false).window_bytes(), 768 * GIB);
        assert_eq!(of(1.0, false).window_bytes(), 1024 * GIB);
        assert_eq!(of(4.0, true).window_bytes(), 40960 * GIB);
        assert_eq!(of(0.25, true).dense_chapters(), 512);
    }

    #[test]
    fn disk_space_is_what_vdoformat_reserves_and_grows_between() {
        assert_eq!(of(0.25, false).disk_blocks(), 679_127);
        assert_eq!(of(4.0, true).disk_blocks(), 93_909_179);
        let mut memory = Some(IndexMemory::SMALLEST);
        let mut before = 0;
        for _ in 0..40 {
            let geometry = Geometry { memory: memory.unwrap(), sparse: false };
            assert!(geometry.disk_blocks() > before);
            before = geometry.disk_blocks();
            memory = geometry.memory.next();
        }
    }

    #[test]
    fn memory_is_rounded_up_to_what_vdo_takes() {
        let mebibytes = |mib: u64| IndexMemory::at_least(mib << 20).map(IndexMemory::mebibytes);
        assert_eq!(mebibytes(0), Some(256));
        assert_eq!(mebibytes(257), Some(512));
        assert_eq!(mebibytes(1025), Some(2048));
        assert_eq!(mebibytes(2 << 20), None);
    }
}
