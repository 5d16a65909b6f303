//! Places of everything on the device, and the tree of the block map.

use crate::block::{Lbn, Pbn};
use crate::format::{COUNTS_PER_BLOCK, ENTRIES, MOST_RECORDS};

/// Roots of the block map.
pub const ROOTS: u64 = 60;
/// Levels below the roots; level 0 are the leaves.
pub const LEVELS: usize = 4;
/// Copies of the superblock.
const COPIES: u64 = 2;
/// Blocks for the records of a slab that VDO keeps and this volume does not, so that both have the same data blocks.
const SLAB_RESERVE: u64 = 224;
/// Fewest blocks of a slab of VDO; smaller ones are for tests.
const SMALLEST_OF_VDO: u64 = 1 << 13;
/// Number of chapters of the index, unless it has room for fewer blocks.
pub const CHAPTERS: u64 = 1024;
/// The fewest chapters that are kept.
const FEWEST_CHAPTERS: u64 = 4;
/// The largest block number that a mapping can hold.
const MOST_BLOCKS: u64 = 1 << 36;

/// The sizes that a volume is made with, in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Blocks of the device.
    pub device: u64,
    /// Blocks of the volume.
    pub logical: u64,
    /// Blocks of a slab.
    pub slab: u64,
    /// Blocks of the journal.
    pub journal: u64,
    /// Reserved for the index.
    pub index: u64,
    /// Reserved behind the journal.
    pub reserved: u64,
}

/// The reason that sizes make no volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// No slab fits.
    #[error(
        "a device of {device} blocks is too small: a volume with one slab takes {least}; make it larger, or the slab smaller"
    )]
    NoSlab {
        /// Blocks of the device.
        device: u64,
        /// Blocks that one slab would take.
        least: u64,
    },
    /// A journal that is too small to work.
    #[error("a journal of {0} blocks is too small: it takes at least 5")]
    Journal(u64),
    /// Slabs that are too small to be of use.
    #[error("a slab of {0} blocks is too small")]
    Slab(u64),
    /// A growth to sizes that are not larger than those that the volume has.
    #[error(
        "the volume has {logical} blocks on a device of {device}; it does not shrink, and one slab more takes a device of {least}"
    )]
    NotLarger {
        /// Blocks of the volume.
        logical: u64,
        /// Blocks of its device.
        device: u64,
        /// Blocks of a device with one slab more.
        least: u64,
    },
    /// More than mappings can name.
    #[error("{0} blocks are more than a volume can have")]
    TooLarge(u64),
}

/// A page of the block map below its root: leaves are level 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageKey {
    /// 0 to 3 below the roots; 4 is the root itself.
    pub level: usize,
    /// The root that it belongs to.
    pub root: u64,
    /// Its number among the pages of its level and root.
    pub index: u64,
}

impl PageKey {
    /// The leaf with the entry of `lbn`.
    pub fn leaf(lbn: Lbn) -> Self {
        let page = lbn / ENTRIES as u64;
        Self { level: 0, root: page % ROOTS, index: page / ROOTS }
    }

    /// Tells if it is a root.
    pub fn is_root(self) -> bool {
        self.level == LEVELS
    }

    /// The page with the entry of this one.
    pub fn parent(self) -> Self {
        Self { level: self.level + 1, root: self.root, index: self.index / ENTRIES as u64 }
    }

    /// The slot of its entry in its parent.
    pub fn slot(self) -> usize {
        (self.index % ENTRIES as u64) as usize
    }

    /// The page that hangs on `slot` of this one.
    pub fn child(self, slot: usize) -> Self {
        let index = self.index * ENTRIES as u64 + slot as u64;
        Self { level: self.level - 1, root: self.root, index }
    }

    /// Returns the key of a journal entry for it: `level + 1 << 60 | root << 40 | index`.
    pub fn to_key(self) -> u64 {
        (self.level as u64 + 1) << 60 | self.root << 40 | self.index
    }

    /// Reads the key of a journal entry; `None` for a block of the volume, or an invalid key.
    pub fn from_key(key: u64) -> Option<Self> {
        let level = usize::try_from(key >> 60).ok()?.checked_sub(1)?;
        let (root, index) = (key >> 40 & 0xf_ffff, key & ((1 << 40) - 1));
        (level < LEVELS && root < ROOTS).then_some(Self { level, root, index })
    }
}

/// Places of everything on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// The sizes that it was made from.
    pub sizes: Sizes,
    /// The first root.
    pub roots: Pbn,
    /// The first slab.
    pub slabs_at: Pbn,
    /// Slabs.
    pub slabs: u64,
    /// Blocks of a slab for data and pages of the map.
    pub data_blocks: u64,
    /// Blocks of a slab for its counts, behind the data.
    pub count_blocks: u64,
    /// The first block of the journal.
    pub journal_at: Pbn,
}

