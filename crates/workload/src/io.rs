//! One I/O of a load.

use crate::OpName;

/// One I/O to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// Its operation; figures are kept under its name.
    pub op: OpName,
    /// Tells whether it is a write that has to be durable when it ends (FUA).
    pub fua: bool,
    /// Tells whether it is a flush that the sync cadence added, which is not part of the mix and counts in no amount.
    pub added: bool,
    /// Its length, bytes; 0 for a flush.
    pub length: u32,
    /// Number of its pass over the range, counted from 0; always 0 for patterns without passes.
    pub pass: u32,
    /// Its offset on the target, bytes; 0 for a flush.
    pub offset: u64,
}

impl Io {
    /// A flush of the mix.
    pub const FLUSH: Self =
        Self { op: OpName::Flush, fua: false, added: false, length: 0, pass: 0, offset: 0 };
}
