//! Analyses traces of block I/O: the hits of a cache in front of the device by its size, and the needs of VDO for such a load.
//!
//! [`Trace`] reads files; [`Analysis`] takes their I/Os one by one, in memory that does not grow with the trace; [`Advice`] says what follows.
#![forbid(unsafe_code)]

mod access;
mod advice;
mod analysis;
mod curve;
mod error;
mod fenwick;
mod page;
mod pattern;
mod price;
mod shards;
mod source;

pub use access::Access;
pub use advice::{Advice, BlockMapAdvice, CacheAdvice, ChunkPoint, NEAR_POINTS, Point, Verdict};
pub use analysis::{Analysis, MOST_WINDOWS, Touched};
pub use curve::Curve;
pub use error::{Error, Result};
pub use page::{PageTexts, page};
pub use pattern::{OpCounts, Pattern};
pub use price::Price;
pub use shards::{Shards, Touch};
pub use source::{FileKind, FileSummary, Trace};
