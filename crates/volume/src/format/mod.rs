//! The bytes on the device: places of everything, and each kind of block. All integers are little-endian.
//!
//! Nothing is assumed of a device but that it writes 512 bytes whole or not at all.

mod bytes;
mod chapter;
mod counts;
mod geometry;
mod journal;
mod mapping;
mod nonce;
mod packed;
mod page;
mod record;
mod sector;
mod superblock;

pub use chapter::{ChapterBlock, chapter_parts};
pub use counts::{COUNTS_PER_BLOCK, COUNTS_PER_SECTOR, CountSector, MAP_PAGE};
pub use geometry::{CHAPTERS, Geometry, GeometryError, LEVELS, PageKey, ROOTS, Sizes};
pub use journal::{Entry, Header, JournalBlock, MOST_ENTRIES};
pub use mapping::Mapping;
pub use nonce::Nonce;
pub use packed::{block_at, pack};
pub use page::{ENTRIES, Page};
pub use record::{MOST_RECORDS, Record};
pub use sector::SECTORS;
pub use superblock::{State, Superblock, SuperblockError, newest};
