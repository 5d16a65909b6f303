//! One I/O of a load.

use crate::OpName;

/// One I/O to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// Its operation; its figures go by this name.
    pub op: OpName,
    /// A write that has to be durable when it ends (FUA).
    pub fua: bool,
    /// A flush that the sync cadence added: it is no part of the mix, and counts in no amount.
    pub added: bool,
    /// Its length, bytes; 0 for a flush.
    pub length: u32,
    /// Which pass over the range this is, counted from 0; always 0 for patterns without passes.
    pub pass: u32,
    /// Its first byte on the target; 0 for a flush.
    pub offset: u64,
}

impl Io {
    /// A flush of the mix.
    pub const FLUSH: Self =
        Self { op: OpName::Flush, fua: false, added: false, length: 0, pass: 0, offset: 0 };
}