impl Geometry {
    /// Lays a volume out.
    pub fn new(sizes: Sizes) -> Result<Self, GeometryError> {
        let largest = sizes.device.max(sizes.logical).max(sizes.slab);
        if largest > MOST_BLOCKS || sizes.index.max(sizes.journal).max(sizes.reserved) > MOST_BLOCKS
        {
            return Err(GeometryError::TooLarge(largest));
        }
        if sizes.journal < 5 {
            return Err(GeometryError::Journal(sizes.journal));
        }
        let data_blocks = data_blocks(sizes.slab).ok_or(GeometryError::Slab(sizes.slab))?;
        let roots = COPIES + sizes.index;
        let slabs_at = roots + ROOTS;
        let outside = slabs_at + sizes.journal + sizes.reserved;
        let slabs = sizes.device.saturating_sub(outside) / sizes.slab;
        if slabs == 0 {
            let least = outside + sizes.slab;
            return Err(GeometryError::NoSlab { device: sizes.device, least });
        }
        let journal_at = sizes.device - sizes.reserved - sizes.journal;
        let count_blocks = data_blocks.div_ceil(COUNTS_PER_BLOCK as u64);
        Ok(Self { sizes, roots, slabs_at, slabs, data_blocks, count_blocks, journal_at })
    }

    /// Returns the layout of a volume that grows in one size or both; a size that is not given stays.
    ///
    /// # Errors
    /// Refuses to shrink, to grow by nothing, and a larger device without room for another slab.
    pub fn grown(&self, device: Option<u64>, logical: Option<u64>) -> Result<Self, GeometryError> {
        let Sizes { device: had, logical: held, slab, journal, reserved, .. } = self.sizes;
        let sizes =
            Sizes { device: device.unwrap_or(had), logical: logical.unwrap_or(held), ..self.sizes };
        let grown = Self::new(sizes)?;
        let physical = device.is_none() || grown.slabs > self.slabs;
        let virtually = logical.is_none_or(|logical| logical > held);
        if physical && virtually && sizes != self.sizes {
            return Ok(grown);
        }
        let least = self.slabs_at + (self.slabs + 1) * slab + journal + reserved;
        Err(GeometryError::NotLarger { logical: held, device: had, least })
    }

    /// The place of the superblock's copy with this generation.
    pub fn superblock(generation: u64) -> Pbn {
        generation % COPIES
    }

    /// The first block of a slab.
    pub fn slab(&self, slab: u64) -> Pbn {
        self.slabs_at + slab * self.sizes.slab
    }

    /// The slab and the place in it of a block that may hold data or a page.
    pub fn place(&self, pbn: Pbn) -> Option<(u64, u64)> {
        let from = pbn.checked_sub(self.slabs_at)?;
        let (slab, place) = (from / self.sizes.slab, from % self.sizes.slab);
        (slab < self.slabs && place < self.data_blocks).then_some((slab, place))
    }

    /// Chapters of the index that it keeps on the device: none where there is no room.
    pub fn chapters(&self) -> u64 {
        let chapters = self.sizes.index.min(CHAPTERS);
        if chapters < FEWEST_CHAPTERS { 0 } else { chapters }
    }

    /// Blocks that an index of `records` records takes on the device.
    pub fn index_for(records: u64) -> u64 {
        CHAPTERS * records.div_ceil(CHAPTERS).div_ceil(MOST_RECORDS as u64)
    }

    /// Blocks of a chapter.
    pub fn chapter_blocks(&self) -> u64 {
        self.sizes.index.checked_div(self.chapters()).unwrap_or(0)
    }

    /// The place of a part of a chapter, where chapters are kept.
    pub fn chapter_block(&self, chapter: u64, part: u64) -> Option<Pbn> {
        let slot = chapter.checked_rem(self.chapters())?;
        Some(COPIES + slot * self.chapter_blocks() + part)
    }

    /// Blocks that hold data or pages, numbered without gaps.
    pub fn data_total(&self) -> u64 {
        self.slabs * self.data_blocks
    }

    /// The number of a data block among all; `None` when it is none.
    pub fn number(&self, pbn: Pbn) -> Option<usize> {
        self.place(pbn).map(|(slab, place)| (slab * self.data_blocks + place) as usize)
    }

    /// The block of a number.
    pub fn data_block(&self, number: usize) -> Pbn {
        let number = number as u64;
        self.slab(number / self.data_blocks) + number % self.data_blocks
    }

    /// Blocks of counts in the whole volume.
    pub fn count_total(&self) -> u64 {
        self.slabs * self.count_blocks
    }

    /// The place of a block of counts.
    pub fn count_block(&self, number: u64) -> Pbn {
        let (slab, at) = (number / self.count_blocks, number % self.count_blocks);
        self.slab(slab) + self.data_blocks + at
    }

    /// The numbers of the data blocks that are counted in a block of counts.
    pub fn counted_in(&self, number: u64) -> std::ops::Range<usize> {
        let (slab, at) = (number / self.count_blocks, number % self.count_blocks);
        let from = at * COUNTS_PER_BLOCK as u64;
        let upto = (from + COUNTS_PER_BLOCK as u64).min(self.data_blocks);
        let first = slab * self.data_blocks;
        (first + from) as usize..(first + upto) as usize
    }

