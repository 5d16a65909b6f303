//! What written bytes are: content ids, how often they come again, and the bytes that each stands for.
//!
//! Every block of 4 KiB is a pure function of a 64-bit [`ContentId`] (and of how far blocks compress, which is the
//! same for all blocks of a load). A [`Source`] says which id comes next, so that the shares of duplicates and of
//! zero blocks are exact, and fills buffers with what the ids stand for.

mod compress;
mod error;
mod fill;
mod identity;
mod permutation;
mod schedule;
mod source;
mod spec;
mod texture;
mod warning;

pub use compress::Compress;
pub use error::ContentError;
pub use fill::{Generator, Layout, Mismatch, Path};
pub use identity::{LANE, LANE_STEP, identify, identify_lane};
pub use permutation::Permutation;
pub use reduce::BLOCK;
pub use source::{ContentId, Source};
pub use spec::{ContentSpec, Expected};
pub use warning::Warning;
