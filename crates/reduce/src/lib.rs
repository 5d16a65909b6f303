//! The data-reduction core: zero blocks, fingerprints, LZ4 sizes as the kernel produces them, VDO's packer, and the census that measures from bytes
//! alone how far blocks dedupe and compress. Pure and deterministic: bounded memory, no global state, no access to the machine.

mod achieved;
mod addresses;
mod bins;
mod census;
mod fingerprint;
pub mod index;
mod live;
mod lz4;
mod model;
mod name;
mod ongoing;
mod packer;
mod pick;
mod prefetch;
mod room;
mod sizer;
pub mod space;
mod zero;

pub use achieved::Achieved;
pub use addresses::{AddressCounts, AddressState, Addresses};
pub use bins::{Bins, Fragment, LARGEST_FRAGMENT, PAYLOAD, SLOTS};
pub use census::{BEGINNING, Census, most_sized};
pub use fingerprint::Fingerprint;
pub use live::{LIVE_ADDRESSES, Place};
pub use lz4::{Lz4, Lz4Error, expand};
pub use model::{
    BlockOutcome, Figures, Model, Policy, RECENT_SIZES, REFERENCES, Reuse, WrittenBlock,
};
pub use name::Name;
pub use ongoing::Ongoing;
pub use packer::{Packed, Packer, fragments_per_block, uniform_saving_percent};
pub use pick::{MAX_SHIFT, picked};
pub use prefetch::prefetch;
pub use zero::is_zero;

/// Bytes in a block, the unit in which VDO dedupes and compresses.
pub const BLOCK: usize = 4096;
