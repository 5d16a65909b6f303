//! Asks that cannot be met.

use units::Percent;

use crate::Compress;

/// A content that cannot be written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ContentError {
    /// No unique block is left that duplicates could be of.
    #[error("content leaves no block to duplicate: dedupe = {dedupe}, zero = {zero}")]
    NothingUnique {
        /// Duplicates asked for.
        dedupe: Percent,
        /// Zero blocks asked for.
        zero: Percent,
    },
    /// Duplicates that may reach back no block.
    #[error("content has window = 0: a duplicate could be of no earlier block")]
    NoWindow,
    /// LZ4 cannot give this size.
    #[error("content cannot be compressed {asked}: LZ4 would have to make {bytes} B of 4096 B")]
    Unreachable {
        /// What was asked for.
        asked: Compress,
        /// The LZ4 size that this means, bytes.
        bytes: usize,
        /// The nearest that can be had.
        nearest: Compress,
    },
}

impl ContentError {
    /// The key whose value is wrong.
    pub fn key(&self) -> &'static str {
        match self {
            Self::NothingUnique { .. } => "dedupe",
            Self::NoWindow => "window",
            Self::Unreachable { .. } => "compress",
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NothingUnique { zero, .. } => {
                let most = Percent((99.0 - zero.0).max(0.0));
                format!("dedupe and zero together must stay below 100%, as in dedupe = \"{most}\"")
            }
            Self::NoWindow => "write window = 16384, or leave it out".into(),
            Self::Unreachable { nearest, .. } => format!("the nearest is compress = \"{nearest}\""),
        }
    }
}
