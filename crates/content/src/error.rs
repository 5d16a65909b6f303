//! Requests for content that cannot be met.

use units::{Bytes, Percent};

use crate::{Compress, Parts};

/// Versions of profiles that are read: the oldest and the newest.
pub(crate) const PROFILE_VERSIONS: (u32, u32) = (1, 3);

/// A content that cannot be written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ContentError {
    /// No unique block is left that duplicates could repeat.
    #[error("content leaves no block to duplicate: dedupe = {dedupe}, zero = {zero}")]
    NothingUnique {
        /// Duplicates asked for.
        dedupe: Percent,
        /// Zero blocks asked for.
        zero: Percent,
    },
    /// So many live duplicates that each content would have to stand behind fewer than two addresses.
    #[error("content cannot have {dedupe} of live duplicates in {blocks} blocks")]
    PoolTooSmall {
        /// Duplicates asked for.
        dedupe: Percent,
        /// Blocks of the target.
        blocks: u64,
    },
    /// A window of 0 blocks, in which duplicates find nothing to repeat.
    #[error("content has window = 0: a duplicate could not repeat any earlier block")]
    NoWindow,
    /// LZ4 cannot give this size.
    #[error("content cannot be compressed {asked}: LZ4 would have to make {bytes} B of {unit} B")]
    Unreachable {
        /// The compression that was asked for.
        asked: Compress,
        /// The LZ4 size that this means, bytes.
        bytes: usize,
        /// The block, bytes.
        unit: usize,
        /// The nearest compression that can be had.
        nearest: Compress,
    },
    /// No packer can save this much.
    #[error("content cannot let VDO save {asked}: {why}")]
    SavingUnreachable {
        /// The saving that was asked for.
        asked: Percent,
        /// The most that can be had.
        nearest: Percent,
        /// The reason why it cannot save more.
        why: &'static str,
    },
    /// Two keys that cannot stand together.
    #[error("content has both {key} and {beside}: {why}")]
    Contradiction {
        /// The key to leave out.
        key: &'static str,
        /// The key that it contradicts, with its value where that matters.
        beside: &'static str,
        /// The reason that they exclude each other.
        why: &'static str,
    },
    /// A size of blocks that is not a power of two from 512 B to 64 MiB.
    #[error("content has block = {}: it has to be a power of two from 512 B to 64 MiB", .block.exact())]
    Block {
        /// The block that was asked for.
        block: Bytes,
    },
    /// A shift of 0, or of a whole block or more.
    #[error("content has misaligned = {}: duplicates are to start inside of a block of {}", .by.exact(), .block.exact())]
    Misaligned {
        /// The shift that was asked for.
        by: Bytes,
        /// The block.
        block: Bytes,
    },
    /// A chunk that does not divide a block into several.
    #[error(
        "content has texture = interleaved:{chunk}: a chunk is a power of two from {} B to half a block of {block} B",
        crate::BlockLayout::GRAIN
    )]
    Chunk {
        /// The chunk that was asked for, bytes.
        chunk: u64,
        /// The block, bytes.
        block: u64,
    },
    /// More jobs than ids tell apart.
    #[error(
        "content is for {jobs} jobs of target {generator}: ids tell {} jobs and {} targets apart",
        Parts::SERIES,
        Parts::GENERATORS
    )]
    TooMany {
        /// Jobs.
        jobs: u32,
        /// Number of the target or stage.
        generator: u16,
    },
    /// The file of a profile could not be read.
    #[error("profile {profile} cannot be read: {why}")]
    ProfileUnread {
        /// Its name.
        profile: String,
        /// The system's message.
        why: String,
    },
    /// A profile of another version.
    #[error(
        "profile {profile} is of version {version}; this fathom reads versions {} to {}",
        PROFILE_VERSIONS.0,
        PROFILE_VERSIONS.1
    )]
    ProfileVersion {
        /// Its name.
        profile: String,
        /// Its version.
        version: u64,
    },
    /// A file that is not a profile, or a profile that contradicts itself.
    #[error("profile {profile} is damaged or not a profile: {why}")]
    ProfileDamaged {
        /// Its name.
        profile: String,
        /// The fault in it.
        why: String,
    },
}

impl ContentError {
    /// The key whose value is wrong.
    pub fn key(&self) -> &'static str {
        match self {
            Self::NothingUnique { .. } | Self::PoolTooSmall { .. } => "dedupe",
            Self::NoWindow => "window",
            Self::Unreachable { .. } => "compress",
            Self::SavingUnreachable { .. } => "vdo_saving",
            Self::Contradiction { key, .. } => key,
            Self::Block { .. } => "block",
            Self::Misaligned { .. } => "misaligned",
            Self::Chunk { .. } => "texture",
            Self::TooMany { .. } => "jobs",
            Self::ProfileUnread { .. }
            | Self::ProfileVersion { .. }
            | Self::ProfileDamaged { .. } => "profile",
        }
    }

    /// Returns what to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NothingUnique { zero, .. } => {
                let most = Percent((99.0 - zero.0).max(0.0));
                format!("dedupe and zero together must stay below 100%, as in dedupe = \"{most}\"")
            }
            Self::PoolTooSmall { .. } => {
                "ask for fewer duplicates, take a larger target, or scope = \"written\"".into()
            }
            Self::NoWindow => "write window = 16384, or leave it out".into(),
            Self::Unreachable { nearest, .. } => format!("the nearest is compress = \"{nearest}\""),
            Self::SavingUnreachable { nearest, .. } => {
                format!("the nearest is vdo_saving = \"{}%\"", nearest.0)
            }
            Self::Contradiction { key, beside, .. } => format!("leave out {key}, or {beside}"),
            Self::Block { .. } => "write block = \"4k\", what VDO works on, or leave it out".into(),
            Self::Misaligned { block, .. } => {
                format!("write misaligned = {}, or leave it out", (block.0 / 8).max(1))
            }
            Self::Chunk { .. } => "write texture = \"interleaved:1k\", or \"tail\"".into(),
            Self::TooMany { .. } => "use fewer jobs, or domain = \"target\", where jobs share their content".into(),
            Self::ProfileUnread { .. } => {
                "name a file that fathom estimate --profile FILE wrote; a path is relative to the experiment's file".into()
            }
            Self::ProfileVersion { .. } | Self::ProfileDamaged { .. } => {
                "make it again: fathom estimate PATH --profile FILE".into()
            }
        }
    }
}
