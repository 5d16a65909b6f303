//! Analyses traces of block I/O: the hits of a cache in front of the device by its size, and the needs of VDO for such a load.
//!
//! [`Trace`] reads files; [`Analysis`] takes their I/Os one by one, in memory that does not grow with the trace; [`Advice`] says what follows.
//! [`Figures`] describes any trace: operations, sizes, runs, seeks, reuse, and a picture of addresses over time.
#![forbid(unsafe_code)]

mod access;
mod advice;
mod analysis;
mod curve;
mod error;
mod fenwick;
mod figures;
mod page;
mod pattern;
mod price;
mod shards;
mod source;
mod streams;

pub use access::Access;
pub use advice::{Advice, BlockMapAdvice, CacheAdvice, ChunkPoint, NEAR_POINTS, Point, Verdict};
pub use analysis::{Analysis, MOST_WINDOWS, Touched};
pub use curve::Curve;
pub use error::{Error, Result};
pub use figures::{
    COLUMNS, Extent, Figures, Grid, OpFigures, ROWS, RUN_CLASSES, ReuseFigures, ReusePoint,
    RunClass, RunFigures, SeekFigures, SizeCount,
};
pub use page::{PageTexts, page};
pub use pattern::{OpCounts, Pattern};
pub use price::Price;
pub use shards::{Shards, Touch};
pub use source::{FileKind, FileSummary, Trace, kind, read_disk_trace};