    /// The block of counts that counts a data block.
    pub fn count_block_of(&self, number: usize) -> u64 {
        let (slab, place) = (number as u64 / self.data_blocks, number as u64 % self.data_blocks);
        slab * self.count_blocks + place / COUNTS_PER_BLOCK as u64
    }

    /// The place of a journal block.
    pub fn journal_block(&self, seq: u64) -> Pbn {
        self.journal_at + seq % self.sizes.journal
    }
}

/// Blocks of a slab for data: as many as VDO has in a slab of this size; in a smaller slab, as many as the rest of it can count.
fn data_blocks(slab: u64) -> Option<u64> {
    if slab >= SMALLEST_OF_VDO {
        if let Some(bits) = reduce::space::SlabBits::new(slab.trailing_zeros())
            && bits.blocks() == slab
        {
            return Some(bits.data_blocks());
        }
        let data = slab - SLAB_RESERVE - slab.div_ceil(COUNTS_PER_BLOCK as u64);
        return Some(data);
    }
    slab.checked_sub(slab.div_ceil(COUNTS_PER_BLOCK as u64)).filter(|&data| data >= 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(slab: u64) -> Sizes {
        let reserved = 64;
        Sizes { device: 3_000_000, logical: 1 << 22, slab, journal: 32_768, index: 0, reserved }
    }

    #[test]
    fn a_slab_has_as_many_data_blocks_as_vdos_and_room_for_their_counts() {
        for bits in 13..=20 {
            let geometry = Geometry::new(sizes(1 << bits)).unwrap();
            let vdo = reduce::space::SlabBits::new(bits).unwrap();
            assert_eq!(geometry.data_blocks, vdo.data_blocks());
            assert!(geometry.data_blocks + geometry.count_blocks <= 1 << bits);
        }
    }

    #[test]
    fn every_data_block_has_one_number_and_one_count() {
        let geometry = Geometry::new(sizes(1 << 13)).unwrap();
        let mut next = 0;
        for block in 0..geometry.count_total() {
            for number in geometry.counted_in(block) {
                assert_eq!(number, next);
                assert_eq!(geometry.count_block_of(number), block);
                assert_eq!(geometry.number(geometry.data_block(number)), Some(number));
                next += 1;
            }
        }
        assert_eq!(next as u64, geometry.data_total());
        assert_eq!(geometry.number(geometry.count_block(0)), None);
        assert_eq!(geometry.number(geometry.journal_at), None);
        assert_eq!(geometry.number(1), None);
    }

    #[test]
    fn the_last_32832_blocks_are_the_journal_and_what_vdo_has_behind_it() {
        let geometry = Geometry::new(sizes(1 << 13)).unwrap();
        assert_eq!(geometry.sizes.device - geometry.journal_at, reduce::space::TAIL);
    }

    #[test]
    fn pages_of_the_map_find_their_parents_and_their_keys() {
        for lbn in [0, 811, 812, 812 * 60 - 1, 812 * 60, 1 << 30, (1 << 36) - 1] {
            let mut page = PageKey::leaf(lbn);
            while !page.is_root() {
                assert_eq!(PageKey::from_key(page.to_key()), Some(page));
                assert_eq!(page.parent().child(page.slot()), page);
                page = page.parent();
            }
        }
        assert_eq!(PageKey::from_key(12), None);
    }

    #[test]
    fn a_volume_grows_by_whole_slabs_and_never_shrinks() {
        let old = Geometry::new(sizes(1 << 13)).unwrap();
        let Sizes { device, logical, .. } = old.sizes;
        let one_more = device + (1 << 13);
        let grown = old.grown(Some(one_more), None).unwrap();
        assert_eq!((grown.slabs, grown.sizes.logical), (old.slabs + 1, logical));
        assert_eq!((grown.slab(3), grown.journal_at), (old.slab(3), old.journal_at + (1 << 13)));
        let larger = old.grown(None, Some(logical + 1)).unwrap();
        assert_eq!((larger.sizes.logical, larger.slabs), (logical + 1, old.slabs));
        for (device, logical) in [
            (None, None),
            (None, Some(logical)),
            (None, Some(logical - 1)),
            (Some(device), None),
            (Some(device + 1), None),
            (Some(device - (1 << 14)), None),
            (Some(one_more), Some(logical)),
            (Some(device), Some(logical + 1)),
        ] {
            let refused = old.grown(device, logical).unwrap_err();
            let GeometryError::NotLarger { least, .. } = refused else { panic!("{refused}") };
            assert_eq!(old.grown(Some(least), None).unwrap().slabs, old.slabs + 1);
            assert!(old.grown(Some(least - 1), None).is_err());
        }
    }

    #[test]
    fn what_has_no_room_is_refused_with_what_it_would_take() {
        let small = Sizes { device: 1000, ..sizes(1 << 13) };
        let least = 2 + 60 + 32_768 + 64 + (1 << 13);
        assert_eq!(Geometry::new(small), Err(GeometryError::NoSlab { device: 1000, least }));
        assert!(Geometry::new(Sizes { device: least, ..small }).is_ok());
    }
}
